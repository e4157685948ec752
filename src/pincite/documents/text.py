"""Decodes, cleans and detects the language of text; reads plain text and Markdown.

Cleaning applies NFC rather than NFKC (superscripts and fractions keep their meaning), splits
ligatures, drops invisible characters, and unifies spaces and line breaks. `clean_text` is
idempotent, so stored text can be cleaned again without moving a span.
"""

import codecs
import contextlib
import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from html import unescape
from itertools import pairwise
from threading import Lock, Thread
from types import MappingProxyType
from typing import Any

from pincite.documents.body import Body
from pincite.text.dates import date_at_head
from pincite.text.page_numbers import LABELS, PAGES
from pincite.text.sentences import n_words
from pincite.types import Document, Reason, Unchecked

_BREAKS = re.compile("\r\n|[\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029]")
# Control characters, soft hyphens, zero-width spaces, direction marks (they can make text display
# differently from how it is stored), byte order marks and non-characters. Joiners (U+200C/D) stay:
# Persian and the Indic scripts need them.
_INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x1f\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e"
    "\u2060-\u2064\u2066-\u206f\ufeff\ufff9-\ufffb\ufffe\uffff]"
)
_SURROGATES = re.compile("[\ud800-\udfff]")
_ODD_SPACE = re.compile("[\t\xa0\u1680\u2000-\u200a\u202f\u205f\u3000]")
_LIGATURES = dict(enumerate(("ff", "fi", "fl", "ffi", "ffl", "st", "st"), start=0xFB00))
_LIGATURE = re.compile("[\ufb00-\ufb06]")
# Unicode's stream-safe format (UAX #15, section 13). Without it, normalising takes quadratic time:
# 40,000 marks on one letter took 15 s.
MAX_MARKS = 30
_NO_WESTERN_LETTER = re.compile(f"[\u0300-\U0010ffff]{{{MAX_MARKS + 1}}}")  # all marks are here


def clean_text(text: str) -> str:
    """Normalise to NFC; drop invisible characters, and repeated spaces and blank lines."""
    # Most text is plain, which is four times faster.
    if not (text.isascii() and text.replace("\n", " ").isprintable()):
        text = _normalize(text)
    if "  " in text:
        text = re.sub("  +", " ", text)
    text = text.replace(" \n", "\n").replace("\n ", "\n")
    if "\n\n\n" in text:
        text = re.sub(r"\n{3,}", "\n\n", text)
    return text.strip("\n ")


def _normalize(text: str) -> str:
    """Normalise to NFC, with only visible characters, plain spaces and line feeds."""
    text = _INVISIBLE.sub("", _BREAKS.sub("\n", text))
    text = _SURROGATES.sub("\ufffd", text)
    text = _LIGATURE.sub(lambda match: _LIGATURES[ord(match[0])], text)
    if _NO_WESTERN_LETTER.search(text):
        text = _stacked_marks().sub(lambda match: match[0][:MAX_MARKS], text)
    return _ODD_SPACE.sub(" ", unicodedata.normalize("NFC", text))


def join_pieces(pieces: Iterable[tuple[str, str]]) -> tuple[str, list[int]]:
    """Join cleaned pieces, each with the separator before it; returns the start offsets too."""
    text, starts, length = list[str](), list[int](), 0
    for separator, piece in pieces:
        between = separator if length and piece else ""
        starts.append(length + len(between))
        text.append(between + piece)
        length = starts[-1] + len(piece)
    return "".join(text), starts


def one_line(text: str | None) -> str:
    """Clean a short text such as a title, with line breaks as spaces; empty for None."""
    if not text:
        return ""
    if text.isascii() and text.isprintable():  # true for most fields
        return " ".join(text.split())
    return " ".join(clean_text(text).split())


@cache
def _stacked_marks() -> re.Pattern[str]:
    # The four that decompose into marks without being marks themselves (UAX #15).
    marks = [0x0344, 0x0F73, 0x0F75, 0x0F81]
    marks += [point for point in range(0x300, 0x1F000) if unicodedata.combining(chr(point))]
    group = "[" + "".join(map(chr, marks)) + "]"
    return re.compile(f"{group}{{{MAX_MARKS + 1},}}")


_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_SEVEN_BIT = ("iso2022", "hz")  # their bytes are pure ASCII, so they would pass as UTF-8
DETECTION_BYTES = 100_000  # enough for every language; the whole of a long file takes seconds
MIN_SIGNS = 3  # bytes beyond ASCII; with fewer, detection guesses among code pages at random
# Encodings as in the Encoding Standard, by the names of chardet.
_ENCODINGS = (
    "cp866 cp874 cp932 cp949 cp1250 cp1251 cp1252 cp1253 cp1254 cp1255 cp1256 cp1257 cp1258 koi8-r "
    "koi8-u iso8859-2 iso8859-3 iso8859-4 iso8859-5 iso8859-6 iso8859-7 iso8859-8 iso8859-10 "
    "iso8859-13 iso8859-14 iso8859-15 iso8859-16 mac-roman mac-cyrillic gb18030 big5hkscs "
    "euc_jis_2004"
).split()
# Share of the best guess's confidence from which the declared encoding is kept. Where chardet 7.7
# errs on 474 pieces of text in 21 languages, the right encoding has 0.979 or more.
TRUSTED = 0.95
# A page cut within a character, or with a stray byte from an old comment, is still UTF-8.
MAX_STRAY = 0.001
# With a larger share of control and replacement characters it is not text. Of 256 equally frequent
# bytes, at least 26 are controls in every single-byte encoding, which is 0.10.
MAX_CONTROLS = 0.04
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f-\x84\x86-\x9f\ufffd\ufffe\uffff]")


def decode(data: bytes, *declared: str | None) -> str | None:
    """Decode `data`; None if it is not text in any encoding.

    Tries a byte order mark; UTF-8, since other encodings are almost never valid UTF-8; the labels
    in `declared`, the most trusted first (None and unknown ones are ignored); then detection.
    """
    text = _decode(data, [name for label in declared if (name := codec_of(label))])
    return text if len(_CONTROLS.findall(text)) <= 2 + MAX_CONTROLS * len(text) else None


def _decode(data: bytes, declared: list[str]) -> str:
    for mark, name in _MARKS:
        if data.startswith(mark):
            return data.decode(name, "replace")
    seven_bit = [name for name in declared if name.startswith(_SEVEN_BIT)]
    wide = [name for name in declared if name.startswith("utf-16")]
    for name in (*seven_bit, "utf-8", *wide):
        with contextlib.suppress(UnicodeError):
            return data.decode(name)
    text = data.decode("utf-8", "replace")
    # Plain ASCII plus stray bytes is not evidence of UTF-8.
    few_strays = text.count("\ufffd") <= 1 + MAX_STRAY * len(text)
    if few_strays and not text.replace("\ufffd", "").isascii():
        return text
    return data.decode(_legacy(data, [n for n in declared if not n.startswith("utf")]), "replace")


def codec_of(label: str | None) -> str | None:
    """Python's codec for a declared label, resolved as browsers do (encoding.spec.whatwg.org)."""
    import webencodings

    label = label or ""
    encoding = webencodings.lookup(label) or webencodings.lookup(label.replace("_", "-"))
    name = encoding.codec_info.name if encoding else ""
    return {"gbk": "gb18030", "replacement": None, "": None}.get(name, name)


def _legacy(data: bytes, declared: Sequence[str]) -> str:
    """The declared encoding, unless a detector and the language agree on another one."""
    valid = [name for name in declared if "\ufffd" not in data.decode(name, "replace")]
    stated = valid or [*declared[:1]]
    # Without tags and scripts, which are English and may declare an encoding too.
    pieces = re.split(rb"[<>]", data[:DETECTION_BYTES])
    sample = b" ".join(piece for piece in pieces if not piece.isascii())
    if sum(byte > 127 for byte in sample) < MIN_SIGNS:
        return (*stated, "cp1252")[0]
    import chardet

    guesses = chardet.detect_all(
        sample, include_encodings=_ENCODINGS, ignore_threshold=True, compat_names=False
    )
    verdicts = [
        (str(one["encoding"]), sample.decode(str(one["encoding"]), "replace"), one["language"])
        for one in guesses
        if one["encoding"] and one["confidence"] >= TRUSTED * guesses[0]["confidence"]
    ]
    texts = {text for _, text, _ in verdicts}
    agreed = [
        name
        for name, text, language in verdicts
        if detect(text) == language or n_words(text[:DETECTION_CHARS]) < MIN_WORDS
    ]
    confirmed = [name for name in stated if sample.decode(name, "replace") in texts]
    return (*confirmed, *agreed, *stated, *(name for name, _, _ in verdicts), "cp1252")[0]


# markdown-it is quadratic in some nestings; longer files are dumps, and are read as plain text.
MAX_MARKDOWN_CHARS = 1_000_000
# Editors and mail programs wrap between these widths; a line that could have held the next word was
# ended on purpose.
MIN_WRAPPED, MAX_WRAPPED = 40, 120
WRAPPED_SHARE = 0.8
_ITEM = re.compile(r"\s|[-*•·–—]\s|\(?\d{1,3}[.)]\s")
_DATED = frozenset({"text", "markdown", "docx", "rtf", "pdf", "image"})  # those with a head
_FRONT_MATTER = re.compile(r"\A---\n(.*?)\n(?:---|\.\.\.)\n", re.DOTALL)


def read_text(body: Body) -> Document | Unchecked:
    text = decode(body.data, body.charset)
    return document_of(body, "text", text and unwrap_lines(clean_text(text)))


def unwrap_lines(text: str) -> str:
    """Join the lines of a paragraph that an editor wrapped.

    A line continues in the next if it is long and the next begins neither an item nor an indented
    block, so lists, tables and verse are kept.
    """
    lines = text.split("\n")
    width = max(map(len, lines))
    if not MIN_WRAPPED <= width <= MAX_WRAPPED:
        return text
    joined = lines[:1]
    for before, line in pairwise(lines):
        reach = len(before) + 1 + len(line.split(" ", 1)[0])
        is_text = line.strip() and before.strip() and not _ITEM.match(line)
        goes_on = is_text and reach > WRAPPED_SHARE * width
        joined += [" " if goes_on else "\n", line]
    return "".join(joined)


def read_markdown(body: Body) -> Document | Unchecked:
    """Read Markdown as plain text, with title, date and language from front matter."""
    source = decode(body.data, body.charset)
    if source is None:
        return document_of(body, "markdown", None)
    source = source.replace("\r\n", "\n").replace("\0", "")  # the parser would render NUL
    front = dict[str, str]()
    if match := _FRONT_MATTER.match(source):
        source = source[match.end() :]
        pairs = (line.partition(":") for line in match[1].splitlines())
        stated = ((key.strip().lower(), value.strip(" \t\"'")) for key, _, value in pairs)
        front = {key: value for key, value in stated if value}
    if len(source) > MAX_MARKDOWN_CHARS:
        return document_of(body, "text", source, front)
    tokens = _parser().parse(source)
    headings = (tokens[i + 1] for i, token in enumerate(tokens) if token.type == "heading_open")
    if heading := next(headings, None):
        front.setdefault("title", "".join(_inline(heading.children or ())))
    return document_of(body, "markdown", "".join(_pieces(tokens)), front)


def document_of(
    body: Body,
    kind: str,
    raw: str | None,
    front: Mapping[str, str] = MappingProxyType({}),
    **meta: str,
) -> Document | Unchecked:
    """The document of a text; `front`: title, author, date, lang and created, as stated."""
    if raw is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are not text in any encoding")
    text = clean_text(raw)
    if not text:
        return Unchecked(body.url, Reason.EMPTY, "the file contains no words")
    stated = re.match(r"\d{4}(-\d\d(-\d\d)?)?", front.get("date", ""))
    meta = {"author": front.get("author", ""), "created": front.get("created", ""), **meta}
    return Document(
        url=body.url,
        title=one_line(front.get("title")),
        text=text,
        kind=kind,
        published=stated[0] if stated else (kind in _DATED and date_at_head(text)) or None,
        fetched=body.fetched,
        language=code_of(front.get("lang")),
        meta={key: value for key, value in meta.items() if value},
    )


def _pieces(tokens: list[Any]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield "".join(_inline(token.children or ()))
        elif token.type in ("fence", "code_block"):
            yield f"{token.content}\n"
        elif token.type in ("td_close", "th_close"):
            yield " | "
        elif token.type in ("paragraph_close", "heading_close"):
            yield "\n" if token.hidden else "\n\n"
        elif token.type in ("tr_close", "list_item_close", "table_close"):
            yield "\n"


def _inline(children: Any) -> Iterator[str]:
    struck_out = 0
    for child in children:
        struck_out += {"s_open": 1, "s_close": -1}.get(child.type, 0)
        if struck_out:
            continue
        if child.type in ("softbreak", "hardbreak"):
            yield " " if child.type == "softbreak" else "\n"
        elif child.type in ("text", "code_inline", "image"):
            yield child.content


@cache
def _parser() -> Any:
    from markdown_it import MarkdownIt

    return MarkdownIt("commonmark").enable(["table", "strikethrough"])


MIN_WORDS = 20  # of shorter texts, names and numbers decide
# py3langid's normalised probability. Of 4,175 English abstracts and answers (SciFact, MedQuAD), 998
# in 1,000 reach it with their first 400 characters, and none is taken for another language; of 518
# cut to 20 words, 98 % reach it.
MIN_PROB = 0.8
DETECTION_CHARS = 400  # about 65 words, 0.1 ms; a whole long text would take 10 ms
_NOT_LANGUAGES = frozenset({"zxx", "und", "mul"})
_CODE = re.compile(r"([a-zA-Z]{2})(?:[-_]|$)")


def language_of(text: str, declared: str | None = None) -> str | None:
    """ISO 639-1 code: detected if the detector is confident, else as `declared`, else None."""
    return detect(text) or code_of(declared)


def with_language(outcome: Document | Unchecked) -> Document | Unchecked:
    """Replace a document's declared language by the detected one.

    Subprocess readers leave this to the parent, so the model is loaded once. The language in a
    Markdown file's front matter was set by hand, so it is kept.
    """
    if isinstance(outcome, Unchecked) or (outcome.kind == "markdown" and outcome.language):
        return outcome
    return replace(outcome, language=language_of(outcome.text, outcome.language))


def detect(text: str) -> str | None:
    """ISO 639-1 code; None for texts that are short or ambiguous."""
    sample = text[:DETECTION_CHARS]
    if n_words(sample) < MIN_WORDS:
        return None
    code, prob = _identifier().classify(sample)
    return str(code) if prob >= MIN_PROB and code not in _NOT_LANGUAGES else None


def code_of(declared: str | None) -> str | None:
    """The two-letter code at the start of a `lang` attribute or field.

    >>> code_of("pt-BR"), code_of("EN"), code_of("english"), code_of(None)
    ('pt', 'en', None, None)
    """
    match = _CODE.match((declared or "").strip())
    return match[1].lower() if match else None


def preload_language_model() -> None:
    """Load the model in a thread: most of its 0.7 seconds are decompression, without the GIL."""
    Thread(target=_identifier, name="pincite-language", daemon=True).start()


_LOADING = Lock()  # `cache` alone lets two threads load it


def _identifier() -> Any:
    with _LOADING:
        return _load_detector()


@cache
def _load_detector() -> Any:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


# Subtitles (SRT, WebVTT) and transcripts with times: running text, located by time

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
    source = decode(body.data, body.charset)
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
    text, starts = join_pieces(pieces)
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
