"""Claims from the flat form: which words a reference supports.

A reference mark belongs to the sentence with the last character before it, whether the full stop
comes before or after the mark. Within a sentence it covers the clause since the previous mark; a
fragment is joined with its neighbours. A mark at the start of a block covers what follows, or what
introduces the block. Headings make no claims.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.text.clauses import MAX_CHARS, Standing, clauses, standing, widened, with_subject
from pincite.text.sentences import n_words, whole_sentences
from pincite.types import Citation, Claim, Span, claim_id_of
from pincite.wiki.flat import UNREAD, Block, BlockKind, Flat, Mark, last_words
from pincite.wiki.templates import TABLE

MAX_BEFORE = 1500  # characters of context; SIDE's encoder reads no more (512 tokens with the claim)
MAX_AFTER = 500  # characters of what follows: SIDE gives it a fifth of its encoder's room
MAX_LABELLED = 12  # words; a longer cell is a statement that needs no row before it
MIN_STATEMENT = 4  # words of a text without a full stop or a verb that may be a statement
MIN_LEAD = 6  # words that say something before a colon: "These are:" does not
_OPENING_DEBRIS = " \n,;:.!?)]}–—·•…/、，。；：！？）」』】》"
_CLOSING_DEBRIS = " \n,;:–—·•/([{、，；：（「『【《"
NEEDED = "citation needed"
_CLOSED = " \n,;:.!?)]”»…、，。；：！？）」』】》"  # what ends a clause behind its mark
_ORIGINS = {
    BlockKind.ITEM: "list",
    BlockKind.CELL: "table",
    BlockKind.PARAMETER: "template",
    BlockKind.CAPTION: "caption",
}
MAX_UNREAD = 100  # characters of a template that a report shows
VALUES = (BlockKind.CELL, BlockKind.PARAMETER)
_STOPS = tuple(".!?…。！？")
# Texts that say only in their article whom or what they are about.
_GENERAL = re.compile(
    r"(?:(?:He|She|It|They|His|Her|Hers|Its|Their|This|That|These|Those)\b|(?:The|This|That|These|"
    rf"Those|His|Her|Its|Their) (?:[a-z]+ )?(?:{'|'.join(TABLE['claims']['general'].split())})\b)"
)
_IN_BRACKETS = re.compile(r"\s*\([^()]*\)\Z")  # "Mercury (planet)"


class _Group:
    """Marks with nothing but punctuation between them: judged together."""

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
    own: Span | None = None  # as a Claim's
    borrowed: Span | None = None  # of the block: the words before them, that other marks are for


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
    """The claims of `blocks` in the order of `source`; `cited[i]` belongs to reference use i."""
    page = _Page(title, language, source, cited)
    claims: list[Claim] = []
    seen: dict[str, int] = {}
    previous: Block | None = None
    for block in blocks:
        if block.kind is BlockKind.HEADING:
            previous = None
            continue
        if block.marks:
            claims.extend(_block_claims(block, previous, page))
        if block.text and block.kind is not BlockKind.CAPTION:
            previous = block
    claims.sort(key=lambda claim: claim.span or Span(0, 0))  # notes and captions stand aside
    for n, claim in enumerate(claims):  # the same sentence under the same heading: `…-2`
        count = seen[claim.claim_id] = seen.get(claim.claim_id, 0) + 1
        if count > 1:
            claims[n] = replace(claim, claim_id=f"{claim.claim_id}-{count}")
    return claims


def attach_tags(flat: Flat) -> None:
    """Give each reference use the inline tags that directly follow it."""
    for block in flat.blocks:
        for marks in _groups(block):
            use = None
            for mark in marks:
                if mark.use is not None:
                    use = mark.use
                elif use is not None and mark.tag is not None:
                    flat.uses[use].tags += (mark.tag,)


def _block_claims(block: Block, previous: Block | None, page: _Page) -> Iterator[Claim]:
    reader = _Wordings(block, previous, page)
    made = _with_loose_tags([_Group(marks) for marks in _groups(block)], reader)
    reader.marks = [group.start for group, _ in made]
    worded: dict[Span, tuple[_Wording, list[int], list[str]]] = {}
    for group, tags in made:
        if wording := reader.word(group):
            # Two fragments of one clause became the same: they are judged together.
            known, uses, every = worded.get(wording.span, (wording, [], []))
            known = replace(known, own=None) if uses else known
            worded[wording.span] = known, [*uses, *group.uses], [*every, *tags]
    title = _IN_BRACKETS.sub("", page.title)
    for wording, uses, every in worded.values():
        start, end = wording.borrowed or (0, 0)
        between = made[bisect_right(reader.marks, start) : bisect_right(reader.marks, end)]
        before = [use for group, _ in between for use in group.uses]
        citations = tuple(citation for use in uses for citation in page.cited[use])
        every += [tag for citation in citations for tag in citation.tags]
        general = page.language == "en" and _GENERAL.match(wording.text)
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
        )


def _unread(block: Block, wording: _Wording, source: str) -> tuple[str, ...]:
    """The templates that the marks in a claim stand for, as the article writes them."""
    if UNREAD not in wording.text:
        return ()
    found = re.finditer(re.escape(UNREAD), block.text)
    spans = dict.fromkeys(block.span(*mark.span()) for mark in found)
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
    """The groups that make a claim, with their tags and those that stand loose in their sentence.

    A reference makes a claim, and so does "citation needed"; "by whom" in the middle of a sentence
    goes to the claim that holds it, which is the next one in the sentence, or else the last.
    """
    made: list[tuple[_Group, list[str]]] = []
    loose: list[tuple[str, Span | None]] = []
    for group in groups:
        home = reader.sentence(group.start)
        if not group.uses and NEEDED not in group.tags:
            if made and reader.sentence(made[-1][0].start) == home:
                made[-1][1].extend(group.tags)  # until a later claim in the sentence takes it
            loose.extend((tag, home) for tag in group.tags)
            continue
        here = [tag for tag, where in loose if where == home]
        if here and made and reader.sentence(made[-1][0].start) == home:
            del made[-1][1][-len(here) :]
        made.append((group, [*here, *group.tags]))
        loose.clear()
    return made


class _Wordings:
    """Words the claims of one block, from left to right."""

    def __init__(self, block: Block, previous: Block | None, page: _Page) -> None:
        self.block = block
        self.found = sentences_of(block, page.language)
        self.starts = [sentence.start for sentence in self.found]
        self.previous = previous
        self.page = page
        self.marks: list[int] = []  # where the groups stand that make claims
        self.floor = 0  # the end of the last group that made a claim

    def sentence(self, position: int) -> Span | None:
        """The sentence that holds the last words before `position`."""
        index = bisect_left(self.starts, position)
        return self.found[index - 1] if index else None

    def word(self, group: _Group) -> _Wording | None:
        """The words that `group` stands for; None if the article states nothing there."""
        home = self.sentence(group.start)
        if home is None or not has_words(self.block.text[home.start : group.start]):
            wording = self._nothing_before(group)
        else:
            end = home.end if group.in_text else min(group.start, home.end)
            start = max(home.start, self.floor if self.floor < end else home.start)
            wording = self._part(home, _stripped(self.block.text, Span(start, end)))
        self.floor = group.end
        return wording if wording and self._states(wording) else None

    def _states(self, wording: _Wording) -> bool:
        """Whether a claim says something: "1,234" in a cell and "Map of Alba" below one do not."""
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
        """What is judged of the sentence `home`: `clause`, or as much as can be read alone."""
        text, language = self.block.text, self.page.language
        if home.end - home.start > MAX_CHARS:  # no sentence; each of its marks would copy it
            home = clause
        marks = self.marks[bisect_left(self.marks, home.start) : bisect_left(self.marks, home.end)]
        inside = Span(clause.start - home.start, clause.end - home.start)
        grown = widened(home.of(text), inside, [mark - home.start for mark in marks], language)
        if grown != inside:
            grown = _stripped(home.of(text), grown)
        judged, part = with_subject(home.of(text), grown, language)
        judged, part, own = _own_words(home.of(text), judged, part, inside)
        borrowed = Span(home.start + part.start, clause.start) if own else None
        clause = Span(home.start + part.start, home.start + part.end)
        about = self._about(home)
        return _Wording(
            about + judged,
            self._before(clause.start),
            self.block.span(*clause),
            about + home.of(text),
            part.moved(len(about)),
            self._after(clause.end),
            own.moved(len(about)) if own else None,
            borrowed,
        )

    def _about(self, home: Span) -> str:
        """The row of a short cell; of a list item without a verb what it is an item of.

        The latter is the sentence before the list, "The club won: ", or its heading. No row is the
        "a." of a note.
        """
        block, sentence = self.block, home.of(self.block.text)
        if (
            block.kind is BlockKind.CELL
            and len(block.row) > 2
            and n_words(sentence) <= MAX_LABELLED
        ):
            return f"{block.row} — "
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
        """The lead-in of a list item and the text of the block up to `start`, by sentences."""
        block = self.block
        pieces = [block.row] if block.kind is BlockKind.CELL else []
        if block.kind is BlockKind.ITEM and block.lead:
            pieces = [_last_sentence(block.lead, self.page.language).of(block.lead)]
        room = MAX_BEFORE - sum(map(len, pieces))
        kept: list[str] = []
        for index in range(bisect_left(self.starts, start) - 1, -1, -1):
            home = self.found[index]
            piece = block.text[home.start : min(home.end, start)].strip()
            room -= len(piece) + 1
            if room < 0:
                break
            kept.append(piece)
        kept.reverse()
        return last_words(" ".join(piece for piece in (*pieces, *kept) if piece), MAX_BEFORE)

    def _after(self, end: int) -> str:
        text = self.block.text[end : end + 2 * MAX_AFTER].lstrip(_CLOSED)
        if len(text) > MAX_AFTER:
            text = text[: MAX_AFTER + 1].rsplit(None, 1)[0][:MAX_AFTER]
        return " ".join(text.split())

    def _nothing_before(self, group: _Group) -> _Wording | None:
        """A mark that opens its block stands for what follows, or for what introduces the block."""
        block = self.block
        index = bisect_right(self.starts, group.end - 1)
        if index < len(self.found):
            home = self.found[index]
            return self._part(home, _stripped(block.text, home))
        if block.kind in VALUES:
            return None
        if block.lead and block.lead_span:
            return _alone(block.lead, block.lead_span)
        if self.previous is None:
            return None
        # A mark on a line of its own stands for the last sentence of the block before.
        home = _last_sentence(self.previous.text, self.page.language)
        return _alone(home.of(self.previous.text), self.previous.span(*home))


_JOINING = re.compile(r"[^\w]*(?:(?:and|but|while|where)\b)?[^\w]*", re.IGNORECASE)


def _own_words(sentence: str, judged: str, part: Span, own: Span) -> tuple[str, Span, Span | None]:
    """What to judge of `part` of a sentence for the words of it that a mark is for.

    Clauses before its own are left out where the sentence surely parts there, and their subject is
    taken along. Else they are read with it, and its own words are returned as a span of what is
    judged.

    >>> text = "It has two gates; its church was built in 1210."
    >>> _own_words(text, text, Span(0, 47), Span(18, 47))
    ('its church was built in 1210.', Span(start=18, end=47), None)
    >>> _own_words("It opened in 1911 after a year.", text[:31], Span(0, 31), Span(17, 31))[2]
    Span(start=17, end=31)
    """
    lead = len(judged) - (part.end - part.start)  # a subject that was put before the part
    if own.start == 0 or lead:
        return judged, part, None
    for clause in clauses(sentence[: own.end]):
        start = clause.span.start
        if start >= own.start and _JOINING.fullmatch(sentence, own.start, start):
            subject = clause.text[: len(clause.text) - (clause.span.end - start)]
            if own.start <= part.start and not subject:
                break  # it is read as it stands
            return subject + sentence[start : part.end], Span(start, part.end), None
    if own.start <= part.start:
        return judged, part, None
    return judged, part, Span(own.start, min(own.end, part.end)).moved(-part.start)


def _alone(text: str, span: Span) -> _Wording:
    return _Wording(text, "", span, text, Span(0, len(text)))


def sentences_of(block: Block, language: str) -> list[Span]:
    """The sentences of a block that hold words; none ends in a link, or at the "?" of a title."""
    found: list[Span] = []
    for span in whole_sentences(block.text, language):
        if found and _in_title(block, found[-1], span):
            found[-1] = Span(found[-1].start, span.end)
        else:
            found.append(span)
    return [span for span in found if has_words(span.of(block.text))]


def _in_title(block: Block, left: Span, right: Span) -> bool:
    """Whether the end of `left` is within a link, or at the end of one such as [[What Is It?]]."""
    if not block.links and not block.styles:
        return False
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
    found = [s for s in whole_sentences(text, language) if has_words(s.of(text))]
    return found[-1] if found else Span(0, len(text))


def has_words(text: str) -> bool:
    """Whether it holds a letter or a digit."""
    return any(char.isalnum() for char in text)


def _stripped(text: str, span: Span) -> Span:
    """`span` without the punctuation that parts it from its neighbours; never empty."""
    start, end = span
    while start < end - 1 and text[start] in _OPENING_DEBRIS:
        start += 1
    while end > start + 1 and text[end - 1] in _CLOSING_DEBRIS:
        end -= 1
    return Span(start, end)
