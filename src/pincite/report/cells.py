"""How all reports show text, numbers, links, cells, and what became of a source."""

import csv
import io
import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

from pincite.protocols import Usage
from pincite.text.hosts import without_folder
from pincite.text.languages import language_name
from pincite.types import Bar, Evidence, Exclusion, Reason, Unchecked, WorkStatus

# With these a spreadsheet's formula begins (OWASP, "CSV injection").
JOINERS = "\u200c\u200d"  # within words and signs
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class Look(NamedTuple):
    """How a result is shown."""

    sign: str
    label: str
    tone: str  # a CSS class, named after the labels of `verify`
    style: str  # on a terminal


WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
REASONS = {Reason(name): words for name, words in WORDS["reasons"].items()}
BARS = {Bar(name): words for name, words in WORDS["bars"].items()}
WORKS = {WorkStatus(name): Look(**look) for name, look in WORDS["works"].items()}


def n_of(number: int, noun: str) -> str:
    """Format a number with its noun.

    >>> n_of(1, "claim"), n_of(2, "claim"), n_of(0, "source")
    ('1 claim', '2 claims', '0 sources')
    """
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def percent(probability: float) -> int:
    """Return a whole percent, rounded down: a value below a threshold never seems to reach it.

    Rounds to four decimals first, as in the JSON, so a report that is read back shows the same.

    >>> percent(0.2996), percent(0.3), percent(0.29)
    (29, 30, 29)
    """
    return math.floor(round(100 * round(probability, 4), 2))


def one_line(text: str) -> str:
    r"""Return text without line breaks, control characters and direction overrides; joiners stay.

    A hostile title must neither move a terminal's cursor nor reverse the text around it. Persian,
    Hindi and emoji are misspelt without their joiners.

    >>> one_line("a\x1b[2Jb\nc"), len(one_line("\u0645\u06cc\u200c\u0631\u0648\u062f"))
    ('a[2Jb c', 6)
    """
    spaced = re.sub(r"\s+", " ", text).strip()
    hidden = ("Cc", "Cf", "Cs")
    kept = (c for c in spaced if c in JOINERS or unicodedata.category(c) not in hidden)
    return "".join(kept).strip()


def shorten(text: str, limit: int) -> str:
    """Shorten to at most `limit` characters, between words, with an ellipsis."""
    text = one_line(text)
    if len(text) <= limit:
        return text
    cut = text[: limit - 1]
    head = cut.rpartition(" ")[0]
    return (head if 2 * len(head) > limit else cut) + "…"  # Japanese has hardly any spaces


def in_quotes(text: str) -> str:
    """Put text in quotation marks; its own become single ones.

    >>> in_quotes('“It closed,” she said.')
    '“‘It closed,’ she said.”'
    """
    pairs = re.sub(r'"([^"]*)"', r"“\1”", one_line(text))
    return f"“{pairs.translate({0x201C: '‘', 0x201D: '’'})}”"


def safe_link(url: str | None) -> str | None:
    """Return the URL if it is http or https; None for `javascript:` and the like."""
    if url is None or not url.lower().startswith(("http://", "https://")):
        return None
    return url.replace("&amp;", "&")  # as wikitext may write it


def display_name(url: str, title: str = "") -> str:
    """Return the display name of a document: its title, file name or URL.

    >>> display_name("upload:two%20words.pdf"), display_name("https://a.example/", "A page")
    ('two words.pdf', 'A page')
    """
    return one_line(title) or one_line(without_folder(url))


def cell(value: object) -> object:
    """Escape a value for a spreadsheet: a page's text must not become a formula."""
    if isinstance(value, float):
        return round(value, 4)
    if isinstance(value, str):
        text = one_line(value)
        return "'" + text if text.startswith(_FORMULA) else text
    return value


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Format rows as CSV with a header. Formulas are neutralised."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows([*map(cell, row)] for row in rows)
    return out.getvalue()


def usage_line(usage: Usage) -> str:
    """Summarise the calls of models in one line; empty if there were none."""
    if not (usage.n_calls or usage.n_reused):
        return ""
    reused = f", {usage.n_reused} more taken from the trace" if usage.n_reused else ""
    cost = f", cost {usage.cost:.4f}" if usage.cost else ""
    return (
        f"{usage.n_calls} calls ({usage.n_failed} failed, {usage.n_unreadable} unreadable{reused})"
        f", {usage.n_prompt_tokens:,} + {usage.n_reply_tokens:,} tokens{cost}"
    )


def why_unchecked(outcome: Unchecked, say: Callable[[str], str] = str) -> str:
    """Return the reason in words, translated by `say`, with any detail."""
    words = say(REASONS[outcome.reason])
    return f"{words} ({outcome.detail})" if outcome.detail else words


def why_excluded(exclusion: Exclusion, say: Callable[[str], str] = str) -> str:
    """Return the reason in words, translated by `say`, with any detail."""
    words, detail = say(BARS[exclusion.bar]), exclusion.detail
    return one_line(f"{words}: {detail}" if detail else words)


def judged_in(evidence: Evidence, language: str) -> str:
    """Name a passage's language if it is not `language`, and the network for other languages."""
    code = evidence.passage.language
    words = [f"language: {language_name(code)}"] if code and code != language else []
    if evidence.verifier:
        words.append(f"judged by {evidence.verifier.partition('@')[0]}")
    return ", ".join(words)
