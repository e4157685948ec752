"""Pure functions: no I/O, no models, no global state. Everything here can be tested by hand."""
