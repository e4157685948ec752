"""The folders of the multilingual models, for the entry points of the group `pincite.models`."""

from pathlib import Path

WEIGHTS = Path(__file__).parent / "weights"  # what its models share lies here
ENCODER = WEIGHTS / "multilingual-e5-small"
VERIFIER = WEIGHTS / "multilingual-verifier"
