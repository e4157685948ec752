"""Formatting for all reports: lines of text, counts, percentages, links, spreadsheet cells."""

import math
import re
import unicodedata

from pincite.completions import Usage

_FORMULA = ("=", "+", "-", "@", "\t", "\r")  # OWASP, "CSV injection"


def n_of(number: int, noun: str) -> str:
    """A number with its noun.

    >>> n_of(1, "claim"), n_of(2, "claim"), n_of(0, "source")
    ('1 claim', '2 claims', '0 sources')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(probability: float) -> int:
    """Whole percent, rounded down: what is below a threshold never seems to reach it.

    Of four decimals, as in the JSON: a report that is read again shows the same.

    >>> percent(0.2996), percent(0.3), percent(0.29)
    (29, 30, 29)
    """
    return math.floor(round(100 * round(probability, 4), 2))


def one_line(text: str) -> str:
    r"""Text without line breaks, control characters and direction overrides.

    A hostile title must neither move a terminal's cursor nor reverse the text around it.

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


def safe_link(url: str | None) -> str | None:
    """The URL if a browser may open it: `javascript:` and its like become plain text."""
    web = url is not None and url.lower().startswith(("http://", "https://"))
    return url.replace("&amp;", "&") if url and web else None  # as wikitext may write it


def cell(value: object) -> object:
    """A value as a spreadsheet should take it: no text of a page is a formula."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, str):
        text = one_line(value)
        return "'" + text if text.startswith(_FORMULA) else text
    return value


def asked(usage: Usage) -> str:
    """What was asked of models, in one line; empty if nothing was."""
    if not (usage.n_calls or usage.n_reused):
        return ""
    words = f"{usage.n_calls} calls ({usage.n_failed} failed, {usage.n_unreadable} unreadable"
    words += f", {usage.n_reused} more taken from the trace)" if usage.n_reused else ")"
    words += f", {usage.n_prompt_tokens:,} + {usage.n_reply_tokens:,} tokens"
    return words + (f", cost {usage.cost:.4f}" if usage.cost else "")
