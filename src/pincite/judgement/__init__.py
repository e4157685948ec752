"""From evidence to verdicts: rules, aggregation, thresholds, and what a flag is worth."""
