"""Training the bi-encoder of dense retrieval."""
