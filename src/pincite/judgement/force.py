"""Compares the force of a claim with that of the source: stated, or only planned, alleged, past.

"She was accused of forging the deed" does not support "she forged the deed". A word of
`force.toml` counts only if it governs the claim's own predicate in the sentence that states it,
the claim is not hedged itself, and no other sentence of the page states it without such a word.
"""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from operator import itemgetter
from pathlib import Path
from typing import Any, NamedTuple

from pincite.judgement.attribution import subject_name
from pincite.text import languages, syntax
from pincite.text import words as wording
from pincite.text.clauses import clauses
from pincite.text.figures import figures
from pincite.text.finite import finite_verb, lemmas, referents
from pincite.text.languages import common
from pincite.text.quantities import conflict, values
from pincite.text.sentences import n_words
from pincite.text.words import WORD, stem
from pincite.types import OPINION, Span, Voice, Witness, WitnessKind

_KINDS = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS, _CLASSES = _KINDS.pop("words"), _KINDS.pop("classes")
_LONGEST = 60  # words of a sentence; longer ones are lists
_MOST_CORRECTIONS = 20  # of a page
_SHOWN = 60  # characters of the source in a reason
# Share of a clause's content words that its sentence (with the page's names) must have, and of the
# shared ones that the frame must govern if the clause's predicate is unknown.
_SHARE, _GOVERNED = 0.5, 0.75
# Content words that a clause outside English must share to deny a claim, and its most words.
_LEAST, _MOST = 2, 20
_FEWER = 2  # words that another statement may lack: "She confessed that she stole it"


class _Frame(NamedTuple):
    """Words of `force.toml`, and when they weaken what is around them."""

    kind: str
    how: str  # one of `_HOW`
    words: re.Pattern[str]
    not_after: re.Pattern[str]  # what is before the words, if they weaken nothing: "did not"
    needs: re.Pattern[str] | None  # in or after the sentence
    unless: re.Pattern[str] | None  # in the sentence
    beside: re.Pattern[str] | None  # what the claim says instead
    settled: re.Pattern[str] | None  # a sentence of the page says that it came true …
    settled_by_words: bool  # … with a word of the claim
    claims: str  # a key of `_CLAIMS`; "": all
    is_past: bool  # only with the claim's verb, in the past
    is_valued: bool  # only with the claim's verb, or a figure
    governed: bool  # only where the word before leaves it undone
    corrects: bool  # takes back a figure or a name
    is_own: bool  # the page's own words: another value behind them corrects, too
    of_amount: bool  # how much, not how surely: of hedged claims, too
    is_to: bool  # "to" at the end is followed by a verb


class _Clause(NamedTuple):
    text: str
    stems: frozenset[str]
    own: frozenset[str]  # stems that are no names
    predicate: str  # the stem of its verb, or of the noun behind "is"; "": unknown
    frames: list[_Frame]  # that would weaken it
    reported: Mapping[str, str]  # what one side goes on saying, and where that begins


class _Term(NamedTuple):
    """A word's stem, or a figure, and where it is."""

    term: str
    span: Span


def weaker(
    claim: str,
    passage: str,
    about: str = "",
    page: str = "",
    covered: Span | None = None,
    voice: Voice | None = None,
) -> Witness | None:
    """Return where a passage only weakens a claim; None if it states it, or not even that.

    Args:
        claim: the statement; outside English, it is only ever denied.
        passage: the text to check.
        about: title and date of the page.
        page: the whole page, which may state the claim elsewhere; "": not known.
        covered: the words of the claim that the passage is cited for; None: all.
        voice: who speaks on the page; None: not known.
    """
    language = common(claim, passage)
    if language in languages.NEGATIONS:
        return _denial(claim, passage, language)
    if language != "en":
        return None
    is_hedged = bool(_HEDGED.search(claim))
    is_ascribed = bool(_ASCRIBES.search(claim)) or bool(voice and voice.is_in(claim))
    if voice and voice.is_opinion and not (is_ascribed or figures(claim)):
        return Witness(WitnessKind.WEAKER, "", OPINION)
    if correction := _correction_of(claim, passage, page or passage):
        return correction
    texts = [c.text for c in clauses(claim) if covered is None or c.span.overlaps(covered)]
    reported = {} if _ASCRIBES.search(claim) else _reported(page or passage)
    read = (_clause(text, is_hedged)._replace(reported=reported) for text in texts)
    limits = (_in_page(clause, passage, about, page or passage) for clause in read)
    return next(filter(None, limits), None)


def _denial(claim: str, passage: str, language: str) -> Witness | None:
    """Return the clause outside English that has a negation and most of the claim's words.

    It is found for none of the 801 supported claims of `multilingual` (train and dev) that are in
    one language with their passages.
    """
    wanted = _terms(claim, language)
    if len(wanted) < _LEAST or languages.denies(claim, language):
        return None
    stated, least = 0, max(_LEAST, _SHARE * len(wanted))
    best: tuple[int, Witness] | None = None
    for span in wording.sentences_of(passage):
        for clause in map(str.strip, _COMMA.split(span.of(passage))):
            shared = len(wanted & _terms(clause, language))
            if not languages.denies(clause, language):
                stated = max(stated, shared)
            elif shared >= least and (not best or shared > best[0]) and n_words(clause) <= _MOST:
                best = shared, Witness(WitnessKind.WEAKER, "", clause, span)
    return best[1] if best and best[0] > stated else None


def _terms(text: str, language: str) -> frozenset[str]:
    terms = wording.content_terms(text, language)
    return frozenset(term[: wording.STEM] for term in terms) - languages.NEGATIONS[language]


@lru_cache(maxsize=1024)  # a claim meets many passages
def _clause(text: str, is_hedged: bool) -> _Clause:
    stems, verb = _roots(text), _predicate(text)
    names = {stem for name in wording.names(text) for stem in _roots(name)}
    own = {frame.kind for frame in _FRAMES if not frame.governed and frame.words.search(text)}
    known = [frame for frame in _FRAMES if frame.of_amount or not is_hedged]
    frames = [
        frame
        for frame in known
        if frame.kind not in own and (not frame.claims or _CLAIMS[frame.claims](text))
        if frame.beside is None or frame.beside.search(text)
    ]
    return _Clause(text, stems, stems - names, stem(verb[0]) if verb else "", frames, {})


def _has_superlative(text: str) -> bool:
    return any(
        word in ("most", "least")
        or (word.endswith(("est", "worst")) and word not in lemmas(word).get("ADJ", (word,)))
        for word in text.split()
    )


def _is_present(text: str) -> bool:
    past = (word in _WAS or syntax.may_be_past(word) for word in text.split())
    return bool(_NOW.search(text)) or not any(past)


def _predicate(text: str) -> re.Match[str] | None:
    """Return a clause's verb, or the noun behind its "is"."""
    if complement := _COMPLEMENT.search(text):
        return WORD.match(text, complement.start("head"))
    finite = finite_verb(text)
    verb = WORD.match(text, finite.start) if finite and finite.form != "auxiliary" else None
    words = list(WORD.finditer(text))
    for before, word, after in zip(words, words[1:], [*words[2:], None], strict=False):
        behind = after[0] if after else ""
        if verb and word.start() >= verb.start():
            break  # "patients" may be one, too
        if syntax.may_be_finite(word[0], before[0], behind) and word[0] not in syntax.AUXILIARIES:
            return word
    return verb


def _in_page(clause: _Clause, passage: str, about: str, page: str) -> Witness | None:
    """Return what weakens a clause in the nearest sentence, unless the page states it as well."""
    known = clause.stems & (_roots(about) | (_roots(page) - clause.own))
    subjects = {referent.sentence: referent.names[0] for referent in referents(passage)}
    limits = list[tuple[int, Span, str, _Frame]]()
    for span, after in _with_next(passage):
        shared = clause.stems & _roots(f"{subjects.get(span, '')} {span.of(passage)}")
        enough = len(shared | known) >= _SHARE * len(clause.stems)
        some = len(shared) >= min(2, len(clause.stems)) or any(map(_is_figure, shared))
        if enough and some:
            source, frame = _in_sentence(clause, span.of(passage), after)
            limits += [(len(shared), span, source, frame)] if frame else []
    if not limits:
        return None
    most, span, source, frame = max(limits, key=itemgetter(0))
    own = clause.own & _roots(span.of(passage))
    if any(
        _is_settled(clause, frame, sentence.of(page), own)
        or _states(clause, sentence.of(page), after, most, own)
        for sentence, after in _with_next(page)
    ):
        return None
    return Witness(WitnessKind.WEAKER, "", source, span)


def _is_settled(clause: _Clause, frame: _Frame, sentence: str, own: frozenset[str]) -> bool:
    """Whether a sentence says that what is open came true. `own`: as for `_states`."""
    topic = (own if frame.settled_by_words else clause.stems) - {clause.predicate}
    pronoun = (_PRONOUN.match if frame.settled_by_words else _PRONOUN.search)(sentence)
    is_about = not topic or topic & _roots(sentence) or pronoun
    is_said = bool(is_about and frame.settled and frame.settled.search(sentence))
    return is_said and not _is_of_other(clause, sentence)


def _is_of_other(clause: _Clause, sentence: str) -> bool:
    """Whether a clause and a sentence have the names of two people as their subjects."""
    other = subject_name(sentence)
    return " " in other and bool(subject_name(clause.text)) and not _roots(other) & clause.stems


def _states(clause: _Clause, sentence: str, after: str, most: int, own: frozenset[str]) -> bool:
    """Whether a sentence states a clause: with as many of its words, and no frame.

    `own`: the words of the clause in the sentence that is weakened; `most`: how many with names.
    """
    shared = clause.stems & _roots(sentence)
    if not own & shared >= {term for term in own if _is_figure(term)}:
        return False
    least = len(own) - _FEWER
    if not _PRONOUN.match(sentence):
        least = max(least, min(2, len(own)))  # not the predicate alone, of another subject
    enough = len(clause.own & shared) >= least
    enough = enough if clause.predicate in shared & clause.own else len(shared) >= most
    if not enough or _is_of_other(clause, sentence):
        return False
    return not any(_in_sentence(clause, sentence, after))


def _with_next(text: str) -> list[tuple[Span, str]]:
    """Return the sentences of a text, each with the words of the next."""
    spans = wording.sentences_of(text)
    return list(zip(spans, [*(span.of(text) for span in spans[1:]), ""], strict=False))


def _in_sentence(clause: _Clause, sentence: str, after: str) -> tuple[str, _Frame | None]:
    """Return the words that weaken the clause in a sentence, and their frame; None if none do."""
    if n_words(sentence) > _LONGEST or sentence.endswith("?"):
        return "", None
    for frame in clause.frames:
        if frame.how == "follows":
            if behind := frame.words.match(after):
                return behind[0][:_SHOWN], frame
        elif _applies(frame, sentence, after):
            for match in frame.words.finditer(sentence):
                if source := _weakening(clause, frame, match):
                    return source, frame
    opener = clause.reported.get(sentence, "")
    return (opener, _ALLEGED[0]) if opener else ("", None)


@lru_cache(maxsize=64)
def _reported(page: str) -> Mapping[str, str]:
    """Return the sentences from an allegation up to what "it" or "the group" says, and its words.

    In the past perfect, they go on too. What anyone says is alleged where there is a dispute.
    """
    found = dict[str, str]()
    for paragraph in page.split("\n"):
        disputed, opener, waiting = _DISPUTED.search(paragraph), "", list[str]()
        for span in wording.sentences_of(paragraph):
            sentence = span.of(paragraph)
            goes_on, again = _GOES_ON.search(sentence), _OPENS.search(sentence)
            alleged = any(f.words.search(sentence) for f in _ALLEGED) or (disputed and again)
            if opener and goes_on:
                found |= dict.fromkeys([*waiting, sentence], opener)
                waiting = []
            elif alleged or again:
                opener, waiting = sentence[:_SHOWN] if alleged else "", []
            elif opener:
                waiting.append(sentence)
    return found


def _applies(frame: _Frame, sentence: str, after: str) -> bool:
    is_needed = not frame.needs or frame.needs.search(f"{sentence} {after}")
    excluded = any(other and other.search(sentence) for other in (frame.unless, frame.beside))
    return bool(is_needed) and not excluded


def _weakening(clause: _Clause, frame: _Frame, match: re.Match[str]) -> str:
    """Return the words of a frame, up to the predicate that it governs; "" if it governs none."""
    sentence, scope = match.string, _scope(frame, match)
    start, end = scope
    words = [each for each in _terms_in(sentence, start, end) if each.term in clause.stems]
    began = _start_of_undone(sentence[: match.start()]) if frame.governed else match.start()
    if began is None or frame.not_after.search(sentence[:began]):
        return ""
    if not _governs(clause, frame, sentence, words, scope):
        return ""
    of_verb = (word for word in words if word.term == clause.predicate)
    first = min(began, start)
    stop = max(match.end(), next(of_verb, words[0]).span.end)
    stop = stop if stop - first <= _SHOWN else match.end()
    return sentence[first:stop].strip()[-_SHOWN:]


def _governs(
    clause: _Clause,
    frame: _Frame,
    sentence: str,
    words: list[_Term],
    scope: Span,
) -> bool:
    """Whether a frame over a scope, with its `words` of the clause, weakens the clause."""
    governed = {word.term for word in words}
    if frame.beside:
        verb = frame.beside.search(clause.text)
        objects = _roots(clause.text[verb.end() :]) if verb else frozenset()
        return len(objects & governed) > len(objects) / 2
    if not words:
        return False
    is_word = words[0].span == scope
    half = is_word or 2 * len(governed) >= len(clause.stems & _roots(sentence))
    if frame.claims == "present" and (not half or _NOW.search(scope.of(sentence))):
        return False
    free = clause.own & governed
    free -= _roots(f"{sentence[: words[0].span.start]} {sentence[words[-1].span.end :]}")
    own = clause.own & _roots(sentence)
    has_figure = any(map(_is_figure, free))
    noun = _COMPLEMENT.search(clause.text)  # what something is, not what it does
    if frame.is_valued and not has_figure and noun and not syntax.is_participle(noun["head"]):
        return False
    if frame.is_past:
        return clause.predicate in ("", *free) and _was_so(clause, words, sentence, scope)
    if clause.predicate in own or frame.governed:
        return clause.predicate in free
    if not is_word and any(map(_is_figure, own - free)):
        return False
    if frame.is_valued and not has_figure:
        return False
    share = _SHARE if has_figure else _GOVERNED
    return len(free) >= (1 if is_word else max(1, share * len(own)))


def _was_so(clause: _Clause, words: list[_Term], sentence: str, scope: Span) -> bool:
    """Whether what a claim says in the present is in the past tense: "chaired", "was the mayor"."""
    own = (
        word.span.of(clause.text)
        for word in _terms_in(clause.text, 0, len(clause.text))
        if word.term == clause.predicate
    )
    if _PERFECT.search(clause.text) or any(map(syntax.may_be_past, own)):
        return False
    if not clause.predicate:
        return bool(_HAS.search(clause.text) and _HAD.search(scope.of(sentence)))
    verbs = (word.span for word in words if word.term == clause.predicate)
    return any(
        syntax.may_be_past(verb.of(sentence)) or _WERE.search(sentence[scope.start : verb.start])
        for verb in verbs
    )


def _scope(frame: _Frame, match: re.Match[str]) -> Span:
    """Return what part of a sentence a frame weakens: a word, or a part of the clause."""
    sentence, end = match.string, match.end()
    is_long = frame.how == "throughout" or frame.is_own
    is_long |= match[0].lower().endswith(("that", "whether"))
    joint = _ENDS if is_long else _JOINTS
    ends = (each.end() for each in joint.finditer(sentence))
    begun = max((end for end in ends if end <= match.start()), default=0)
    if frame.how == "closes":
        return Span(begun, match.start())
    if frame.how == "precedes" or (match[0].endswith("to") and frame.is_to):
        word = _NEXT.match(sentence, end)
        return Span(*word.span(1)) if word else Span(end, end)
    ended = joint.search(sentence, end)
    ended = re.compile(" to ").search(sentence, end) if match[0].endswith(" from") else ended
    stop = ended.start() if ended and match[0][-1] != ":" else len(sentence)
    return Span(begun if frame.how in ("within", "throughout") else end, stop)


# ── An infinitive ────────────────────────────────────────────────────────────────────────────────

_DONE = frozenset(map(stem, _WORDS["done"].split()))
_UNDONE_BY = frozenset(_WORDS["undone_by"].split())
# The word that an infinitive depends on, and when: "voted last night to".
_GOVERNOR = re.compile(
    r"(?P<word>[A-Za-z]{3,})(?:,? (?:not|also|again|yesterday|today|now|\w+ly"
    r"|(?:last|this|next) \w+"
    r"|(?:on|in|at|by|during|from|after|before) (?:the |its |an? )?[\w-]+(?: \w+)?),?){0,4}\s\Z"
)


def _start_of_undone(before: str) -> int | None:
    """Return where the word that governs "to" starts, if it does not say that it was done."""
    governor = _GOVERNOR.search(before)
    if governor is None:
        return None
    word = governor["word"].lower()
    kinds = lemmas(word)
    third = word[-1] == "s" and "NOUN" not in kinds
    may_be_verb = third or syntax.is_participle(word) or syntax.may_be_past(word)
    undone = may_be_verb and stem(word) not in _DONE and "VERB" in kinds
    return governor.start() if undone or word in _UNDONE_BY else None


# ── What a page takes back ───────────────────────────────────────────────────────────────────────


def _correction_of(claim: str, passage: str, page: str) -> Witness | None:
    """Return where the page corrects the claim's figure or name, if it has it nowhere else."""
    wanted = {figure.key for figure in figures(claim)}
    roots = _roots(claim)
    names = () if wanted else {*wording.names(claim), *subject_name(claim).split()}
    is_first = any(frame.words.search(claim) for frame in _CORRECTIONS if not frame.is_own)
    for scope, shown, is_own in _corrections(page):
        if is_first and not is_own:
            continue  # the claim says itself that it was only the first count
        inside = {figure.key for figure in figures(scope.of(page))} & wanted
        named = {name for name in names if name in scope.of(page)}
        whole = is_own and inside == wanted and roots <= _roots(scope.of(page))
        rest = f"{page[: scope.start]} {page[scope.end :]}" if inside or named or whole else ""
        lacks = inside - {figure.key for figure in figures(rest)} or any(
            n not in rest for n in named
        )
        if lacks or (whole and not wanted and not roots <= _roots(rest)):
            words = shown.of(page)
            at = passage.find(words)
            place = Span(at, at + len(words)) if at >= 0 else None
            return Witness(WitnessKind.WEAKER, "", words[:_SHOWN], place)
    return None


@lru_cache(maxsize=64)  # each passage of a page is read with the page
def _corrections(page: str) -> list[tuple[Span, Span, bool]]:
    """Return what a page takes back, the words that show it, and whether it wrote that itself."""
    corrections = list[tuple[Span, Span, bool]]()
    for span, after in _with_next(page):
        sentence = span.of(page)
        for frame in _CORRECTIONS:
            for match in frame.words.finditer(sentence):
                scope = _scope(frame, match)
                rest = f"{sentence[scope.end :]} {after}"
                if _applies(frame, sentence, after) or (
                    frame.is_own and rest[0] != "," and _rivals(scope.of(sentence), rest)
                ):
                    shown = Span(span.start + match.start(), span.end)
                    corrections.append((scope.moved(span.start), shown, frame.is_own))
    return corrections[:_MOST_CORRECTIONS]


def _rivals(stated: str, after: str) -> bool:
    """Whether the next clause repeats what was stated, with another value: "It cost 41 million"."""
    clause = _CLAUSE_END.split(after.strip(" ;,"))[0]
    rest = {term for term in _roots(clause) if not _is_figure(term)}
    repeated = 2 * len(rest & _roots(stated)) >= max(1, len(rest))
    others = values(clause) if repeated else ()
    return any(conflict(value, other) for value in values(stated) for other in others)


def _terms_in(text: str, start: int, end: int) -> list[_Term]:
    words = [_Term(stem(word[0]), Span(*word.span())) for word in WORD.finditer(text, start, end)]
    values = [_Term(f"{each.value:g}", each.span) for each in figures(text) if each.kind in _COUNTS]
    inside = [each for each in values if start <= each.span.start and each.span.end <= end]
    return sorted([*words, *inside], key=lambda each: each.span.start)


def _is_figure(term: str) -> bool:
    return term[0].isdigit()


@lru_cache(maxsize=4096)
def _roots(text: str) -> frozenset[str]:
    """Return the stems of the content words, and the figures that are no dates."""
    counts = (f"{each.value:g}" for each in figures(text) if each.kind in _COUNTS)
    return frozenset([*wording.roots(text), *counts])


# ── The words of `force.toml` ────────────────────────────────────────────────────────────────────


_HOW = ("opens", "precedes", "closes", "within", "throughout", "follows")
_CLASS = re.compile(r"<(\w+)>")


def _inflected(word: str) -> str:
    """Return a pattern of a word's regular forms; some that it matches do not exist."""
    if word.endswith("e"):
        return rf"{word[:-1]}(?:e[sd]?|ing)"
    if word.endswith("y") and word[-2] not in "aeiou":
        return rf"{word[:-1]}(?:y|ies|ied|ying)"
    return rf"{word}(?:e?s|{word[-1]}?(?:ed|ing))?"


def _of_class(name: re.Match[str]) -> str:
    return rf"(?:{'|'.join(map(_inflected, _CLASSES[name[1]].split()))})\b"


def _pattern(lines: str) -> re.Pattern[str]:
    lines = _CLASS.sub(_of_class, lines)
    return re.compile(rf"\b(?:{'|'.join(lines.strip().splitlines())})(?!\w)", re.IGNORECASE)


def _frame(kind: str, how: str, table: dict[str, Any]) -> _Frame:
    needs, unless, beside, settled = (
        _pattern(table[key]) if key in table else None
        for key in ("needs", "unless", "beside", "settled")
    )
    before = "|".join(filter(None, (_WORDS["undone"], table.get("not_after", {}).get(how))))
    return _Frame(
        kind,
        how,
        _pattern(table[how]),
        re.compile(rf"(?:{before})\s+\Z", re.IGNORECASE),
        *(needs, unless, beside, settled),
        table.get("settled_by_words", False),
        table.get("claims", ""),
        is_to=how == "opens" and not table.get("is_past", False),
        **{flag: table.get(flag, False) for flag in _FLAGS},
    )


_FLAGS = ("is_past", "is_valued", "governed", "corrects", "is_own", "of_amount")
_ALL = [_frame(kind, how, table) for kind, table in _KINDS.items() for how in _HOW if how in table]
_FRAMES = [frame for frame in _ALL if not frame.corrects]
_CORRECTIONS = [frame for frame in _ALL if frame.corrects]
_ALLEGED = [frame for frame in _FRAMES if frame.kind == "allegation" and frame.how != "precedes"]
# Another one's words, the same one's (by a pronoun, or beside them), and a dispute.
_OPENS, _GOES_ON, _DISPUTED, _ASCRIBES = (
    re.compile(_CLASS.sub(_of_class, _WORDS[name]))
    for name in ("speaks", "goes_on", "disputed", "ascribes")
)
_CLAIMS: dict[str, Callable[[str], bool]] = {
    "present": _is_present,
    "superlative": _has_superlative,
    "unique": lambda text: (
        _has_superlative(text) or bool(re.search(r"\b(?:first|last|only)\b", text))
    ),
    "not future": lambda text: "will" not in text.split(),
}
_COUNTS = frozenset(("number", "percent"))
_HAS, _HAD = re.compile(r"\b(?:has|have)\b"), re.compile(r"\bhad\b")
_PERFECT, _WERE = re.compile(r"\bha(?:s|ve) (?:been|\w+ed)\b"), re.compile(r"\bw(?:as|ere)\b")
_HEDGED = _pattern(_WORDS["hedged"])
_ENDS = re.compile(_WORDS["ends"])
_JOINTS = re.compile(f"{_WORDS['ends']}|{_WORDS['joints']}")
_NOW, _WAS = re.compile(r"\b(?:is|are|has|have|will|remains?)\b"), {"was", "were", "had", "did"}
_CLAUSE_END = re.compile(r"[.;](?:\s|\Z)")
_PRONOUN = re.compile(r"\b(?:[Hh]e|[Ss]he|[Tt]hey|[Ii]t|him|her|them)\b")
_COMMA = re.compile("[,;:，、；：—–()（）]")
_NEXT = re.compile(rf"(?:\s(?:\w+ly|{'|'.join(_WORDS['skipped'].split())})\b)*\s([^\W\d_]+)")
_COMPLEMENT = re.compile(
    r"\b(?:is|are|was|were|became|been)\s(?:[\w-]+\s){0,4}?(?P<head>[^\W\d_]+)"
    rf"(?=\s(?:of|and|who|that|than|\w+ing|{'|'.join(syntax.PREPOSITIONS)})\b|[.,;]|\Z)"
)
