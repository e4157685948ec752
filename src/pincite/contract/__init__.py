"""The reports as JSON: one frozen dataclass for each object, from which all else follows."""
