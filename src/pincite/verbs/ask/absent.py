"""The words of a question that none of the texts has: what its answer cannot speak of.

A word counts as there if a text has another form of it. Words that only ask ("list", "what role")
are no subject, and never missing.
"""

import re
from collections.abc import Iterable

from pincite.text.words import content_words

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Words that a question is put with, besides those that `content_words` leaves out.
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
# What forms of a word end in behind what they share: inflections, and Latin and Greek plurals.
_ENDINGS = frozenset(
    "s es y ies ied e ed d ing er ers or ors en ren ly al ally ual ic ical ically ion ions ation "
    "ations ative ive ives ively ment ments ity ities ous ness able ible ance ances ence ences ant "
    "ants ent ents ise ised ize ized ising izing isation ization ist ists ism um a us i is ae ia "
    "ata eutic eutics sis ses tic ue ues hood".split()
) | {""}
_IRREGULAR = {
    "women": "woman",
    "men": "man",
    "mice": "mouse",
    "feet": "foot",
    "teeth": "tooth",
    "people": "person",
    "lives": "life",
    "geese": "goose",
}
_SHARED = 3  # letters that two forms of a word have in common at least
_SHORTEST_ACRONYM = 3


def absent_words(question: str, source: str) -> list[str]:
    """The subjects of a question that `source` lacks in any form, as written, each once, in order.

    >>> absent_words("Is there a vaccine against measles?", "Measles is a disease.")
    ['vaccine']
    >>> absent_words("List the roles of studies in children.", "A child was studied.")
    []
    """
    written_there = _WORD.findall(source)
    there = frozenset(map(_base, frozenset(written_there)))
    initials = "".join(word[0].lower() for word in written_there)
    near: dict[str, list[str]] = {}
    for word in there:
        near.setdefault(word[:_SHARED], []).append(word)

    def is_there(written: str) -> bool:
        word = _base(written)
        if word in _ASKING or word in there or not content_words(written):
            return True
        if written.isupper() and len(word) >= _SHORTEST_ACRONYM and word in initials:
            return True
        return _has_form(word, near.get(word[:_SHARED], ()))

    asked = (match[0] for match in _WORD.finditer(question))
    return [word for word in dict.fromkeys(asked) if not is_there(word)]


def _base(written: str) -> str:
    word = written.lower().replace("’", "'").removesuffix("'s")
    return _IRREGULAR.get(word, word)


def _has_form(word: str, others: Iterable[str]) -> bool:
    return any(_are_forms(word, other) for other in others)


def _are_forms(one: str, other: str) -> bool:
    """Whether both begin alike and go on with endings: "vaccine" and "vaccination"."""
    n = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    n = min(len(one), len(other)) if n is None else n
    # "hypertension" and "hypertensive" share a letter of their endings too.
    for cut in range(n, max(_SHARED, n - 2) - 1, -1):
        if all(_is_ending(word[cut:], word[cut - 1]) for word in (one, other)):
            return True
    return False


def _is_ending(rest: str, before: str) -> bool:
    doubled = rest[:1] == before and rest[1:] in ("ed", "ing", "er")  # "stopped"
    return rest in _ENDINGS or doubled
