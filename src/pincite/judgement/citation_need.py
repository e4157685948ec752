"""How probably a sentence of an encyclopedia needs a citation, by its content and position.

A logistic regression over cues that a reader can check, after Redi et al. 2019, "Citation Needed"
(The Web Conference). It predicts whether sentences of Wikipedia have a citation, which is a weak
label: editors also omit necessary citations. Fitted by `research/scripts/fit_citation_need.py`.
"""

import math
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from pincite.judgement.aggregation import atoms
from pincite.notes import Note
from pincite.text import LEXICON
from pincite.types import sigmoid

WEIGHTS = Path(__file__).with_name("citation_need.toml")
QUOTED_WORDS = 5  # quoted phrases with fewer words are as often a term as a quotation
MAX_REASONS = 3
MAX_WORDS = 3  # words or quotations in a reason
MAX_CHARS = 60  # of a quotation in a reason


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
_REASONS = {  # cues shown as reasons, with the codes of their notes
    "reports": "need_said",
    "attributes": "need_opinion",
    "superlative": "need_superlative",
    "studies": "need_study",
    "hedges": "need_unsure",
    "contends": "need_disputed",
}
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
    found = {name: 1.0 for name, present in flags.items() if present}
    return found | {name: math.log1p(n) for name, n in counts.items() if n}


def need(text: str, place: Place) -> Need:
    """Estimate how probably a sentence has a citation in Wikipedia, and why."""
    table = _table()
    found = features(text, place)
    weighed = {name: table["weights"].get(name, 0.0) * value for name, value in found.items()}
    log_odds = table["intercept"] + sum(weighed.values())
    ordered = sorted(weighed, key=lambda name: (name in _OF_ARTICLE, -weighed[name]))
    reasons = dict.fromkeys(
        note for name in ordered if weighed[name] > 0 for note in _reason(name, text, place)
    )
    chosen = tuple(reasons)[:MAX_REASONS] or (Note("need_alike"),)
    return Need(sigmoid(log_odds), chosen, "quotation" in found)


def threshold() -> float:
    return float(_table()["threshold"])


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
        code, {"words": tuple(w if len(w) <= MAX_CHARS else f"{w[:MAX_CHARS]}…" for w in shown)}
    )
