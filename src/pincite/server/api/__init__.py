"""The HTTP API under `/api/v1`: one file for each thing that it shows."""
