"""For whoever runs a server: copies, checks, logs, numbers."""
