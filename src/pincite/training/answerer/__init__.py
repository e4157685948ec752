"""Teaching a causal language model to answer from abstracts, with references."""
