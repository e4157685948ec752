"""The HTTP API and the pages, a folder for each thing they are about."""
