"""`ask`: a question answered from a corpus, every sentence verified against its references."""
