"""What users keep: corpora filled from files, own copies, reliability lists, feedback."""
