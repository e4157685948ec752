"""A yes/no question as the statement that it asks about, by rules on its first words.

Rules and not a parser: the sentence pair is read by a network that is used to bad grammar. What is
no such question, or has another order of words, stays as it is.
"""

import re
from collections.abc import Callable, Sequence

_BE = ("is", "are", "was", "were")
_DO = ("does", "do", "did")
_OTHER = ("can", "could", "should", "would", "will", "may", "might", "must", "has", "have", "had")
_ASKED = re.compile(
    r"(?:(?P<topic>[^?]{3,200})(?:[:.]|--)\s*)?"
    rf"(?P<verb>{'|'.join((*_BE, *_DO, *_OTHER))})\s+(?P<rest>.+)",
    re.IGNORECASE | re.DOTALL,
)
_PRONOUN = re.compile(r"(?:it|this|they|these)\s+(?=\S)", re.IGNORECASE)
# Where the predicate begins, after at least one word of a subject: such a word, one with such an
# ending, or such a verb. Nothing after a preposition: "the use of a useful drug".
_STARTS = frozenset(
    "a an not still really always more less as better worse safe different important relevant "
    "sufficient significant independent".split()
)
_PREPOSITIONS = frozenset("of in on at for to with by from and or the".split())
_ENDING = re.compile(r".{2,}(?:able|ible|ive|ful|ous|ed|ary)", re.IGNORECASE)
_VERBS = frozenset(
    "affect allow alter cause change contribute decrease depend differ enhance have help impact "
    "improve increase indicate influence lead make matter need play predict prevent produce "
    "promote protect provide reduce reflect represent require result worsen be".split()
)


def statement_of(question: str) -> str:
    """The statement that a yes/no question asks about.

    >>> statement_of("Does smoking cause lung cancer?")
    'smoking causes lung cancer.'
    >>> statement_of("Is the laser useful in children?")
    'the laser is useful in children.'
    >>> statement_of("Balloon enteroscopy: is it safe in a community?")
    'Balloon enteroscopy is safe in a community.'
    >>> statement_of("Which drugs help?")
    'Which drugs help?'
    """
    found = _ASKED.fullmatch(question.strip().rstrip("?").strip())
    if found is None:
        return question
    verb, rest, topic = found["verb"].lower(), found["rest"].strip(), found["topic"]
    pronoun = _PRONOUN.match(rest)
    if topic and pronoun:
        said = rest[pronoun.end() :]
        if verb not in _DO:
            return f"{topic.strip()} {verb} {said}."
        rest = f"{topic.strip()} {said}"
    if verb in _DO:
        return f"{_inflected(rest) if verb == 'does' else rest}."
    words = rest.split()
    if words[0].lower() == "there":
        return f"there {verb} {' '.join(words[1:]).removeprefix('any ')}."
    at = _place(words, _is_verb if verb in _OTHER else _is_predicate)
    return f"{' '.join([*words[:at], verb, *words[at:]] if at else words)}."


def _inflected(rest: str) -> str:
    """With the first known verb in the third person."""
    words = rest.split()
    at = _place(words, _is_verb)
    if not at:
        return rest
    verb = words[at]
    form = {"have": "has", "be": "is"}.get(verb.lower(), f"{verb}s")
    return " ".join([*words[:at], form, *words[at + 1 :]])


def _place(words: Sequence[str], is_start: Callable[[str], bool]) -> int:
    """Of the first word of the predicate; 0 where none is known."""
    for place in range(1, len(words)):
        if is_start(words[place].lower()) and words[place - 1].lower() not in _PREPOSITIONS:
            return place
    return 0


def _is_verb(word: str) -> bool:
    return word in _VERBS


def _is_predicate(word: str) -> bool:
    return word in _STARTS or bool(_ENDING.fullmatch(word))
