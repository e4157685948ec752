"""What became of the files that were sent with an article, in words."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pincite.server.jobs.source_files import Why

# What is wrong with a file, and what can be done.
UNUSED: Mapping[Why, str] = {
    Why.NO_ZIP: "not a zip file that can be unpacked; zip the files again",
    Why.ENCRYPTED: "locked with a password; send it unlocked",
    Why.UNSAFE: "its name or folder is not allowed; rename it",
    Why.LINK: "a link, not a file; send the file itself",
    Why.NESTED: "a zip inside a zip; unpack it first",
    Why.TOO_LARGE: "too large when unpacked; send fewer or smaller files",
    Why.TOO_MANY: "too many files; send fewer at once",
    Why.TWICE: "another file has the same name; only the first was used",
    Why.UNREADABLE: "no text could be read from it; send a PDF, HTML, Word or text file",
    Why.NO_ADDRESS: "its citation has no address; hand the file in under that citation below",
    Why.NO_MATCH: "fits no citation of the article; name it after the last part of the cited "
    "address, or hand it in under its citation below",
}


class Shown(NamedTuple):
    """Files that were sent: how many could be used, and why the others could not."""

    n_files: int
    n_matched: int
    n_named: int
    matched: list[str]
    unused: list[tuple[str, str, str]]  # file, why, detail


def shown(told: Mapping[str, Any] | None, is_own: bool) -> Shown | None:
    """None if none were sent, or if they are not the reader's business: names may say much."""
    if not told or not is_own:
        return None
    unused = [(file, UNUSED[Why(why)], detail) for file, why, detail in told["unused"]]
    matched = [file for file, _ in told["matched"]]
    return Shown(told["n_files"], len(matched), told["n_named"], matched, unused)
