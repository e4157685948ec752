"""From evidence to verdicts: rules, thresholds, parts of claims, and the precision of flags."""
