"""Which of two states of a record is the later one, where files of a collection follow each other.

PubMed's baseline of a year is followed by daily update files that are numbered on; a record that
stands in several counts as the last file has it. Elsewhere the file that is read last counts.
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

_NAME = re.compile(r"(?:pubmed|medline)(\d\d)n(\d{4,9})\.xml(?:\.gz)?", re.IGNORECASE)


class Edition(NamedTuple):
    """A file's place in the row of a collection's files; greater is later."""

    year: int  # its last two digits
    number: int


def edition(path: Path) -> Edition | None:
    """The place that a file's name states; None if it states none.

    >>> edition(Path("updatefiles/pubmed26n1403.xml.gz"))
    Edition(year=26, number=1403)
    """
    match = _NAME.fullmatch(path.name)
    return Edition(int(match[1]), int(match[2])) if match else None


def in_order(paths: Sequence[Path]) -> list[Path]:
    """The paths with numbered files in the order of their numbers; all others keep their places."""
    places = [i for i, path in enumerate(paths) if edition(path)]
    ordered = sorted((paths[i] for i in places), key=lambda path: edition(path) or Edition(0, 0))
    result = list(paths)
    for place, path in zip(places, ordered, strict=True):
        result[place] = path
    return result


def version(meta: Mapping[str, str]) -> int:
    """Which version of its article a record is: 1 unless it says otherwise."""
    stated = meta.get("version", "1")
    return int(stated) if stated.isascii() and stated.isdecimal() else 1
