"""Which findings of one revision hold for the next: matched by hashes, never by position.

A claim has three hashes. `claim_sha256` names its sentence: SHA-256 of its text in NFC with single
spaces, as in Source Verifier. `context` covers the sentence with its context, its references, the
verifier and the judge; `inputs` also the texts of the sources, so all that its verdict depends on.
A finding is kept while `inputs` stays the same, wherever in the article its sentence stands, and
while `context` does if a source cannot be read for now.
"""

import hashlib
import json
import unicodedata
from collections import defaultdict, deque
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, NamedTuple

from pincite.types import Citation, Claim, Document, Unchecked

# Where a reference stands in the article does not change what it cites.
_PLACES = ("citation_id", "span", "definition", "name", "group")
# Of a claim: places, and what no verdict is based on.
_UNREAD = (
    *("claim_id", "span", "sentence", "part", "mark", "after", "origin", "uncited_before"),
    *("citations", "earlier"),
)


class Carried(NamedTuple):
    """Positions in the findings of the last revision, and in the claims of the new one."""

    kept: tuple[tuple[int, int], ...]  # (finding, claim)
    new: tuple[int, ...]  # claims to judge
    withdrawn: tuple[int, ...]  # findings whose sentence, reference or source has gone


def match_hashes(findings: Sequence[str], claims: Sequence[str]) -> Carried:
    """Match findings with claims that have the same hash; equal ones in their order.

    >>> match_hashes(["a", "b", "b"], ["b", "c", "a"])
    Carried(kept=((0, 2), (1, 0)), new=(1,), withdrawn=(2,))
    """
    waiting: defaultdict[str, deque[int]] = defaultdict(deque)
    for number, key in enumerate(findings):
        waiting[key].append(number)
    kept, new = [], []
    for number, key in enumerate(claims):
        if waiting[key]:
            kept.append((waiting[key].popleft(), number))
        else:
            new.append(number)
    gone = sorted(number for left in waiting.values() for number in left)
    return Carried(tuple(sorted(kept)), tuple(new), tuple(gone))


def text_hash(text: str) -> str:
    """SHA-256 of a text in NFC with single spaces.

    >>> text_hash("Cafe\u0301  opens.") == text_hash(" Café opens.")
    True
    """
    plain = " ".join(unicodedata.normalize("NFC", text).split())
    return hashlib.sha256(plain.encode("utf-8", "surrogatepass")).hexdigest()


def source_hash(sources: Sequence[Document | Unchecked]) -> str:
    """Hash the texts of a claim's sources, or the reasons why they could not be read."""
    return _digest([s.text if isinstance(s, Document) else f"\0{s.reason}" for s in sources])


def context_hash(claim: Claim, versions: Sequence[str]) -> str:
    """Hash all that a verdict depends on except the sources."""
    cited = [[_without(c, _PLACES) for c in some] for some in (claim.citations, claim.earlier)]
    return _digest([_without(claim, _UNREAD), cited, versions])


def inputs_hash(context: str, *sources: str) -> str:
    """Hash all that a verdict depends on; `sources`: hashes of those of the claim, and earlier."""
    return _digest([context, sources])


def _without(record: Claim | Citation, left_out: Sequence[str]) -> dict[str, Any]:
    return {name: value for name, value in asdict(record).items() if name not in left_out}


def _digest(values: object) -> str:
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()
