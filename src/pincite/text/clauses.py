"""Splits a claim into clauses, and finds the part of a sentence that a reference covers.

`clauses` cuts a claim where both sides certainly have a finite verb, and inserts the first side's
subject where the second has none; each item of a final list is checked with the text before it. In
doubt nothing is cut. `widen` and `with_subject` make a part of a sentence readable alone; in
doubt they assume a verb. Languages other than English are handled by word counts only.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from enum import StrEnum
from functools import lru_cache
from itertools import dropwhile, pairwise, takewhile

from pincite.text import syntax, words_of
from pincite.text.figures import MONTHS
from pincite.text.languages import is_english
from pincite.text.sentences import n_words, sentences
from pincite.text.syntax import Clause, Segment, Sentence, Token, Verb
from pincite.types import Span

MAX_CHARS = 1_500  # a longer text is not a sentence that these rules can handle
MAX_CLAUSES = 6  # each costs up to three pairs per source; more indicate a list, not a sentence
MAX_SUBJECT, MAX_ITEM, MAX_BARE = 12, 6, 3  # words; the last of a subject without an article
_LONGEST_TITLE = 4  # "Prof."
_ARTICLES = frozenset("the a an its his her their our this two three four five".split())
MAX_PARTS = 20  # per sentence: one with more marks is a list, and each mark covers its own words
MAX_BRACKET = 200  # characters that may be added to a part to close its bracket
MIN_WORDS = 3  # a shorter piece is meaningless without its neighbours
MIN_SIGNS = 5  # the same in Chinese and Japanese characters: 他生于北京
_SIGNS = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_PIECE = re.compile(r"[^\W_]+(?:[’'.&/-][^\W_]+)*|[,;:()]")
_WORDS = re.compile(r"\w+")
_OBJECT = re.compile(r"[\s,]+(?:that|how|why|whether)\b")  # after a verb such as "He said"
_CUT_NAME = re.compile(r"(?:\A\W*(?:\w+ )?|\s)\w+(?:[’']s|s[’'])(?: \w+)?\s*\Z")  # "Ito's eldest"
_WORD_FOLLOWS = re.compile(r"\s+(?!(?:in|on|at|by|and|but|or|from|for|to|with|after)\b)[a-z]")
_SHORTEST = 6  # minimum words for a line with a full stop to count as a sentence
_CONJUNCTIONS, _SUBORDINATING = (
    words_of("verb_phrases", name) for name in ("conjunctions", "subordinating")
)
_JOINING = frozenset("and but or nor yet".split())
_COORDINATING = _JOINING | {"then", "also", "later"}
_UNSURE = syntax.PREPOSITIONS | syntax.SUBORDINATORS | frozenset({"what", "while", "since", "both"})
_RELATIVE = frozenset("which who whom whose where".split())


def clauses(claim: str) -> list[Clause]:
    """Split `claim` into at least one clause, in order; spans never overlap.

    >>> [c.text for c in clauses("Holm was born in Varde and studied in Oslo.")]
    ['Holm was born in Varde', 'Holm studied in Oslo']
    """
    whole = Clause(Span(0, len(claim)), claim)
    if len(claim) > MAX_CHARS or not is_english(claim):
        return [whole]
    parsed = [Sentence.read(claim, span) for span in sentences(claim)]
    for sentence in parsed if len(parsed) > 1 else ():
        words = [token.word for token in sentence.tokens if token.word[0].isalnum()]
        is_short = bool(words) and words[-1][0].isupper() and len(words[-1]) <= _LONGEST_TITLE
        abbreviated = is_short and sentence is not parsed[-1]  # but not in "… died in Rome."
        if abbreviated or not sentence.verbs:
            return [whole]
    parts = [clause for sentence in parsed for clause in _of_sentence(sentence)]
    return parts if 1 < len(parts) <= MAX_CLAUSES else [whole]


def _of_sentence(sentence: Sentence) -> list[Clause]:
    if not sentence.tokens:
        return []
    segment = Segment(0)
    marks = [n for n in sentence.stops if sentence.word(n) == ";"]
    pieces = pairwise([-1, *marks, len(sentence.tokens)])
    # Pieces between semicolons without a verb are list items.
    listed = marks and not all(sentence.verbs_in(a + 1, b) for a, b in pieces)
    if not sentence.balanced or _opens_subordinate(sentence) or listed:
        return [sentence.clause(segment, len(sentence.tokens))]
    parts: list[Clause] = []
    for n in range(len(sentence.tokens)):
        if n >= segment.start and (cut := _cut(sentence, segment, n)):
            clause, segment = cut
            parts.append(clause)
    return [*parts, *_split_list(sentence, segment)]


def _cut(sentence: Sentence, segment: Segment, n: int) -> tuple[Clause, Segment] | None:
    """Cut before token `n` if this is certain; return the clause and the remaining segment."""
    word, following = sentence.word(n), sentence.word(n + 1)
    if n <= segment.start or n + 1 >= len(sentence.tokens):
        return None
    if word == "," and following in ("who", "which"):
        return _at_relative(sentence, segment, n)
    behind = None
    if word == ";":
        start = n + 2 if following in ("and", "but") else n + 1
        behind = _without_subject(sentence, segment, n, start) or Segment(start)
    elif word == "," and following == "where":
        behind = _with_subject(sentence, segment, n, n + 2)
    elif word == "," and following in ("and", "but", "while"):
        behind = None if segment.relative else _without_subject(sentence, segment, n, n + 2)
        behind = behind or _with_subject(sentence, segment, n, n + 2)
    elif word in ("and", "but"):
        behind = _without_subject(sentence, segment, n, n + 1)
    return (sentence.clause(segment, n), behind) if behind else None


def _without_subject(sentence: Sentence, segment: Segment, end: int, start: int) -> Segment | None:
    """Return a segment that begins with its verb at `start` and takes its neighbour's subject."""
    left = sentence.verbs_in(segment.start, end)
    n = sentence.past_adverbs(start)
    if len(left) != 1 or sentence.subordinate(left[0].start, end):
        return None
    if sentence.word(left[0].start) in syntax.AUXILIARIES and left[0].end == end:
        return None  # "was trained and experienced in law": part of a verb phrase
    subject = segment.lead or _subject(sentence, segment.start, left[0].start)
    if subject is None or not sentence.word(n):
        return None
    leaning = _passive_auxiliary(sentence, left[0])
    if _passive(sentence, n):
        return Segment(start, f"{subject} {leaning}") if leaning else None
    (verb, *others) = sentence.verbs_in(n, sentence.next_stop(n)) or [Verb(-1, -1)]
    if verb.start != n:
        return None
    later = bool(others) and not sentence.subordinate(n, others[0].start)
    if later and not syntax.is_sure(sentence.word(n), ""):
        return None  # a participle that modifies the later verb's subject
    words = subject.split(" ")  # without the auxiliary: "The mill was" built, closed
    while segment.lead and len(words) > 1 and words[-1] in syntax.AUXILIARIES | {"been", "be"}:
        words.pop()
    return Segment(start, " ".join(words))


def _passive(sentence: Sentence, n: int) -> bool:
    """Whether a participle depends on the preceding auxiliary: "known as", "designed by Holm"."""
    word, following, agent = (sentence.word(m) for m in (n, n + 1, n + 2))
    without_object = following.lower() in syntax.PREPOSITIONS
    if word in syntax.PARTICIPLES or (word in syntax.TRANSITIVE and without_object):
        return True
    by_someone = following == "by" and not agent[:1].isdigit() and agent not in MONTHS
    return syntax.is_participle(word) and by_someone and bool(agent)


def _passive_auxiliary(sentence: Sentence, verb: Verb) -> str:
    """Return "was" of "was later built", "has been" of "has been built"; "" if not passive."""
    words = sentence.words(verb.start, verb.end)
    forms = [word for word in words if not syntax.is_adverb(word)]
    passive = forms[0] in syntax.BE or "been" in forms or "be" in forms
    if passive and len(forms) > 1 and syntax.is_participle(forms[-1]):
        return " ".join(forms[:-1])
    return forms[0] if forms[0] in syntax.BE and len(forms) == 1 else ""


def _with_subject(sentence: Sentence, segment: Segment, end: int, start: int) -> Segment | None:
    left = sentence.verbs_in(segment.start, end)
    right = sentence.verbs_in(start, sentence.next_stop(start))
    if not left or not right or right[0].start == start:
        return None
    verb = right[0].start
    if sentence.subordinate(start, verb):
        return None
    first, listing = sentence.word(start), sentence.word(start - 1) == "and"
    sure = syntax.is_sure(sentence.word(verb), sentence.word(verb + 1))
    if not _may_open_subject(first):  # "volunteers reopened the line", "bus fares have risen"
        bare = sentence.words(start, verb)
        short = sentence.word(verb) in syntax.AUXILIARIES and len(bare) <= MAX_BARE
        short = short and all(w.islower() and w not in syntax.PARTICLES for w in bare)
        alone = verb == start + 1 and (sure or not listing)
        return Segment(start) if short or alone else None
    # After "and", "the house built in 1901" may be another list item.
    return Segment(start) if sure or first in syntax.PRONOUNS or not listing else None


def _at_relative(sentence: Sentence, segment: Segment, comma: int) -> tuple[Clause, Segment] | None:
    """Cut at ", who …", at the end of a clause or between a subject and its verb."""
    start = comma + 2
    verb = sentence.past_adverbs(start)
    if not sentence.verbs_in(verb, verb + 1):
        return None
    if sentence.verbs_in(segment.start, comma):
        antecedent = _antecedent(sentence, segment.start, comma)
        behind = Segment(start, antecedent, relative=True) if antecedent else None
        return (sentence.clause(segment, comma), behind) if behind else None
    closing = next((n for n in sentence.stops if n > verb and sentence.word(n) == ","), None)
    subject = segment.lead or _subject(sentence, segment.start, comma)
    if closing is None or subject is None or _antecedent(sentence, segment.start, comma) is None:
        return None
    after = sentence.past_adverbs(closing + 1)
    if not sentence.verbs_in(after, after + 1) and not syntax.may_be_past(sentence.word(after)):
        return None
    span = sentence.clause(segment, closing).span
    text = f"{subject} {sentence.raw(start, closing)}"
    return Clause(span, text), Segment(closing + 1, subject)


def _subject(sentence: Sentence, start: int, end: int) -> str | None:
    words = sentence.tokens[start:end]
    while words and syntax.is_adverb(words[-1].word):
        words.pop()
    words = list(takewhile(lambda token: not token.inside, _past_opening(words)))
    commas = [n for n, token in enumerate(words) if token.word == ","]
    if commas and words[-1].word == ",":
        words = words[: commas[0]]
    elif commas and all(token.word != "and" for token in words):
        return None
    if not 0 < len(words) <= MAX_SUBJECT or not _may_open_subject(words[0].word):
        return None
    lower = {token.word.lower() for token in words}
    if lower & syntax.SUBORDINATORS or "there" in lower:
        return None
    return sentence.text[words[0].start : words[-1].end]


def _past_opening(words: list[Token]) -> list[Token]:
    """Strip "In 1911," or "Later" before the subject."""
    while words and syntax.is_adverb(words[0].word.lower()):
        words = words[2:] if len(words) > 1 and words[1].word == "," else words[1:]
    first = words[0].word.lower() if words else ""
    if first not in syntax.PREPOSITIONS and first != "born":
        return words
    comma = next((n for n, token in enumerate(words) if token.word == ","), None)
    if comma is not None:
        return words[comma + 1 :]
    n = 1
    while n < len(words) and (words[n].word[0].isdigit() or words[n].word in MONTHS):
        n += 1
    return words[n:] if n > 1 else []


def _antecedent(sentence: Sentence, start: int, comma: int) -> str | None:
    """Return the antecedent of "who" or "which" after the comma; None if it is ambiguous."""
    n = comma
    while n > start and _is_name(sentence.word(n - 1)):
        n -= 1
    if n == comma:
        n = _last_article(sentence, max(start, comma - 5), comma)
    between = sentence.words(n, comma)
    if not between or not all(between) or set(between) & (syntax.PREPOSITIONS | {","}):
        return None
    if sentence.verbs_in(n, comma):
        return None  # refers to the whole event, not to a thing
    if n > start and sentence.word(n - 1) == "of" and sentence.word(comma + 1) == "who":
        return None  # "the mayor of Varde, who …"
    if between[0] in ("a", "an"):
        return f"the {sentence.raw(n + 1, comma)}" if len(between) > 1 else None
    return sentence.raw(n, comma)


def _may_open_subject(word: str) -> bool:
    lower = word.lower()
    known = lower in syntax.DETERMINERS or lower in syntax.PRONOUNS
    return known or word[:1].isupper() or word[:1].isdigit()


def _opens_subordinate(sentence: Sentence) -> bool:
    """Whether the sentence opens with a clause of time or reason, whose verb is not coordinated."""
    first, stop = sentence.word(0).lower(), sentence.next_stop(0)
    timed = first in syntax.PREPOSITIONS and sentence.word(stop) == ","
    return first in syntax.SUBORDINATORS or (timed and bool(sentence.verbs_in(0, stop)))


def _split_list(sentence: Sentence, segment: Segment) -> list[Clause]:
    """Return the last clause; one per item if it certainly ends in a list of three or more."""
    end = len(sentence.tokens)
    while end > segment.start and sentence.tokens[end - 1].word in ".!?":
        end -= 1
    whole = [sentence.clause(segment, end)] if end > segment.start else []
    items = _items(sentence, segment, end)
    if not items:
        return whole
    (first, first_end), *rest = items
    stem = sentence.clause(Segment(segment.start, segment.lead), first).text
    others = [sentence.clause(Segment(a, stem), b) for a, b in rest]
    return [sentence.clause(segment, first_end), *others]


def _items(sentence: Sentence, segment: Segment, end: int) -> list[tuple[int, int]]:
    """Return token ranges of the list items, half-open; empty if there is no list."""
    verbs = sentence.verbs_in(segment.start, end)
    inside = [n for n in sentence.stops if segment.start < n < end]
    conjunctions = [n for n in inside if sentence.word(n) == "and"]
    if len(verbs) != 1 or not conjunctions or sentence.subordinate(verbs[0].start, end):
        return []
    last = conjunctions[-1]
    commas = [n for n in sentence.stops if verbs[0].end <= n < last and sentence.word(n) == ","]
    oxford = bool(commas) and commas[-1] == last - 1
    starts = [comma + 1 for comma in (commas[:-1] if oxford else commas)] + [last + 1]
    ends = [*(commas if oxford else [*commas, last]), end][1:]
    rest = list(zip(starts, ends, strict=True))
    if len(rest) < 2 or any(n in sentence.stops for a, b in rest for n in range(a, b)):
        return []
    first = _first_item(sentence, verbs[0].end, commas[0], rest)
    return [] if first is None else [(first, commas[0]), *rest]


def _first_item(
    sentence: Sentence, start: int, end: int, rest: list[tuple[int, int]]
) -> int | None:
    """Return the start of the first item, by the others: an article, names, or one word."""
    others = [sentence.words(a, b) for a, b in rest]
    if any(
        not 0 < len(o) <= MAX_ITEM or set(o) & syntax.PREPOSITIONS or not all(o) for o in others
    ):
        return None
    articles = all(o[0].lower() in _ARTICLES for o in others)
    if articles:
        n = _last_article(sentence, max(start, end - MAX_ITEM), end)
    elif all(_is_name(word) for o in others for word in o):
        n = end
        while n > start and _is_name(sentence.word(n - 1)):
            n -= 1
    elif all(len(o) == 1 and o[0].islower() and o[0].isalpha() for o in others):
        n = end - 1
    else:
        return None
    before = sentence.word(n - 1) if n else ""
    if not start <= n < end or before in ("between", "among"):
        return None
    fits = articles or n == start or before in syntax.PREPOSITIONS or before == "of"
    return n if fits else None


def _last_article(sentence: Sentence, start: int, end: int) -> int:
    """Return the last article followed only by its noun phrase, else `end`."""
    articles = [n for n in range(start, end) if sentence.word(n).lower() in _ARTICLES]
    n = articles[-1] if articles else end
    words = sentence.words(n, end)
    return end if set(words) & syntax.PREPOSITIONS or not all(words) else n


def _is_name(word: str) -> bool:
    return word[:1].isupper() and word not in MONTHS


class Standing(StrEnum):
    """How complete a piece of a sentence is."""

    CLAUSE = "clause"  # can be read alone
    PREDICATE = "predicate"  # a verb whose subject precedes the piece: "and closed in 1902"
    FRAGMENT = "fragment"  # no finite verb: "with a yard"


@lru_cache(maxsize=2048)
def standing(piece: str, language: str = "en") -> Standing:
    """Classify `piece`.

    >>> [str(standing(piece)) for piece in ("it closed in 1902", "and closed the mill", "in 1902")]
    ['clause', 'predicate', 'fragment']
    """
    if language != "en":
        words = [word for word in _PIECE.findall(piece) if word[0].isalnum()]
        enough = n_words(" ".join(words)) >= MIN_WORDS or len(_SIGNS.findall(piece)) >= MIN_SIGNS
        return Standing.CLAUSE if enough else Standing.FRAGMENT
    words = list(dropwhile(lambda word: not word[0].isalnum(), _PIECE.findall(piece)))
    verbs = _maybe_verbs(words)
    if not verbs:
        return Standing.FRAGMENT
    first = _skip(words, _COORDINATING)
    if first < len(words) and (words[first].lower() in _RELATIVE or verbs[0] == first):
        return Standing.PREDICATE
    first = _skip(words, _CONJUNCTIONS)
    inner = 0
    for n in range(first, verbs[-1]):  # a nested clause; excludes "for that reason"
        word, before = words[n].lower(), words[n - 1].lower() if n else ""
        shown = word == "that" and (not n or before in syntax.PREPOSITIONS)
        inner += word in _SUBORDINATING and not shown
    return Standing.CLAUSE if len(verbs) > inner else Standing.FRAGMENT


def widen(sentence: str, part: Span, marks: Sequence[int], language: str = "en") -> Span:
    """Extend `part` by neighbours until it is readable alone; `marks` divide the sentence.

    >>> text = "As of the census of 2000, 1,204 people lived here."
    >>> widen(text, Span(0, 16), [16]).of(text) == text
    True
    """
    if part.start == 0 and not _WORDS.search(sentence, part.end):
        return part  # the part is the whole sentence
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
    short = len(_WORDS.findall(piece)) < MIN_WORDS
    if kind is not Standing.FRAGMENT:  # "He said" needs its object
        return not (part.start == 0 and short and _OBJECT.match(sentence, part.end))
    if short or len(sentence) > MAX_CHARS:
        return False
    if sentence[:1].isupper() and sentence.endswith(".") and len(sentence.split()) > _SHORTEST:
        return False  # a sentence whose verb is not in the lists
    return standing(sentence, language) is Standing.FRAGMENT  # a list, whose items stand alone


def _bracket_end(sentence: str, start: int, end: int) -> int:
    depth = sentence.count("(", start, end) - sentence.count(")", start, end)
    for n in range(end, min(len(sentence), end + MAX_BRACKET) if depth > 0 else end):
        depth += (sentence[n] == "(") - (sentence[n] == ")")
        if depth == 0:
            return n + 1
    return end


def with_subject(sentence: str, part: Span, language: str = "en") -> tuple[str, Span]:
    """Insert the subject before a part's verb; also return the span of the part's own words.

    >>> with_subject("The mill burnt down and closed in 1902.", Span(20, 39))
    ('The mill closed in 1902.', Span(start=24, end=39))
    """
    plain = part.of(sentence), part
    if not 0 < part.start <= len(sentence) <= MAX_CHARS or language != "en":
        return plain
    if standing(plain[0], language) is not Standing.PREDICATE:
        return plain
    tokens = [(m[0], m.start()) for m in _PIECE.finditer(sentence)]
    words = [word for word, _ in tokens]
    n = next(
        i for i, (_, start) in enumerate(tokens) if start >= part.start and words[i][0].isalnum()
    )
    if words[n].lower() in _RELATIVE:
        return _with_antecedent(sentence, Span(tokens[n][1], part.end)) or plain
    subject = _subject_before(words, n)
    if subject is None:
        return plain
    own = Span(tokens[n + (words[n].lower() in _JOINING)][1], part.end)
    first, last = subject
    return f"{sentence[tokens[first][1] : tokens[last][1]].rstrip()} {own.of(sentence)}", own


def _with_antecedent(sentence: str, part: Span) -> tuple[str, Span] | None:
    """Replace "who" in "who opened it" by its antecedent, where the clause rules are certain."""
    for span, text in clauses(sentence):
        words = span.of(sentence)
        lead = text[: -len(words)]
        opens = part.start <= span.start < min(part.end, part.start + 8)
        if not opens or not lead or not text.endswith(words):
            continue
        before = sentence[: sentence.rfind(lead.strip(), 0, span.start)]
        if standing(lead) is Standing.FRAGMENT and not before.endswith((" and ", " or ")):
            own = Span(span.start, part.end)
            return f"{lead}{own.of(sentence)}", own
    return None


def _subject_before(words: Sequence[str], n: int) -> tuple[int, int] | None:
    """Return the word range of the subject of the predicate at word `n`; None if uncertain."""
    verbs = [v for v in _maybe_verbs(words) if v < n]
    opening = _skip(words, frozenset())
    if words[opening].lower() in syntax.PREPOSITIONS and "," in words[:12]:
        opening = words.index(",") + 1  # skips "In 1911, the mill …"
    if not verbs or not opening < verbs[0] <= opening + MAX_SUBJECT:
        return None
    subject = words[opening : verbs[0]]
    first = subject[0]
    lower = {word.lower() for word in subject}
    has_capital = first[:1].isupper() or first[:1].isdigit()
    opens = has_capital or first in syntax.DETERMINERS | syntax.PRONOUNS
    if not opens or lower & (_SUBORDINATING | {",", ":", ";", "there"}) or first.lower() in _UNSURE:
        return None
    between = {word.lower() for word in words[verbs[0] : n]}
    if between & (_SUBORDINATING | {":", ";"}):
        return None
    for verb in verbs[1:]:  # coordinated with the same subject: "and closed"
        while verb and syntax.is_adverb(words[verb - 1].lower()):
            verb -= 1
        if not verb or words[verb - 1] not in (",", "and", "but", "or"):
            return None
    word = words[n + _skip(words[n:], _COORDINATING)]
    may_be_one_verb = words[verbs[0]] in syntax.AUXILIARIES and word not in syntax.AUXILIARIES
    return None if may_be_one_verb and syntax.is_participle(word) else (opening, verbs[0])


def _skip(words: Sequence[str], skipped: frozenset[str]) -> int:
    """Return the number of the first word that is no adverb, comma or one of `skipped`."""
    n = 0
    while n < len(words) and (
        words[n].lower() in skipped or syntax.is_adverb(words[n].lower()) or words[n] == ","
    ):
        n += 1
    return n


def _maybe_verbs(words: Sequence[str]) -> list[int]:
    """Return the numbers of the words that may be finite verbs; the first of "was not opened"."""
    verbs: list[int] = []
    for n in range(len(words)):
        between = words[verbs[-1] + 1 : n] if verbs else ()
        continues = all(syntax.is_adverb(w.lower()) or w in ("been", "be") for w in between)
        if not (verbs and len(between) <= 2 and continues) and _may_be_verb(words, n):
            verbs.append(n)
    return verbs


def _may_be_verb(words: Sequence[str], n: int) -> bool:
    word, after = words[n], words[n + 1] if n + 1 < len(words) else ""
    before = words[n - 1] if n else ""
    if n > 1 and syntax.is_adverb(before.lower()):
        before = words[n - 2]
    may = syntax.may_be_finite(word, "" if before in ",;:(" else before, after)
    if word in syntax.AUXILIARIES or not syntax.may_be_past(word):
        return may
    is_sure = syntax.is_sure(word, after)
    if is_sure and n == _skip(words[:n], _COORDINATING):
        return True
    # It has an object, or follows a noun.
    return may and before not in tuple(";:(") and (before != "," or is_sure or after[:1].isupper())
