"""Whether a file is the one that its publisher sent: the `.md5` file that lies beside it."""

import hashlib
import re
from pathlib import Path

ENDING = ".md5"
_DIGEST = re.compile(r"(?<![0-9a-fA-F])[0-9a-fA-F]{32}(?![0-9a-fA-F])")


def mismatch(path: Path) -> str:
    """What is wrong with the file according to `FILE.md5`; empty if nothing is, or there is none.

    NLM writes `MD5(name)= digest`, md5sum `digest  name`; both are read. It tells a broken
    download, not a forged one.
    """
    side = path.with_name(path.name + ENDING)
    if not side.is_file():
        return ""
    with side.open("rb") as file:
        stated = _DIGEST.search(file.read(4_096).decode("latin-1"))
    if not stated:
        return f"{side.name} holds no MD5 digest; fetch it again, or remove it"
    with path.open("rb") as file:
        found = hashlib.file_digest(file, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()
    if found == stated[0].lower():
        return ""
    return f"its MD5 digest is {found}, {side.name} says {stated[0].lower()}; fetch it again"


def is_side_file(path: Path) -> bool:
    """Whether this is the digest of a file that lies beside it, and no document."""
    return path.suffix.lower() == ENDING and path.with_suffix("").is_file()
