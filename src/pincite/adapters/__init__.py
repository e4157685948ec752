"""Adapters to other libraries, one module each; import one only if its library is installed."""
