"""What users keep: private copies, reliability lists, results and feedback."""
