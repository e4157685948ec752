"""`python -m pincite.cli`, for where the `pincite` command is not on the path."""

from pincite.cli import main

main()
