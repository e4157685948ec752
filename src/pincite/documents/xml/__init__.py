"""XML records: PubMed and JATS, one article at a time."""
