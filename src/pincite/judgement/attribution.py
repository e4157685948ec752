"""Rules that find a claim's words where the source says them of someone else.

A network reads support where the words match, whoever did it: "Berg sued Holm" for "Holm sued
Berg", another person's birth for "He was born in 1801". Each rule needs the other name in a known
construction, and is silent if another sentence of the page may state the claim.
"""

import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from pincite.text import names, quantities, syntax, tables, words_of
from pincite.text import words as wording
from pincite.text.figures import MONTHS
from pincite.text.languages import is_english
from pincite.text.quantities import Value, values
from pincite.text.sentences import is_question, n_words
from pincite.text.words import IRREGULAR
from pincite.types import Claim, Passage, Span, Witness, WitnessKind

_LONGEST = 45  # words of a sentence; longer ones are lists and menus
_SHARE = 0.75  # of the claim's content words that must be said of another person
_RELATED = 0.5  # the most that a sentence may lack of the claim's content words
_NOT_NAMES = "|".join({*syntax.PARTICLES, *words_of("roles", "openers"), *MONTHS, *wording.DAYS})
_CAPITAL = r"[A-ZÀ-Þ][\w’'-]+"
_NAME = rf"\b(?!(?i:{_NOT_NAMES})\b){_CAPITAL}(?: (?:(?:of|de|von|van|du) )?{_CAPITAL})*"
_PERSON = re.compile(r"\A(?:He|She)\b")


def misattributed(claim: Claim, passage: Passage) -> Witness | None:
    """Return the sentence that says the claim's words of another; None in doubt.

    English only. "He" and "she" at a claim's start stand for the article's subject.
    """
    text = _PERSON.sub(lambda _: claim.about, claim.text, count=1) if claim.about else claim.text
    if not (is_english(text) and is_english(passage.text)) or is_question(text):
        return None
    page = passage.page or passage.text
    before = f"{claim.before}\n{' '.join(claim.section)}" if claim.about else ""
    for span in wording.sentences_of(passage.text):
        sentence = span.of(passage.text)
        if n_words(sentence) <= _LONGEST and wording.missing_words(text, sentence) <= _RELATED:
            found = swapped(text, sentence, page)
            if found and not names.is_in(found.other, before):
                return replace(found, sentence=span)
    return _of_other_person(claim, passage, page)


def swapped(text: str, sentence: str, page: str = "") -> Witness | None:
    """Find two names or things of a claim in each other's roles.

    >>> str(swapped("Berg sued Holm.", "Holm sued Berg.").note)
    'the source has Berg and Holm the other way round: “Holm sued Berg.”'
    """
    for part, other in product(_pieces(text), _pieces(sentence)):
        is_patient = (part.kind == "patient") == (other.kind == "patient")
        if is_patient and _is_swapped(part, other, sentence, page):
            return Witness(WitnessKind.SWAPPED, part.owner, other.text, other=other.owner)
    return None


def of_another(claim: str, passage: str) -> Witness | None:
    """Find a value of the claim that a passage gives for another year, person or part.

    >>> of_another("In 2011 Ask had 43.", "Ask had 41 in 2011 and 43 in 2021.").source
    '43 in 2021'
    """
    if not (is_english(claim) and is_english(passage)):
        return None
    wanted, known = [value for value in values(claim) if not value.weak], _keys(claim)
    spans = [s for s in wording.sentences_of(passage) if not tables.cells_of(s.of(passage))]
    for value, (first, last) in product(wanted, zip(spans, [*spans[1:], *spans[-1:]], strict=True)):
        pieces = _with_values(passage, Span(first.start, last.end), value.measure)
        at = [n for n, (_, v) in enumerate(pieces) if quantities.states(v, value)]
        if len(at) != 1 or len(pieces) < 2:
            continue
        (own, v), n = pieces[at[0]], at[0]
        for rival, other in pieces[max(0, n - 1) : n + 2]:
            if any(
                not quantities.conflict(other, each)
                for each in wanted
                if each.measure == other.measure
            ):
                continue
            asked = known - _keys(value.span.of(claim))
            if _is_given_for(asked, own.of(passage), rival.of(passage), own.start < rival.start):
                source = own.of(passage).strip(" ,;.")
                return Witness(WitnessKind.OWNER, value.span.of(claim), source, first)
    return None


def subject_name(sentence: str) -> str:
    """The name that a sentence is about; empty if unknown."""
    owner = _pieces(sentence)[0].owner
    return owner if re.match(_NAME, owner) else ""


# ── In each other's roles ────────────────────────────────────────────────────────────────────────

_CUT = re.compile(
    rf"(?:[,;]| (?:and|but|while|whereas))+ (?=(?:(?:in|at|for|of) )?(?:the )?{_NAME} "
    r"(?:\(|\d|(?:in|on|at) \d|(?!(?:of|in|at|on|for|from|to|with|by|and|or|who) )[a-z]+ )"
    r"|[a-z]+ (?:[a-z]+ ){0,3}by [A-ZÀ-Þ])|; "
)
_AGENT = re.compile(
    rf"\b(?P<deed>(?:[a-z]+ ){{1,4}})by (?:[a-z-]+ ){{0,3}}?(?P<by>{_NAME})"
    r"(?P<more>, (?:the|an?|who)\b.*)?"
)
_INSIDE = re.compile(r"\b(?:of|than|by|to|from|with|against|for|in|on|at)(?: the)?\s*\Z", re.I)
_UP_TO_VERB = re.compile(r",?(?:[^,;]{1,60},)? ?(?:[a-z]+ ){0,2}")
_COMPARES = re.compile(r"\w+er(?= than\b)|\b(?:north|south|east|west)\w*(?= of\b)")
_UNSURE = re.compile(r"\b(?:not|never|would|could|might|may|if|\w+ed to|said to|thought to)\b")
_MUTUAL = words_of("roles", "mutual")


class _Piece(NamedTuple):
    """What a sentence says of one thing: "Berg won gold"."""

    text: str
    owner: str  # a name, or the words before the verb
    kind: str  # "subject", "patient", or "by" for "by Berg"; "" if unknown
    verb: str  # up to six letters
    behind: str  # the words after the verb, or after the name if there is none

    def others(self, before: bool) -> str:
        if self.kind != "by":
            return self.behind
        return self.text.partition(self.owner)[0] if before else self.text


@lru_cache(maxsize=4096)
def _pieces(text: str) -> tuple[_Piece, ...]:
    """Cut a sentence before each name that has a predicate."""
    found, start = list[_Piece](), 0
    for cut in _CUT.finditer(text):
        piece = _piece(text[start : cut.start()])
        if found or piece.verb:
            found.append(piece)
            start = cut.end()
    return (*found, _piece(text[start:]))


def _piece(text: str) -> _Piece:
    sentence = syntax.Sentence.read(text, Span(0, len(text)))
    verbs = [sentence.raw(verb.start, verb.end) for verb in sentence.verbs]
    if not verbs:
        words = [match[0] for match in wording.WORD.finditer(text)]
        near = zip(words, words[1:], [*words[2:], ""], strict=False)
        verbs = [word for old, word, new in near if syntax.may_be_finite(word, old, new)][:1]
    before, _, behind = text.partition(verbs[0] if verbs else "\n")
    name, agent, kind = re.search(_NAME, before), _AGENT.search(text), ""
    deed = [*filter(syntax.is_participle, agent["deed"].split())] if agent else []
    owner = name[0] if name else before.strip().removeprefix("The ")
    if agent and deed:
        kind, owner, text = "by", agent["by"], text.removesuffix(agent["more"] or "")
    elif verbs and (_UP_TO_VERB.fullmatch(before[name.end() :]) if name else owner.count(" ") < 3):
        passive = verbs[0].split()[0] in syntax.BE and " " in verbs[0]
        kind = "patient" if passive else "subject"
        kind = "" if name and _INSIDE.search(before[: name.start()]) else kind
    last = next((verb.split()[-1] for verb in verbs), deed[0] if deed else "")
    verb = IRREGULAR.get(last, (last, last))[1][:6]
    return _Piece(text, owner, kind, verb, behind or before[name.end() if name else 0 :])


def _is_swapped(part: _Piece, other: _Piece, sentence: str, page: str) -> bool:
    """Whether both have one main verb, and each owner's name is in the other's object."""
    mine, theirs = (
        {piece.verb, *(word[:6] for word in _COMPARES.findall(piece.text))} - _MUTUAL - {""}
        for piece in (part, other)
    )
    one, two = _last(part.owner), _last(other.owner)
    unsure = _UNSURE.search(other.text) or wording.is_negated(part.text)
    if not (part.kind and other.kind and mine & theirs) or one == two or unsure:
        return False
    verb, gap = min(mine & theirs), "[^.]{0,200}"
    said = rf"{one}\b{gap}\b{verb}(?!\w* by ){gap}\b{two}|{two}\b{gap}\b{verb}\w* by {gap}\b{one}"
    both = part.kind == other.kind == "by"  # then the other name precedes the verb
    return all(
        re.search(rf"\b{name}\b(?!['’]s)", each.others(both))
        for name, each in ((one, other), (two, part))
    ) and not re.search(rf"\b(?:{said})\b", sentence + "\n" + page.replace(sentence, "\n"))


def _last(owner: str) -> str:
    """Return a pattern for a name's last word, or for all words of another phrase."""
    last = owner.rpartition(" ")[2] if owner[:1].isupper() else owner
    return re.escape(re.sub(r"['’]s\Z", "", last))


# ── Of another person than the article's ─────────────────────────────────────────────────────────

_OF_A_PERSON = re.compile(r"\b(?:he|she|his|her)\b", re.IGNORECASE)


def _of_other_person(claim: Claim, passage: Passage, page: str) -> Witness | None:
    """Find another person's name where the claim has the article's "he" or "she"."""
    subject = re.sub(r"\s*\([^()]*\)\Z", "", claim.about or claim.title)
    span = wording.quoted_sentence(claim.text, passage.text)
    if not subject or span is None or not _OF_A_PERSON.search(claim.text):
        return None
    sentence = span.of(passage.text)
    other = subject_name(sentence)
    known = "\n".join((claim.text, claim.before, *claim.section))
    if (
        wording.missing_words(claim.text, sentence) > 1 - _SHARE
        or n_words(sentence) > _LONGEST
        or " " not in other
        or names.is_in(other, known)
        or names.is_in(subject, "\n".join((passage.about, passage.title, page, claim.text)))
    ):
        return None
    return Witness(WitnessKind.NAMESAKE, subject, sentence=span, other=other)


# ── A value of another thing ─────────────────────────────────────────────────────────────────────

_JOINS = [
    re.compile(p)
    for p in (r"(?<=[.!?])\s", "; ", r", (?:and|but|while|against) ", ", ", r" (?:and|but|while) ")
]
_SLOT = re.compile(rf"\b({'|'.join(syntax.PREPOSITIONS)})\b")
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")
_TIMES = frozenset("earli lat previou follow next last year befor aft".split())


def _keys(text: str) -> frozenset[str]:
    return frozenset([*wording.roots(text), *_DIGITS.findall(text)])


def _with_values(text: str, window: Span, measure: str) -> list[tuple[Span, Value]]:
    """Cut a text into pieces with one value of a measure each."""
    found = [
        v
        for v in values(window.of(text), "en")
        if v.measure == measure and not v.weak and not v.between
    ]
    cuts = [0]
    for one, other in pairwise(found):
        joins = (join.search(window.of(text), one.span.end, other.span.start) for join in _JOINS)
        cuts.append(next((join.end() for join in joins if join), -1))
    ends = [*cuts[1:], len(window.of(text))]
    pieces = [Span(a, b).moved(window.start) for a, b in zip(cuts, ends, strict=True) if -1 < a < b]
    return list(zip(pieces, found, strict=True)) if len(pieces) == len(found) else []


def _is_given_for(asked: frozenset[str], own: str, rival: str, first: bool) -> bool:
    """Whether the claim's words are beside the rival, and other words beside its own value.

    What stands before may be meant of what follows, too: then only a word in the same place counts.
    """
    mine, theirs = _keys(own), _keys(rival)
    beside, others = asked & theirs - mine, mine - asked - theirs
    if not (beside and others and asked <= mine | theirs):
        return False
    if first:
        return True
    one, two = _slots(own), _slots(rival)
    met = any(words & others and two.get(slot, set()) & beside for slot, words in one.items())
    timed = others <= _TIMES or not {w for w in others if not w[0].isdigit()}
    return (
        not asked & mine - theirs
        and met
        and not (timed and not {w for w in beside if w[0].isdigit()})
    )


def _slots(piece: str) -> dict[str, frozenset[str]]:
    """Return the roots of the subject ("") and behind each preposition."""
    parts = _SLOT.split(piece)
    return {slot: _keys(words) for slot, words in zip(["", *parts[1::2]], parts[::2], strict=True)}
