"""Finds a claim's words where the source says them of someone else, or another person says them.

A network reads support where the words match, whoever did it: "Berg sued Holm" for "Holm sued
Berg", another person's birth for "He was born in 1801". Each rule needs the other name in a known
construction, and is silent if another sentence of the page may state the claim.
"""

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import lru_cache

from pincite.judgement.comparable import terms_of
from pincite.text import names, patterns, syntax, words_of
from pincite.text import words as wording
from pincite.text.context import NAME, referents_in
from pincite.text.figures import MONTHS
from pincite.text.finite import finite_verb
from pincite.text.languages import is_english
from pincite.text.sentences import is_question, n_words
from pincite.text.words import IRREGULAR
from pincite.types import Claim, Passage, Span, Witness, WitnessKind

_LONGEST = 45  # words of a sentence; longer ones are lists and menus
# Shares of the claim's content words.
_MOST_UNSAID = 0.25  # that a sentence need not say of another person
_MOST_LACKING = 0.5  # that a sentence may lack which has two names in each other's roles
_LEAST_SPOKEN = 0.5  # that what someone says must have
_SHOWN = 80  # characters of a sentence in a message
_NOT_NAMES = "|".join({*syntax.PARTICLES, *words_of("roles", "openers"), *MONTHS, *wording.DAYS})
# Verbs of speech in all forms: those of a statement, and those only beside a name or a quotation.
_SAYING = [form for forms in words_of("readings", "saying") for form in forms.split("/")]
SPEECH_VERBS = "|".join([*_SAYING, *words_of("readings", "finding"), *words_of("readings", "tags")])
_SHORTEST_SHOUTED = 4  # letters of a label in capitals that is a name: not "Q", "CEO"
_VERB_STEM = 6  # letters of a verb in the past that its forms share, as in `roles.mutual`
_MUTUAL = {word[:_VERB_STEM] for word in words_of("roles", "mutual")}
_P = patterns(
    __file__,
    "attribution",
    not_names=_NOT_NAMES,
    verbs=SPEECH_VERBS,
    saying="|".join(_SAYING),
    auxiliaries="|".join(syntax.AUXILIARIES),
)
SPEAKER, ADVERBS = _P["speaker"].pattern, _P["adverbs"].pattern


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
        if n_words(sentence) <= _LONGEST and wording.missing_words(text, sentence) <= _MOST_LACKING:
            witness = find_swap(text, sentence, page)
            if witness and not names.is_in(witness.other, before):
                return replace(witness, sentence=span)
    return _of_other_referent(text, passage, page) or _of_other_person(claim, passage, page)


@dataclass(frozen=True, slots=True)
class _Relation:
    """Who did what to whom; or what was compared with what: "is older than"."""

    agent: str
    verb: str  # the letters that its past has in common with other forms
    patient: str


def find_swap(text: str, sentence: str, page: str = "") -> Witness | None:
    """Find two names or things of a claim in each other's roles.

    >>> str(find_swap("Berg sued Holm.", "Holm sued Berg.").note)
    'the source has Berg and Holm the other way round: “Holm sued Berg.”'
    """
    if wording.is_negated(text) or _P["unsure"].search(sentence):
        return None
    whole = f"{sentence}\n{page.replace(sentence, ' ')}"
    for claimed in _relations(text):
        swapped = replace(claimed, agent=claimed.patient, patient=claimed.agent)
        reverse = re.search(_stating(swapped, within="[^.,;]{0,60}"), sentence)
        if reverse is None or _P["inside"].search(sentence[: reverse.start()]):
            continue
        if not re.search(_stating(claimed, within="[^.]{0,200}"), whole):
            return Witness(WitnessKind.SWAPPED, claimed.agent, sentence, other=claimed.patient)
    return None


def _relations(text: str) -> Iterator[_Relation]:
    """Yield the relations of a text that do not hold the other way round, as "married" does."""
    for match in _P["relation"].finditer(text):
        agent, patient = (_P["the"].sub("", match[role]) for role in ("subject", "object"))
        if match["by"]:  # "was sued by"
            agent, patient = patient, agent
        word = match["verb"]
        verb = IRREGULAR.get(word, (word, word))[1][:_VERB_STEM]
        is_verb = syntax.may_be_finite(word, "it", "the") or _P["compares"].match(word)
        if is_verb and agent != patient and verb not in _MUTUAL:
            yield _Relation(agent, verb, patient)


def _stating(relation: _Relation, within: str) -> str:
    """Return a pattern of a relation, in the active or passive; `within`: what may be between."""
    # Of a name the last word; of another phrase all words.
    agent, patient = (
        rf"{re.escape(name.rpartition(' ')[2] if name[0].isupper() else name)}\b(?!['’]s)"
        for name in (relation.agent, relation.patient)
    )
    active = rf"{agent}{within}\b{relation.verb}(?!\w* by ){within}\b{patient}"
    passive = rf"{patient}{within}\b{relation.verb}\w* by {within}\b{agent}"
    return rf"\b(?:{active}|{passive})"


def _of_other_referent(text: str, passage: Passage, page: str) -> Witness | None:
    """Find the claim's words where "the canal" is another than the claim's, or may be."""
    name = subject_name(text)
    predicate = text.partition(name)[2] if name else ""
    if not predicate:
        return None
    for span, sentence, others in referents_in(passage.text, page):
        words = sentence.of(passage.text)
        if span.start != sentence.start or wording.missing_words(predicate, words) > _MOST_UNSAID:
            continue
        may_be_same = "" in others or not _differ(name, others[0])  # "": of no name
        if may_be_same or _is_stated_of(name, predicate, page):
            return None
        kind = WitnessKind.UNCLEAR if len(others) > 1 else WitnessKind.NAMESAKE
        return Witness(kind, name, span.of(passage.text), sentence, others[0])
    return None


def _is_stated_of(name: str, predicate: str, page: str) -> bool:
    sentences = (span.of(page) for span in wording.sentences_of(page))
    near = (s for s in sentences if wording.missing_words(predicate, s) <= _MOST_UNSAID)
    return not all(_lacks_name(sentence, name) for sentence in near)


def _differ(name: str, other_name: str) -> bool:
    """Whether each of two names has words that the other lacks: "Nils Berg", "Tore Berg"."""
    words, others = ({*" ".join(re.findall(NAME, n)).split()} for n in (name, other_name))
    return bool(words - others and others - words) and _lacks_name(other_name, name)


def _lacks_name(text: str, name: str) -> bool:
    # Behind a colon, the name does not open a sentence, where any word may be no name.
    return bool(names.missing(f": {name}", text))


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
        wording.missing_words(claim.text, sentence) > _MOST_UNSAID
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
    of_names = terms_of(" ".join(wording.names(content)))
    wanted = terms_of(content) - of_names or terms_of(content)
    spoken = _spoken(page)
    n_shared = {line: len(wanted & terms_of(line.words)) for line in spoken}
    in_passage = [line for line in spoken if line.words in passage.text]
    nearest = max(in_passage, key=n_shared.__getitem__, default=None)
    if nearest is None or n_shared[nearest] < max(1, _LEAST_SPOKEN * len(wanted)):
        return None
    words, start = nearest.words[:_SHOWN], passage.text.find(nearest.words)
    place = Span(start, start + len(nearest.words))
    alike = [line for line in spoken if n_shared[line] >= n_shared[nearest]]
    if all(line.asks for line in alike):
        return Witness(WitnessKind.WEAKER, "", words, place)
    is_by_other = all(line.speaker and not names.is_in(name, line.speaker) for line in alike)
    if name and is_by_other and any(names.is_in(name, line.speaker) for line in spoken):
        return Witness(WitnessKind.SPEAKER, name, words, place, nearest.speaker)
    return None


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
