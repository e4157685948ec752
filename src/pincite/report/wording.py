"""The words and signs in which verdicts reach a person: one place, so that they never differ.

Sign and word always go together: nobody should have to tell verdicts by their colour.
"""

import re
import unicodedata
from collections.abc import Sequence

from pincite.core.aggregation import REFUTED_FROM
from pincite.types import Citation, Finding, Label, Part, Reason, Unchecked

SIGNS = {
    Label.SUPPORTED: "✓",
    Label.PARTLY_SUPPORTED: "◐",
    Label.NOT_SUPPORTED: "○",
    Label.REFUTED: "✗",
    Label.UNCHECKED: "–",
}
LABELS = {
    Label.SUPPORTED: "supported",
    Label.PARTLY_SUPPORTED: "partly supported",
    Label.NOT_SUPPORTED: "likely fails",
    Label.REFUTED: "may say otherwise",
    Label.UNCHECKED: "could not check",
}
REASONS = {
    Reason.DEAD: "dead link",
    Reason.REFUSED: "access refused, try again later",
    Reason.PAYWALL: "behind a paywall",
    Reason.OFFLINE: "offline source",
    Reason.NOT_SUPPLIED: "no stored copy was given",
    Reason.EMPTY: "no text in the copy",
    Reason.UNDECODABLE: "the copy cannot be decoded",
    Reason.ENCRYPTED: "the PDF asks for a password",
    Reason.TOO_LARGE: "too large",
    Reason.TIMED_OUT: "took too long to read",
    Reason.UNSUPPORTED_TYPE: "not a kind of file that can be read",
    Reason.LANGUAGE: "in a language the model does not read",
    Reason.TITLE_ONLY: "a record without an abstract",
    Reason.WITHDRAWN: "withdrawn by its publisher",
}
ADVICE = "A suggestion by a program: read the source before you tag or replace anything."
READ_FIRST = "Read the source before you tag."
# The order in which verdicts are counted: what needs a person first.
ORDER = (
    Label.REFUTED,
    Label.NOT_SUPPORTED,
    Label.PARTLY_SUPPORTED,
    Label.UNCHECKED,
    Label.SUPPORTED,
)
MAX_PART = 120  # characters of a missing part


def verdict(label: Label) -> str:
    """Sign and word.

    >>> verdict(Label.SUPPORTED)
    '✓ supported'
    """
    return f"{SIGNS[label]} {LABELS[label]}"


def why_unchecked(outcome: Unchecked) -> str:
    """The reason in words, with the detail where there is one."""
    words = REASONS[outcome.reason]
    return f"{words} ({outcome.detail})" if outcome.detail else words


def why_open(finding: Finding) -> str:
    """Why a finding is left open: the reasons of its unchecked citations, or that it has none."""
    outcomes = [r.outcome for r in finding.citations if isinstance(r.outcome, Unchecked)]
    if not finding.citations:
        return "no source is cited"
    return "; ".join(dict.fromkeys(why_unchecked(outcome) for outcome in outcomes))


def what_is_missing(claim: str, label: Label, missing: Sequence[Part]) -> str:
    """What a claim that is supported, wholly or in part, lacks; empty if that is nothing.

    >>> from pincite.types import Span
    >>> part = Part("figure", Span(10, 14), "1911", supported=False)
    >>> what_is_missing("Opened in 1911.", Label.SUPPORTED, [part])
    'nothing was found for “1911”'
    """
    denied = [part for part in missing if _may_be_denied(part)]
    absent = [part for part in missing if part not in denied]
    said = []
    if absent:
        said.append(f"nothing was found for {_quoted(claim, absent)}")
    if denied:
        said.append(f"the source may say otherwise about {_quoted(claim, denied)}")
    if label is Label.PARTLY_SUPPORTED and not said:
        return "each part was found in one of the sources, the whole in none"
    return "; ".join(said)


def _may_be_denied(part: Part) -> bool:
    evidence = part.evidence
    return evidence is not None and evidence.prob_refuted >= REFUTED_FROM


def _quoted(claim: str, parts: Sequence[Part]) -> str:
    return ", ".join(f"“{shortened(part.span.of(claim), MAX_PART)}”" for part in parts)


def flag_advice(precision: Sequence[tuple[float, float]]) -> str:
    """How often a flag is right, for who knows how many citations fail; empty if not measured.

    Args:
        precision: (share of citations that fail, share of flags that are right), as in a Report.

    >>> flag_advice([(0.02, 0.12), (0.05, 0.28), (0.2, 0.67)])[:78]
    'If 1 in 20 citations fails, about 3 in 10 flags at this threshold were right i'
    """
    if not precision:
        return ""
    ordered = sorted(precision)
    base_rate, share = ordered.pop((len(ordered) - 1) // 2)
    first = f"If {_one_in(base_rate)} citations fails, {_tenths(share)} flags at this threshold "
    others = "; ".join(f"{_one_in(rate)}: {_tenths(share)}" for rate, share in ordered)
    return f"{first}were right in tests{f' ({others})' if others else ''}. {READ_FIRST}"


def _one_in(base_rate: float) -> str:
    return f"1 in {round(1 / base_rate)}"


def _tenths(share: float) -> str:
    """A share as people say it: more digits would promise more than tests can."""
    tenths = round(10 * share)
    if tenths == 0:
        return "fewer than 1 in 10"
    return "nearly all" if tenths == 10 else f"about {tenths} in 10"


def name_of(citation: Citation) -> str:
    """What to call a citation: its title, else its address, else its text."""
    return one_line(citation.title or citation.url or citation.text or citation.citation_id)


def one_line(text: str) -> str:
    r"""Text without line breaks, control characters and direction overrides.

    A hostile title must neither move a terminal's cursor nor reverse what stands around it.

    >>> one_line("a\x1b[2Jb\nc")
    'a[2Jb c'
    """
    spaced = re.sub(r"\s+", " ", text).strip()
    return "".join(c for c in spaced if unicodedata.category(c) not in ("Cc", "Cf", "Cs"))


def shortened(text: str, limit: int) -> str:
    """At most `limit` characters, cut between words, with an ellipsis where it was cut."""
    text = one_line(text)
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut) + "…"
