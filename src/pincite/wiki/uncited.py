"""Finds sentences without a reference that probably need one.

A reference covers its sentence and those before it in the paragraph; one at the end of a list, or
in the sentence that introduces it, covers the list. Wikipedia requires none in the lead of an
article whose body has them (WP:LEADCITE), in plot summaries (WP:PLOT), and in lists of works.

The need is a logistic regression over cues that a reader can check, after Redi et al. 2019,
"Citation Needed" (The Web Conference). It predicts whether sentences of Wikipedia have a citation,
a weak label: editors omit necessary ones. Fitted by `research/scripts/fit_citation_need.py`.
"""

import math
import re
import tomllib
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cache
from itertools import groupby
from pathlib import Path
from typing import Any

from pincite.judgement.atoms import atoms
from pincite.notes import Note
from pincite.text import LEXICON, patterns, tables_beside
from pincite.text.citation_marks import AUTHOR_YEAR
from pincite.text.clauses import MAX_CHARS, Standing, standing
from pincite.text.sentences import n_words
from pincite.types import Article, Claim, Span, Uncited, claim_id_of, sigmoid
from pincite.wiki.article import read_flat
from pincite.wiki.claims import MAX_BEFORE, NEEDED, has_words, sentences_of
from pincite.wiki.flat import Block, BlockKind, last_words

WEIGHTS = Path(__file__).with_name("citation_need.toml")
QUOTED_WORDS = 5  # quoted phrases with fewer words are as often a term as a quotation
MAX_REASONS = 3
MAX_WORDS = 3  # words or quotations in a reason
MAX_QUOTED = 60  # of a quotation in a reason


def _cues(table: str) -> Mapping[str, re.Pattern[str]]:
    return {
        name: re.compile(rf"\b(?:{'|'.join(words.split())})\b", re.IGNORECASE)
        for name, words in LEXICON[table].items()
    }


_CUES = {**_cues("cues"), "formula": re.compile(r"[=≈∑∫√≤≥^\\]|\b[a-z]\([a-z]\)")}
_SECTIONS = _cues("cue_sections")
_PERCENT = re.compile(r"%|\bper ?cent\b")
_NAME = re.compile(r"(?<=[^.!?\"“] )[A-Z][\w’'-]+")
_YEAR = re.compile(r"\b1\d{3}s?\b|\b20\d{2}s?\b")
_REASONS: Mapping[str, str] = tables_beside(__file__)["reasons"]
_OF_ARTICLE = ("living", "in_reception")  # listed last: what the sentence says comes first
_LOWER = re.compile(r"\b[a-z]{4,}")


@dataclass(frozen=True, slots=True)
class Need:
    """How probably a sentence needs a citation, and why."""

    probability: float
    reasons: tuple[Note, ...]  # strongest first
    quotes: bool  # contains a quotation


@dataclass(frozen=True, slots=True)
class Place:
    """The position of a sentence."""

    section: Sequence[str] = ()  # headings, outermost first
    opens: bool = False  # its paragraph
    in_list: bool = False
    living: bool = False  # the article is about a living person


def features(text: str, place: Place) -> dict[str, float]:
    """Return the features of the regression: 1 for each cue found, logarithms of counts."""
    counts = {
        "figures": len(_figures(text)),
        "names": len(_NAME.findall(text)),
        "words": len(text.split()),
        "years": len(_YEAR.findall(text)),
    }
    headings = " / ".join(place.section).lower()
    flags = {
        **{name: cue.search(text) for name, cue in _CUES.items()},
        **{f"in_{name}": cue.search(headings) for name, cue in _SECTIONS.items()},
        "quotation": quotations(text),
        "percent": _PERCENT.search(text),
        "nothing_named": not counts["names"] and not counts["figures"],
        "opens": place.opens,
        "in_list": place.in_list,
        "living": place.living,
    }
    cues = {name: 1.0 for name, present in flags.items() if present}
    return cues | {name: math.log1p(n) for name, n in counts.items() if n}


def citation_need(text: str, place: Place) -> Need:
    """Estimate how probably a sentence has a citation in Wikipedia, and why."""
    table = _table()
    cues = features(text, place)
    weighed = {name: table["weights"].get(name, 0.0) * value for name, value in cues.items()}
    log_odds = table["intercept"] + sum(weighed.values())
    ordered = sorted(weighed, key=lambda name: (name in _OF_ARTICLE, -weighed[name]))
    reasons = dict.fromkeys(
        note for name in ordered if weighed[name] > 0 for note in _reason(name, text, place)
    )
    chosen = tuple(reasons)[:MAX_REASONS] or (Note("need_alike"),)
    return Need(sigmoid(log_odds), chosen, "quotation" in cues)


@cache
def _table() -> Mapping[str, Any]:
    return tomllib.loads(WEIGHTS.read_text(encoding="utf-8"))


def quotations(text: str) -> list[str]:
    """Return quoted words, except titles ("A Song of the Sea") and terms (“magnifying glass”)."""
    quoted = [atom.words for atom in atoms(text) if atom.kind == "quotation"]
    return [q for q in quoted if _LOWER.search(q) and len(q.split()) >= QUOTED_WORDS]


def _figures(text: str) -> list[str]:
    return [atom.words for atom in atoms(text) if atom.kind == "figure"]


def _reason(name: str, text: str, place: Place) -> Iterator[Note]:
    if name in _REASONS:
        yield _note(_REASONS[name], [match[0] for match in _CUES[name].finditer(text)])
    elif name == "quotation":
        yield _note("need_quotation", quotations(text))
    elif name in ("figures", "percent"):
        yield _note("need_figures", _figures(text))
    elif name == "living":
        yield Note("need_living")
    elif cue := _SECTIONS.get(name.removeprefix("in_")):
        yield _note("need_section", [h for h in place.section if cue.search(h.lower())])


def _note(code: str, words: Sequence[str]) -> Note:
    shown = list(dict.fromkeys(words))[:MAX_WORDS]
    return Note(
        code, {"words": tuple(w if len(w) <= MAX_QUOTED else f"{w[:MAX_QUOTED]}…" for w in shown)}
    )


# ── Sentences and what covers them ──────────────────────

MIN_WORDS = 6  # of a sentence: a shorter one is a title or a remark
_LETTERS = 0.6  # share of letters below which a line is a formula
_NEAR = 120  # characters before a block that may contain a quotation's opening markup
_PATTERNS = patterns(__file__, "uncited")
_OF_FICTION = re.compile(r"\bcharacters\b|\bepisodes\b", re.IGNORECASE)  # in a list's title
_REFERS = re.compile(r"\b(?:may|can|could)(?: also)? (?:also )?(?:refer to|mean|stand for)\b")
_TEX = re.compile(r"\\[a-z]{2,}|[_^]\{|\b[a-z]_[a-z0-9]\b")
_NAMES_SOURCE = re.compile(r"\w \((?:1[5-9]|20)\d\d[a-z]?[,)]")  # a heading: "Holm (1911)"
_LIVING = re.compile(r"\bCategory:\s*Living[ _]people\b", re.IGNORECASE)
_ADDRESS = re.compile(r"\[?https?://|\{\{\s*(?:cite|isbn|doi)\b", re.IGNORECASE)


class Sourced(StrEnum):
    """Whether a reference covers a sentence."""

    CITED = "cited"  # within the sentence
    COVERED = "covered"  # later in its paragraph, or for its list
    UNCITED = "uncited"


class Exempt(StrEnum):
    """Why a sentence needs no reference, regardless of its content."""

    LEAD = "lead"
    FICTION = "fiction"  # the source is the work itself
    APART = "apart"  # lists of works, links or other articles
    QUOTATION = "quotation"  # block quotation: the introducing sentence should have a reference
    EXAMPLE = "example"  # hypothetical: "For example, somebody might say …"
    POINTER = "pointer"  # announces a list, a table or another article
    NOT_PROSE = "not prose"  # a title, a fragment, a formula


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence of the article's prose or lists, as a claim without citations."""

    claim: Claim
    sourced: Sourced
    exempt: Exempt | None
    opens: bool  # whether it opens its paragraph


def find_uncited(article: Article) -> list[Uncited]:
    """Return the sentences that probably need a citation and have none, the likeliest first.

    Sentences tagged "citation needed" are always included, and come first.
    """
    living = about_living(article)
    uncited = []
    for sentence in prose(article):
        if sentence.sourced is not Sourced.UNCITED:
            continue
        claim = sentence.claim
        need = citation_need(claim.text, place_of(sentence, living=living))
        probable = need.probability >= _table()["threshold"]
        tagged = (Note("need_tagged"),) if NEEDED in claim.tags else ()
        quoted = sentence.exempt is Exempt.LEAD and need.quotes  # WP:LEADCITE excepts quotations
        if tagged or (probable and (sentence.exempt is None or quoted)):
            reasons = (*tagged, *(need.reasons if probable else ()))
            uncited.append(Uncited(claim, round(need.probability, 4), reasons))
    return sorted(uncited, key=lambda u: (NEEDED not in u.claim.tags, -u.probability))


def is_read(language: str) -> bool:
    """Whether the language is supported: the cues are English."""
    return language in ("en", "simple")


def prose(article: Article) -> list[Sentence]:
    """Parse the article's source again, and return the sentences of its paragraphs and list items.

    Captions, headings, cells and template parameters are skipped.
    """
    blocks = read_flat(article.source, article.markup, article.language).blocks
    first = next((b.text for b in blocks if b.kind is BlockKind.PARAGRAPH and b.text), "")
    listed = first.rstrip().endswith(":") and _REFERS.search(first)
    if listed or article.title.endswith("(disambiguation)"):
        return []
    page = _Page(blocks, article)
    kinds = (BlockKind.PARAGRAPH, BlockKind.ITEM)
    return [s for n, b in enumerate(blocks) if b.kind in kinds for s in page.of_block(n)]


def place_of(sentence: Sentence, *, living: bool) -> Place:
    claim = sentence.claim
    return Place(claim.section, sentence.opens, claim.origin == "list", living)


def about_living(article: Article) -> bool:
    return bool(_LIVING.search(article.source))


class _Page:
    def __init__(self, blocks: Sequence[Block], article: Article) -> None:
        self.blocks, self.source = blocks, article.source
        self.title, self.language = article.title, article.language
        self.covered = _covered_lists(blocks)
        self.has_body = any(
            b.section and b.kind is BlockKind.PARAGRAPH and n_words(b.text) > MIN_WORDS
            for b in blocks
        )
        self.body_cites = any(_cites(b) for b in blocks if b.section)

    def of_block(self, number: int) -> Iterator[Sentence]:
        block = self.blocks[number]
        spans = sentences_of(block, self.language)
        starts = [span.start for span in spans]
        homes = {bisect_left(starts, m.position) - 1 for m in block.marks if m.use is not None}
        tagged = {bisect_left(starts, m.position) - 1 for m in block.marks if m.tag == NEEDED}
        last = max(homes, default=-1)
        following = self.blocks[number + 1] if number + 1 < len(self.blocks) else None
        # References alone in a block belong to the block before.
        for_this = following and _cites(following) and not has_words(following.text)
        if number in self.covered or for_this:
            last = len(spans)
        headed = any(map(_NAMES_SOURCE.search, block.section))
        for n, home in enumerate(spans):
            text = home.of(block.text).strip()
            announces = n == len(spans) - 1 and text.endswith((":", "："))
            written = block.span(*home).of(self.source)
            covered = n < last or headed or AUTHOR_YEAR.search(text) or _ADDRESS.search(written)
            state = Sourced.COVERED if covered else Sourced.UNCITED
            claim = self._claim(block, home, spans[bisect_left(starts, home.start - MAX_BEFORE)])
            yield Sentence(
                replace(claim, tags=(NEEDED,)) if n in tagged else claim,
                Sourced.CITED if n in homes else state,
                self._exempt(block, text, announces=announces),
                opens=n == 0,
            )

    def _exempt(self, block: Block, text: str, *, announces: bool) -> Exempt | None:
        if any(_PATTERNS["apart"].fullmatch(heading) for heading in block.section):
            return Exempt.APART
        in_fiction = any(map(_PATTERNS["fiction"].fullmatch, block.section))
        if in_fiction or _OF_FICTION.search(self.title):
            return Exempt.FICTION
        before = self.source[max(0, block.starts[0] - _NEAR) : block.starts[0]]
        if _PATTERNS["quote_opens"].search(before):
            return Exempt.QUOTATION
        if announces or _PATTERNS["pointer"].match(text):
            return Exempt.POINTER
        if _PATTERNS["made_up"].match(text):
            return Exempt.EXAMPLE
        if not _is_sentence(block, text, self.language):
            return Exempt.NOT_PROSE
        return Exempt.LEAD if not block.section and self.has_body and self.body_cites else None

    def _claim(self, block: Block, home: Span, context: Span) -> Claim:
        text = home.of(block.text).strip()
        before = block.text[context.start : home.start].strip()
        if block.kind is BlockKind.ITEM and block.lead.rstrip().endswith((":", "：")):
            before = f"{block.lead} {before}".strip()
        return Claim(
            claim_id_of(self.title, block.section, text),
            text,
            self.title,
            block.section,
            last_words(before, MAX_BEFORE),
            block.span(*home),
            origin="list" if block.kind is BlockKind.ITEM else "prose",
            sentence=text,
            part=Span(0, len(text)),
        )


def _is_sentence(block: Block, text: str, language: str) -> bool:
    letters = sum(char.isalpha() or char.isspace() for char in text)
    too_short, too_long = n_words(text) < MIN_WORDS, len(text) > MAX_CHARS
    if _TEX.search(text) or too_short or too_long or letters < _LETTERS * len(text):
        return False
    if not text.rstrip("\"”'’)»").endswith((".", "!", "?", "。", "！", "？")):
        return False
    if block.kind is not BlockKind.ITEM:
        return True
    opens = text[0].isupper() or text[0].isdigit()
    return opens and standing(text, language) is not Standing.FRAGMENT


def _cites(block: Block) -> bool:
    return any(mark.use is not None for mark in block.marks)


def _covered_lists(blocks: Sequence[Block]) -> set[int]:
    """Indices of list items covered by a reference at the list's end or in its lead-in."""
    covered: set[int] = set()
    lead: Block | None = None
    for kind, numbers in groupby(range(len(blocks)), key=lambda n: blocks[n].kind):
        run = list(numbers)
        if kind is not BlockKind.ITEM:
            lead = blocks[run[-1]]
            continue
        citing = [n for n in run if _cites(blocks[n])]
        opens = lead if lead and lead.text.rstrip().endswith(":") else None
        uses = [mark.position for mark in opens.marks if mark.use is not None] if opens else []
        introduced = opens and uses and not has_words(opens.text[uses[-1] :])
        if introduced or (len(run) > 1 and citing == [run[-1]]):
            covered.update(run)
        parents = {blocks[n].text for n in citing if blocks[n].text.rstrip().endswith(":")}
        covered.update(n for n in run if blocks[n].lead in parents)
    return covered
