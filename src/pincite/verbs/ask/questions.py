"""Simplifies a question, finds the number that it asks for, and terms that no source mentions."""

import re
from itertools import takewhile
from typing import NamedTuple

from pincite.text import words
from pincite.types import Span
from pincite.verbs.ask.studies import Study

_TOPIC = re.compile(
    r"(?P<topic>\w[^:?]+):\s+(?P<verb>is|are|was|were|does|do|did|can|could|should|will|has|have)"
    r" (?:it|they|this|these)\b(?P<rest>[^?]*\?)",
    re.IGNORECASE,
)


def plainer(question: str) -> str:
    """Reduce a question to one clause.

    >>> plainer("Green tea: does it lower blood pressure?")
    'Does green tea lower blood pressure?'
    """
    if not (match := _TOPIC.fullmatch(question.strip())):
        return question
    topic = match["topic"]
    if topic[1:2].islower():  # not "DNA repair"
        topic = topic[0].lower() + topic[1:]
    return f"{match['verb'].capitalize()} {topic}{match['rest']}"


# ── Questions for a number ───────────────────────────────────────────────────────────────────────

_STUDIES = (
    r"\b(?:trials?|stud(?:y|ies)|reviews?|meta-analys\w+|cohorts?|enrol\w+|randomi[sz]ed|recruited|"
    r"included|took part)\b"
)
_HOW_MANY = re.compile(
    r"how many (?:[\w-]+ ){0,2}?(?:patients|participants|subjects|people|adults|children|"
    rf"(?:wo)?men|individuals|volunteers|residents|babies|infants|students)\b(?=.*{_STUDIES})"
    r"|sample size|number of (?:patients|participants|subjects)",
    re.IGNORECASE,
)
_MEASURES = {
    "odds ratio": r"odds ratio|\bOR\b",
    "hazard ratio": r"hazard ratio|\bHR\b",
    "relative risk|risk ratio|rate ratio": r"relative risk|risk ratio|rate ratio|\bRR\b",
    "mean difference": r"mean difference|\bS?MD\b",
    "confidence interval": r"\bCI\b|confidence interval",
    "p[- ]?value": r"\bp ?[<>=≤≥]",
    "effect size|size of the effect": r"\d",
}
_MEASURED = [
    (re.compile(rf"\b(?:{asked})s?\b", re.IGNORECASE), re.compile(written, re.IGNORECASE))
    for asked, written in _MEASURES.items()
]
_WHAT = re.compile(r"\b(?:what|which|how (?:large|big|high|strong)|give|report)\b", re.IGNORECASE)


class Wanted(NamedTuple):
    """A number that a question asks of studies, and the rest of the question."""

    effect: re.Pattern[str] | None  # how the measure is written; None: the number of patients
    about: str

    def is_in(self, study: Study, span: Span) -> bool:
        """Whether a sentence at `span` of a study's text states the number."""
        if self.effect is None:
            return study.patients is not None and study.patients.span.overlaps(span)
        found = (each for each in study.effects if self.effect.search(each.text))
        return any(each.span.overlaps(span) for each in found)


def wanted(question: str) -> Wanted | None:
    """Return the number that a question asks for; None if it asks for none that rules know.

    >>> wanted("How many patients were in the tea trial?").about
    ' were in the tea ?'
    """
    if match := _HOW_MANY.search(question):
        about = question[: match.start()] + question[match.end() :]
        return Wanted(None, re.sub(_STUDIES, "", about, flags=re.IGNORECASE))
    for asked, effect in _MEASURED:
        if _WHAT.search(question) and (match := asked.search(question)):
            return Wanted(effect, question[: match.start()] + question[match.end() :])
    return None


# ── Terms that the sources lack ──────────────────────────────────────────────────────────────────

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Words that are not a question's subject, besides those that `content_words` drops.
_ASKING = frozenset(
    "answer associated association best cause caused causes compare compared define describe "
    "difference differences different differ differs discuss effect effective effects affect "
    "affected affects evidence exist exists explain give given gives happen happens help helps "
    "identify impact impacts important importance influence influences involve involved "
    "involves kind kinds know known lead leads like link linked links list lists literature "
    "make makes matter matters mean means mention name named names necessary need needed needs "
    "outline paper papers part play played plays please possible published question questions "
    "really related relation relationship relationships research role roles show shows state "
    "study studies summarise summarize tell there thing things type types use used useful uses "
    "using way ways work works still better worse good bad new value worth".split()
)
# Endings in which forms of a word differ: inflections, and Latin and Greek plurals.
_ENDINGS = frozenset(
    "s es y ies ied e ed d ing er ers or ors en ren ly al ally ual ic ical ically ion ions ation "
    "ations ative ive ives ively ment ments ity ities ous ness able ible ance ances ence ences ant "
    "ants ent ents ise ised ize ized ising izing isation ization ist ists ism um a us i is ae ia "
    "ata eutic eutics sis ses tic ue ues hood".split()
) | {""}
_FORMS = "women:woman men:man mice:mouse feet:foot teeth:tooth people:person lives:life geese:goose"
_IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())
_SHARED = 3  # minimum number of letters shared by two forms of a word
_SHORTEST_ACRONYM = 3


def unanswered_terms(question: str, source: str) -> list[str]:
    """Return the question's terms that `source` lacks in any form, as written and in order.

    >>> unanswered_terms("Is there a vaccine against measles?", "Measles is a disease.")
    ['vaccine']
    """
    written_there = _WORD.findall(source)
    there = frozenset(map(_base, frozenset(written_there)))
    initials = "".join(word[0].lower() for word in written_there)
    near: dict[str, list[str]] = {}
    for word in there:
        near.setdefault(word[:_SHARED], []).append(word)

    def is_there(written: str) -> bool:
        word = _base(written)
        if word in _ASKING or word in there or not words.content_words(written):
            return True
        if written.isupper() and len(word) >= _SHORTEST_ACRONYM and word in initials:
            return True
        return any(_are_forms(word, other) for other in near.get(word[:_SHARED], ()))

    terms = (match[0] for match in _WORD.finditer(question))
    return [word for word in dict.fromkeys(terms) if not is_there(word)]


def _base(written: str) -> str:
    word = written.lower().replace("’", "'").removesuffix("'s")
    return _IRREGULAR.get(word, word)


def _are_forms(one: str, other: str) -> bool:
    """Whether two words share a stem and differ in endings: "vaccine" and "vaccination"."""
    alike = (a == b for a, b in zip(one, other, strict=False))
    n = sum(takewhile(bool, alike))
    # "hypertension" and "hypertensive" share a letter of their endings too.
    cuts = range(n, max(_SHARED, n - 2) - 1, -1)
    return any(all(_is_ending(word[cut:], word[cut - 1]) for word in (one, other)) for cut in cuts)


def _is_ending(rest: str, before: str) -> bool:
    doubled = rest[:1] == before and rest[1:] in ("ed", "ing", "er")  # "stopped"
    return rest in _ENDINGS or doubled
