"""Takes over EvidenceSeeker's settings and templates."""
