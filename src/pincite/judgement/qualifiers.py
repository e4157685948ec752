"""Finds where a source only reports, plans, hedges or limits what a claim states as fact.

"She was accused of forging the deed" does not support "she forged the deed". A word of
`qualifiers.toml` counts only if it governs the claim's own predicate in the sentence that states
it, the claim is not hedged itself, and no other sentence of the page states it without such a word.
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
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
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_ENDING = re.compile(r"(?<=...)(?:ing|ed|es|s|e|ly|d)\Z")
_STEM = 6  # letters compared, as in `text.words`
_LONGEST = 60  # words of a sentence; longer ones are lists
_SHOWN = 60  # characters of the source in a reason
# Share of a clause's content words that its sentence (with the page's names) must have, and of the
# shared ones that the qualifier must govern.
import os
_SHARE, _GOVERNED = float(os.environ.get('SH','0.7')), 0.6


LIMITS = frozenset({"role", "past", "party"})  # kinds that leave the statement true of another


class Qualification(NamedTuple):
    """Words by which a source qualifies a claim."""

    source: str  # the qualifier, up to the claim's predicate if that is near
    kind: str  # a table of qualifiers.toml
    sentence: Span  # in the passage's text


def qualification(
    claim: str, passage: str, about: str = "", page: str = "", covered: Span | None = None
) -> Qualification | None:
    """Return how a passage only qualifies a claim; None if it states it, or not even that.

    Args:
        claim: the statement, in English.
        passage: the text to check, in English; otherwise nothing is found.
        about: title and date of the page.
        page: the whole page, which may state the claim elsewhere; "": not known.
        covered: the words of the claim that the passage is cited for; None: all.
    """
    if common(claim, passage) != "en":
        return None
    for clause in clauses(claim):
        if covered and not clause.span.overlaps(covered):
            continue
        part = _Part.read(clause.text, bool(_HEDGED.search(claim)))
        if found := _best(part, passage, about, page or passage):
            return found
    return None


def _best(part: "_Part", passage: str, about: str, page: str) -> Qualification | None:
    found: list[tuple[int, Qualification]] = []
    spans = wording.sentences_of(passage)
    known = (_stems(about) | (part.names & _stems(page))) & part.stems
    for n, span in enumerate(spans):
        shared = part.stems & _stems(span.of(passage))
        own = shared - part.names
        enough = _SHARE * len(part.stems - part.replaced)
        if len(shared) < min(2, len(part.stems)) or len(shared | known) < enough:
            continue
        after = spans[n + 1].of(passage) if n + 1 < len(spans) else ""
        qualified = _in_sentence(part, span.of(passage), after)
        if qualified:
            found.append((len(own), Qualification(*qualified, span)))
    if not found:
        return None
    most, best = max(found, key=lambda each: each[0])
    stated = (span.of(page) for span in wording.sentences_of(page))
    sentences = list(stated)
    settled = _SETTLED.get(best.kind)
    for sentence, after in zip(sentences, [*sentences[1:], ""], strict=True):
        own = (part.stems - part.names) & _stems(sentence)
        if settled and settled.search(sentence) and (own or best.kind != "plan"):
            return None
        near = 2 if part.predicate in own else 0
        if len(own) >= max(1, most - near) and not _in_sentence(part, sentence, after):
            return None
    return best


@dataclass(frozen=True, slots=True)
class _Part:
    text: str
    stems: frozenset[str]
    names: frozenset[str]
    predicate: str  # "": unknown
    role: bool  # whether the predicate is a noun: "is the mayor"
    present: bool
    hedged: bool
    subject: str
    replaced: frozenset[str]  # words for which a source may have another: "won", "causes"

    @classmethod
    def read(cls, text: str, hedged: bool) -> "_Part":
        names = frozenset(stem for name in wording.names(text) for stem in _stems(name))
        word, is_noun = _predicate(text)
        predicate = _stem(word[0]) if word else ""
        replaced = (m[0] for each in _BESIDE.values() for m in each.finditer(text))
        return cls(
            text=text,
            stems=_stems(text),
            names=names,
            predicate=predicate,
            role=is_noun and predicate not in names,
            present=bool(re.search(r"\b(?:is|are)\b", text)),
            hedged=hedged,
            subject=text[: word.start()].strip() if word else "",
            replaced=_stems(" ".join(replaced)),
        )


def _predicate(text: str) -> tuple[re.Match[str] | None, bool]:
    """Return a clause's verb, or the noun behind its "is", and whether it is the noun."""
    words = list(_WORD.finditer(text))
    forms = [word[0].lower() for word in words]
    for n, form in enumerate(forms):
        before, after = forms[n - 1] if n else "", words[n + 1][0] if n + 1 < len(forms) else ""
        if form in syntax.AUXILIARIES or form == "became":
            rest = [w for w in words[n + 1 :] if not syntax.is_adverb(w[0]) and w[0] != "been"]
            if not rest:
                return None, False
            if form not in syntax.BE | {"became"} or syntax.is_participle(rest[0][0]):
                return rest[0], False
            noun = None
            for word in rest:
                if text[words[n].end() : word.start()].count(","):
                    break
                if word[0].lower() in syntax.PREPOSITIONS | {"of", "that", "who", "and", "than"}:
                    break
                noun = word
            return noun, True
        if n and syntax.may_be_finite(words[n][0], before, after):
            return words[n], False
    return None, False


def _in_sentence(part: _Part, sentence: str, after: str) -> tuple[str, str] | None:
    """Return the words that qualify the clause in a sentence, and their kind."""
    if n_words(sentence) > _LONGEST or sentence.endswith("?"):
        return None
    if not part.hedged and after and (denial := _DENIES.match(after)):
        return denial[0].strip()[:_SHOWN], "denial"
    for kind, how, opens, (start, end) in _scopes(part, sentence):
        words = [w for w in _WORD.finditer(sentence, start, end) if _stem(w[0]) in part.stems]
        governed = {_stem(word[0]) for word in words}
        if kind in _BESIDE:
            said = _BESIDE[kind].search(part.text)
            if said and _stems(part.text[said.end() :]) & governed:
                return opens[0], kind
            continue
        outside = _stems(f"{sentence[:start]} {sentence[end:]}")
        own = (part.stems & _stems(sentence)) - part.names
        if part.predicate:
            if part.predicate not in governed or part.predicate in outside:
                continue
        elif len(governed - part.names - outside) < (
            1 if how == "precedes" else max(1, _GOVERNED * len(own))
        ):
            continue
        target = next((w for w in words if _stem(w[0]) == part.predicate), None) or words[0]
        near = target.end() - opens.start() <= _SHOWN and target.end() > opens.end()
        return sentence[opens.start() : target.end() if near else opens.end()].strip(), kind
    return _by_members(part, sentence)


def _by_members(part: _Part, sentence: str) -> tuple[str, str] | None:
    """Find that only people of the clause's subject do it: "two former clerks of Norrgas sued"."""
    if not part.subject[:1].isupper() or part.predicate not in _stems(sentence):
        return None
    pattern = rf"\b{_PARTY} (?:of|at|with) (?:the )?{re.escape(part.subject)}\b"
    found = re.search(pattern, sentence)
    alone = sentence.count(part.subject) == 1 and not re.search(_PARTY, part.text)
    return (found[0], "party") if found and alone else None


def _scopes(part: _Part, sentence: str) -> Iterator[tuple[str, str, re.Match[str], tuple[int, int]]]:
    for kind, how, pattern in _PATTERNS:
        if part.hedged and kind not in ("role", "past"):
            continue
        if kind in ("role", "past") and not (part.role and (kind == "role" or part.present)):
            continue
        if pattern.search(part.text) or (kind == "negation" and _PARTLY.search(sentence)):
            continue
        if kind in _BESIDE and (
            not _BESIDE[kind].search(part.text) or _BESIDE[kind].search(sentence)
        ):
            continue
        for match in pattern.finditer(sentence):
            if kind != "negation" and _UNDENIED.search(sentence[: match.start()]):
                continue
            if how == "precedes":
                word = _governed(sentence, match.end())
                if word:
                    yield kind, how, match, word.span()
            elif how == "closes":
                start = max(
                    (e.end() for e in _ENDS.finditer(sentence, 0, match.start())), default=0
                )
                start = max(start, sentence.rfind(",", 0, match.start()))
                yield kind, how, match, (start, match.start())
            else:
                start = match.start() if how == "within" else match.end()
                yield (
                    kind,
                    match,
                    (start, match.end() if how == "within" else _end(sentence, match)),
                )


def _governed(sentence: str, start: int) -> re.Match[str] | None:
    for word in _WORD.finditer(sentence, start):
        if sentence[start : word.start()].strip():
            return None
        if word[0].lower() not in _SKIPPED and not syntax.is_adverb(word[0]):
            return word
        start = word.end()
    return None


def _end(sentence: str, match: re.Match[str]) -> int:
    """Return where the clause that a qualifier opens ends."""
    end = _ENDS.search(sentence, match.end())
    stop = end.start() if end else len(sentence)
    if match[0].lower() in ("if", "unless", "should"):
        comma = sentence.find(",", match.end())
        return comma if comma >= 0 else stop
    if not match[0].endswith(("that", "whether")):
        for joint in re.finditer(r",? and (\w+)|, ", sentence[:stop]):
            if joint.start() >= match.end() and (
                not joint[1] or syntax.may_be_past(joint[1]) or joint[1] in syntax.AUXILIARIES
            ):
                return joint.start()
    return stop


@lru_cache(maxsize=4096)
def _stem(word: str) -> str:
    word = word.lower().replace("’", "'").removesuffix("'s")
    word = _FORMS.get(word, word)
    plain = _ENDING.sub("", word)
    if len(plain) > 3 and plain[-1] == plain[-2] and word != plain:  # planned, plan
        plain = plain[:-1]
    return plain[:_STEM]


@lru_cache(maxsize=4096)
def _stems(text: str) -> frozenset[str]:
    return frozenset(map(_stem, wording.content_words(text, whole=True)))


def _compiled(lines: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{'|'.join(lines.strip().splitlines())})(?!\w)", re.IGNORECASE)


_FORMS = {
    form: group.split()[0]
    for group in _KNOWN["verbs"]["forms"].split(",")
    for form in group.split()
}
_PATTERNS: Sequence[tuple[str, str, re.Pattern[str]]] = [
    (kind, how, _compiled(table[how]))
    for kind, table in _KNOWN.items()
    for how in ("opens", "precedes", "closes", "within")
    if how in table
]
_BESIDE, _SETTLED = (
    {kind: _compiled(table[key]) for kind, table in _KNOWN.items() if key in table}
    for key in ("beside", "settled")
)
_DENIES, _ENDS, _HEDGED = (
    re.compile(_KNOWN["words"]["denies"], re.IGNORECASE),
    re.compile(_KNOWN["words"]["ends"]),
    _compiled(_KNOWN["words"]["hedged"].replace("\n", "|")),
)
# "Not until 1966", "never outside Holm", "the rumour that it was not ready": these deny no more than
# a part, or another's words.
_PARTLY = re.compile(
    r"\b(?:until|till|before|but|only|except|outside|without|unless|just|both|merely|all|every|that)\b",
    re.I,
)
_PARTY = _KNOWN["words"]["party"]
_UNDENIED = re.compile(r"(?:\bnot|n['’]t|\bnever|\bwithout|\bno longer)(?: \w+ly)?\s+\Z", re.I)
_SKIPPED = frozenset(
    "have has had be been being also even still soon not to very much it one well have to".split()
)
