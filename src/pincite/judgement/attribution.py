"""Rules that find a claim's words where the source says them of someone or something else.

A network reads support where the words match, whoever did it: "Berg sued Holm" for "Holm sued
Berg", "Berg won the gold medal, Lund the silver medal" for "Berg won the silver medal", another
person's birth for "He was born in 1801". Each rule needs the other name in a known construction,
and is silent if another sentence of the page may state the claim.
"""

import re
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, product
from typing import NamedTuple

from pincite.text import names, quantities, syntax, words_of
from pincite.text import words as wording
from pincite.text.figures import MONTHS
from pincite.text.languages import is_english
from pincite.text.sentences import is_question, n_words
from pincite.text.words import IRREGULAR, stems
from pincite.types import Claim, Passage, Span, Witness, WitnessKind

_LONGEST = 45  # words of a sentence; longer ones are lists and menus
_SHARE = 0.75  # of the claim's content words besides the name that must be said of the other
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
            found = of_another(text, sentence, page)
            if found and not names.is_in(found.other, before):
                return replace(found, sentence=span)
    return _of_other_person(claim, passage, page)


def of_another(text: str, sentence: str, page: str = "") -> Witness | None:
    """Find what a sentence says of another name than the claim's, or with their roles exchanged.

    >>> str(of_another("In Holm 40 died.", "In Sandby 40 died, in Holm 12.").note)
    'the source applies “40” to Sandby, not to Holm'
    >>> str(of_another("Berg sued Holm.", "Holm sued Berg.").note)
    'the source has Berg and Holm the other way round: “Holm sued Berg.”'
    """
    theirs, parts = _pieces(sentence), _pieces(text)
    for part, other in product(parts, theirs):
        one, two = part.owner, other.owner
        is_patient = (part.kind == "patient") == (other.kind == "patient")
        if not one or not two or (other.verbs and not is_patient):
            continue
        if _is_swapped(part, other, sentence, page):
            return Witness(WitnessKind.SWAPPED, one, other.text, other=two)
        mine = next((piece for piece in theirs if _is_named(one, piece.owner)), None)
        is_agent = other.kind in ("by", "cleft", "speaker")
        if _is_named(one, other.text) or _is_named(two, part.text):
            continue
        if not (mine or (is_agent and _is_named(one, page))):
            continue
        if _REFERS.search(other.text) and not is_agent:
            continue
        if words := _words_of_other(part, mine, other, theirs[0], parts[0]):
            found = Witness(WitnessKind.ANOTHER, one, words, other=two)
            return None if _may_be_stated(text, found, page.replace(sentence, "\n")) else found
    return _of_group(text, sentence, page)


def subject_name(sentence: str) -> str:
    """The name that a sentence is about; empty if unknown."""
    return _pieces(sentence)[0].owner


def _may_be_stated(text: str, found: Witness, rest: str) -> bool:
    """Whether another sentence has the claim's figures and most words, and not the other name."""
    other = stems(found.other) - stems(found.claim)
    return any(
        wording.missing_words(text, sentence) < _RELATED
        and not quantities.unstated(text, sentence)
        and not other & stems(sentence)
        for sentence in (span.of(rest) for span in wording.sentences_of(rest))
    )


def _last(name: str) -> str:
    return re.escape(re.sub(r"['’]s\Z", "", name.rpartition(" ")[2]))


def _is_named(name: str, text: str) -> bool:
    """Whether a text has the last word of a name."""
    return bool(name and re.search(rf"\b{_last(name)}\b", text))


# ── Of a neighbour, or in the neighbour's role ───────────────────────────────────────────────────

_CUT = re.compile(
    rf"(?:[,;]| (?:and|but|while|whereas))+ (?=(?:(?:in|at|for|of) )?(?:the )?{_NAME} "
    r"(?:\(|\d|(?:in|on|at) \d|(?!(?:of|in|at|on|for|from|to|with|by|and|or|who) )[a-z]+ )"
    r"|[a-z]+ (?:[a-z]+ ){0,3}by [A-ZÀ-Þ])|; "
)
_AGENT = re.compile(
    rf"\b[Ii]t was (?P<cleft>{_NAME}) who\b|[”\"],? (?:[a-z]+ed|said|wrote) (?P<speaker>{_NAME})"
    rf"|\b(?P<deed>(?:[a-z]+ ){{1,4}})by (?:[a-z-]+ ){{0,3}}?(?P<by>{_NAME})"
    r"(?P<more>, (?:the|an?|who)\b.*)?"
)
_INSIDE = re.compile(r"\b(?:of|than|by|to|from|with|against|for|in|on|at)(?: the)?\s*\Z", re.I)
_UP_TO_VERB = re.compile(r",?(?:[^,;]{1,60},)? ?(?:[a-z]+ ){0,2}")
_COMPARES = re.compile(r"\w+er(?= than\b)|\b(?:north|south|east|west)\w*(?= of\b)")
_REFERS = re.compile(r"\b(?:it|he|she|they|him|her|them|his|its|their|both|together|each)\b")
_NESTED = re.compile(r"\b(?:who|which|whose|whom|where|because|after|before|when)\b")
_UNSURE = re.compile(r"\b(?:not|never|would|could|might|may|if|\w+ed to|said to|thought to)\b")
_SAYS, _MUTUAL = (words_of("roles", name) for name in ("says", "mutual"))


class _Piece(NamedTuple):
    """What a sentence says of one name: "Berg won gold", or without the verb "Lund silver"."""

    text: str
    owner: str  # "" if unknown
    kind: str  # "subject" or "patient", or the group of `_AGENT`: "by Berg"; "" if unknown
    verbs: tuple[str, ...]  # up to six letters; none: the verb of the first piece is meant
    behind: str  # the words after the verb, or after the name if there is none

    def others(self, before: bool) -> str:
        if self.kind != "by":
            return self.behind
        return self.text.partition(self.owner)[0] if before else self.text

    @property
    def stems(self) -> frozenset[str]:
        return (stems(self.text) | {*self.verbs}) - stems(self.owner)

    @property
    def values(self) -> list[quantities.Value]:
        text = self.text.replace(self.owner or "\n", "x" * len(self.owner))  # no "Apollo 11"
        return [value for value in quantities.values(text) if not value.weak]


@lru_cache(maxsize=4096)
def _pieces(text: str) -> tuple[_Piece, ...]:
    """Cut a sentence before each name that has a predicate, with or without a verb."""
    found, start = list[_Piece](), 0
    for cut in _CUT.finditer(text):
        piece = _piece(text[start : cut.start()])
        if found or piece.verbs or piece.values:
            found.append(piece)
            start = cut.end()
    return (*found, _piece(text[start:]))


def _piece(text: str) -> _Piece:
    sentence = syntax.Sentence.read(text, Span(0, len(text)))
    verbs = [sentence.raw(verb.start, verb.end) for verb in sentence.verbs]
    before, _, behind = text.partition(verbs[0] if verbs else "\n")
    name, agent, kind = re.search(_NAME, before), _AGENT.search(text), ""
    deed = [*filter(syntax.is_participle, (agent["deed"] or "").split())] if agent else []
    owner = name[0] if name else ""
    if agent and (deed or not agent["by"]):
        kind = next(key for key in ("cleft", "speaker", "by") if agent[key])
        owner, text = agent[kind], text.removesuffix(agent["more"] or "")
    elif name and verbs and _UP_TO_VERB.fullmatch(before[name.end() :]):
        passive = verbs[0].split()[0] in syntax.BE and " " in verbs[0]
        kind = "patient" if passive else "subject"
        kind = "" if _INSIDE.search(before[: name.start()]) else kind
    lasts = [verb.split()[-1] for verb in verbs] or deed
    stems = tuple(
        IRREGULAR.get(word, (word, word))[1][:6] for word in (*lasts, *_COMPARES.findall(text))
    )
    return _Piece(text, owner, kind, stems, behind or before[name.end() :] if name else "")


def _is_swapped(part: _Piece, other: _Piece, sentence: str, page: str) -> bool:
    """Whether both have one main verb, and each owner's name is in the other's object."""
    mine, theirs = (
        {*piece.verbs[:1], *(word[:6] for word in _COMPARES.findall(piece.text))} - _MUTUAL
        for piece in (part, other)
    )
    one, two = _last(part.owner), _last(other.owner)
    if not (part.kind and other.kind and mine & theirs) or one == two or _UNSURE.search(other.text):
        return False
    verb, gap = min(mine & theirs), "[^.]{0,200}"
    said = rf"{one}\b{gap}\b{verb}(?!\w* by ){gap}\b{two}|{two}\b{gap}\b{verb}\w* by {gap}\b{one}"
    both = part.kind == other.kind == "by"  # then the other name precedes the verb
    return all(
        re.search(rf"\b{name}\b(?!['’]s)", each.others(both))
        for name, each in ((one, other), (two, part))
    ) and not re.search(rf"\b(?:{said})\b", sentence + "\n" + page.replace(sentence, "\n"))


def _words_of_other(
    part: _Piece, mine: _Piece | None, other: _Piece, first: _Piece, opening: _Piece
) -> str:
    """Return the words of a part of the claim that `other` has and `mine` has not; "" if none."""
    wanted = part.stems if part.verbs else part.stems | {*opening.verbs}
    has, lacks = other.stems, mine.stems if mine else frozenset[str]()
    if mine and (not mine.verbs or not other.verbs or {*mine.verbs} & {*other.verbs}):
        known = len(wanted & (has | lacks | first.stems)) >= _SHARE * len(wanted)
        for value in part.values if known else ():
            if (
                any(quantities.states(theirs, value) for theirs in other.values)
                and not any(quantities.states(theirs, value) for theirs in mine.values)
                and any(quantities.conflict(theirs, value) for theirs in mine.values)
            ):
                return value.span.of(part.text)
        objects = [re.match(r" (?:the|an?) (?:[\w’'-]+ ?){1,3}", p.behind) for p in (other, mine)]
        one, two = (stems(found[0]) if found else frozenset[str]() for found in objects)
        if one - two and two - one and one <= wanted and not (two - one) & wanted:
            return part.behind.strip(" .") if {*first.verbs} & wanted else ""
    verbs = _SAYS & {*part.verbs} if other.kind == "speaker" else {*other.verbs} & wanted - lacks
    says = (
        (verbs and part.kind and other.kind and (not mine or mine.verbs))
        and not wanted & lacks - has
        and len(wanted & has) >= _SHARE * len(wanted)
        and not _NESTED.search(part.text)
        and not quantities.unstated(part.text, other.text)
    )
    return part.text.partition(part.owner)[2].strip(" .") if says else ""


_GROUP = (
    r"\W*(?:[\w-]+ ){0,3}?(?:in|of|for|among|from|with) (?:the |those )?"
    r"(?P<group>(?:[\w’'-]+ ){0,3}?[\w’'-]+)"
)
_NEXT = re.compile(rf"{_GROUP}(?:,| and|;| but| versus| vs\.?)+ (?:in |of |only |another )*\Z")
_END = re.compile(rf"{_GROUP}(?:[,.;()]|\Z| (?:in|at|after|were|was|who|and)\b)")


def _of_group(text: str, sentence: str, page: str) -> Witness | None:
    """Find a value of another group: "12 deaths in the placebo group and 7 in the drug group"."""
    known = stems(text)
    for one, two in pairwise(value for value in quantities.values(sentence) if not value.weak):
        left = _NEXT.match(sentence[one.span.end : two.span.start])
        right = _END.match(sentence, two.span.end)
        if not (left and right and quantities.conflict(one, two)):
            continue
        groups = (one, left["group"]), (two, right["group"])
        pairs = product(quantities.values(text), (groups, groups[::-1]))
        for value, ((stated, other), (own, mine)) in pairs:
            of_other, of_mine = stems(other) - stems(mine), stems(mine) - stems(other)
            if not (of_other and of_mine) or of_other & known or not stems(mine) <= known:
                continue
            if quantities.states(stated, value) and quantities.conflict(own, value):
                words = value.span.of(text)
                found = Witness(WitnessKind.ANOTHER, mine, words, other=other)
                rest = page.replace(sentence, "\n")
                return None if _may_be_stated(text, found, rest) else found
    return None


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
