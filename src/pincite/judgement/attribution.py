"""Rules that find a claim's words where the source says them of someone else.

A network reads support where the words match, whoever did it: "Berg sued Holm" for "Holm sued
Berg", another person's birth for "He was born in 1801". Each rule needs the other name in a known
construction, and is silent if another sentence of the page may state the claim.
"""

import re
from collections import Counter
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, product
from operator import itemgetter

from pincite.text import names, patterns, quantities, syntax, tables, words_of
from pincite.text import words as wording
from pincite.text.context import NAME, referents_in
from pincite.text.figures import MONTHS
from pincite.text.finite import finite_verb
from pincite.text.languages import is_english
from pincite.text.paraphrase import with_series_apart
from pincite.text.quantities import Value, values
from pincite.text.sentences import is_question, n_words
from pincite.text.words import IRREGULAR
from pincite.types import Claim, Passage, Span, Witness, WitnessKind

_LONGEST = 45  # words of a sentence; longer ones are lists and menus
_UNSAID = 0.25  # the most of the claim's content words that need not be said of the other person
_SHOWN = 80  # characters of a sentence in a message
_RELATED = 0.5  # the most that a sentence may lack of the claim's content words
_NOT_NAMES = "|".join({*syntax.PARTICLES, *words_of("roles", "openers"), *MONTHS, *wording.DAYS})
# Verbs of speech in all forms: those of a statement, and those only beside a name or a quotation.
_SAYING = [form for forms in words_of("readings", "saying") for form in forms.split("/")]
SPEECH_VERBS = "|".join([*_SAYING, *words_of("readings", "finding"), *words_of("readings", "tags")])
_SHORTEST_SHOUTED = 4  # letters of a label in capitals that is a name: not "Q", "CEO"
_VERB_STEM = 6  # letters of a verb in the past that its forms share, as in `roles.mutual`
_MUTUAL = {word[:_VERB_STEM] for word in words_of("roles", "mutual")}
_TIMES = frozenset("earli lat previou follow next last year befor aft".split())  # stems
_P = patterns(
    __file__,
    "attribution",
    not_names=_NOT_NAMES,
    verbs=SPEECH_VERBS,
    saying="|".join(_SAYING),
    auxiliaries="|".join(syntax.AUXILIARIES),
    prepositions="|".join(syntax.PREPOSITIONS),
)
SPEAKER, ADVERBS = _P["speaker"].pattern, _P["adverbs"].pattern
_JOINS = tuple(patterns(__file__, "joins").values())


def misattribution(claim: Claim, passage: Passage) -> Witness | None:
    """Return the sentence that says the claim's words of another; None in doubt.

    English only. "He" and "she" at a claim's start stand for the article's subject.
    """
    text = claim.text
    if claim.about:
        text = _P["person"].sub(lambda _: claim.about, text, count=1)
    if not (is_english(text) and is_english(passage.text)) or is_question(text):
        return None
    page = passage.page or passage.text
    before = f"{claim.before}\n{' '.join(claim.section)}" if claim.about else ""
    for span in wording.sentences_of(passage.text):
        sentence = span.of(passage.text)
        if n_words(sentence) <= _LONGEST and wording.missing_words(text, sentence) <= _RELATED:
            witness = find_swap(text, sentence, page)
            if witness and not names.is_in(witness.other, before):
                return replace(witness, sentence=span)
    return _of_other_referent(text, passage, page) or _of_other_person(claim, passage, page)


def find_swap(text: str, sentence: str, page: str = "") -> Witness | None:
    """Find two names or things of a claim in each other's roles.

    >>> str(find_swap("Berg sued Holm.", "Holm sued Berg.").note)
    'the source has Berg and Holm the other way round: “Holm sued Berg.”'
    """
    if wording.is_negated(text) or _P["unsure"].search(sentence):
        return None
    whole = f"{sentence}\n{page.replace(sentence, ' ')}"
    for claim in _P["relation"].finditer(text):
        agent, patient = (_P["the"].sub("", claim[name]) for name in ("one", "two"))
        if claim["by"]:
            agent, patient = patient, agent
        word = claim["verb"]
        verb = IRREGULAR.get(word, (word, word))[1][:_VERB_STEM]
        is_verb = syntax.may_be_finite(word, "it", "the") or _P["compares"].match(word)
        if agent == patient or verb in _MUTUAL or not is_verb:
            continue
        reverse = re.search(_in_roles(patient, verb, agent, "[^.,;]{0,60}"), sentence)
        if reverse is None or _P["inside"].search(sentence[: reverse.start()]):
            continue
        if not re.search(_in_roles(agent, verb, patient, "[^.]{0,200}"), whole):
            return Witness(WitnessKind.SWAPPED, agent, sentence, other=patient)
    return None


def _in_roles(agent: str, verb: str, patient: str, gap: str) -> str:
    """Return a pattern of one doing it to the other, or of this done by the first."""
    # Of a name the last word; of another phrase all words.
    agent, patient = (
        rf"{re.escape(name.rpartition(' ')[2] if name[0].isupper() else name)}\b(?!['’]s)"
        for name in (agent, patient)
    )
    active = rf"{agent}{gap}\b{verb}(?!\w* by ){gap}\b{patient}"
    return rf"\b(?:{active}|{patient}{gap}\b{verb}\w* by {gap}\b{agent})"


def _of_other_referent(text: str, passage: Passage, page: str) -> Witness | None:
    """Find the claim's words where "the canal" is another than the claim's, or may be."""
    name = subject_name(text)
    predicate = text.partition(name)[2] if name else ""
    for span, sentence, others in referents_in(passage.text, page) if predicate else ():
        words = sentence.of(passage.text)
        if span.start == sentence.start and wording.missing_words(predicate, words) <= _UNSAID:
            is_same = "" in others or not _differ(name, others[0])
            if is_same or _is_stated_of(name, predicate, page):
                return None
            kind = WitnessKind.UNCLEAR if len(others) > 1 else WitnessKind.NAMESAKE
            return Witness(kind, name, span.of(passage.text), sentence, others[0])
    return None


def _is_stated_of(name: str, predicate: str, page: str) -> bool:
    # Behind a colon, the name does not open a sentence, where any word may be no name.
    sentences = (span.of(page) for span in wording.sentences_of(page))
    near = (s for s in sentences if wording.missing_words(predicate, s) <= _UNSAID)
    return any(not names.missing(f": {name}", s) for s in near)


def _differ(name: str, other_name: str) -> bool:
    """Whether each of two names has words that the other lacks: "Nils Berg", "Tore Berg"."""
    words, others = ({*" ".join(re.findall(NAME, n)).split()} for n in (name, other_name))
    missing = names.missing(f": {name}", other_name)
    return bool(words - others and others - words and missing)


def _of_other_person(claim: Claim, passage: Passage, page: str) -> Witness | None:
    """Find another person's name where the claim has the article's "he" or "she"."""
    subject = re.sub(r"\s*\([^()]*\)\Z", "", claim.about or claim.title)
    span = wording.quoted_sentence(claim.text, passage.text)
    if not subject or span is None or not _P["of_a_person"].search(claim.text):
        return None
    sentence = span.of(passage.text)
    other = subject_name(sentence)
    known = "\n".join((claim.text, claim.before, *claim.section))
    if (
        wording.missing_words(claim.text, sentence) > _UNSAID
        or n_words(sentence) > _LONGEST
        or " " not in other
        or names.is_in(other, known)
        or names.is_in(subject, "\n".join((passage.about, passage.title, page, claim.text)))
    ):
        return None
    return Witness(WitnessKind.NAMESAKE, subject, sentence=span, other=other)


def subject_name(sentence: str) -> str:
    """Return the name that a sentence is about; empty if unknown."""
    parsed = syntax.Sentence.read(sentence, Span(0, len(sentence)))
    end = parsed.tokens[parsed.verbs[0].start].start if parsed.verbs else len(sentence)
    name = _P["person_name"].search(sentence[:end])
    return name[0] if name else ""


# ── Who speaks ────────────────────────────────────────────────────────────────────────────────────


def said_by_another(claim: str, passage: Passage) -> Witness | None:
    """Return what another says than whom a claim names, who speaks too; or what is only asked."""
    page, (name, content) = passage.page or passage.text, _split_ascription(claim)
    if not (is_english(claim) and is_english(passage.text)) or not (name or turns(page)):
        return None
    wanted = _keys(content) - _keys(" ".join(wording.names(content))) or _keys(content)
    spoken = [(len(wanted & _keys(line.words)), line) for line in _spoken(page)]
    inside = [pair for pair in spoken if pair[1].words in passage.text]
    most, nearest = max(inside, key=itemgetter(0), default=(0, None))
    if nearest is None or most < max(1, _RELATED * len(wanted)):
        return None
    alike = [line for n_shared, line in spoken if n_shared >= most]
    words, place = nearest.words[:_SHOWN], passage.text.find(nearest.words)
    span = Span(place, place + len(nearest.words))
    if all(line.asks for line in alike):
        return Witness(WitnessKind.WEAKER, "", words, span)
    is_by_other = all(line.speaker and not names.is_in(name, line.speaker) for line in alike)
    if not (name and is_by_other and any(names.is_in(name, line.speaker) for _, line in spoken)):
        return None
    return Witness(WitnessKind.SPEAKER, name, words, span, nearest.speaker)


@dataclass(frozen=True, slots=True)
class Turn:
    """Where someone begins to speak in a transcript."""

    start: int
    speaker: str
    asks: bool  # most turns of the speaker have a question, and the next one does not agree


@dataclass(frozen=True, slots=True)
class _Spoken:
    """A sentence, and who says it ("": not known)."""

    words: str
    speaker: str
    asks: bool = False


@lru_cache(maxsize=16)
def turns(text: str) -> tuple[Turn, ...]:
    """Return the turns of a transcript, in order; empty if a text is none.

    In a transcript two labels recur, or all lines have one and something is asked.
    """
    no_turn = words_of("readings", "no_turn")
    labelled = [
        match
        for match in _P["turn"].finditer(text)
        if no_turn.isdisjoint(match["who"].lower().split())
    ]
    n_turns = Counter(match["who"] for match in labelled)
    n_questions = Counter(match["who"] for match in labelled if "?" in match["words"])
    speakers = {who for who, n in n_turns.items() if n > 1}
    if len(speakers) < 2 and (n_questions or all(" " in who for who in n_turns)):
        lines = re.findall(r"^.", text[labelled[0].start() :], re.MULTILINE) if labelled else []
        speakers = {*n_turns} if len(lines) == len(labelled) else set()
    if len(speakers) < 2:
        return ()
    transcript = list[Turn]()
    for match, answer in zip(labelled, [*(m["words"] for m in labelled[1:]), ""], strict=True):
        who = match["who"]
        asks = 2 * n_questions[who] > n_turns[who] and not _P["agrees"].match(answer)
        is_shouted = len(who) >= _SHORTEST_SHOUTED and who.isupper()
        if who in speakers:
            transcript.append(Turn(match.start(), who.title() if is_shouted else who, asks))
    return tuple(transcript)


@lru_cache(maxsize=16)
def _spoken(page: str) -> list[_Spoken]:
    """Return the sentences of a page with their speakers, by their turn or by the words beside."""
    spoken = list[_Spoken]()
    for span in wording.sentences_of(page):
        words = span.of(page)
        if before := [turn for turn in turns(page) if turn.start < span.end]:
            spoken.append(_Spoken(words, before[-1].speaker, before[-1].asks))
        else:
            speakers = sayers(words)
            spoken.append(_Spoken(words, speakers[0] if len(speakers) == 1 else ""))
    return spoken


def _split_ascription(claim: str) -> tuple[str, str]:
    """Return whom a claim says that it repeats, and what; "" and the claim if nobody."""
    if according := _P["according"].match(claim):
        return according["name"], according["content"]
    verb, name = finite_verb(claim), subject_name(claim)
    if verb and name and claim.startswith(name) and re.fullmatch(SPEECH_VERBS, verb.word):
        return name, claim[verb.end :]
    return "", claim


def ascribes(text: str) -> bool:
    """Whether a text says what someone says, thinks or calls something."""
    return bool(_P["ascribes"].search(text))


def sayers(text: str) -> list[str]:
    """Return the names beside a verb of speech, in order.

    >>> sayers("Prof. Holm, the mayor, also said so"), sayers("“No,” said Ada Holm.")
    (['Prof. Holm'], ['Ada Holm'])
    """
    return [match["before"] or match["behind"] for match in _P["sayer"].finditer(text)]


# ── Values given for another ──────────────────────────────────────────────────────────────────────


def value_of_another(claim: str, passage: str) -> Witness | None:
    """Find a value of the claim that a passage gives for another year, person or part.

    >>> value_of_another("In 2011 Ask had 43.", "Ask had 41 in 2011 and 43 in 2021.").source
    '43 in 2021'
    """
    if not (is_english(claim) and is_english(passage)):
        return None
    if witness := _of_two_years(claim, passage):
        return witness
    claimed = sorted((v for v in values(claim) if not v.weak), key=lambda v: v.measure == "date")
    text = with_series_apart(passage)
    spans = [s for s in wording.sentences_of(text) if not tables.cells_of(s.of(text))]
    with_next = zip(spans, [*spans[1:], *spans[-1:]], strict=True)
    for value, (first, last) in product(claimed, list(with_next)):
        same = [v for v in claimed if v.measure == value.measure]
        wanted = _keys(f"{claim[: value.span.start]} {claim[value.span.end :]}")
        window, noun = Span(first.start, last.end), _noun_after(claim, value)
        pieces = _pieces(text, window, value.measure, noun)
        places = [n for n, (_, stated) in enumerate(pieces) if quantities.states(stated, value)]
        if len(places) != 1:
            continue
        own, _ = pieces[places[0]]
        for span, rival in pieces[max(0, places[0] - 1) : places[0] + 2]:
            differs = all(quantities.conflict(rival, v) for v in same)
            if differs and _is_given_for(wanted, own, span, text):
                source = own.of(text).strip(" ,;.")
                place = first if text == passage else None
                return Witness(WitnessKind.OWNER, value.span.of(claim), source, place)
    return None


def _keys(text: str) -> frozenset[str]:
    return frozenset([*wording.roots(text), *_P["digits"].findall(text)])


def _noun_after(text: str, value: Value) -> str:
    """Return the stem of what a bare number counts; empty if it is left out."""
    noun = _P["counted"].match(text, value.span.end) if not value.measure else None
    return "" if noun is None or noun[1] in syntax.PARTICLES else wording.stem(noun[1])


def _pieces(text: str, window: Span, measure: str, noun: str) -> list[tuple[Span, Value]]:
    """Cut a part of a text into pieces with one value of a measure; none if that is uncertain."""
    part = window.of(text)
    same = [
        value
        for value in values(part, "en")
        if value.measure == measure and not value.weak and _noun_after(part, value) in ("", noun)
    ]
    cuts = [0]
    for value, following in pairwise(same):
        joins = (join.search(part, value.span.end, following.span.start) for join in _JOINS)
        cuts.append(next((join.end() for join in joins if join), cuts[-1]))
    spans = [Span(a, b).moved(window.start) for a, b in pairwise([*cuts, len(part)]) if a < b]
    if len(spans) != len(same) or any(value.between for value in same):
        return []
    return list(zip(spans, same, strict=True))


def _of_two_years(claim: str, passage: str) -> Witness | None:
    """Find a value that is given for another year, where one is across two: "2023–24"."""
    wanted = {*_P["two_years"].findall(claim)}
    claimed = [v for v in values(claim) if not v.weak and v.measure != "date"]
    if len(wanted) != 1 or _P["of_accounts"].search(claim):
        return None
    for span, value in product(wording.sentences_of(passage) if claimed else (), claimed):
        sentence = span.of(passage)
        given = {*_P["two_years"].findall(sentence)}
        is_across = all(second for _, second in given) or any(second for _, second in wanted)
        if not given or not is_across or given & wanted:
            continue
        if any(quantities.states(stated, value) for stated in values(sentence)):
            return Witness(WitnessKind.OWNER, value.span.of(claim), sentence[:_SHOWN], span)
    return None


def _is_given_for(wanted: frozenset[str], own: Span, rival: Span, text: str) -> bool:
    """Whether words of the claim are beside the rival, in the place of others beside its own value.

    What stands before may be meant of what follows, too.
    """
    of_own, of_rival = _keys(own.of(text)), _keys(rival.of(text))
    beside, others = wanted & of_rival - of_own, of_own - wanted - of_rival
    if not (beside and others and wanted <= of_own | of_rival):
        return False
    rival_slots = _slots(rival.of(text))
    is_in_place = any(
        _keys(words) & others and _keys(rival_slots.get(preposition, "")) & beside
        for preposition, words in _slots(own.of(text)).items()
    )
    have_years = all(any(key.isdigit() and len(key) == 4 for key in k) for k in (beside, others))
    if not (is_in_place or have_years):
        return False
    is_dated = any(key[0].isdigit() for key in beside)
    is_only_time = others <= _TIMES or all(key[0].isdigit() for key in others)
    if is_only_time and not is_dated:
        return False
    return own.start < rival.start or not wanted & of_own - of_rival


def _slots(text: str) -> dict[str, str]:
    """Return the words behind each preposition of a text, and before the first behind ""."""
    first, *rest = _P["preposition"].split(text.lower())
    return {"": first, **dict(zip(rest[::2], rest[1::2], strict=True))}
