"""Reads subtitles (SRT, WebVTT) and transcripts with times: running text, located by time."""

import json
import re
from collections.abc import Iterator, Sequence
from html import unescape
from itertools import pairwise

from pincite.documents.body import Body
from pincite.documents.text import decoded, document_of, joined, one_line
from pincite.text.page_numbers import LABELS, PAGES
from pincite.types import Document, Unchecked

# At the start of a line: "00:12:31,000 --> 00:12:34,500" with settings; in transcripts without
# such lines, "[00:12:31]" or "12:31".
_TIME = r"^[ \t]*[\[(]?(?:(\d{1,3}):)?(\d{1,2}):(\d\d)(?:[.,]\d{1,3})?"
_CAPTION = re.compile(rf"{_TIME}[ \t]*-->[^\n\]]*\]?", re.MULTILINE)
_TRANSCRIBED = re.compile(rf"{_TIME}(?:[\])]|(?=[ \t\n-]))", re.MULTILINE)
_SPEAKER = re.compile(r"<v(?:\.[\w.]+)?[ \t]+([^<>\n]+)>")
_TAGS = re.compile(r"<[^<>\n]*>|\{\\[^{}\n]*\}|[♪♫]|^[ \t]*[-–—](?=[ \t])", re.MULTILINE)
MOST_REPEATED = 60  # words: two lines of captions have 15
MOST_CAPTIONS, FEW_CAPTIONS = 20, 3  # in a sentence; in a line without full stops
_SENTENCE_END = re.compile(r"[.!?…。！？][\"'”’»)]*\s*\Z")
FEW_REPEATED = 3  # words: fewer are repeated by chance, unless they are the whole caption


def read_subtitles(body: Body) -> Document | Unchecked:
    """Read the captions as running text; a speaker, if named, begins a line."""
    source = decoded(body.data, body.charset)
    if source is None:
        return document_of(body, "subtitles", None)
    source = "\n".join(source.removeprefix("\ufeff").splitlines())
    captions = list(_captions(source))
    n_closed = sum(bool(_SENTENCE_END.search(words)) for _, words in captions)
    is_cut = n_closed * MOST_CAPTIONS < len(captions)  # automatic captions have no full stops
    pieces = (
        ("\n" if words[0] == "\n" or (is_cut and n % FEW_CAPTIONS == 0) else " ", words.lstrip())
        for n, (_, words) in enumerate(captions)
    )
    text, starts = joined(pieces)
    language = re.match(r"WEBVTT[^\n]*\n(?:[^\n]+\n)*?Language:\s*(\S+)", source)
    front = {"lang": language[1]} if language else {}
    places = {PAGES: json.dumps(starts), LABELS: json.dumps([time for time, _ in captions])}
    return document_of(body, "subtitles", text, front, **places)


def _captions(source: str) -> Iterator[tuple[str, str]]:
    """Yield the time and the new words of each caption."""
    last, speaker = list[str](), ""
    marks = [*_CAPTION.finditer(source)] or [*_TRANSCRIBED.finditer(source)]
    for match, following in pairwise([*marks, None]):
        assert match is not None
        caption = source[match.end() : following.start() if following else None]
        if source.startswith("WEBVTT"):  # a comment or the name of the next caption may follow
            caption = caption.strip("\n") if caption[:2] != "\n\n" else ""
            caption = re.split(r"\n[ \t]*\n", caption, maxsplit=1)[0]
        elif following:
            caption = re.sub(r"\n\s*\d+\s*\Z", "", caption)  # the next caption's number
        named = _SPEAKER.search(caption)
        words = one_line(unescape(_TAGS.sub("", caption))).split()
        new = words[_n_repeated(last, words) :]
        last = words or last
        if named and named[1] != speaker and new:
            speaker = named[1]
            new.insert(0, f"\n{one_line(unescape(speaker))}:")
        if new:
            hours, minutes, seconds = (int(part or 0) for part in match.groups())
            yield f"{hours:02}:{minutes:02}:{seconds:02}", " ".join(new)


def _n_repeated(last: Sequence[str], words: Sequence[str]) -> int:
    """The number of words at the start of a caption that ended the one before.

    Captions that roll up show each line twice; captions that grow repeat their beginning.
    """
    for n in range(min(len(last), len(words), MOST_REPEATED), 0, -1):
        if last[-n:] == words[:n] and (n >= FEW_REPEATED or n == len(last)):
            return n
    return 0
