"""A user's own copies of paid papers and books: what a result may carry of them.

They are read to judge with and never handed on. A finding keeps a short quote of one, as anyone may
give, and its SHA-256; what surrounds the quote is taken out of the finding itself, so that no
format of a report, present or future, can hold it.
"""

import re
from dataclasses import replace

from pincite.types import CitationResult, Evidence, Finding, Part, Span, Unchecked

SCHEME = "own:"  # the address of an own copy: this and its SHA-256; of several files, with "+"
MAX_QUOTE = 300  # characters
_ADDRESS = re.compile(rf"{SCHEME}([0-9a-f]{{64}}(?:\+[0-9a-f]{{64}})*)")


def digest_of(url: str) -> str | None:
    """The SHA-256 in the address of an own copy; None for every other address.

    >>> digest_of("https://a.example/"), digest_of("own:x")
    (None, None)
    """
    match = _ADDRESS.fullmatch(url)
    return match[1] if match else None


def only_quotes(finding: Finding) -> Finding:
    """The finding with no more of an own copy than its quotes; untouched if it has none."""
    if not any(_is_own(result) for result in finding.citations):
        return finding
    together = finding.together
    return replace(
        finding,
        citations=tuple(map(_with_quote, finding.citations)),
        together=_quote_of(together) if together else None,
        missing=tuple(map(_part_with_quote, finding.missing)),
    )


def _is_own(result: CitationResult) -> bool:
    outcome = result.outcome
    url = outcome.url if isinstance(outcome, Unchecked) else outcome.passage.url
    return digest_of(url) is not None


def _with_quote(result: CitationResult) -> CitationResult:
    if not _is_own(result) or isinstance(result.outcome, Unchecked):
        return result
    return replace(
        result,
        outcome=_quote_of(result.outcome),
        clauses=tuple(map(_part_with_quote, result.clauses)),
        missing=tuple(map(_part_with_quote, result.missing)),
    )


def _part_with_quote(part: Part) -> Part:
    return replace(part, evidence=_quote_of(part.evidence)) if part.evidence else part


def _quote_of(evidence: Evidence) -> Evidence:
    """The evidence with its quote, cut between words, as all of its passage."""
    start = evidence.passage.span.start + (evidence.quote.start if evidence.quote else 0)
    words = evidence.quoted
    if len(words) > MAX_QUOTE:
        cut = words[: MAX_QUOTE + 1]
        words = (cut.rsplit(None, 1)[0] if " " in cut else cut)[:MAX_QUOTE]
    passage = replace(evidence.passage, text=words, span=Span(start, start + len(words)), about="")
    return replace(evidence, passage=passage, quote=Span(0, len(words)) if words else None)
