"""`python -m pincite` is `pincite`."""

from pincite.cli import main

if __name__ == "__main__":
    main()
