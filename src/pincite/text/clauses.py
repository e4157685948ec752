"""A claim cut into clauses that can be judged one by one, by rules that would rather not cut.

A sentence is read once from left to right; at a semicolon, at ", and|but|while", at ", who|which|
where" and at a bare "and|but" before a verb it is cut if both sides surely have their finite verb.
Where the second has no subject, that of the first is put before it. The last clause may end in a
list of three or more, and each of its items is judged with what stands before the list. Whatever
the rules are not sure of stays together: a whole claim is judged anyway.
"""

from itertools import pairwise

from pincite.text import syntax
from pincite.text.figures import MONTHS
from pincite.text.sentences import sentences
from pincite.text.syntax import Clause, Segment, Sentence, Token, Verb
from pincite.types import Span

MAX_CHARS = 1_500  # a longer claim is no sentence that these rules were written for
MAX_CLAUSES = 6  # each costs up to three pairs a source; what has more is a list, not a sentence
MAX_SUBJECT, MAX_ITEM = 12, 6  # words
_LONGEST_TITLE = 4  # "Prof."
_ARTICLES = frozenset("the a an its his her their our this two three four five".split())


def clauses(claim: str) -> list[Clause]:
    """The clauses of `claim` in order, at least one; spans lie in it and never overlap.

    >>> [c.text for c in clauses("Holm was born in Varde and studied in Oslo.")]
    ['Holm was born in Varde', 'Holm studied in Oslo']
    >>> [c.span for c in clauses("Holm was born in Varde and studied in Oslo.")]
    [Span(start=0, end=22), Span(start=27, end=42)]
    """
    whole = Clause(Span(0, len(claim)), claim)
    if len(claim) > MAX_CHARS:
        return [whole]
    read = [Sentence.read(claim, span) for span in sentences(claim)]
    if len(read) > 1 and not all(map(_surely_ends, read)):
        return [whole]
    found = [clause for sentence in read for clause in _of_sentence(sentence)]
    return found if 1 < len(found) <= MAX_CLAUSES else [whole]


# ── Cutting ──────────────────────────────────────────────────────────────────────────────────────


def _surely_ends(sentence: Sentence) -> bool:
    """Whether a sentence is one: it has a verb, and its full stop is not that of "Ms."."""
    words = [token.word for token in sentence.tokens if token.word[0].isalnum()]
    abbreviated = bool(words) and words[-1][0].isupper() and len(words[-1]) <= _LONGEST_TITLE
    return bool(sentence.verbs) and not abbreviated


def _of_sentence(sentence: Sentence) -> list[Clause]:
    if not sentence.tokens:
        return []
    segment = Segment(0)
    if not sentence.balanced or _opens_subordinate(sentence) or not _semicolons_fit(sentence):
        return [sentence.clause(segment, len(sentence.tokens))]
    found: list[Clause] = []
    n = 0
    while n < len(sentence.tokens):
        cut = _cut(sentence, segment, n)
        if cut:
            clause, segment = cut
            found.append(clause)
            n = segment.start
        n += 1
    return [*found, *_listed(sentence, segment)]


def _cut(sentence: Sentence, segment: Segment, n: int) -> tuple[Clause, Segment] | None:
    """The clause that ends before token `n` with the segment behind it, if a cut is sure."""
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
    """A segment from `start` that begins with its verb and takes over its neighbour's subject."""
    left = sentence.verbs_in(segment.start, end)
    n = sentence.past_adverbs(start)
    if len(left) != 1 or sentence.subordinate(left[0].start, end):
        return None
    auxiliary = sentence.word(left[0].start)
    if auxiliary in syntax.AUXILIARIES and left[0].end == end:
        return None  # "was trained and experienced in law": half a verb
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
        return None  # a participle of what the later verb is said of
    return Segment(start, _subject_alone(subject, segment.lead))


def _subject_alone(subject: str, lead: str) -> str:
    """A lead without the auxiliary that was put behind it: "The mill was" built, closed."""
    words = subject.split(" ")
    while lead and len(words) > 1 and words[-1] in syntax.AUXILIARIES | {"been", "be"}:
        words.pop()
    return " ".join(words)


def _passive(sentence: Sentence, n: int) -> bool:
    """Whether a participle leans on the auxiliary before: "known as", "designed by Holm"."""
    word, following, agent = (sentence.word(m) for m in (n, n + 1, n + 2))
    without_object = following.lower() in syntax.PREPOSITIONS
    if word in syntax.PARTICIPLES or (word in syntax.TRANSITIVE and without_object):
        return True
    by_someone = following == "by" and not agent[:1].isdigit() and agent not in MONTHS
    return syntax.is_participle(word) and by_someone and bool(agent)


def _passive_auxiliary(sentence: Sentence, verb: Verb) -> str:
    """Such as "was" of "was later built", "has been" of "has been built"; else empty."""
    words = [sentence.word(n) for n in range(verb.start, verb.end)]
    forms = [word for word in words if not syntax.is_adverb(word)]
    passive = forms[0] in syntax.BE or "been" in forms or "be" in forms
    if passive and len(forms) > 1 and syntax.is_participle(forms[-1]):
        return " ".join(forms[:-1])
    return forms[0] if forms[0] in syntax.BE and len(forms) == 1 else ""


def _with_subject(sentence: Sentence, segment: Segment, end: int, start: int) -> Segment | None:
    """A segment from `start` that has a subject of its own and surely a verb."""
    left = sentence.verbs_in(segment.start, end)
    right = sentence.verbs_in(start, sentence.next_stop(start))
    if not left or not right or right[0].start == start:
        return None
    verb = right[0].start
    if sentence.subordinate(start, verb):
        return None
    first, listing = sentence.word(start), sentence.word(start - 1) == "and"
    sure = syntax.is_sure(sentence.word(verb), sentence.word(verb + 1))
    if not _may_open_subject(first):  # "volunteers reopened the line"
        return Segment(start) if verb == start + 1 and (sure or not listing) else None
    # After "and", "the house built in 1901" may be one more thing in a list.
    return Segment(start) if sure or first in syntax.PRONOUNS or not listing else None


def _at_relative(sentence: Sentence, segment: Segment, comma: int) -> tuple[Clause, Segment] | None:
    """The cut at ", who …", at the end of a clause or between a subject and its verb."""
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


# ── Subjects ─────────────────────────────────────────────────────────────────────────────────────


def _subject(sentence: Sentence, start: int, end: int) -> str | None:
    """The words before a verb as a subject; None if they are more, or something else."""
    words = sentence.tokens[start:end]
    while words and syntax.is_adverb(words[-1].word):
        words.pop()
    words = _past_opening(words)
    cut = next((n for n, token in enumerate(words) if token.inside), len(words))
    words = words[:cut]
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
    """Without "In 1911," or "Later" before the subject."""
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
    """What "who" or "which" behind the comma is said of; None if it may be something else."""
    n = comma
    while n > start and _is_name(sentence.word(n - 1)):
        n -= 1
    if n == comma:
        n = _last_article(sentence, max(start, comma - 5), comma)
    between = [sentence.word(m) for m in range(n, comma)]
    if not between or not all(between) or set(between) & (syntax.PREPOSITIONS | {","}):
        return None
    if sentence.verbs_in(n, comma):
        return None  # said of all that happened, not of a thing
    if n > start and sentence.word(n - 1) == "of" and sentence.word(comma + 1) == "who":
        return None  # "the mayor of Varde, who …"
    if between[0] in ("a", "an"):
        return f"the {sentence.raw(n + 1, comma)}" if len(between) > 1 else None
    return sentence.raw(n, comma)


def _article(sentence: Sentence, n: int) -> bool:
    return sentence.word(n).lower() in _ARTICLES


def _may_open_subject(word: str) -> bool:
    lower = word.lower()
    known = lower in syntax.DETERMINERS or lower in syntax.PRONOUNS
    return known or word[:1].isupper() or word[:1].isdigit()


def _opens_subordinate(sentence: Sentence) -> bool:
    """Whether the sentence begins with a clause of time or reason: its verbs are not in a row."""
    first = sentence.word(0).lower()
    if first in syntax.SUBORDINATORS:
        return True
    in_opening = sentence.verbs_in(0, sentence.next_stop(0))
    return (
        first in syntax.PREPOSITIONS
        and bool(in_opening)
        and sentence.word(sentence.next_stop(0)) == ","
    )


def _semicolons_fit(sentence: Sentence) -> bool:
    """Whether every piece between semicolons has a verb: else they part the items of a list."""
    marks = [n for n in sentence.stops if sentence.word(n) == ";"]
    edges = [-1, *marks, len(sentence.tokens)]
    return not marks or all(sentence.verbs_in(a + 1, b) for a, b in pairwise(edges))


# ── Lists ────────────────────────────────────────────────────────────────────────────────────────


def _listed(sentence: Sentence, segment: Segment) -> list[Clause]:
    """The last clause, or one for each item if it surely ends in a list of three or more."""
    end = len(sentence.tokens)
    while end > segment.start and sentence.tokens[end - 1].word in ".!?":
        end -= 1
    whole = [sentence.clause(segment, end)] if end > segment.start else []
    edges = _items(sentence, segment, end)
    if not edges:
        return whole
    (first, first_end), *rest = edges
    stem = sentence.clause(Segment(segment.start, segment.lead), first).text
    return [
        sentence.clause(segment, first_end),
        *(sentence.clause(Segment(a, stem), b) for a, b in rest),
    ]


def _items(sentence: Sentence, segment: Segment, end: int) -> list[tuple[int, int]]:
    """Token numbers of the items, half-open; empty if there is no list."""
    found = sentence.verbs_in(segment.start, end)
    conjunctions = [
        n for n in sentence.stops if segment.start < n < end and sentence.word(n) == "and"
    ]
    if len(found) != 1 or not conjunctions or sentence.subordinate(found[0].start, end):
        return []
    last = conjunctions[-1]
    commas = [n for n in sentence.stops if found[0].end <= n < last and sentence.word(n) == ","]
    oxford = bool(commas) and commas[-1] == last - 1
    starts = [comma + 1 for comma in (commas[:-1] if oxford else commas)] + [last + 1]
    ends = [*(commas if oxford else [*commas, last]), end][1:]
    rest = list(zip(starts, ends, strict=True))
    if len(rest) < 2 or any(n in sentence.stops for a, b in rest for n in range(a, b)):
        return []
    first = _first_item(sentence, found[0].end, commas[0], rest)
    return [] if first is None else [(first, commas[0]), *rest]


def _first_item(
    sentence: Sentence, start: int, end: int, rest: list[tuple[int, int]]
) -> int | None:
    """Where the first item begins, by the shape of the others: with article, names, one word."""
    others = [[sentence.word(n) for n in range(a, b)] for a, b in rest]
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
    """The last article in the range with nothing but its noun phrase behind it, else `end`."""
    n = next((n for n in range(end - 1, start - 1, -1) if _article(sentence, n)), end)
    words = [sentence.word(m) for m in range(n, end)]
    return end if set(words) & syntax.PREPOSITIONS or not all(words) else n


def _is_name(word: str) -> bool:
    return word[:1].isupper() and word not in MONTHS
