"""What a question asks: its parts, a figure, a reason, yes or no; and terms that sources lack."""

import re
from collections.abc import Callable
from itertools import takewhile
from typing import NamedTuple

from pincite.text import patterns, word_lists, words
from pincite.text.figures import ONES, SCALES, TENS, figures
from pincite.text.finite import finite_verb, lemmas
from pincite.types import Document
from pincite.verbs.ask.abstracts import WHOLE

_P = patterns(
    __file__, "questions", re.IGNORECASE, words="|".join([*TENS, *ONES]), scales="|".join(SCALES)
)


def parts_of(question: str) -> list[str]:
    """Split a question at "and" before another question, unless that needs the words of the first.

    >>> parts_of("How many schools left the scheme, and why?")
    ['How many schools left the scheme', 'why schools left the scheme?']
    """
    first, *others = _P["part"].split(question)
    if any(_P["pronoun"].search(other) for other in others):
        return [question]
    rest = re.sub(r"^(?:by )?how (?:many|much) ", "", first, flags=re.IGNORECASE)
    bare = [other.rstrip(" ?") for other in others]
    return [first] + [
        other if unanswered_terms(_P["why"].sub("", other), "") else f"{short} {rest}?"
        for other, short in zip(others, bare, strict=True)
    ]


# ── Questions for a number ───────────────────────────────────────────────────────────────────────

BESIDE = 40  # characters between a number and what it counts
DATES = ("year", "month")
_DIGIT = re.compile(r"\d")
_MEASURES = [
    (re.compile(rf"\b(?:{asked})s?\b", re.IGNORECASE), written)
    for asked, written in patterns(__file__, "measures", re.IGNORECASE).items()
]


class Wanted(NamedTuple):
    """A number that a question asks of studies, and the rest of the question."""

    effect: re.Pattern[str] | None  # how the measure is written; None: the number of patients
    about: str

    def is_in(self, sentence: str) -> bool:
        """Whether a sentence of a study states such a number."""
        if self.effect is None:
            return bool(_P["counted"].search(sentence))
        return bool(self.effect.search(sentence) and _DIGIT.search(sentence))


def wanted_number(question: str) -> Wanted | None:
    """Return the number that a question asks for; None if it asks for none that rules know.

    >>> wanted_number("How many patients were in the tea trial?").about
    ' were in the tea ?'
    """
    if match := _P["how_many"].search(question):
        about = question[: match.start()] + question[match.end() :]
        return Wanted(None, _P["studies"].sub("", about))
    for asked, effect in _MEASURES if _P["what"].search(question) else ():
        if match := asked.search(question):
            return Wanted(effect, question[: match.start()] + question[match.end() :])
    return None


def detail(question: str) -> Callable[[str], bool] | None:
    """Return whether a sentence has a figure or a reason, whichever is asked for; None: neither.

    >>> detail("Why did it fall?")("It fell because demand rose."), detail("Did it fall?")
    (True, None)
    """
    if _P["why"].search(question):
        return lambda sentence: bool(_P["because"].search(sentence))
    if not (match := _P["how_much"].search(question)):
        return None
    known = {figure.key for figure in figures(question)}
    counted = question[match.end() :] if match["many"] else ""
    verb = finite_verb(counted)  # "how many homes fell": homes are counted
    terms = unanswered_terms(counted[: verb.start] if verb else "", "")
    is_share, is_date = (_P[name].search(match[0]) for name in ("of_share", "of_date"))

    def has_figure(sentence: str) -> bool:
        if is_share:
            return bool(_P["share"].search(sentence))
        for figure in figures(sentence):
            start, end = figure.span
            beside = sentence[max(0, start - BESIDE) : end + BESIDE]
            named = not terms or unanswered_terms(" ".join(terms), beside) != terms
            if named and figure.key not in known and (is_date or figure.kind not in DATES):
                return True
        return False

    return has_figure


def is_of_degree(question: str) -> bool:
    """Whether a figure would answer, but need not: "How safe is it?"."""
    return bool(_P["degree"].search(question))


def topic(question: str) -> str:
    """Remove the words that say what kind of answer is wanted.

    >>> topic("What share of the homes were lost?"), topic("For what reason did it fall?")
    (' of the homes were lost?', ' did it fall?')
    """
    return _P["why"].sub("", _P["how_much"].sub("", question))


def is_verb(word: str) -> bool:
    """Whether a word is a verb only: a paper may use another one for the same.

    >>> is_verb("emits"), is_verb("share"), is_verb("velorin")
    (True, False, False)
    """
    return lemmas(word.lower()).keys() == {"VERB"}


# ── Terms that the sources lack ──────────────────────────────────────────────────────────────────

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_LISTED = word_lists(__file__, "words")
_ASKING, _ENDINGS = _LISTED["asking"], _LISTED["endings"] | {""}
_SPECIES = re.compile(r"\b([A-Z])[a-z]+ ([a-z]{3,})")  # which a paper shortens to "L. reuteri"
MEANINGS = patterns(__file__, "meanings", re.IGNORECASE)
_FORMS = "women:woman men:man mice:mouse feet:foot teeth:tooth people:person lives:life geese:goose"
_IRREGULAR = dict(pair.split(":") for pair in _FORMS.split())
# "oedema" and "edema", "tumours" and "tumors", "randomised" and "randomized": roughly.
_AMERICAN = {"ae": "e", "oe": "e", "our": "or", "is": "iz"}
_BRITISH = re.compile(r"[ao]e|our(?!s?e)|(?<=..)is(?=e[ds]?\Z|ing\Z|ation)")
_SHARED = 3  # minimum number of letters shared by two forms of a word
_SHORTEST_ACRONYM = 3


def unanswered_terms(question: str, source: str) -> list[str]:
    """Return the question's terms that `source` lacks in any form, as written and in order.

    >>> unanswered_terms("Is there a vaccine against measles?", "Measles is a disease.")
    ['vaccine']
    """
    species = [name[0] for name in _SPECIES.finditer(question) if f"{name[1]}. {name[2]}" in source]
    written_there = _WORD.findall("\n".join([source, *species]))
    there = frozenset(map(_base, frozenset(written_there)))
    initials = "".join(word[0].lower() for word in written_there)
    near: dict[str, list[str]] = {}
    for word in there:
        near.setdefault(word[:_SHARED], []).append(word)

    def is_there(written: str) -> bool:
        word = _base(written)
        if word in _ASKING or word in there or not words.content_words(written):
            return True
        if word.endswith("ly") or any(means.fullmatch(word) for means in MEANINGS.values()):
            return True
        if written.isupper() and len(word) >= _SHORTEST_ACRONYM and word in initials:
            return True
        return any(_are_forms(word, other) for other in near.get(word[:_SHARED], ()))

    terms = (match[0] for match in _WORD.finditer(question))
    return [word for word in dict.fromkeys(terms) if not is_there(word)]


def _base(written: str) -> str:
    word = written.lower().replace("’", "'").removesuffix("'s")
    return _IRREGULAR.get(word) or _BRITISH.sub(lambda match: _AMERICAN[match[0]], word)


def _are_forms(left: str, right: str) -> bool:
    """Whether two words share a stem and differ in endings: "vaccine" and "vaccination"."""
    alike = (a == b for a, b in zip(left, right, strict=False))
    n = sum(takewhile(bool, alike))
    # "hypertension" and "hypertensive" share a letter of their endings too.
    cuts = range(n, max(_SHARED, n - 2) - 1, -1)
    return any(all(_is_ending(word[cut:], word[cut - 1]) for word in (left, right)) for cut in cuts)


def _is_ending(rest: str, before: str) -> bool:
    doubled = rest[:1] == before and rest[1:] in ("ed", "ing", "er")  # "stopped"
    return rest in _ENDINGS or doubled


# ── Yes or no ─────────────────────────────────────────────────────────────────────────────────────

_STANCE = patterns(__file__, "stance", re.IGNORECASE)
_YES = {"better": ("better", "less"), "linked": tuple(MEANINGS)}


def _find_meaning(question: str) -> tuple[str, re.Match[str]] | None:
    """Return the first word for what is asked, with the name of its meaning."""
    matches = ((name, m) for name, words in MEANINGS.items() if (m := words.search(question)))
    return min(matches, key=lambda pair: pair[1].start(), default=None)


def is_yes_or_no(question: str) -> bool:
    return bool(_STANCE["asks"].search(question))


def reader(question: str) -> Callable[[str], bool | None]:
    """Return a function that reads from a sentence whether it finds what is asked; None: unclear.

    >>> finds = reader("Does vitamin D prevent falls?")
    >>> finds("It reduced falls."), finds("It did not prevent falls."), finds("Falls are common.")
    (True, False, None)
    """
    asked, _ = _find_meaning(question) or ("", None)
    if not asked or not is_yes_or_no(question) or _STANCE["not_plain"].search(question):
        return lambda sentence: None
    outcome = subject(question).outcome

    def finds(sentence: str) -> bool | None:
        if _STANCE["limits"].search(sentence):
            return None
        clauses = _STANCE["and"].split(sentence)
        sides = {side(clause) for clause in clauses} - {None}
        whole = side(sentence) if len(sides) < 2 else None
        if whole is None and len(sides) == 1:  # "It prevented falls and caused less pain."
            of_outcome = (clause for clause in clauses if not unanswered_terms(outcome, clause))
            whole = next(iter(sides.intersection(map(side, of_outcome))), None)
        return whole

    def side(sentence: str) -> bool | None:
        if _STANCE["no"].search(sentence):
            return False
        meant = {name for name, words in MEANINGS.items() if words.search(sentence)}
        if meant >= {"less", "more"} and asked in meant:  # "more cups … a lower risk"
            of_risk = " ".join(match["word"] for match in _STANCE["of_risk"].finditer(sentence))
            meant = {name for name in ("less", "more") if MEANINGS[name].search(of_risk)}
        if asked in ("less", "more"):
            return True if meant & {"less", "more"} == {asked} else None
        return True if meant.intersection(_YES[asked]) else None

    return finds


def is_undecided(abstract: str) -> bool:
    """Whether a study says that it could not tell."""
    return bool(_STANCE["undecided"].search(abstract[:WHOLE]))


class Subject(NamedTuple):
    """What a question asks about, as written: intervention or exposure, outcome, comparator."""

    intervention: str
    outcome: str
    comparator: str = ""

    def is_named(self, sentence: str, elsewhere: str) -> bool:
        """Whether a sentence names the outcome, and its paper the intervention too."""
        both = f"{elsewhere}\n{sentence}"
        return not unanswered_terms(self.outcome, sentence) and not unanswered_terms(
            self.intervention, both
        )

    def names_outcome(self, sentence: str) -> bool:
        """Whether a sentence names a term of the outcome."""
        return unanswered_terms(self.outcome, sentence) != unanswered_terms(self.outcome, "")

    def is_compared_in(self, document: Document) -> bool:
        return not unanswered_terms(self.comparator, f"{document.title}\n{document.text}")

    def is_partly_named(self, sentence: str, elsewhere: str) -> bool:
        """Whether a sentence names a term of the outcome and a third of all, its paper most."""
        both = f"{self.intervention} {self.outcome}"
        n_terms = len(unanswered_terms(both, ""))
        n_lacking = len(unanswered_terms(both, sentence))
        n_lacking_in_paper = len(unanswered_terms(both, f"{elsewhere}\n{sentence}"))
        named = self.names_outcome(sentence) and 3 * n_lacking <= 2 * n_terms
        return named and 3 * n_lacking_in_paper < n_terms


def subject(question: str) -> Subject:
    """Split a question at the word for what is asked; those studied belong to no part.

    >>> subject("Does vitamin D prevent falls in older women more than placebo?")
    Subject(intervention='Does vitamin D ', outcome=' falls ', comparator='placebo?')
    """
    *_, compared = ["", *_STANCE["compared"].split(question, maxsplit=1)[1:]]
    comparator = _STANCE["studied"].split(compared)[0]
    if (meaning := _find_meaning(question)) is None:
        number = wanted_number(question)  # "the odds ratio for pain with exercise"
        parts = _STANCE["of"].split(number.about) if number else [question]
        return Subject(
            "", next((part for part in parts if unanswered_terms(part, "")), question), comparator
        )
    _, asked = meaning
    after = question[asked.end() :]
    named = (part for part in _STANCE["studied"].split(after) if unanswered_terms(part, ""))
    return Subject(question[: asked.start()], next(named, after), comparator)
