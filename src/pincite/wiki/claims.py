"""Derives claims from the flat form: the words that each reference supports.

A mark belongs to the sentence that contains the last character before it, and covers the clause
since the previous mark; a fragment is joined with its neighbours. A mark at the start of a block
covers what follows, or the text that introduces the block.
"""

import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from pincite.text.clauses import MAX_CHARS, Standing, clauses, standing, widen, with_subject
from pincite.text.sentences import n_words, whole_sentences
from pincite.types import Citation, Claim, Span, claim_id_of
from pincite.wiki.flat import UNREAD, Block, BlockKind, Flat, Mark, last_words
from pincite.wiki.templates import TABLE

MAX_BEFORE = 1500  # characters of context; SIDE's encoder reads no more (512 tokens with the claim)
MAX_AFTER = 500  # characters of following text: SIDE gives it a fifth of its encoder's input
MAX_LABELLED = 12  # words; a longer cell is a statement that needs no row label
MIN_STATEMENT = 4  # minimum words of a statement without a full stop or verb
MIN_LEAD = 6  # minimum words of a statement before a colon, unlike "These are:"
NEEDED = "citation needed"
_OPENING_DEBRIS = " \n,;:.!?)]}–—·•…/、，。；：！？）」』】》"
_CLOSING_DEBRIS = " \n,;:–—·•/([{、，；：（「『【《"
_CLOSED = " \n,;:.!?)]”»…、，。；：！？）」』】》"  # characters that end a clause after its mark
_ORIGINS = {
    BlockKind.ITEM: "list",
    BlockKind.CELL: "table",
    BlockKind.PARAMETER: "template",
    BlockKind.CAPTION: "caption",
}
MAX_UNREAD = 100  # characters of a template shown in a report
VALUES = (BlockKind.CELL, BlockKind.PARAMETER)
_STOPS = tuple(".!?…。！？")
# Sentences whose subject is only clear within their article.
_GENERAL = re.compile(
    r"(?:(?:He|She|It|They|His|Her|Hers|Its|Their|This|That|These|Those)\b|(?:The|This|That|These|"
    rf"Those|His|Her|Its|Their) (?:[a-z]+ )?(?:{'|'.join(TABLE['claims']['general'].split())})\b)"
)
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)\Z")  # "Mercury (planet)"


class _Group:
    """Marks with only punctuation between them, checked together."""

    def __init__(self, marks: Sequence[Mark]) -> None:
        self.start, self.end = marks[0].position, marks[-1].position
        self.uses = [mark.use for mark in marks if mark.use is not None]
        self.tags = [mark.tag for mark in marks if mark.tag is not None]
        self.in_text = any(mark.in_text for mark in marks)


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words of a claim before it has an id."""

    text: str
    before: str
    span: Span
    sentence: str
    part: Span
    after: str = ""
    own: Span | None = None  # as in `Claim`
    borrowed: Span | None = None  # in the block: preceding words that belong to other marks


@dataclass(frozen=True, slots=True)
class _Page:
    title: str
    language: str
    source: str
    cited: Sequence[Sequence[Citation]]


def claims_of(
    blocks: Sequence[Block],
    cited: Sequence[Sequence[Citation]],
    title: str,
    language: str,
    source: str,
) -> list[Claim]:
    """Return the claims of `blocks` in source order; `cited[i]` belongs to reference use i."""
    page = _Page(title, language, source, cited)
    claims: list[Claim] = []
    seen: Counter[str] = Counter()
    previous: Block | None = None
    number = -1  # of the blocks with text
    for block in blocks:
        number += bool(block.text)
        if block.kind is BlockKind.HEADING:
            previous = None
            continue
        if block.marks:
            claims.extend(_block_claims(number, block, previous, page))
        if block.text and block.kind is not BlockKind.CAPTION:
            previous = block
    claims.sort(key=lambda claim: claim.span or Span(0, 0))  # notes and captions are out of order
    for n, claim in enumerate(claims):  # repeated sentences under the same heading get `…-2`
        seen[claim.claim_id] += 1
        if seen[claim.claim_id] > 1:
            claims[n] = replace(claim, claim_id=f"{claim.claim_id}-{seen[claim.claim_id]}")
    return claims


def attach_tags(flat: Flat) -> None:
    for block in flat.blocks:
        for marks in _groups(block):
            use = None
            for mark in marks:
                if mark.use is not None:
                    use = mark.use
                elif use is not None and mark.tag is not None:
                    flat.uses[use].tags += (mark.tag,)


def _block_claims(
    number: int, block: Block, previous: Block | None, page: _Page
) -> Iterator[Claim]:
    reader = _Wordings(block, previous, page)
    groups = _with_loose_tags([_Group(marks) for marks in _groups(block)], reader)
    reader.marks = [group.start for group, _ in groups]
    passed: dict[Span, list[str]] = {}
    worded: dict[Span, tuple[_Wording, list[int], list[str]]] = {}
    places: dict[Span, int] = {}
    for group, tags in groups:
        if wording := reader.word(group):
            # Two fragments of one clause became the same claim, so they are merged.
            known, uses, every = worded.get(wording.span, (wording, [], []))
            known = replace(known, own=None) if uses else known
            worded[wording.span] = known, [*uses, *group.uses], [*every, *tags]
            places[wording.span] = group.start
            if group.uses:
                passed.setdefault(wording.span, []).extend(reader.passed_over(group))
    title = _IN_BRACKETS.sub("", page.title)
    for wording, uses, every in worded.values():
        start, end = wording.borrowed or (0, 0)
        between = groups[bisect_right(reader.marks, start) : bisect_right(reader.marks, end)]
        before = [use for group, _ in between for use in group.uses]
        citations = tuple(citation for use in uses for citation in page.cited[use])
        every += [tag for citation in citations for tag in citation.tags]
        general = page.language in ("en", "simple") and _GENERAL.match(wording.text)
        yield Claim(
            claim_id_of(page.title, block.section, wording.text),
            wording.text,
            page.title,
            block.section,
            wording.before,
            wording.span,
            citations,
            tuple(dict.fromkeys(every)),
            _ORIGINS.get(block.kind, "prose"),
            wording.sentence,
            wording.part,
            wording.after,
            wording.own,
            tuple(c for use in before for c in page.cited[use]) if wording.own else (),
            about=title if general and title.lower() not in wording.text.lower() else "",
            unread=_unread(block, wording, page.source),
            uncited_before=tuple(passed.get(wording.span, ())),
            language="" if page.language in ("en", "simple") else page.language,
            mark=(number, places[wording.span]),
        )


def _unread(block: Block, wording: _Wording, source: str) -> tuple[str, ...]:
    if UNREAD not in wording.text:
        return ()
    places = re.finditer(re.escape(UNREAD), block.text)
    spans = dict.fromkeys(block.span(*place.span()) for place in places)
    inside = (span.of(source) for span in spans if span.overlaps(wording.span))
    return tuple(text[:MAX_UNREAD] for text in inside if text.startswith("{{"))


def _groups(block: Block) -> list[list[Mark]]:
    groups: list[list[Mark]] = []
    for mark in block.marks:
        if groups and not has_words(block.text[groups[-1][-1].position : mark.position]):
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return groups


def _with_loose_tags(
    groups: Sequence[_Group], reader: "_Wordings"
) -> list[tuple[_Group, list[str]]]:
    """Return the groups that make a claim, with their tags and loose tags of their sentence.

    A reference makes a claim, and so does "citation needed". A tag such as "by whom" within a
    sentence goes to the next claim in the sentence, or else to the last one.
    """
    claims: list[tuple[_Group, list[str]]] = []
    loose: list[tuple[str, Span | None]] = []
    for group in groups:
        home = reader.sentence(group.start)
        last = claims[-1][1] if claims and reader.sentence(claims[-1][0].start) == home else []
        if not group.uses and NEEDED not in group.tags:
            last.extend(group.tags)  # unless a later claim in the sentence takes it
            loose.extend((tag, home) for tag in group.tags)
            continue
        here = [tag for tag, where in loose if where == home]
        del last[max(0, len(last) - len(here)) :]
        claims.append((group, [*here, *group.tags]))
        loose.clear()
    return claims


class _Wordings:
    """Words the claims of one block, from left to right."""

    def __init__(self, block: Block, previous: Block | None, page: _Page) -> None:
        self.block = block
        self.sentences = sentences_of(block, page.language)
        self.starts = [sentence.start for sentence in self.sentences]
        self.previous = previous
        self.page = page
        self.marks: list[int] = []  # positions of the groups that make claims
        self.floor = 0  # the end of the last group that made a claim
        self.n_passed = 0  # sentences up to the last reference that made a claim

    def sentence(self, position: int) -> Span | None:
        """The sentence that contains the last words before `position`."""
        index = bisect_left(self.starts, position)
        return self.sentences[index - 1] if index else None

    def word(self, group: _Group) -> _Wording | None:
        """The wording of the claim for `group`; None if there is no statement."""
        home = self.sentence(group.start)
        if home is None or not has_words(self.block.text[home.start : group.start]):
            wording = self._nothing_before(group)
        else:
            end = home.end if group.in_text else min(group.start, home.end)
            start = max(home.start, self.floor if self.floor < end else home.start)
            wording = self._part(home, _trim(self.block.text, Span(start, end)))
        self.floor = group.end
        return wording if wording and self._states(wording) else None

    def passed_over(self, group: _Group) -> list[str]:
        """The statements since the last reference that make no claim: they have no mark."""
        first, last = self.n_passed, bisect_left(self.starts, group.start) - 1
        self.n_passed = max(first, last + 1)
        n_marks = [bisect_right(self.marks, start) for start in self.starts[first : last + 1]]
        unmarked = (n for n, (a, b) in enumerate(pairwise(n_marks), first) if a == b)
        texts = (self.sentences[n].of(self.block.text).strip() for n in unmarked)
        spans = ((text, Span(0, len(text))) for text in texts)
        return [t for t, span in spans if self._states(_Wording(t, "", span, t, span))]

    def _states(self, wording: _Wording) -> bool:
        """Whether this is a statement, unlike "1,234" in a cell or a caption "Map of Alba"."""
        kind, sentence = self.block.kind, wording.sentence.rstrip(" \"'”’»)")
        whole = sentence.endswith(_STOPS)
        if kind in VALUES:
            value = wording.sentence.removeprefix(f"{self.block.row} — ")
            verb = standing(value, self.page.language) is Standing.CLAUSE
            return whole and verb and n_words(value) >= MIN_STATEMENT
        if sentence.endswith((":", "：")) and n_words(wording.text) < MIN_LEAD:
            return wording.part.end < len(sentence.rstrip(":："))
        if whole or standing(wording.text, self.page.language) is not Standing.FRAGMENT:
            return True
        return kind is not BlockKind.CAPTION and n_words(wording.text) >= MIN_STATEMENT

    def _part(self, home: Span, clause: Span) -> _Wording:
        """The part of sentence `home` to check: `clause`, extended until it can be read alone."""
        text, language = self.block.text, self.page.language
        if home.end - home.start > MAX_CHARS:  # not a sentence; each of its marks would copy it
            home = clause
        marks = self.marks[bisect_left(self.marks, home.start) : bisect_left(self.marks, home.end)]
        inside = Span(clause.start - home.start, clause.end - home.start)
        grown = widen(home.of(text), inside, [mark - home.start for mark in marks], language)
        if grown != inside:
            grown = _trim(home.of(text), grown)
        judged, part = with_subject(home.of(text), grown, language)
        judged, part, own = _own_words(home.of(text), judged, part, inside)
        borrowed = Span(home.start + part.start, clause.start) if own else None
        clause = Span(home.start + part.start, home.start + part.end)
        about = self._about(home)
        after = text[clause.end : clause.end + 2 * MAX_AFTER].lstrip(_CLOSED)
        if len(after) > MAX_AFTER:
            after = after[: MAX_AFTER + 1].rsplit(None, 1)[0][:MAX_AFTER]
        return _Wording(
            about + judged,
            self._before(clause.start),
            self.block.span(*clause),
            about + home.of(text),
            part.moved(len(about)),
            " ".join(after.split()),
            own.moved(len(about)) if own else None,
            borrowed,
        )

    def _about(self, home: Span) -> str:
        """The context of a short cell (its row) or of a list item without a verb.

        For a list item this is the sentence before the list ("The club won: ") or its heading. A
        note's label, "a.", is not a row.
        """
        block, sentence = self.block, home.of(self.block.text)
        if block.kind is BlockKind.CELL:
            labelled = len(block.row) > 2 and n_words(sentence) <= MAX_LABELLED
            return f"{block.row} — " if labelled else ""
        if block.kind is not BlockKind.ITEM or sentence.endswith((":", "：")):
            return ""
        if standing(sentence, self.page.language) is not Standing.FRAGMENT:
            return ""
        lead = _last_sentence(block.lead, self.page.language).of(block.lead)
        if not lead.endswith((":", "：")) and n_words(lead) > MAX_LABELLED:
            lead = ""
        lead = lead or (block.section[-1] if block.section else self.page.title)
        return f"{lead.rstrip(' .:。：')}: "

    def _before(self, start: int) -> str:
        """The list's lead-in and the block's text up to `start`, in whole sentences."""
        block = self.block
        pieces = [block.row] if block.kind is BlockKind.CELL else []
        if block.kind is BlockKind.ITEM and block.lead:
            pieces = [_last_sentence(block.lead, self.page.language).of(block.lead)]
        remaining = MAX_BEFORE - sum(map(len, pieces))
        sentences: list[str] = []
        for home in reversed(self.sentences[: bisect_left(self.starts, start)]):
            sentences.insert(0, block.text[home.start : min(home.end, start)].strip())
            remaining -= len(sentences[0]) + 1
            if remaining < 0:
                del sentences[0]
                break
        gap = "" if self.page.language in ("ja", "zh") else " "
        return last_words(gap.join(filter(None, (*pieces, *sentences))), MAX_BEFORE)

    def _nothing_before(self, group: _Group) -> _Wording | None:
        """Word a mark that opens its block: from what follows, or what introduces the block."""
        block, previous = self.block, self.previous
        index = bisect_right(self.starts, group.end - 1)
        if index < len(self.sentences):
            home = self.sentences[index]
            return self._part(home, _trim(block.text, home))
        if block.kind in VALUES:
            return None
        if block.lead and block.lead_span:
            text, span = block.lead, block.lead_span
        elif previous is not None:
            # A mark on a line of its own refers to the last sentence of the block before.
            home = _last_sentence(previous.text, self.page.language)
            text, span = home.of(previous.text), previous.span(*home)
        else:
            return None
        return _Wording(text, "", span, text, Span(0, len(text)))


_JOINING = re.compile(r"[^\w]*(?:(?:and|but|while|where)\b)?[^\w]*", re.IGNORECASE)


def _own_words(sentence: str, judged: str, part: Span, own: Span) -> tuple[str, Span, Span | None]:
    """Word the claim for the words `own` within `part` of a sentence.

    Earlier clauses are omitted where the split is certain, and their subject is copied. Otherwise
    they are kept as context, and `own` is returned as a span of the result.

    >>> text = "It has two gates; its church was built in 1210."
    >>> _own_words(text, text, Span(0, 47), Span(18, 47))
    ('its church was built in 1210.', Span(start=18, end=47), None)
    >>> _own_words("It opened in 1911 after a year.", text[:31], Span(0, 31), Span(17, 31))[2]
    Span(start=17, end=31)
    """
    lead = len(judged) - (part.end - part.start)  # length of a subject inserted before the part
    if own.start == 0 or lead:
        return judged, part, None
    for clause in clauses(sentence[: own.end]):
        start = clause.span.start
        if start >= own.start and _JOINING.fullmatch(sentence, own.start, start):
            subject = clause.text[: len(clause.text) - (clause.span.end - start)]
            if own.start <= part.start and not subject:
                break  # keep the text as it is
            return subject + sentence[start : part.end], Span(start, part.end), None
    if own.start <= part.start:
        return judged, part, None
    return judged, part, Span(own.start, min(own.end, part.end)).moved(-part.start)


def sentences_of(block: Block, language: str) -> list[Span]:
    """The sentences of a block that contain words; never ends one in a link or at a title's "?"."""
    sentences: list[Span] = []
    for span in whole_sentences(block.text, language):
        if sentences and _in_title(block, sentences[-1], span):
            sentences[-1] = Span(sentences[-1].start, span.end)
        else:
            sentences.append(span)
    return [span for span in sentences if has_words(span.of(block.text))]


def _in_title(block: Block, left: Span, right: Span) -> bool:
    """Whether `left` ends within a link, or at the end of a link such as [[What Is It?]]."""
    before, after = block.ends[left.end - 1], block.starts[right.start]
    n = bisect_left(block.links, (before, 0)) - 1
    if n >= 0 and after < block.links[n].end:
        return True
    if block.text[left.end - 1] not in "!?":
        return False
    inside = block.starts[left.end - 1]
    marks = [
        m[k - 1] for m in (block.links, block.styles) if (k := bisect_right(m, (inside, inside)))
    ]
    return any(block.starts[left.start] < m.start and before <= m.end <= after for m in marks)


def _last_sentence(text: str, language: str) -> Span:
    sentences = [s for s in whole_sentences(text, language) if has_words(s.of(text))]
    return sentences[-1] if sentences else Span(0, len(text))


def has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _trim(text: str, span: Span) -> Span:
    """Trim punctuation at both ends; never returns an empty span."""
    start, end = span
    while start < end - 1 and text[start] in _OPENING_DEBRIS:
        start += 1
    while end > start + 1 and text[end - 1] in _CLOSING_DEBRIS:
        end -= 1
    return Span(start, end)
