"""Which word of an English sentence is its finite verb, by closed lists and endings.

No tagger: it would be a model, and the splitting of claims asks only one thing, "surely a finite
verb here?". A word that may as well be a noun, an adjective or a participle counts only where what
stands around it decides; where nothing does, the answer is no and the claim stays whole.
"""

import re

AUXILIARIES = frozenset("was were is are has have had will would did does do can could".split())
BE = frozenset("was were is are".split())
# Past forms that are no participles: they decide by themselves.
_PAST = frozenset(
    "became began came went gave took wrote spoke broke chose drove flew grew knew threw ran sang "
    "sank swam wore withdrew undertook overcame fell drew arose ate forgot froze hid rode shook "
    "stole swore tore woke blew".split()
)
# Past forms that are participles too.
_EITHER = frozenset(
    "built rebuilt won lost held kept made remade sold told sent spent taught brought bought "
    "caught fought sought stood understood paid laid said led fled met left struck swung "
    "dealt lent shut cost".split()
)
# Participles that are no past forms: after "and" they lean on the auxiliary before it.
PARTICIPLES = frozenset(
    "born known seen taken given written driven shown done drawn grown thrown chosen broken torn "
    "worn begun sung flown fallen withdrawn undertaken overthrown stolen frozen hidden".split()
)
# Verbs that need an object: without one behind them they are participles.
TRANSITIVE = frozenset(
    "used sent released held made sold built rebuilt bought caught described named called "
    "considered adapted adopted replaced demolished destroyed restored listed inducted awarded "
    "elected appointed promoted transferred converted renamed published".split()
)
# Present forms that are hardly ever plural nouns.
_PRESENT = frozenset(
    "flows lies contains includes connects consists belongs operates becomes goes comes rises "
    "joins begins makes gives lives provides serves produces publishes employs extends stands "
    "runs crosses".split()
)
_NOT_PAST = frozenset(
    "red bed bred shed led indeed hundred sacred naked wicked kindred speed seed need feed weed "
    "breed deed reed creed steed unneeded need aged beloved learned".split()
)
DETERMINERS = frozenset(
    "the a an its his her their our this that these those some several many both all each every "
    "another no".split()
)
_BEFORE_INFINITE = frozenset("be been being to having get got".split())
_SUBJECTS_ONLY = frozenset("it he she they who which".split())
_OPENERS = frozenset("well here £ $ € ¥".split())
PRONOUNS = frozenset("it he she they there we you i him them us".split())
PREPOSITIONS = frozenset(
    "in on at by to from with as for into onto of over under through during after before until "
    "till since between among against around across along near within without upon about via "
    "off out up down above below behind beside besides beyond inside outside towards toward "
    "because back away".split()
)
SUBORDINATORS = frozenset(
    "that which who whom whose where when while because although though if whether how why what "
    "unless once whereas".split()
)
_ADVERBS = frozenset(
    "later then also soon never not often again once still twice now eventually afterwards thus "
    "therefore always already instead first".split()
)
_LIKE_ADVERB = re.compile(r"[a-z]{3,}ly")


def is_adverb(word: str) -> bool:
    """Whether a word may stand before a verb and can be skipped: "later", "finally"."""
    return word in _ADVERBS or bool(_LIKE_ADVERB.fullmatch(word))


def is_participle(word: str) -> bool:
    """Whether a word may follow "was" or "had" as one verb with it."""
    return word in PARTICIPLES or word in _EITHER or _is_regular(word)


def is_finite(word: str, before: str, after: str) -> bool:
    """Whether `word` is surely a finite verb, given its neighbours ("" at an end).

    >>> is_finite("opened", "bridge", "in"), is_finite("abandoned", "The", "mine")
    (True, False)
    >>> is_finite("designed", "bridge", "by")
    False
    """
    if before.lower() in DETERMINERS | PREPOSITIONS | _BEFORE_INFINITE:
        return False
    if word in AUXILIARIES or word in _PAST:
        return True
    if word in _PRESENT or may_be_past(word):
        alone = before.lower() in _SUBJECTS_ONLY  # "it", "who": what follows is their verb
        return (alone or opens_complement(after)) and after != "by"
    return False


def may_be_past(word: str) -> bool:
    """Whether a word has the form of a past tense: "opened", "built"; of a participle too."""
    return word in _PAST or word in _EITHER or _is_regular(word)


def is_sure(word: str, after: str) -> bool:
    """Whether a finite verb can be nothing else: "became", "reopened the"; but "built in"?"""
    return word in AUXILIARIES or word in _PAST or after.lower() in DETERMINERS


def opens_complement(word: str) -> bool:
    """Whether what a verb governs may begin with `word`: "the", "in", "1911", "Varde", "later"."""
    lower = word.lower()
    known = lower in DETERMINERS or lower in PREPOSITIONS or lower in PRONOUNS
    known = known or lower in _OPENERS
    return known or is_adverb(lower) or word[:1].isupper() or word[:1].isdigit()


def _is_regular(word: str) -> bool:
    return len(word) > 3 and word.endswith("ed") and word.islower() and word not in _NOT_PAST
