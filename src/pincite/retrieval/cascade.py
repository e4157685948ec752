"""Chooses cheaply what the verifier reads of a long page, and finds where a citation points.

A sentence of an article often rests on two or three sentences of its source that stand apart. So
the first text to read is made of the sentences that together have most of the claim's words, names
and figures (`covering`); beside it the passages that share most with the claim are read, the best
two first, the others while they may change the verdict: a cascade (Viola and Jones 2001; Wang, Lin
and Metzler 2011). research/verifier.md compares this with passages alone.

A page in another language than the claim shares figures and names at most, and the passage that
matters often none. It is read from end to end, in wide passages, up to COVER of them.

A citation may point to a page, a section or a highlighted text. That passage is always read, and
wins over one that is hardly better. It is not a filter: editors cite wrong pages, and evidence
elsewhere counts and is reported.
"""

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import NamedTuple
from urllib.parse import unquote

from pincite import errors
from pincite.text import syntax, words
from pincite.text.languages import identify
from pincite.text.page_numbers import (
    PageRange,
    cited_pages,
    is_time,
    number_at,
    page_labels,
    page_span,
    page_starts,
)
from pincite.text.passages import WIDE_WORDS, units_of
from pincite.text.sentences import joined, n_words
from pincite.text.words import missing_words
from pincite.types import GAP, Citation, Claim, Document, Evidence, Passage, Place, Span

COVERING_WORDS = 170  # of the covering text: some 230 tokens (of 120, 140, 170, 200, 230, the best)
COVERED = 0.3  # what a word is worth to a covering text for each time that it is already there
READ = 4  # passages per page beside the covering text
COVER = 32  # wide passages per page in another language: 14,000 characters of Japanese
FIRST = 2  # passages read in the first round
LIKELY = 256  # passages of a very long page that are scored
POINTED_AT = 16  # extra passages at the cited place: two printed pages of 500 words
_DIGITS = re.compile(r"\d+(?:[.,]\d+)*")

Judge = Callable[[Sequence[tuple[Claim, Passage]]], Sequence[Evidence]]


def likely(claim: str, passages: Sequence[Passage], most: int = LIKELY) -> list[Passage]:
    """Return the `most` passages with most of the claim's words and digits, in the given order.

    A fast prefilter for `worth_reading` on thousands of passages: it compares raw strings only.

    >>> from pincite.types import Span
    >>> page = [Passage("d", "", "", t, Span(0, len(t))) for t in ("Opened 1911.", "Rain.")]
    >>> [passage.text for passage in likely("It opened in 1911.", page, 1)]
    ['Opened 1911.']
    """
    if len(passages) <= most:
        return list(passages)
    # A figure counts twice, as in `worth_reading`.
    wanted = [*set(words.content_words(claim)), *2 * list(set(_DIGITS.findall(claim)))]
    texts = (passage.text.lower() for passage in passages)
    n_there = [sum(part in text for part in wanted) for text in texts]
    best = sorted(range(len(passages)), key=lambda i: (-n_there[i], i))[:most]
    return [passages[i] for i in sorted(best)]


class Page(NamedTuple):
    """A page to read for a claim: its passages, and the spans that the citation points to."""

    claim: Claim
    passages: Sequence[Passage]
    pointed_at: Sequence[Span] = ()


def read(
    pages: Sequence[Page],
    judge: Judge,
    is_open: Callable[[Sequence[Evidence]], bool],
    most: int = READ,
    first: int = FIRST,
) -> list[list[Evidence]]:
    """Judge the passages worth reading of each page, in page order.

    The first rounds of all pages are one batch for `judge`, and so are the second rounds of the
    pages that are still open (`is_open`).
    """
    looks = [_looks(page.claim.text, page.passages, page.pointed_at, first, most) for page in pages]
    found = _judge(pages, [at_once for at_once, _ in looks], judge)
    pairs = zip((rest for _, rest in looks), found, strict=True)
    rests = [rest if rest and is_open(of_page) else [] for rest, of_page in pairs]
    both = zip(found, _judge(pages, rests, judge), strict=True)
    return [sorted([*one, *other], key=lambda each: each.passage.span) for one, other in both]


def worth_reading(claim: str, passages: Sequence[Passage], most: int = READ) -> list[Passage]:
    """Return the covering text and the `most` passages that share most with the claim, in order.

    >>> from pincite.types import Span
    >>> page = [Passage("d", "", "", t, Span(0, len(t))) for t in ("Opened 1911.", "Rain.")]
    >>> [passage.text for passage in worth_reading("It opened in 1911.", page, 1)]
    ['Opened 1911.']
    """
    at_once, rest = _looks(claim, with_covering(claim, passages), (), most, most)
    return sorted([*at_once, *rest], key=lambda passage: passage.span)


def with_covering(claim: str, passages: Sequence[Passage]) -> list[Passage]:
    """Add the covering text to a page's passages, unless the page is in another language."""
    if not passages or not passages[0].page or _is_foreign(claim, passages):
        return list(passages)
    found = errors.attempted(lambda: covering(claim, passages), lambda why: None)
    return [*passages, *([found] if found and found not in passages else [])]


def covering(claim: str, passages: Sequence[Passage]) -> Passage | None:
    """Return one text of the sentences of a page that together cover most of a claim.

    Greedy: the sentence that adds most by `words.weighted_terms` comes next, with the one before
    if it begins with a pronoun. A page that is no longer is read whole. None if no sentence
    shares anything.

    Args:
        claim: a sentence.
        passages: of the page, with its text.
    """
    page, weights = passages[0].page, dict(words.weighted_terms(claim))
    units = units_of(page, passages[0].language)
    shared = [words.stated_terms(weights, span.of(page)) for span, _ in units]
    chosen, left = set[int](), COVERING_WORDS
    todo = {i for i, stated in enumerate(shared) if stated}
    if todo and sum(n for _, n in units) <= left:
        chosen, todo = set(range(len(units))), set()
    while todo := {i for i in todo - chosen if units[i][1] <= left}:
        best = max(todo, key=lambda i: (math.fsum(weights[term] for term in shared[i]), -i))
        added = {best}
        if best and best - 1 not in chosen and _leans_back(units[best][0].of(page)):
            added |= {best - 1} if units[best - 1][1] + units[best][1] <= left else set()
        chosen |= added
        left -= sum(units[i][1] for i in added)
        for term in (term for i in added for term in shared[i]):
            weights[term] *= COVERED
    spans = [units[i][0] for i in sorted(chosen)]
    spans = joined(spans, lambda one, other: not page[one.end : other.start].strip())
    if not spans:
        return None
    read = [each for each in passages if any(map(each.span.overlaps, spans))]
    return replace(
        passages[0],
        text=GAP.join(span.of(page) for span in spans),
        span=Span(spans[0].start, spans[-1].end),
        about=" · ".join(dict.fromkeys(part for p in read for part in p.about.split(" · "))),
        recognised=min((p.recognised for p in read if p.recognised is not None), default=None),
        pieces=tuple(spans) if len(spans) > 1 else (),
    )


def _leans_back(sentence: str) -> bool:
    """Whether a sentence begins with a pronoun, so that the one before says whom it means."""
    first = words.WORD.search(sentence)
    return first is not None and first[0].lower() in syntax.PRONOUNS


def _is_foreign(claim: str, passages: Sequence[Passage]) -> bool:
    return (identify(claim) or "en") != (passages[0].language or "en")


def _looks(
    claim: str, passages: Sequence[Passage], spans: Sequence[Span], first: int, most: int
) -> tuple[list[Passage], list[Passage]]:
    """Return the passages for the first round and for the second one.

    Ranked by overlap with the claim, after the covering text; up to as many again of each kind
    overlap the spans. Of a page in another language, wide passages follow those that share
    anything; if none does, at once.
    """
    together = [each for each in passages if each.pieces]
    single = [each for each in passages if not each.pieces]
    if len(single) <= first:
        return [*together, *single], []
    shared = errors.each(
        lambda some: [words.shared(claim, passage.text) for passage in some],
        single,
        lambda passage, why: math.inf,  # it is read, and the verifier reports the failure
    )
    best = sorted(range(len(single)), key=lambda i: (-shared[i], i))
    cited = [i for i in best if any(map(single[i].span.overlaps, spans))]
    wide, foreign = list[Passage](), _is_foreign(claim, single)
    if foreign and len(single) > most and single[0].page:
        best = [i for i in best if shared[i]]
        wide = list(islice(_end_to_end(single), COVER))
    at_once = list(dict.fromkeys([*best[:first], *cited[:first]]))
    rest = [i for i in {*best[:most], *cited[:POINTED_AT]} if i not in at_once]
    now, later = [*together, *(single[i] for i in at_once)], [*(single[i] for i in rest), *wide]
    return ([*now, *later], []) if foreign and not any(shared) else (now, later)


def _end_to_end(passages: Sequence[Passage]) -> Iterator[Passage]:
    """Yield as few wide passages as contain the whole page between them, in order."""
    wide = passages[0]
    for passage in passages:
        whole = Span(wide.span.start, passage.span.end)
        if n_words(text := whole.of(passage.page)) > WIDE_WORDS:
            yield wide
            wide = passage
        else:
            wide = replace(wide, text=text, span=whole)
    yield wide


def _judge(
    pages: Sequence[Page], chosen: Sequence[Sequence[Passage]], judge: Judge
) -> list[list[Evidence]]:
    both = zip(pages, chosen, strict=True)
    answers = iter(judge([(page.claim, each) for page, of_page in both for each in of_page]))
    return [[next(answers) for _ in of_page] for of_page in chosen]


# ── Pinpointing ───────────────────────────────────────────────────────────────────────────────────

# Log-odds by which the cited passage may be weaker and still be shown. An assumption, small
# compared with the differences between verdicts: no collection says which passage an editor meant.
# It never changes a verdict (`preferred`).
LEANING = 0.25
ADDED = 0.1  # share of a claim's words that the cited page must add to the quote, to be right
SECTION_CHARS = 3_000  # of a section from its anchor on: its end is not known
MAX_DIRECTIVES = 10  # text fragments per address
_DIRECTIVES = ":~:"


@dataclass(frozen=True, slots=True)
class Aim:
    """Where a citation points in one document."""

    spans: tuple[Span, ...]  # empty: it points to a page that the document does not have
    words: str  # "p. 12", "section History", "highlighted text"
    exact: bool  # whether the spans are exact; a section's end is not known

    def meets(self, span: Span) -> bool:
        return any(map(span.overlaps, self.spans))


class TextDirective(NamedTuple):
    """`#:~:text=prefix-,start,end,-suffix`; all but `start` may be empty."""

    prefix: str
    start: str
    end: str
    suffix: str


def aim_of(citation: Citation, document: Document) -> Aim | None:
    """Return where `citation` points in `document`; None if nowhere, or if that is not found.

    The address's fragment takes priority over the template's pages: it was made for this very copy.
    """
    fragment = (citation.url or "").partition("#")[2]
    return (
        _highlighted_place(fragment, document)
        or _page_in_file(fragment, document)
        or _section(fragment, document)
        or _pages(citation.pages or "", document)
    )


def place_of(
    evidence: Evidence, document: Document, aim: Aim | None, claim: str = ""
) -> Place | None:
    """Return the quote's page and whether the citation points there; None if neither is known.

    It also points there if the cited page has the part of the claim that the quote lacks.
    """
    quoted = quoted_span(evidence)
    number = number_at(document, quoted.start)
    if number is None and aim is None:
        return None
    elsewhere = aim is not None and aim.exact and not aim.meets(quoted)
    if elsewhere and claim and aim:
        passage, lacked = evidence.passage, missing_words(claim, evidence.quoted)
        parts = [
            Span(max(s.start, read.start), min(s.end, read.end))
            for s in aim.spans
            for read in passage.pieces or (passage.span,)
        ]
        there = " ".join(part.of(document.text) for part in parts if part.start < part.end)
        elsewhere = missing_words(claim, f"{evidence.quoted} {there}") > lacked - ADDED
    return Place(
        page=number.label if number else None,
        printed=number.printed if number else False,
        cited=aim.words if aim else None,
        elsewhere=elsewhere,
    )


def preferred(evidence: Sequence[Evidence], chosen: Evidence, aim: Aim | None) -> list[Evidence]:
    """Return evidence nearly as good as `chosen` where the citation points, best first.

    Empty if the citation points to `chosen` itself. The caller checks that the verdict stays.
    """
    if aim is None or aim.meets(quoted_span(chosen)):
        return []
    near = [e for e in evidence if e.score >= chosen.score - LEANING and aim.meets(quoted_span(e))]
    return sorted(near, key=lambda e: -e.score)


def quoted_span(evidence: Evidence) -> Span:
    """Return the span in the document of the quote or, without one, of the passage."""
    return evidence.quote_span or evidence.passage.span


# ── Fragments of an address ──────────────────────────────────────────────────────────────────────


def text_directives(fragment: str) -> list[TextDirective]:
    """Return the texts that an address's fragment asks a browser to highlight.

    Source: WICG, URL Fragment Text Directives.

    >>> text_directives("top:~:text=It-,opened%20in,1911")
    [TextDirective(prefix='It', start='opened in', end='1911', suffix='')]
    """
    _, _, directives = fragment.partition(_DIRECTIVES)
    values = [d[5:] for d in directives.split("&") if d.startswith("text=")]
    return [found for value in values[:MAX_DIRECTIVES] if (found := _directive(value))]


def _directive(value: str) -> TextDirective | None:
    parts = value.split(",")
    prefix = parts.pop(0)[:-1] if parts[0].endswith("-") else ""
    suffix = parts.pop()[1:] if parts and parts[-1].startswith("-") else ""
    if not parts or len(parts) > 2:
        return None
    start, end = unquote(parts[0]).strip(), unquote(parts[1]).strip() if len(parts) == 2 else ""
    return TextDirective(unquote(prefix), start, end, unquote(suffix)) if start else None


def _highlighted_place(fragment: str, document: Document) -> Aim | None:
    found = (_find(directive, document.text) for directive in text_directives(fragment))
    spans = tuple(filter(None, found))
    return Aim(spans, "highlighted text", exact=True) if spans else None


def _find(directive: TextDirective, text: str) -> Span | None:
    """Find the first occurrence of a highlighted text, ignoring white space and case.

    It counts even if the words around it differ, such as menus that are not in the text.
    """
    for prefix, suffix in dict.fromkeys(((directive.prefix, directive.suffix), ("", ""))):
        before = f"{_pattern(prefix)}[^\\w]{{0,20}}" if prefix else r"(?<!\w)"
        after = f"[^\\w]{{0,20}}{_pattern(suffix)}" if suffix else r"(?!\w)"
        tail = "" if directive.end else after
        for match in re.finditer(f"{before}({_pattern(directive.start)}){tail}", text, re.I):
            if not directive.end:
                return Span(*match.span(1))
            end = re.compile(f"({_pattern(directive.end)}){after}", re.I).search(text, match.end(1))
            return Span(match.start(1), end.end(1)) if end else None
    return None


def _pattern(words: str) -> str:
    return r"\s+".join(map(re.escape, words.split()))


def _page_in_file(fragment: str, document: Document) -> Aim | None:
    """Resolve `#page=12`, which counts pages of the file, whatever is printed on them."""
    match = re.search(r"(?:^|&)page=([0-9]{1,6})(?:&|$)", fragment.partition(_DIRECTIVES)[0])
    if not match or not 1 <= int(match[1]) <= len(page_starts(document)):
        return None
    span = page_span(document, int(match[1]))
    number = number_at(document, span.start)
    return Aim((span,), f"p. {number.label if number else match[1]}", exact=True)


def _section(fragment: str, document: Document) -> Aim | None:
    name = fragment.partition(_DIRECTIVES)[0]
    for anchor in (name, unquote(name)):
        if (start := document.anchors.get(anchor)) is not None:
            end = min(start + SECTION_CHARS, len(document.text))
            return Aim((Span(start, end),), f"section {anchor}", exact=False)
    return None


def _pages(text: str, document: Document) -> Aim | None:
    """Return the cited pages of a document that has pages; None if they are most of it.

    A paper's template names all of its pages: that locates the paper, not the passage. Page 812 of
    a file of 20 pages without printed numbers means nothing.
    """
    cited, n_pages = cited_pages(text), len(page_starts(document))
    labels = page_labels(document) or [str(number) for number in range(1, n_pages + 1)]
    pages = [page for page, label in enumerate(labels, 1) if _is_cited(label, cited)]
    known = bool(pages) or (bool(page_labels(document)) and bool(cited) and not is_time(labels[0]))
    if not known or (n_pages == 1 and pages) or 2 * len(pages) > max(n_pages, 2):
        return None
    spans = tuple(page_span(document, page) for page in pages)
    several = len(cited) > 1 or any(isinstance(c, PageRange) and c.first < c.last for c in cited)
    return Aim(spans, f"{'pp.' if several else 'p.'} {_name_pages(cited)}", exact=True)


def _is_cited(label: str, cited: Sequence[PageRange | str]) -> bool:
    number = int(label) if label.isascii() and label.isdigit() else -1
    return label.lower() in cited or any(
        pages.first <= number <= pages.last for pages in cited if isinstance(pages, PageRange)
    )


def _name_pages(cited: Sequence[PageRange | str]) -> str:
    return ", ".join(
        pages if isinstance(pages, str) else "–".join(map(str, dict.fromkeys(pages)))
        for pages in cited
    )
