"""Rules that find a claim's words where the source says them of someone else.

A network reads support where the words match, whoever did it: "Berg sued Holm" for "Holm sued
Berg", another person's birth for "He was born in 1801". Each rule needs the other name in a known
construction, and is silent if another sentence of the page may state the claim.
"""

import re
from collections import Counter
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise, product
from operator import itemgetter
from typing import NamedTuple

from pincite.text import names, quantities, syntax, tables, words_of
from pincite.text import words as wording
from pincite.text.figures import MONTHS
from pincite.text.finite import NAME, finite_verb, referents_in
from pincite.text.languages import is_english
from pincite.text.paraphrase import with_series_apart
from pincite.text.quantities import Value, values
from pincite.text.sentences import is_question, n_words
from pincite.text.words import IRREGULAR
from pincite.types import Claim, Passage, Span, Witness, WitnessKind

_LONGEST = 45  # words of a sentence; longer ones are lists and menus
_SHARE = 0.75  # of the claim's content words that must be said of another person
_SHOWN = 80  # characters of a sentence in a message
_RELATED = 0.5  # the most that a sentence may lack of the claim's content words
_NOT_NAMES = "|".join({*syntax.PARTICLES, *words_of("roles", "openers"), *MONTHS, *wording.DAYS})
_CAPITAL = r"[A-ZÀ-Þ][\w’'-]+"
_NAME = rf"\b(?!(?i:{_NOT_NAMES})\b){_CAPITAL}(?: (?:(?:of|de|von|van|du) )?{_CAPITAL})*"
_PERSON = re.compile(r"\A(?:He|She)\b")


def misattribution(claim: Claim, passage: Passage) -> Witness | None:
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
    return _of_other_referent(text, passage, page) or _of_other_person(claim, passage, page)


def swapped(text: str, sentence: str, page: str = "") -> Witness | None:
    """Find two names or things of a claim in each other's roles.

    >>> str(swapped("Berg sued Holm.", "Holm sued Berg.").note)
    'the source has Berg and Holm the other way round: “Holm sued Berg.”'
    """
    if wording.is_negated(text) or _UNSURE.search(sentence):
        return None
    said = f"{sentence}\n{page.replace(sentence, ' ')}"
    for claim in _RELATION.finditer(text):
        agent, patient = ("two", "one") if claim["by"] else ("one", "two")
        first, second = (_THE.sub("", claim[name]) for name in (agent, patient))
        verb = IRREGULAR.get(claim["verb"], (claim["verb"],) * 2)[1][:6]
        known = syntax.may_be_finite(claim["verb"], "it", "the") or _COMPARES.match(claim["verb"])
        if first == second or verb in _MUTUAL or not known:
            continue
        found = re.search(_in_roles(second, verb, first, "[^.,;]{0,60}"), sentence)
        inside = found and _INSIDE.search(sentence[: found.start()])
        if found and not (inside or re.search(_in_roles(first, verb, second, "[^.]{0,200}"), said)):
            return Witness(WitnessKind.SWAPPED, first, sentence, other=second)
    return None


def said_by_another(claim: str, passage: Passage) -> Witness | None:
    """Return what another says than whom a claim names, who speaks too; or what is only asked."""
    page, name, content = passage.page or passage.text, *_ascribed(claim)
    if not (is_english(claim) and is_english(passage.text)) or not (name or turns(page)):
        return None
    wanted = _keys(content) - _keys(" ".join(wording.names(content))) or _keys(content)
    spoken = [(len(wanted & _keys(words)), words, turn) for words, turn in _spoken(page)]
    here = [each for each in spoken if each[1] in passage.text]
    most, words, turn = max(here, key=itemgetter(0), default=(0, "", Turn(0, "")))
    if most < max(1, _RELATED * len(wanted)):
        return None
    speakers = [each for n, _, each in spoken if n >= most]
    place = Span(0, len(words)).moved(passage.text.find(words))
    if all(each.asks for each in speakers):
        return Witness(WitnessKind.WEAKER, "", words[:_SHOWN], place)
    if not name or any(not each.speaker or names.is_in(name, each.speaker) for each in speakers):
        return None
    if not any(names.is_in(name, each.speaker) for *_, each in spoken):
        return None
    return Witness(WitnessKind.SPEAKER, name, words[:_SHOWN], place, turn.speaker)


def value_of_another(claim: str, passage: str) -> Witness | None:
    """Find a value of the claim that a passage gives for another year, person or part.

    >>> value_of_another("In 2011 Ask had 43.", "Ask had 41 in 2011 and 43 in 2021.").source
    '43 in 2021'
    """
    if not (is_english(claim) and is_english(passage)):
        return None
    claimed = sorted((v for v in values(claim) if not v.weak), key=lambda v: v.measure == "date")
    if witness := _of_two_years(claim, passage):
        return witness
    given, passage = passage, with_series_apart(passage)
    spans = [s for s in wording.sentences_of(passage) if not tables.cells_of(s.of(passage))]
    pairs = list(zip(spans, [*spans[1:], *spans[-1:]], strict=True))
    for value, (first, last) in product(claimed, pairs):
        window = Span(first.start, last.end)
        pieces = _with_values(passage, window, value.measure, _noun_after(claim, value))
        at = [n for n, (_, other) in enumerate(pieces) if quantities.states(other, value)]
        wanted = _keys(f"{claim[: value.span.start]} {claim[value.span.end :]}")
        for rival, other in pieces[max(0, at[0] - 1) : at[0] + 2] if len(at) == 1 else ():
            own, same = pieces[at[0]][0], [v for v in claimed if v.measure == value.measure]
            apart = all(quantities.conflict(other, v) for v in same)
            if apart and _is_given_for(wanted, own, rival, passage):
                source = own.of(passage).strip(" ,;.")
                place = first if passage == given else None
                return Witness(WitnessKind.OWNER, value.span.of(claim), source, place)
    return None


def subject_name(sentence: str) -> str:
    """The name that a sentence is about; empty if unknown."""
    read = syntax.Sentence.read(sentence, Span(0, len(sentence)))
    end = read.tokens[read.verbs[0].start].start if read.verbs else len(sentence)
    name = re.search(_NAME, sentence[:end])
    return name[0] if name else ""


# ── In a turn or a quotation ─────────────────────────────────────────────────────────────────────


class Turn(NamedTuple):
    """Where somebody begins to speak, who ("": not known), and whether it is one who asks."""

    start: int
    speaker: str
    asks: bool = False


_WORD = r"[A-ZÀ-Þ][\w’'-]{0,40}\.?"
_TURN = re.compile(  # "TOM BELSEY: And the list is longer than ever.", "Q. Is it?"
    rf"^[*_#]{{0,3}}(?P<who>[QA](?=[.:])|{_WORD}(?: {_WORD}){{0,4}}(?=[*_]{{0,3}}:| \())"
    r"(?: \([^()\n]{1,40}\))?[*_]{0,3}[.:][*_]{0,3}\s+(?P<words>\S.*[.?!…”\"’)])$",
    re.MULTILINE,
)
_FORMS = (words_of("readings", name) for name in ("saying", "finding", "tags"))
_SAYS = frozenset(form for forms in _FORMS for each in forms for form in each.split("/"))
_SAYER = re.compile(
    rf"(?P<name>{_NAME})(?:,[^,;“”]{{1,60}},)? (?:{'|'.join(_SAYS)})\b"
    rf"|[,?!]['’”\"] (?:{'|'.join(_SAYS)}) (?P<after>{_NAME})"
)
_ACCORDING = re.compile(rf"According to (?P<name>{_NAME})(?:,[^,]+)?, (?P<content>.+)")
_AGREES = re.compile(r"(?i:yes|yeah|right|exactly|correct|indeed|that is (?:so|right|true))\b")


@lru_cache(maxsize=16)
def turns(text: str) -> tuple[Turn, ...]:
    """The turns of a transcript: two labels recur, or all lines have one and something is asked."""
    no_turn, found = words_of("readings", "no_turn"), [*_TURN.finditer(text)]
    found = [turn for turn in found if no_turn.isdisjoint(turn["who"].lower().split())]
    labels = Counter(turn["who"] for turn in found)
    asking = Counter(turn["who"] for turn in found if "?" in turn["words"])
    known = {who for who, n in labels.items() if n > 1}
    if len(known) < 2 and (asking or all(" " in who for who in labels)):
        lines = re.findall(r"^.", text[found[0].start() :], re.MULTILINE) if found else []
        known = {*labels} if len(lines) == len(found) else set()
    answers = [*(turn["words"] for turn in found[1:]), ""]
    return tuple(
        Turn(
            turn.start(),
            turn["who"].title() if len(turn["who"]) > 3 and turn["who"].isupper() else turn["who"],
            2 * asking[turn["who"]] > labels[turn["who"]] and not _AGREES.match(answer),
        )
        for turn, answer in zip(found, answers, strict=False)
        if len(known) > 1 and turn["who"] in known
    )


@lru_cache(maxsize=16)
def _spoken(page: str) -> list[tuple[str, Turn]]:
    """The sentences of a page, with who says them: by their turn, else by the words beside them."""
    found = list[tuple[str, Turn]]()
    for span in wording.sentences_of(page):
        before = [turn for turn in turns(page) if turn.start < span.end]
        sayers = [each["name"] or each["after"] for each in _SAYER.finditer(span.of(page))]
        by_words = Turn(span.start, sayers[0] if len(sayers) == 1 else "")
        found.append((span.of(page), before[-1] if before else by_words))
    return found


def _ascribed(claim: str) -> tuple[str, str]:
    """Return whom a claim says that it repeats, and what; "" and the claim if nobody."""
    if according := _ACCORDING.match(claim):
        return according["name"], according["content"]
    verb, name = finite_verb(claim), subject_name(claim)
    says = bool(verb and name and verb.word in _SAYS and claim.startswith(name))
    return (name, claim[verb.end :]) if verb and says else ("", claim)


# ── In each other's roles ────────────────────────────────────────────────────────────────────────

_UNSURE = re.compile(r"\b(?:not|never|would|could|might|may|if|\w+ed to|said to|thought to)\b")
_COMPARES = re.compile(r"\w+er\b|(?:north|south|east|west)\w*")
_INSIDE = re.compile(r"\b(?:of|than|by|to|from|with|against|for|in|on|at)(?: the)?\s*\Z", re.I)
_MUTUAL = {word[:6] for word in words_of("roles", "mutual")}
_THING = rf"(?:{_NAME}|[Tt]he (?:[a-z-]+ )?[a-z-]+)"
_THE = re.compile(r"\A[Tt]he ")
_RELATION = re.compile(
    rf"(?P<one>{_THING}) (?:(?:{'|'.join(syntax.AUXILIARIES)}|lies|[a-z]+ly) )*"
    rf"(?P<verb>(?!(?:{_NOT_NAMES})\b)[a-z]+)(?P<by>(?: [a-z]+)? by)?"
    rf"(?: [a-z]+){{0,2}}? (?P<two>{_THING})"
)


def _in_roles(agent: str, verb: str, patient: str, gap: str) -> str:
    """Return a pattern of one doing it to the other, or of this done by the first."""
    # Of a name the last word; of another phrase all words.
    agent, patient = (
        rf"{re.escape(name.rpartition(' ')[2] if name[0].isupper() else name)}\b(?!['’]s)"
        for name in (agent, patient)
    )
    active = rf"{agent}{gap}\b{verb}(?!\w* by ){gap}\b{patient}"
    return rf"\b(?:{active}|{patient}{gap}\b{verb}\w* by {gap}\b{agent})"


# ── Of what a description or a pronoun stands for ────────────────────────────────────────────────


def _of_other_referent(text: str, passage: Passage, page: str) -> Witness | None:
    """Find the claim's words where "the canal" is another than the claim's, or may be."""
    name = subject_name(text)
    predicate = text.partition(name)[2] if name else ""
    for span, sentence, others in referents_in(passage.text, page) if predicate else ():
        words = sentence.of(passage.text)
        if span.start == sentence.start and wording.missing_words(predicate, words) <= 1 - _SHARE:
            is_same = "" in others or not _differ(name, others[0])
            if is_same or _is_stated_of(name, predicate, page):
                return None
            kind = WitnessKind.UNCLEAR if len(others) > 1 else WitnessKind.NAMESAKE
            return Witness(kind, name, span.of(passage.text), sentence, others[0])
    return None


def _is_stated_of(name: str, predicate: str, page: str) -> bool:
    sentences = (span.of(page) for span in wording.sentences_of(page))
    near = (s for s in sentences if wording.missing_words(predicate, s) <= 1 - _SHARE)
    return any(not names.missing(f": {name}", s) for s in near)


def _differ(name: str, other_name: str) -> bool:
    """Whether each of two names has words that the other lacks: "Nils Berg", "Tore Berg"."""
    words, others = ({*" ".join(re.findall(NAME, n)).split()} for n in (name, other_name))
    missing = names.missing(f": {name}", other_name)
    return bool(words - others and others - words and missing)


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

_JOINS = [*map(re.compile, (r"(?<=[.!?])\s", "; ", ", (?:and|but|while) ", ", ", " (?:and|but) "))]
_SLOT = re.compile(rf"\b({'|'.join(syntax.PREPOSITIONS)})\b")
_DIGITS = re.compile(r"\d(?:[\d.,]*\d)?")
_COUNTED = re.compile(r"[ -](?:or (?:more|less|fewer) )?([a-z]+)")
_TIMES = frozenset("earli lat previou follow next last year befor aft".split())


def _keys(text: str) -> frozenset[str]:
    return frozenset([*wording.roots(text), *_DIGITS.findall(text)])


def _noun_after(text: str, value: Value) -> str:
    """The stem of what a bare number counts; empty if it is left out."""
    noun = _COUNTED.match(text, value.span.end) if not value.measure else None
    return "" if noun is None or noun[1] in syntax.PARTICLES else wording.stem(noun[1])


def _with_values(text: str, window: Span, measure: str, noun: str) -> list[tuple[Span, Value]]:
    """Cut a text into pieces with one value of a measure each; none where that is uncertain."""
    found = [
        v
        for v in values(window.of(text), "en")
        if v.measure == measure and not v.weak and _noun_after(window.of(text), v) in ("", noun)
    ]
    cuts = [0]
    for value, following in pairwise(found):
        between = value.span.end, following.span.start
        joins = (join.search(window.of(text), *between) for join in _JOINS)
        cuts.append(next((join.end() for join in joins if join), cuts[-1]))
    ends = [*cuts[1:], len(window.of(text))]
    pieces = [Span(a, b).moved(window.start) for a, b in zip(cuts, ends, strict=True) if a < b]
    sure = len(pieces) == len(found) and not any(value.between for value in found)
    return list(zip(pieces, found, strict=True)) if sure else []


_TWO_YEARS = re.compile(r"\b((?:1\d|20)\d\d)(?:[–/-]((?:\d\d)?\d\d)\b)?")
_OF_ACCOUNTS = re.compile(
    r"\b(?:financial|fiscal|tax|school|academic) year|\byear (?:to|end)|season"
)


def _of_two_years(claim: str, passage: str) -> Witness | None:
    """Find a value that is given for another year, where one is across two: "2023–24"."""
    wanted, claimed = {*_TWO_YEARS.findall(claim)}, [v for v in values(claim) if not v.weak]
    claimed = [value for value in claimed if value.measure != "date" and len(wanted) == 1]
    for span, value in product(wording.sentences_of(passage) if claimed else (), claimed):
        sentence = span.of(passage)
        given = {*_TWO_YEARS.findall(sentence)}
        across = all(second for _, second in given) or any(second for _, second in wanted)
        stated = any(quantities.states(v, value) for v in values(sentence))
        if given and across and stated and not (given & wanted or _OF_ACCOUNTS.search(claim)):
            return Witness(WitnessKind.OWNER, value.span.of(claim), sentence[:_SHOWN], span)
    return None


def _is_given_for(wanted: frozenset[str], own: Span, rival: Span, passage: str) -> bool:
    """Whether words of the claim are beside the rival, in the place of others beside its own value.

    What stands before may be meant of what follows, too.
    """
    of_own, of_rival = _keys(own.of(passage)), _keys(rival.of(passage))
    beside, others = wanted & of_rival - of_own, of_own - wanted - of_rival
    if not (beside and others and wanted <= of_own | of_rival):
        return False
    (first, *rest), (second, *rival_rest) = (
        _SLOT.split(s.of(passage).lower()) for s in (own, rival)
    )
    in_place = {"": second, **dict(zip(rival_rest[::2], rival_rest[1::2], strict=True))}
    slots = {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}
    met = any(
        _keys(words) & others and _keys(in_place.get(slot, "")) & beside
        for slot, words in slots.items()
    )
    met |= all(any(k.isdigit() and len(k) == 4 for k in keys) for keys in (beside, others))
    dated = any(word[0].isdigit() for word in beside)
    timed = others <= _TIMES or all(word[0].isdigit() for word in others)
    meant = own.start < rival.start or not wanted & of_own - of_rival
    return met and (dated or not timed) and meant
