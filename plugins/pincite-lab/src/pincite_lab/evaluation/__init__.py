"""Collections, measures and tables for evaluating Pincite."""
