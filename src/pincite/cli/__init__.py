"""The command line: one short file per verb; parse, call the pipeline, print."""
