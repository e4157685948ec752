"""The words and signs in which verdicts reach a person: one place, so that they never differ.

Sign and word always go together: nobody should have to tell verdicts by their colour.
"""

import re
import unicodedata

from pincite.types import Citation, Finding, Label, Reason, Unchecked

SIGNS = {
    Label.SUPPORTED: "✓",
    Label.NOT_SUPPORTED: "○",
    Label.REFUTED: "✗",
    Label.UNCHECKED: "–",
}
LABELS = {
    Label.SUPPORTED: "supported",
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
}
ADVICE = "A suggestion by a program: read the source before you tag or replace anything."


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
