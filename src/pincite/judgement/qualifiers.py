"""Finds where a source only reports, plans, hedges or limits what a claim states as fact.

"She was accused of forging the deed" does not support "she forged the deed". A word of
`qualifiers.toml` counts only if it governs the claim's own predicate in the sentence that states
it, the claim is not hedged itself, and no other sentence of the page states it without such a word.
"""

import re
import tomllib
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from pincite.text import syntax
from pincite.text import words as wording
from pincite.text.clauses import clauses
from pincite.text.languages import common
from pincite.text.sentences import n_words
from pincite.types import Span

_KNOWN = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
_WORDS = _KNOWN.pop("words")
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENDING = re.compile(r"(?<=...)(?:ing|ed|es|s|e|ly|d)\Z")
_STEM = 6  # letters compared, as in `text.words`
_LONGEST = 60  # words of a sentence; longer ones are lists
_SHOWN = 60  # characters of the source in a reason
# Share of a clause's content words that its sentence (with the page's names) must have, and of the
# shared ones that the qualifier must govern if the clause's predicate is unknown.
_SHARE, _GOVERNED = 0.5, 0.75
# How many words of the statement another sentence may lack to count as stating it, if it has the
# predicate: "She confessed that she stole it".
_FEWER = 2
LIMITS = frozenset({"role", "past", "party"})  # kinds that leave the statement true of another


class Qualification(NamedTuple):
    """Words by which a source qualifies a claim."""

    source: str  # the qualifier, up to the claim's predicate if that is near
    kind: str  # a table of qualifiers.toml
    sentence: Span  # in the passage's text


class _Pattern(NamedTuple):
    kind: str
    how: str  # a key of its table
    words: re.Pattern[str]


class _Part(NamedTuple):
    """A clause of a claim."""

    text: str
    stems: frozenset[str]
    names: frozenset[str]
    own: frozenset[str]  # stems but for names and adverbs
    predicate: str  # the stem of its verb, or of the noun behind "is"; "": unknown
    subject: str
    replaced: frozenset[str]  # words for which a source may have another: "won", "causes"
    patterns: list[_Pattern]  # that would qualify it


def qualification(
    claim: str, passage: str, about: str = "", page: str = "", covered: Span | None = None
) -> Qualification | None:
    """Return how a passage only qualifies a claim; None if it states it, or not even that.

    Args:
        claim: the statement; anything but English is never qualified.
        passage: the text to check.
        about: title and date of the page.
        page: the whole page, which may state the claim elsewhere; "": not known.
        covered: the words of the claim that the passage is cited for; None: all.
    """
    if common(claim, passage) != "en":
        return None
    hedged = bool(_HEDGED.search(claim))
    for clause in clauses(claim):
        if covered is None or clause.span.overlaps(covered):
            found = _best(_part(clause.text, hedged), passage, about, page or passage)
            if found:
                return found
    return None


def _best(part: _Part, passage: str, about: str, page: str) -> Qualification | None:
    found: list[tuple[int, Qualification]] = []
    known = part.stems & (_stems(about) | (part.names & _stems(page)))
    for span, after in _with_next(passage):
        shared = part.stems & _stems(span.of(passage))
        enough = len(shared | known) >= _SHARE * len(part.stems - part.replaced)
        if len(shared) < min(2, len(part.stems)) or not enough:
            continue
        if qualified := _in_sentence(part, span.of(passage), after):
            found.append((len(shared), Qualification(*qualified, span)))
    if not found:
        return None
    most, best = max(found, key=lambda each: each[0])
    least = len(part.own & _stems(best.sentence.of(passage))) - _FEWER
    settled = _SETTLED.get(best.kind)
    for span, after in _with_next(page):
        sentence = span.of(page)
        shared = part.stems & _stems(sentence)
        own = shared & part.own
        if settled and settled.search(sentence) and (own or best.kind != "plan"):
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
    names = frozenset(stem for name in wording.names(text) for stem in _stems(name))
    word, is_noun = _predicate(text)
    predicate = _stem(word[0]) if word else ""
    is_role = is_noun and predicate not in names
    is_now = re.search(r"\b(?:is|are)\b", text)

    def applies(pattern: _Pattern) -> bool:
        kind = pattern.kind
        allowed = is_role and (kind == "role" or is_now) if kind in LIMITS else not hedged
        replaces = kind not in _BESIDE or _BESIDE[kind].search(text)
        return bool(allowed and replaces and not pattern.words.search(text))

    adverbs = (w[0] for w in _WORD.finditer(text) if syntax.is_adverb(w[0]))
    return _Part(
        text,
        _stems(text),
        names,
        _stems(text) - names - _stems(" ".join(adverbs)),
        predicate,
        text[: word.start()].strip() if word else "",
        _stems(" ".join(m[0] for each in _BESIDE.values() for m in each.finditer(text))),
        list(filter(applies, _PATTERNS)),
    )


def _predicate(text: str) -> tuple[re.Match[str] | None, bool]:
    """Return a clause's verb, or the noun behind its "is", and whether it is the noun."""
    words = [word for word in _WORD.finditer(text) if text[word.start() - 1 : word.start()] != "-"]
    for n, word in enumerate(words):
        form, after = word[0].lower(), words[n + 1 :]
        if form not in syntax.AUXILIARIES and form != "became":
            before, behind = (words[n - 1][0] if n else ""), (after[0][0] if after else "")
            if n and syntax.may_be_finite(word[0], before, behind):
                return word, False
            continue
        rest = [w for w in after if not syntax.is_adverb(w[0]) and w[0] != "been"]
        if rest and (form in _HELPERS or syntax.is_participle(rest[0][0])):
            return rest[0], False
        if form not in syntax.BE | {"became"}:
            return None, False
        noun = None
        for each in rest:
            if _AFTER_NOUN.fullmatch(each[0]) or "," in text[word.end() : each.start()]:
                break
            noun = each
        return noun, True
    return None, False


def _in_sentence(part: _Part, sentence: str, after: str) -> tuple[str, str] | None:
    """Return the words that qualify the clause in a sentence, and their kind."""
    if n_words(sentence) > _LONGEST or sentence.endswith("?"):
        return None
    for kind, how, pattern in part.patterns:
        if how == "follows" and (found := pattern.match(after)):
            return found[0][:_SHOWN], kind
        is_partly = kind == "negation" and _PARTLY.search(sentence)
        if how == "follows" or is_partly or (kind in _BESIDE and _BESIDE[kind].search(sentence)):
            continue
        for match in pattern.finditer(sentence):
            start, end = _scope(how, match)
            words = [w for w in _WORD.finditer(sentence, start, end) if _stem(w[0]) in part.stems]
            undone = kind != "negation" and _UNDONE.search(sentence[: match.start()])
            if words and not undone and _governs(part, kind, how, match, words):
                of_verb = (w for w in words if _stem(w[0]) == part.predicate)
                stop = max(match.end(), next(of_verb, words[0]).end())
                near = stop - match.start() <= _SHOWN
                return sentence[match.start() : stop if near else match.end()].strip(), kind
    return _by_members(part, sentence)


def _governs(
    part: _Part, kind: str, how: str, match: re.Match[str], words: list[re.Match[str]]
) -> bool:
    """Whether a qualifier over `words` of a sentence qualifies the clause."""
    governed, sentence = {_stem(word[0]) for word in words}, match.string
    if kind in _BESIDE:
        said = _BESIDE[kind].search(part.text)
        objects = _stems(part.text[said.end() :]) if said else frozenset()
        return len(objects & governed) > len(objects) / 2
    outside = _stems(f"{sentence[: words[0].start()]} {sentence[words[-1].end() :]}")
    free = (part.own & governed) - outside
    if match[0].endswith("to"):  # "sought to lift a ban" does not qualify the ban
        free &= {_stem(sentence[slice(*_next_word(sentence, match.end()))])}
    if part.predicate and part.predicate not in part.names:
        return part.predicate in free
    n_own = len(part.own & _stems(sentence))
    return len(free) >= (1.0 if how == "precedes" else max(1.0, _GOVERNED * n_own))


def _by_members(part: _Part, sentence: str) -> tuple[str, str] | None:
    """Find that only people of the clause's subject do it: "two former clerks of Norrgas sued"."""
    of_it = rf"\b{_WORDS['party']} (?:of|at|with) (?:the )?{re.escape(part.subject)}\b"
    found = re.search(of_it, sentence) if part.subject[:1].isupper() else None
    once = sentence.count(part.subject) == 1 and part.predicate in _stems(sentence)
    return (found[0], "party") if found and once and found[0] not in part.text else None


def _scope(how: str, match: re.Match[str]) -> tuple[int, int]:
    """Return the part of a sentence that a qualifier qualifies."""
    sentence, start, end = match.string, *match.span()
    if how == "within":
        return start, end
    if how == "closes":
        ends = (e.end() for e in _ENDS.finditer(sentence, 0, start))
        return max(0, sentence.rfind(",", 0, start), *ends), start
    if how == "precedes":
        return _next_word(sentence, end)
    ended = _ENDS.search(sentence, end)
    stop = ended.start() if ended else len(sentence)
    for joint in re.finditer(r",? and (\w+)|, ", sentence[:stop]):
        verb = not joint[1] or syntax.may_be_past(joint[1]) or joint[1] in syntax.AUXILIARIES
        if joint.start() >= end and verb and not match[0].endswith(("that", "whether")):
            return end, joint.start()
    return end, stop


def _next_word(sentence: str, end: int) -> tuple[int, int]:
    """Return where the next word is that is no auxiliary or adverb; an empty span if none."""
    for word in _WORD.finditer(sentence, end):
        if sentence[end : word.start()].strip():
            break
        if word[0].lower() not in _SKIPPED and not syntax.is_adverb(word[0]):
            return word.span()
        end = word.end()
    return end, end


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    word = word.lower().replace("’", "'").removesuffix("'s")
    word = _FORMS.get(word, word)
    plain = _ENDING.sub("", word)
    if plain != word and len(plain) > 3 and plain[-1] == plain[-2]:  # planned, plan
        plain = plain[:-1]
    return plain[:_STEM]


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, wording.content_words(text, whole=True)))


def _compiled(lines: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(lines.strip().splitlines())})(?!\w)", re.IGNORECASE)


_FORMS = {form: group.split()[0] for group in _WORDS["verbs"].split(",") for form in group.split()}
_PATTERNS = [
    _Pattern(kind, how, _compiled(lines))
    for kind, table in _KNOWN.items()
    for how, lines in table.items()
    if how not in ("beside", "settled")
]
_BESIDE, _SETTLED = (
    {kind: _compiled(table[key]) for kind, table in _KNOWN.items() if key in table}
    for key in ("beside", "settled")
)
_HEDGED, _PARTLY = _compiled(_WORDS["hedged"]), _compiled(_WORDS["partly"])
_ENDS = re.compile(rf"[;:–—]|{_compiled(_WORDS['ends']).pattern}")
_UNDONE = re.compile(rf"{_WORDS['undone']}\s+\Z", re.IGNORECASE)
_SKIPPED = frozenset(_WORDS["skipped"].split())
_HELPERS = frozenset("will would did does do can could".split())
_AFTER_NOUN = re.compile(rf"{'|'.join(syntax.PREPOSITIONS)}|of|that|who|and|than|\w+ing")
