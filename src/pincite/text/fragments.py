"""The part of a sentence that a reference vouches for, made such that it can be read alone.

A part that is a clause stays as it is. One without a finite verb takes in the part before it, or
at the sentence's start the part behind it; one without a subject is given that of its sentence.
Verbs are found by the closed lists of `syntax.py`, leaning towards "yes": a piece that may be a
clause stays one. For languages other than English only the number of words is looked at.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache

from pincite.text import syntax
from pincite.text.clauses import clauses
from pincite.text.sentences import n_words
from pincite.types import Span

MAX_CHARS = 1_500  # of a sentence that parts are joined in; what is longer is no sentence
MAX_PARTS = 20  # of a sentence: one of more marks is a list, and each stands for its own words
MAX_BRACKET = 200  # characters that a part is lengthened by to close its bracket
MAX_SUBJECT = 12  # words
MIN_WORDS = 3  # a piece of fewer words says nothing without its neighbours
MIN_SIGNS = 5  # the same in Chinese and Japanese: 他生于北京
_SIGNS = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_WORD = re.compile(r"[^\W_]+(?:[’'.&/-][^\W_]+)*|[,;:()]")
_WORDS = re.compile(r"\w+")
_OBJECT = re.compile(r"[\s,]+(?:that|how|why|whether)\b")  # of "He said"
_CUT_NAME = re.compile(r"(?:\A\W*(?:\w+ )?|\s)\w+(?:[’']s|s[’'])(?: \w+)?\s*\Z")  # "Ito's eldest"
_WORD_FOLLOWS = re.compile(r"\s+(?!(?:in|on|at|by|and|but|or|from|for|to|with|after)\b)[a-z]")
_SHORTEST = 6  # words of a line with a full stop that is taken for a sentence whatever it holds
_CONJUNCTIONS = frozenset(
    "and but or nor yet so while whilst although though whereas because since if as however when "
    "whenever until unless once after before then thus therefore also".split()
)
_COORDINATING = frozenset("and but or nor yet then also later".split())
_JOINING = frozenset({"and", "but", "or", "nor", "yet"})
_UNSURE = syntax.PREPOSITIONS | syntax.SUBORDINATORS | frozenset({"what", "while", "since", "both"})
_RELATIVE = frozenset("which who whom whose where".split())
_SUBORDINATING = frozenset(
    "which who whom whose where when that because although though if".split()
)


class Standing(StrEnum):
    """What a piece of a sentence is by itself."""

    CLAUSE = "clause"  # it can be read alone
    PREDICATE = "predicate"  # a verb whose subject stands before the piece: "and closed in 1902"
    FRAGMENT = "fragment"  # no finite verb: "with a yard"


@lru_cache(maxsize=2048)
def standing(piece: str, language: str = "en") -> Standing:
    """What `piece` is by itself.

    >>> [str(standing(piece)) for piece in ("it closed in 1902", "and closed the mill", "in 1902")]
    ['clause', 'predicate', 'fragment']
    """
    if language != "en":
        words = [word for word in _WORD.findall(piece) if word[0].isalnum()]
        enough = n_words(" ".join(words)) >= MIN_WORDS or len(_SIGNS.findall(piece)) >= MIN_SIGNS
        return Standing.CLAUSE if enough else Standing.FRAGMENT
    words = _WORD.findall(piece)
    while words and not words[0][0].isalnum():
        words = words[1:]
    found = _verbs(words)
    if not found:
        return Standing.FRAGMENT
    first = _past(words, _COORDINATING)
    if first < len(words) and (words[first].lower() in _RELATIVE or found[0] == first):
        return Standing.PREDICATE
    first = _past(words, _CONJUNCTIONS)
    inner = sum(_subordinates(words, n) for n in range(first, found[-1]))
    return Standing.CLAUSE if len(found) > inner else Standing.FRAGMENT


def _subordinates(words: Sequence[str], n: int) -> bool:
    """Whether word `n` opens a clause within a clause; "that" of "for that reason" does not."""
    before = words[n - 1].lower() if n else ""
    shown = words[n].lower() == "that" and (not n or before in syntax.PREPOSITIONS)
    return words[n].lower() in _SUBORDINATING and not shown


def widened(sentence: str, part: Span, marks: Sequence[int], language: str = "en") -> Span:
    """`part` with as many of its neighbours as make it readable; `marks` part the sentence.

    >>> text = "As of the census of 2000, 1,204 people lived here."
    >>> widened(text, Span(0, 16), [16]).of(text) == text
    True
    """
    if part.start == 0 and not _WORDS.search(sentence, part.end):
        return part  # there is nothing else in the sentence
    edges = [0, *(m for m in marks if 0 < m < len(sentence)), len(sentence)]
    if len(edges) > MAX_PARTS:
        return part
    start, end = part
    while not _readable(sentence, Span(start, end), language):
        if start > 0:
            start = edges[bisect_left(edges, start) - 1]
        elif end < len(sentence):
            end = edges[bisect_right(edges, end)]
        else:
            break
        if len(sentence) > MAX_CHARS:
            break
    return Span(start, _bracket_end(sentence, start, end))


def _readable(sentence: str, part: Span, language: str) -> bool:
    piece = part.of(sentence)
    kind = standing(piece, language)
    if kind is not Standing.FRAGMENT and part.start > 0 and language == "en":
        left = sentence[max(0, part.start - MAX_CHARS) : part.start]
        if standing(left) is Standing.FRAGMENT:
            return False  # "Alba" + "and Borg opposed it", "In 1902" + "it closed"
    if _CUT_NAME.search(piece) and _WORD_FOLLOWS.match(sentence, part.end) and language == "en":
        return False  # "Ito's" + "son"
    if kind is not Standing.FRAGMENT:
        said = part.start == 0 and len(_WORDS.findall(piece)) < MIN_WORDS
        return not (said and _OBJECT.match(sentence, part.end))
    if len(_WORDS.findall(piece)) < MIN_WORDS or len(sentence) > MAX_CHARS:
        return False
    if sentence[:1].isupper() and sentence.endswith(".") and len(sentence.split()) > _SHORTEST:
        return False  # a sentence with a verb that the lists do not know
    return standing(sentence, language) is Standing.FRAGMENT  # a list: each thing is for itself


def _bracket_end(sentence: str, start: int, end: int) -> int:
    """The end of a part, behind the bracket that was opened in it."""
    depth = sentence.count("(", start, end) - sentence.count(")", start, end)
    for n in range(end, min(len(sentence), end + MAX_BRACKET) if depth > 0 else end):
        depth += (sentence[n] == "(") - (sentence[n] == ")")
        if depth == 0:
            return n + 1
    return end


def with_subject(sentence: str, part: Span, language: str = "en") -> tuple[str, Span]:
    """What to judge of a part, and where its own words stand; its subject is put before a verb.

    >>> with_subject("The mill burnt down and closed in 1902.", Span(20, 39))
    ('The mill closed in 1902.', Span(start=24, end=39))
    """
    plain = part.of(sentence), part
    if not 0 < part.start <= len(sentence) <= MAX_CHARS or language != "en":
        return plain
    if standing(plain[0], language) is not Standing.PREDICATE:
        return plain
    tokens = [(m[0], m.start()) for m in _WORD.finditer(sentence)]
    words = [word for word, _ in tokens]
    n = next(
        i for i, (_, start) in enumerate(tokens) if start >= part.start and words[i][0].isalnum()
    )
    if words[n].lower() in _RELATIVE:
        return _with_antecedent(sentence, Span(tokens[n][1], part.end)) or plain
    subject = _subject(words, n)
    if subject is None:
        return plain
    own = Span(tokens[n + (words[n].lower() in _JOINING)][1], part.end)
    first, last = subject
    return f"{sentence[tokens[first][1] : tokens[last][1]].rstrip()} {own.of(sentence)}", own


def _with_antecedent(sentence: str, part: Span) -> tuple[str, Span] | None:
    """For "who opened it" with the name before it, where the rules for clauses are sure of it."""
    for span, text in clauses(sentence):
        words = span.of(sentence)
        lead = text[: -len(words)]
        opens = part.start <= span.start < part.end and len(sentence[part.start : span.start]) < 8
        several = re.search(
            r"\b(?:and|or) \Z", sentence[: sentence.rfind(lead.strip(), 0, span.start)]
        )
        if (
            opens
            and lead
            and not several
            and text.endswith(words)
            and standing(lead) is Standing.FRAGMENT
        ):
            own = Span(span.start, part.end)
            return f"{lead}{own.of(sentence)}", own
    return None


def _subject(words: Sequence[str], n: int) -> tuple[int, int] | None:
    """The subject of the predicate at word `n`, as a range of words; None if that is not sure."""
    found = [v for v in _verbs(words) if v < n]
    opening = _past(words, frozenset())
    if words[opening].lower() in syntax.PREPOSITIONS and "," in words[:12]:
        opening = words.index(",") + 1  # "In 1911, the mill …"
    if not found or not opening < found[0] <= opening + MAX_SUBJECT:
        return None
    subject = words[opening : found[0]]
    first = subject[0]
    lower = {word.lower() for word in subject}
    opens = (
        first[:1].isupper() or first[:1].isdigit() or first in syntax.DETERMINERS | syntax.PRONOUNS
    )
    if not opens or lower & (_SUBORDINATING | {",", ":", ";", "there"}) or first.lower() in _UNSURE:
        return None
    between = {word.lower() for word in words[found[0] : n]}
    if between & (_SUBORDINATING | {":", ";"}) or not all(_joined(words, v) for v in found[1:]):
        return None
    verb = words[_past(words[n:], _COORDINATING) + n]
    half = words[found[0]] in syntax.AUXILIARIES and verb not in syntax.AUXILIARIES
    return None if half and syntax.is_participle(verb) else (opening, found[0])


def _joined(words: Sequence[str], n: int) -> bool:
    """Whether verb `n` is one more of the same subject: "and closed"."""
    while n and syntax.is_adverb(words[n - 1].lower()):
        n -= 1
    return n > 0 and words[n - 1] in (",", "and", "but", "or")


def _past(words: Sequence[str], skipped: frozenset[str]) -> int:
    """The first word that is neither in `skipped` nor an adverb."""
    n = 0
    while n < len(words) and (
        words[n].lower() in skipped or syntax.is_adverb(words[n].lower()) or words[n] == ","
    ):
        n += 1
    return n


def _verbs(words: Sequence[str]) -> list[int]:
    """Where finite verbs may stand; auxiliaries with their participles count once."""
    found: list[int] = []
    for n, word in enumerate(words):
        before = words[n - 1] if n else ""
        after = words[n + 1] if n + 1 < len(words) else ""
        if n and syntax.is_adverb(before.lower()) and n > 1:
            before = words[n - 2]
        may = syntax.may_be_finite(word, "" if before in ",;:(" else before, after)
        if syntax.may_be_past(word) and word not in syntax.AUXILIARIES:
            may = _past_form(words, n, before, after, may=may)
        if may and not _leans(words, n, found):
            found.append(n)
    return found


def _past_form(words: Sequence[str], n: int, before: str, after: str, *, may: bool) -> bool:
    """Whether a past tense or participle at word `n` is a verb with an object, or behind a noun."""
    if n == _past(words[:n], _COORDINATING) and syntax.is_sure(words[n], after):
        return True
    if before == ",":
        return may and (syntax.is_sure(words[n], after) or after[:1].isupper())
    return may and before not in ";:("


def _leans(words: Sequence[str], n: int, found: Sequence[int]) -> bool:
    """Whether word `n` belongs to the verb before it: "was" + "not" + "opened"."""
    between = words[found[-1] + 1 : n] if found else ()
    near = bool(found) and len(between) <= 2
    return near and all(syntax.is_adverb(w.lower()) or w in ("been", "be") for w in between)
