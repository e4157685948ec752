"""What the page of a verified article shows beside the report: made once, by the job that knows it.

The article as a reader sees it, with its claims' places; what no source states of each claim, so
that another threshold needs no new judgement; how often flags are right at each threshold.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, Literal

from pincite.judgement import parts
from pincite.judgement.thresholds import Atoms
from pincite.models.calibration import Calibration
from pincite.types import Article, Claim, Document, Evidence, Finding, Part, Passage, Span
from pincite.verbs.verify import wording
from pincite.verbs.verify.build import flag_precision
from pincite.wiki.flat import Block, BlockKind
from pincite.wiki.html.reader import read_html
from pincite.wiki.wikitext.reader import read_wikitext

THRESHOLDS = tuple(step / 20 for step in range(1, 20))  # of the slider
_SHOWN_ALWAYS = (BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.HEADING)


def beside(
    article: Article,
    blocks: Sequence[Mapping[str, Any]],
    findings: Sequence[Finding],
    seen: Mapping[str, Document],
    calibration: Calibration | None,
) -> dict[str, Any]:
    """All of it as JSON values.

    Args:
        article: with its claims.
        blocks: of its text, see `blocks_of`.
        findings: on its claims.
        seen: the documents that were read, by id.
        calibration: of the verifier; None: nobody measured it.
    """
    return {
        "blocks": blocks,
        "atoms": {f.claim.claim_id: _atoms(f, seen) for f in findings},
        "sections": sections_of(blocks),
        "names": {c.citation_id: wording.name_of(c) for k in article.claims for c in k.citations},
        "precision": {
            f"{threshold:.2f}": flag_precision(calibration, threshold) if calibration else ()
            for threshold in THRESHOLDS
        },
    }


def atoms_of(stored: Mapping[str, Any], claim: str) -> Atoms:
    """The atoms of one claim, as `beside` gave them."""
    return {
        citation: [Part(kind, Span(a, b), claim[a:b], supported=False) for kind, a, b in found]
        for citation, found in stored.items()
    }


def blocks_of(article: Article, markup: Literal["wikitext", "html"]) -> list[dict[str, Any]]:
    """The article's text as a reader sees it, with the claims' places, as JSON values.

    Args:
        article: with its claims.
        markup: of its source.
    """
    read = read_html if markup == "html" else read_wikitext
    placed = _Placed(article.claims)
    shown: list[dict[str, Any]] = []
    n_sections = 0
    for block in read(article.source).blocks:
        if not block.text:
            continue
        claims = _claims_in(block, placed.between(min(block.starts), max(block.ends)))
        if claims or block.kind in _SHOWN_ALWAYS:
            n_sections += block.kind is BlockKind.HEADING
            shown.append(
                {
                    "section": n_sections,
                    "kind": str(block.kind),
                    "text": block.text,
                    "label": block.label,
                    "claims": claims,
                }
            )
    return shown


def sections_of(blocks: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """By claim the number of its section, as MediaWiki counts them: 0 before the first heading."""
    return {
        claim_id: block["section"]
        for block in reversed(blocks)  # of a claim in several the first counts
        for _, _, claim_id in block["claims"]
    }


class _Placed:
    """Claims by their places in the source: thousands are asked for by thousands of blocks."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self._all = sorted((claim.span, claim.claim_id) for claim in claims if claim.span)
        self._starts = [span.start for span, _ in self._all]
        self._reach = list(accumulate((span.end for span, _ in self._all), max))

    def between(self, start: int, end: int) -> list[tuple[Span, str]]:
        """Those of which some part lies there, by their starts."""
        near = self._all[bisect_right(self._reach, start) : bisect_left(self._starts, end)]
        return [placed for placed in near if start < placed[0].end]


def _claims_in(block: Block, claims: Sequence[tuple[Span, str]]) -> list[tuple[int, int, str]]:
    """Where claims stand in the block's text, in order; of two that overlap the first stands."""
    found = []
    for span, claim_id in claims:
        inside = [
            i
            for i, (start, end) in enumerate(zip(block.starts, block.ends, strict=True))
            if span.start <= start and end <= span.end
        ]
        if inside:
            found.append((inside[0], inside[-1] + 1, claim_id))
    placed: list[tuple[int, int, str]] = []
    for start, stop, claim_id in sorted(found):
        start = max(start, placed[-1][1] if placed else 0)
        if start < stop:
            placed.append((start, stop, claim_id))
    return placed


def _atoms(finding: Finding, seen: Mapping[str, Document]) -> dict[str, list[tuple[str, int, int]]]:
    """By citation what its source states nowhere; under "" what no source of the group states."""
    claim, found, every = finding.claim.text, {}, []
    for result in finding.citations:
        if not isinstance(result.outcome, Evidence):
            continue
        passage = result.outcome.passage
        if document := seen.get(passage.doc_id):
            whole = Span(0, len(document.text))
            passage = Passage(
                passage.doc_id, passage.url, passage.title, document.text, whole, passage.about
            )
        every.append(passage)
        found[result.citation.citation_id] = _plain(parts.missing_atoms(claim, [passage]))
    found[""] = _plain(parts.missing_atoms(claim, every))
    return found


def _plain(atoms: Sequence[Part]) -> list[tuple[str, int, int]]:
    return [(atom.kind, *atom.span) for atom in atoms]
