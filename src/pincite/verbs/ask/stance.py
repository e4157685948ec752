"""Whether a sentence says yes or no to a question about an effect or an association, by rules."""

import re
from collections.abc import Callable
from typing import NamedTuple

from pincite.text import patterns
from pincite.types import Document
from pincite.verbs.ask.abstracts import WHOLE
from pincite.verbs.ask.questions import MEANINGS, unanswered_terms, wanted_number

_P = patterns(__file__, "stance", re.IGNORECASE)
_YES = {"better": ("better", "less"), "linked": tuple(MEANINGS)}


def _find_meaning(question: str) -> tuple[str, re.Match[str]] | None:
    """Return the first word for what is asked, with the name of its meaning."""
    matches = ((name, m) for name, words in MEANINGS.items() if (m := words.search(question)))
    return min(matches, key=lambda pair: pair[1].start(), default=None)


def is_yes_or_no(question: str) -> bool:
    return bool(_P["asks"].search(question))


def reader(question: str) -> Callable[[str], bool | None]:
    """Return a function that reads from a sentence whether it finds what is asked; None: unclear.

    >>> finds = reader("Does vitamin D prevent falls?")
    >>> finds("It reduced falls."), finds("It did not prevent falls."), finds("Falls are common.")
    (True, False, None)
    """
    asked, _ = _find_meaning(question) or ("", None)
    if not asked or not is_yes_or_no(question) or _P["not_plain"].search(question):
        return lambda sentence: None
    outcome = subject(question).outcome

    def finds(sentence: str) -> bool | None:
        if _P["limits"].search(sentence):
            return None
        clauses = _P["and"].split(sentence)
        sides = {side(clause) for clause in clauses} - {None}
        whole = side(sentence) if len(sides) < 2 else None
        if whole is None and len(sides) == 1:  # "It prevented falls and caused less pain."
            of_outcome = (clause for clause in clauses if not unanswered_terms(outcome, clause))
            whole = next(iter(sides.intersection(map(side, of_outcome))), None)
        return whole

    def side(sentence: str) -> bool | None:
        if _P["no"].search(sentence):
            return False
        meant = {name for name, words in MEANINGS.items() if words.search(sentence)}
        if meant >= {"less", "more"} and asked in meant:  # "more cups … a lower risk"
            of_risk = " ".join(match["word"] for match in _P["of_risk"].finditer(sentence))
            meant = {name for name in ("less", "more") if MEANINGS[name].search(of_risk)}
        if asked in ("less", "more"):
            return True if meant & {"less", "more"} == {asked} else None
        return True if meant.intersection(_YES[asked]) else None

    return finds


def is_undecided(abstract: str) -> bool:
    """Whether a study says that it could not tell."""
    return bool(_P["undecided"].search(abstract[:WHOLE]))


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
    *_, compared = ["", *_P["compared"].split(question, maxsplit=1)[1:]]
    comparator = _P["studied"].split(compared)[0]
    if (meaning := _find_meaning(question)) is None:
        number = wanted_number(question)  # "the odds ratio for pain with exercise"
        parts = _P["of"].split(number.about) if number else [question]
        return Subject(
            "", next((part for part in parts if unanswered_terms(part, "")), question), comparator
        )
    _, asked = meaning
    after = question[asked.end() :]
    named = (part for part in _P["studied"].split(after) if unanswered_terms(part, ""))
    return Subject(question[: asked.start()], next(named, after), comparator)
