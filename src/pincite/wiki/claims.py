"""The flat form to claims: which words a reference mark stands for.

A mark belongs to the sentence that holds the last character before it, so it does not matter
whether the full stop stands before or after it. Inside a sentence it stands for the clause since
the mark before. Where nothing stands before it, the block says what does.
"""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from pincite.core.sentences import sentences
from pincite.types import Citation, Claim, Span, claim_id_of
from pincite.wiki.flat import Block, BlockKind, Mark

MAX_BEFORE = 1500  # characters of context; SIDE's encoder reads no more (512 tokens with the claim)
MAX_LABELLED = 12  # words; a longer cell or parameter is a statement and needs no label
MIN_CLAUSE = 3  # words; a shorter clause of function words takes its sentence along
_FUNCTION_WORDS = frozenset(
    "a also an and as at both but by for from in nor of on or so than the then to was were with yet"
    " is are which who".split()
)
_OPENING_DEBRIS = " \n,;:.!?)]}–—·•…/"
_CLOSING_DEBRIS = " \n,;:–—·•/([{"
NEEDED = "citation needed"
_ORIGINS = {
    BlockKind.ITEM: "list",
    BlockKind.CELL: "table",
    BlockKind.PARAMETER: "template",
}


@dataclass(frozen=True, slots=True)
class _Group:
    """Marks with nothing but punctuation between them: judged together."""

    marks: tuple[Mark, ...]

    @property
    def start(self) -> int:
        return self.marks[0].position

    @property
    def end(self) -> int:
        return self.marks[-1].position

    @property
    def uses(self) -> list[int]:
        return [mark.use for mark in self.marks if mark.use is not None]

    @property
    def tags(self) -> list[str]:
        return [mark.tag for mark in self.marks if mark.tag is not None]


@dataclass(frozen=True, slots=True)
class _Wording:
    """The words of a claim before it has an id."""

    text: str
    before: str
    span: Span


@dataclass(frozen=True, slots=True)
class _Page:
    title: str
    language: str
    cited: Sequence[Sequence[Citation]]


def claims_of(
    blocks: Sequence[Block], cited: Sequence[Sequence[Citation]], title: str, language: str
) -> list[Claim]:
    """The claims of `blocks` in the order of the source; `cited[i]` belongs to reference use i."""
    page = _Page(title, language, cited)
    claims: list[Claim] = []
    seen: dict[str, int] = {}
    previous: Block | None = None
    for block in blocks:
        if block.marks:
            claims.extend(_block_claims(block, previous, page))
        if block.text and block.kind is not BlockKind.CAPTION:
            previous = block
    claims.sort(key=lambda claim: claim.span or Span(0, 0))  # notes and captions stand aside
    return [_unique(claim, seen) for claim in claims]


def attach_tags(blocks: Sequence[Block], add: Callable[[int, str], None]) -> None:
    """Call `add(use, tag)` for each inline tag that directly follows a reference use."""
    for block in blocks:
        for group in _groups(block):
            use = None
            for mark in group.marks:
                if mark.use is not None:
                    use = mark.use
                elif use is not None and mark.tag is not None:
                    add(use, mark.tag)


def _block_claims(block: Block, previous: Block | None, page: _Page) -> Iterator[Claim]:
    found = [s for s in sentences(block.text, page.language) if _has_words(s.of(block.text))]
    reader = _Wordings(block, found, previous, page.language)
    for group, tags in _with_loose_tags(_groups(block), reader):
        wording = reader.word(group)
        if wording is None:
            continue
        citations = tuple(citation for use in group.uses for citation in page.cited[use])
        all_tags = (*tags, *(tag for citation in citations for tag in citation.tags))
        yield Claim(
            claim_id_of(page.title, block.section, wording.text),
            wording.text,
            page.title,
            block.section,
            wording.before,
            wording.span,
            citations,
            tuple(dict.fromkeys(all_tags)),
            _ORIGINS.get(block.kind, "prose"),
        )


def _unique(claim: Claim, seen: dict[str, int]) -> Claim:
    """The same sentence under the same heading twice: the second becomes `…-2`."""
    count = seen[claim.claim_id] = seen.get(claim.claim_id, 0) + 1
    return claim if count == 1 else replace(claim, claim_id=f"{claim.claim_id}-{count}")


def _groups(block: Block) -> list[_Group]:
    groups: list[list[Mark]] = []
    for mark in block.marks:
        if groups and not _has_words(block.text[groups[-1][-1].position : mark.position]):
            groups[-1].append(mark)
        else:
            groups.append([mark])
    return [_Group(tuple(marks)) for marks in groups]


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

    def __init__(
        self, block: Block, found: list[Span], previous: Block | None, language: str
    ) -> None:
        self.block = block
        self.found = found
        self.starts = [sentence.start for sentence in found]
        self.previous = previous
        self.language = language
        self.floor = 0  # the end of the last group that made a claim

    def sentence(self, position: int) -> Span | None:
        """The sentence that holds the last words before `position`."""
        index = bisect_left(self.starts, position)
        return self.found[index - 1] if index else None

    def word(self, group: _Group) -> _Wording | None:
        """The words that `group` stands for; None if the article says nothing at all there."""
        home = self.sentence(group.start)
        if home is None or not _has_words(self.block.text[home.start : group.start]):
            wording = self._nothing_before(group)
        else:
            in_text = any(mark.in_text for mark in group.marks)
            wording = self._clause(home, home.end if in_text else min(group.start, home.end))
        self.floor = group.end
        return wording

    def _clause(self, home: Span, end: int) -> _Wording:
        text = self.block.text
        start = max(home.start, self.floor if self.floor < end else home.start)
        if 0 < start - home.start <= MAX_BEFORE and _says_nothing(text[start:end]):
            start = home.start
        clause = _stripped(text, Span(start, end))
        return self._labelled(clause) or _Wording(
            clause.of(text), self._before(clause.start), self.block.span(*clause)
        )

    def _labelled(self, clause: Span) -> _Wording | None:
        """A short cell or parameter with the words that say what it is about."""
        block, value = self.block, clause.of(self.block.text)
        if not (block.label or block.row) or len(value.split()) > MAX_LABELLED:
            return None
        labelled = f"{block.label}: {value}" if block.label else value
        text = f"{block.row}; {labelled}" if block.row else labelled
        spans = [s for s in (block.row_span, block.span(*clause)) if s]
        return _Wording(text, "", Span(min(s.start for s in spans), max(s.end for s in spans)))

    def _before(self, start: int) -> str:
        """The lead-in of a list item and the text of the block up to `start`, by sentences."""
        block = self.block
        pieces = [block.row] if block.kind is BlockKind.CELL else []
        if block.kind is BlockKind.ITEM and block.lead:
            pieces = [_last_sentence(block.lead, self.language).of(block.lead)]
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
        return " ".join(piece for piece in (*pieces, *kept) if piece)[-MAX_BEFORE:]

    def _nothing_before(self, group: _Group) -> _Wording | None:
        """A mark that opens its block stands for what follows, or for what introduces the block."""
        block = self.block
        index = bisect_right(self.starts, group.end - 1)
        if index < len(self.found):
            clause = _stripped(block.text, self.found[index])
            return self._labelled(clause) or _Wording(
                clause.of(block.text), "", block.span(*clause)
            )
        if block.row and block.row_span:
            text = f"{block.row}; {block.label}" if block.label else block.row
            return _Wording(text, "", block.row_span)
        if block.kind is BlockKind.PARAMETER:
            return _Wording(block.label, "", group.marks[0].span)
        if block.lead and block.lead_span:
            return _Wording(block.lead, "", block.lead_span)
        return self._of_previous()

    def _of_previous(self) -> _Wording | None:
        """The last sentence of the block before: a mark on a line of its own."""
        if self.previous is None:
            return None
        home = _last_sentence(self.previous.text, self.language)
        return _Wording(home.of(self.previous.text), "", self.previous.span(*home))


def _last_sentence(text: str, language: str) -> Span:
    found = [s for s in sentences(text, language) if _has_words(s.of(text))]
    return found[-1] if found else Span(0, len(text))


def _has_words(text: str) -> bool:
    return any(char.isalnum() for char in text)


def _says_nothing(clause: str) -> bool:
    words = re.findall(r"\w+", clause.lower())
    return len(words) < MIN_CLAUSE and all(word in _FUNCTION_WORDS for word in words)


def _stripped(text: str, span: Span) -> Span:
    """`span` without the punctuation that parts it from its neighbours; never empty."""
    start, end = span
    while start < end - 1 and text[start] in _OPENING_DEBRIS:
        start += 1
    while end > start + 1 and text[end - 1] in _CLOSING_DEBRIS:
        end -= 1
    return Span(start, end)
