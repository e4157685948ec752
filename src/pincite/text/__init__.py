"""Pure functions on text: no I/O, no models, no state. Everything here can be tested by hand."""
