"""How all reports show text, numbers, links, cells, quotes, and what became of a source.

Pages come with menus. Text around a quote is shown only if it reads as prose, and a quote that is
itself a menu line is not evidence.
"""

import csv
import io
import math
import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from pincite.protocols import Usage
from pincite.text import tables
from pincite.text.clauses import Standing, standing
from pincite.text.hosts import without_folder
from pincite.text.languages import named
from pincite.text.sentences import n_words, sentences
from pincite.types import Bar, Evidence, Exclusion, Reason, Span, Unchecked, WorkStatus

# With these a spreadsheet's formula begins (OWASP, "CSV injection").
_FORMULA = ("=", "+", "-", "@", "\t", "\r")

MAX_SHOWN = 450  # characters: five lines of the report, which have about 95 on a screen
MAX_QUOTE_BEFORE = 130  # of them before the quote, so that the highlight comes early
# Ends of prose and of a sentence, in European and East Asian scripts, with closing quotation marks
# and brackets.
_CLOSING = r"[\"'”’»)\]」』）]*$"
_PROSE_END = re.compile(rf"[.!?…:;。！？：；]{_CLOSING}")
_SENTENCE_END = re.compile(rf"[.!?…。！？]{_CLOSING}")
_LABELLED_VALUE = re.compile(r"[^:]{2,40}: [^:]*\d[^:]*")  # "Journey time: 3 min"
_FEW_WORDS = 10  # a menu line has fewer
_MANY_LINES = 4  # this many short lines in a row are a menu or a list of headlines


class Look(NamedTuple):
    """How a result is shown."""

    sign: str
    label: str
    tone: str  # a CSS class, named after the labels of `verify`
    style: str  # on a terminal


_WORDS = tomllib.loads(Path(__file__).with_name("words.toml").read_text(encoding="utf-8"))
REASONS = {Reason(name): words for name, words in _WORDS["reasons"].items()}
BARS = {Bar(name): words for name, words in _WORDS["bars"].items()}
WORKS = {WorkStatus(name): Look(**look) for name, look in _WORDS["works"].items()}


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
    r"""Return text without line breaks, control characters and direction overrides.

    A hostile title must neither move a terminal's cursor nor reverse the text around it.

    >>> one_line("a\x1b[2Jb\nc")
    'a[2Jb c'
    """
    spaced = re.sub(r"\s+", " ", text).strip()
    return "".join(c for c in spaced if unicodedata.category(c) not in ("Cc", "Cf", "Cs"))


def shortened(text: str, limit: int) -> str:
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


def called(url: str, title: str = "") -> str:
    """Return the display name of a document: its title, file name or URL.

    >>> called("upload:two%20words.pdf"), called("https://a.example/", "A page")
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
    words = [f"language: {named(code)}"] if code and code != language else []
    if evidence.verifier:
        words.append(f"judged by {evidence.verifier.partition('@')[0]}")
    return ", ".join(words)


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A quote with its surrounding text. `whole`: this is the entire passage."""

    head: str
    quote: str
    tail: str
    whole: bool


def excerpt(text: str, quote: Span | None) -> Excerpt | None:
    """Return the quote within at most about five lines; None if no quote can be shown."""
    if quote is None or quote.start == quote.end or in_menu(text, quote):
        return None
    start = _start_of(text, quote)
    end = _end_of(text, quote, limit=start + MAX_SHOWN)
    return Excerpt(
        head=text[start : quote.start].lstrip(),
        quote=quote.of(text),
        tail=text[quote.end : end].rstrip(),
        whole=not text[:start].strip() and not text[end:].strip(),
    )


def _start_of(text: str, quote: Span) -> int:
    """Return where the sentences before the quote begin that are shown with it."""
    line = max(text.rfind("\n", 0, quote.start), text.rfind("\r", 0, quote.start)) + 1
    starts = (line + sentence.start for sentence in sentences(text[line : quote.start]))
    near = (start for start in starts if quote.start - start <= MAX_QUOTE_BEFORE)
    start = min(near, default=quote.start)
    # The rest of an abbreviation is not a sentence: “sp. nov.”
    return quote.start if text[start].islower() else start


def _end_of(text: str, quote: Span, limit: int) -> int:
    """Return where the last sentence behind the quote ends that is within `limit`."""
    line_end = text.find("\n", quote.end)
    behind = sentences(text[quote.end : line_end if line_end >= 0 else None])
    ends = (quote.end + sentence.end for sentence in behind)
    return max((end for end in ends if end <= limit), default=quote.end)


def in_menu(text: str, quote: Span) -> bool:
    """Whether the quote is in a run of short lines that are not sentences, such as a menu.

    Rows of a table do not count: they say which value belongs to which name.
    """
    lines = [Span(*match.span()) for match in re.finditer(r"[^\n\r]+", text) if match[0].strip()]
    quoted = {line for line in lines if line.overlaps(quote)}
    for are_items, run in groupby(lines, key=lambda line: _is_item(line.of(text))):
        items = set(run)
        if are_items and len(items) >= _MANY_LINES and quoted and quoted <= items:
            return True
    return False


def is_prose(line: str, language: str) -> bool:
    """Whether a line is a whole sentence, or several, and no item of a menu."""
    is_sentence = standing(line, language) is Standing.CLAUSE and _SENTENCE_END.search(line)
    return bool(is_sentence) and not _is_item(line)


def _is_item(line: str) -> bool:
    """Whether a line is a heading, or so short that it may be one of a menu."""
    line = line.strip()
    if line.startswith("#"):  # a Markdown heading
        return True
    is_row = "|" in line or bool(tables.cells_of(line)) or bool(_LABELLED_VALUE.fullmatch(line))
    return n_words(line) < _FEW_WORDS and not is_row and not _PROSE_END.search(line)
