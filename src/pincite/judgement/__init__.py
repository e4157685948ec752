"""From evidence to verdicts: rules, aggregation, thresholds, and the precision of flags."""
