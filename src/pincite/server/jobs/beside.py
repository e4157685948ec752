"""What the page of a verified article shows beside the report: made once, by the job that knows it.

The article as a reader sees it, with its claims' places; what no source states of each claim, so
that another threshold needs no new judgement; how often flags are right at each threshold.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from pincite.core import parts
from pincite.core.thresholds import Atoms
from pincite.models.calibration import Calibration
from pincite.pipeline.build import flag_precision
from pincite.report import wording
from pincite.types import Article, Claim, Document, Evidence, Finding, Part, Passage, Span
from pincite.wiki.flat import Block, BlockKind
from pincite.wiki.html import read_html
from pincite.wiki.wikitext import read_wikitext

THRESHOLDS = tuple(step / 20 for step in range(1, 20))  # of the slider
_SHOWN_ALWAYS = (BlockKind.PARAGRAPH, BlockKind.ITEM, BlockKind.HEADING)


def beside(
    article: Article,
    markup: Literal["wikitext", "html"],
    findings: Sequence[Finding],
    seen: Mapping[str, Document],
    calibration: Calibration | None,
) -> dict[str, Any]:
    """All of it as JSON values.

    Args:
        article: with its claims.
        markup: of its source.
        findings: on its claims.
        seen: the documents that were read, by id.
        calibration: of the verifier; None: nobody measured it.
    """
    return {
        "blocks": list(_blocks(article, markup)),
        "atoms": {f.claim.claim_id: _atoms(f, seen) for f in findings},
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


def _blocks(article: Article, markup: str) -> Iterator[dict[str, Any]]:
    read = read_html if markup == "html" else read_wikitext
    placed = [claim for claim in article.claims if claim.span]
    for block in read(article.source).blocks:
        if not block.text:
            continue
        claims = _claims_in(block, placed)
        if claims or block.kind in _SHOWN_ALWAYS:
            yield {
                "kind": str(block.kind),
                "text": block.text,
                "label": block.label,
                "claims": claims,
            }


def _claims_in(block: Block, claims: Sequence[Claim]) -> list[tuple[int, int, str]]:
    """Where claims stand in the block's text, in order; of two that overlap the first stands."""
    first, last = min(block.starts), max(block.ends)
    found = []
    for claim in claims:
        assert claim.span
        if claim.span.start < last and first < claim.span.end:
            inside = [
                i
                for i, (start, end) in enumerate(zip(block.starts, block.ends, strict=True))
                if claim.span.start <= start and end <= claim.span.end
            ]
            if inside:
                found.append((inside[0], inside[-1] + 1, claim.claim_id))
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
