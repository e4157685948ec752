"""The HTTP API and the pages, one module per subject."""
