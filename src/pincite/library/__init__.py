"""What users keep: corpora filled from files, private copies, reliability lists, feedback."""
