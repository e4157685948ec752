"""Compares the force of a claim with that of the source: stated, or only planned, alleged, past.

"She was accused of forging the deed" does not support "she forged the deed". A word of
`force.toml` counts only if it governs the claim's own predicate in the sentence that states it,
the claim is not hedged itself, and no other sentence of the page states it without such a word.
"""

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pincite.text import languages, syntax
from pincite.text import words as wording
from pincite.text.clauses import clauses
from pincite.text.figures import figures
from pincite.text.finite import lemmas, referents
from pincite.text.languages import common
from pincite.text.sentences import n_words
from pincite.text.words import WORD, stem
from pincite.types import OPINION, Span, Witness, WitnessKind

_KNOWN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS = _KNOWN.pop("words")
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
    """Words of `force.toml`, and how they weaken what is around them."""

    kind: str
    how: str  # "opens", "precedes", "closes" or "follows"
    words: re.Pattern[str]


class _Part(NamedTuple):
    text: str
    stems: frozenset[str]
    own: frozenset[str]  # stems that are no names
    predicate: str  # the stem of its verb, or of the noun behind "is"; "": unknown
    frames: list[_Frame]  # that would weaken it


class _Weaker(NamedTuple):
    source: str  # the words that weaken the claim, up to its predicate if that is near
    kind: str
    sentence: Span  # in the passage's text


def weaker(
    claim: str, passage: str, about: str = "", page: str = "", covered: Span | None = None
) -> Witness | None:
    """Return where a passage only weakens a claim; None if it states it, or not even that.

    Args:
        claim: the statement; outside English, it is only ever denied.
        passage: the text to check.
        about: title and date of the page.
        page: the whole page, which may state the claim elsewhere; "": not known.
        covered: the words of the claim that the passage is cited for; None: all.
    """
    language = common(claim, passage)
    if language in languages.NEGATIONS:
        return _denial(claim, passage, language)
    if language != "en":
        return None
    hedged = bool(_HEDGED.search(claim))
    of_page, is_opinion, _ = f"{about} · ".partition(f" · {OPINION} · ")
    named = any(name in claim for name in of_page.split(" · ")[1:])  # the author, or the site
    if is_opinion and not (hedged or named or figures(claim)):
        return Witness(WitnessKind.WEAKER, "", OPINION)
    if taken_back := _taken_back(claim, passage, page or passage):
        return taken_back
    parts = [c.text for c in clauses(claim) if covered is None or c.span.overlaps(covered)]
    found = (_in_page(_part(text, hedged), passage, about, page or passage) for text in parts)
    best = next(filter(None, found), None)
    return Witness(WitnessKind.WEAKER, "", best.source, best.sentence) if best else None


def _denial(claim: str, passage: str, language: str) -> Witness | None:
    """Return the clause outside English that has a negation and most of the claim's words.

    It is found for none of the 801 supported claims of `multilingual` (train and dev) that are in
    one language with their passages.
    """
    wanted = _terms(claim, language)
    if len(wanted) < _LEAST or languages.denies(claim, language):
        return None
    stated, least = 0, max(_LEAST, _SHARE * len(wanted))
    found: tuple[int, Witness] | None = None
    for span in wording.sentences_of(passage):
        for clause in map(str.strip, _COMMA.split(span.of(passage))):
            shared = len(wanted & _terms(clause, language))
            if not languages.denies(clause, language):
                stated = max(stated, shared)
            elif shared >= least and (not found or shared > found[0]) and n_words(clause) <= _MOST:
                found = shared, Witness(WitnessKind.WEAKER, "", clause, span)
    return found[1] if found and found[0] > stated else None


def _terms(text: str, language: str) -> frozenset[str]:
    terms = wording.content_terms(text, language)
    return frozenset(term[: wording.STEM] for term in terms) - languages.NEGATIONS[language]


def _in_page(part: _Part, passage: str, about: str, page: str) -> _Weaker | None:
    found: list[tuple[int, _Weaker]] = []
    known = part.stems & (_roots(about) | (_roots(page) - part.own))
    subjects = {each.sentence: each.names[0] for each in referents(passage)}
    for span, after in _with_next(passage):
        shared = part.stems & _roots(f"{subjects.get(span, '')} {span.of(passage)}")
        enough = len(shared | known) >= _SHARE * len(part.stems)
        if enough and len(shared) >= min(2, len(part.stems)):
            weaker = _in_sentence(part, span.of(passage), after)
            found += [(len(shared), _Weaker(*weaker, span))] if weaker else []
    if not found:
        return None
    most, best = max(found, key=lambda each: each[0])
    least = len(part.own & _roots(best.sentence.of(passage))) - _FEWER
    settled = _SETTLED.get(best.kind)
    for span, after in _with_next(page):
        sentence, shared = span.of(page), part.stems & _roots(span.of(page))
        own = shared & part.own
        is_about = own or best.kind not in ("plan", "infinitive")
        if settled and is_about and settled.search(sentence):
            return None
        states = len(own) >= least if part.predicate in own else len(shared) >= most
        if states and not _in_sentence(part, sentence, after):
            return None
    return best


def _with_next(text: str) -> list[tuple[Span, str]]:
    """Return the sentences of a text, each with the words of the next."""
    spans = wording.sentences_of(text)
    return list(zip(spans, [*(span.of(text) for span in spans[1:]), ""], strict=True))


def _part(text: str, hedged: bool) -> _Part:
    names = {stem for name in wording.names(text) for stem in _roots(name)}
    word = _predicate(text)
    own = {
        frame.kind
        for frame in _FRAMES
        if hedged or (frame.kind != "infinitive" and frame.words.search(text))
    }
    frames = [
        frame
        for frame in _FRAMES
        if frame.kind not in own
        and (frame.kind not in _BESIDE or _BESIDE[frame.kind].search(text))
        and (frame.kind != "past" or _is_present(text))
        and (frame.kind != "infinitive" or "will" not in text.split())
        and (frame.kind != "opinion" or any(map(_is_superlative, text.split())))
    ]
    return _Part(text, _roots(text), _roots(text) - names, stem(word[0]) if word else "", frames)


def _is_superlative(word: str) -> bool:
    return word in ("most", "least") or (
        word.endswith(("est", "worst")) and word not in lemmas(word).get("ADJ", (word,))
    )


def _is_present(text: str) -> bool:
    past = (word in _WAS or syntax.may_be_past(word) for word in text.split())
    return bool(_NOW.search(text)) or not any(past)


def _predicate(text: str) -> re.Match[str] | None:
    """Return a clause's verb, or the noun behind its "is"."""
    if found := _COMPLEMENT.search(text):
        return WORD.match(text, found.start("head"))
    words = list(WORD.finditer(text))
    for before, word, after in zip(words, words[1:], [*words[2:], None], strict=False):
        behind = after[0] if after else ""
        if syntax.may_be_finite(word[0], before[0], behind) and word[0] not in syntax.AUXILIARIES:
            return word
    return None


def _in_sentence(part: _Part, sentence: str, after: str) -> tuple[str, str] | None:
    """Return the words that weaken the clause in a sentence, and their kind."""
    if n_words(sentence) > _LONGEST or sentence.endswith("?"):
        return None
    for kind, how, pattern in part.frames:
        if how == "follows" and (found := pattern.match(after)):
            return found[0][:_SHOWN], kind
        other = _PARTLY if kind == "negation" else _BESIDE.get(kind)
        needs = _NEEDS.get(kind)
        if how == "follows" or (other and other.search(sentence)):
            continue
        if needs and not needs.search(f"{sentence} {after}"):
            continue
        for match in pattern.finditer(sentence):
            start, end = _scope(kind, how, match)
            words = [w for w in WORD.finditer(sentence, start, end) if stem(w[0]) in part.stems]
            before = sentence[: match.start()]
            began = _left_undone(before) if kind == "infinitive" else match.start()
            if began is None:
                continue
            undone = kind != "negation" and _UNDONE.search(sentence[:began])
            if undone or not _governs(part, kind, sentence, words, (start, end)):
                continue
            of_verb = (w for w in words if stem(w[0]) == part.predicate)
            first = min(began, start)
            stop = max(match.end(), next(of_verb, words[0]).end())
            stop = stop if stop - first <= _SHOWN else match.end()
            return sentence[first:stop].strip()[-_SHOWN:], kind
    return None


def _taken_back(claim: str, passage: str, page: str) -> Witness | None:
    """Return where the page corrects the claim's figure or name, if it has it nowhere else."""
    wanted = {figure.key for figure in figures(claim)}
    names = () if wanted else wording.names(claim)
    for scope, quoted in _corrections(page):
        inside = {figure.key for figure in figures(scope.of(page))} & wanted
        named = {name for name in names if name in scope.of(page)}
        rest = f"{page[: scope.start]} {page[scope.end :]}" if inside or named else ""
        if inside - {figure.key for figure in figures(rest)} or any(n not in rest for n in named):
            words = quoted.of(page)
            at = passage.find(words)
            place = Span(at, at + len(words)) if at >= 0 else None
            return Witness(WitnessKind.WEAKER, "", words[:_SHOWN], place)
    return None


@lru_cache(maxsize=64)  # each passage of a page is read with the page
def _corrections(page: str) -> list[tuple[Span, Span]]:
    """What a page takes back, and the words that show it up to the end of the sentence."""
    found = list[tuple[Span, Span]]()
    for span, after in _with_next(page):
        sentence = span.of(page)
        for frame in _TAKEN_BACK:
            needs = _NEEDS.get(frame.kind)
            if needs and not needs.search(f"{sentence} {after}"):
                continue
            for match in frame.words.finditer(sentence):
                scope = Span(*_scope(frame.kind, frame.how, match))
                found.append((scope.moved(span.start), Span(span.start + match.start(), span.end)))
    return found[:_MOST_CORRECTIONS]


def _left_undone(before: str) -> int | None:
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


def _governs(
    part: _Part, kind: str, sentence: str, words: list[re.Match[str]], scope: tuple[int, int]
) -> bool:
    """Whether a frame over a scope, with its `words` of the clause, weakens the clause."""
    governed = {stem(word[0]) for word in words}
    if kind in _BESIDE:
        said = _BESIDE[kind].search(part.text)
        objects = _roots(part.text[said.end() :]) if said else frozenset()
        return len(objects & governed) > len(objects) / 2
    if not words:
        return False
    is_one = words[0].span() == scope
    half = is_one or 2 * len(governed) >= len(part.stems & _roots(sentence))
    if kind == "past" and (not half or _NOW.search(sentence[slice(*scope)])):
        return False
    free = part.own & governed
    free -= _roots(f"{sentence[: words[0].start()]} {sentence[words[-1].end() :]}")
    if part.predicate in part.own & _roots(sentence):
        return part.predicate in free
    if kind == "infinitive":
        return False
    return len(free) >= (1 if is_one else max(1, _GOVERNED * len(part.own & _roots(sentence))))


def _scope(kind: str, how: str, match: re.Match[str]) -> tuple[int, int]:
    """Return what part of a sentence a frame weakens: a word, or the rest of the clause."""
    sentence, end = match.string, match.end()
    if how == "closes":
        joints = (found.end() for found in _JOINTS.finditer(sentence, 0, match.start()))
        return max(joints, default=0), match.start()
    if how == "precedes" or (match[0].endswith("to") and kind not in _BESIDE):
        found = _NEXT.match(sentence, end)
        return found.span(1) if found else (end, end)
    is_long = match[0].endswith(("that", "whether"))
    ended = (_ENDS if is_long else _JOINTS).search(sentence, end)
    return end, ended.start() if ended and match[0][-1] != ":" else len(sentence)


def _roots(text: str) -> frozenset[str]:
    return frozenset(wording.roots(text))


def _compiled(lines: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(lines.strip().splitlines())})(?!\w)", re.IGNORECASE)


_HOW = ("opens", "precedes", "closes", "follows")
_ALL = [
    _Frame(kind, how, _compiled(table[how]))
    for kind, table in _KNOWN.items()
    for how in _HOW
    if how in table
]
_TAKEN_BACK = [frame for frame in _ALL if frame.kind in ("superseded", "first_report")]
_FRAMES = [frame for frame in _ALL if frame not in _TAKEN_BACK]
_BESIDE, _SETTLED, _NEEDS = (
    {kind: _compiled(table[key]) for kind, table in _KNOWN.items() if key in table}
    for key in ("beside", "settled", "needs")
)
_HEDGED, _PARTLY = _compiled(_WORDS["hedged"]), _compiled(_WORDS["partly"])
_ENDS = re.compile(_WORDS["ends"])
_JOINTS = re.compile(f"{_WORDS['ends']}|{_WORDS['joints']}")
_UNDONE = re.compile(rf"{_WORDS['undone']}\s+\Z", re.IGNORECASE)
_NOW, _WAS = re.compile(r"\b(?:is|are|has|have|will|remains?)\b"), {"was", "were", "had", "did"}
_DONE = frozenset(map(stem, _WORDS["done"].split()))
_UNDONE_BY = frozenset(_WORDS["undone_by"].split())
# The word that an infinitive depends on, and when: "voted last night to".
_GOVERNOR = re.compile(
    r"(?P<word>[A-Za-z]{3,})(?:,? (?:not|also|again|yesterday|today|now|\w+ly"
    r"|(?:last|this|next) \w+"
    r"|(?:on|in|at|by|during|from|after|before) (?:the |its |an? )?[\w-]+(?: \w+)?),?)*\s\Z"
)
_COMMA = re.compile("[,;:，、；：—–()（）]")
_NEXT = re.compile(rf"(?:\s(?:\w+ly|{'|'.join(_WORDS['skipped'].split())})\b)*\s([^\W\d_]+)")
_COMPLEMENT = re.compile(
    r"\b(?:is|are|was|were|became|been)\s(?:[\w-]+\s){0,4}?(?P<head>[^\W\d_]+)"
    rf"(?=\s(?:of|and|who|that|than|\w+ing|{'|'.join(syntax.PREPOSITIONS)})\b|[.,;]|\Z)"
)
