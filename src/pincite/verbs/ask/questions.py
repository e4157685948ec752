"""Simplifies a question, and finds its terms that the sources do not mention."""

import re
from itertools import takewhile

from pincite.text import words

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


# ── Terms that the sources lack ──────────────────────────────────────────────────────────────────

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Words that are not a question's subject, besides those that `content_words` drops.
_ASKING = frozenset(
    "answer associated association best cause caused causes compare compared define describe "
    "difference differences different differ differs discuss effect effective effects affect "
    "affected affects evidence exist exists explain give given gives happen happens help helps "
    "identify impact impacts important importance influence influences involve involved involves "
    "kind kinds know known lead leads like list lists literature make makes matter matters mean "
    "means mention name named names necessary need needed needs outline paper papers part play "
    "played plays please possible published question questions really related relation "
    "relationship relationships research role roles show shows state study studies summarise "
    "summarize tell there thing things type types use used useful uses using way ways work works "
    "still better worse good bad new value worth".split()
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
