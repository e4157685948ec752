"""Shared data types, which also define the JSON of reports (`pincite.codec`).

Offsets are half-open `[start, end)` counts of Unicode code points, never bytes. An unknown field is
`None` or empty, never a guess.

In JSON, each field has its name as its key, and so has each property marked `@written`. A field's
metadata may change that: `UNWRITTEN` leaves it out, `INLINE` puts the fields of its value next to
the others, `json_key` gives it another key, and `split` gives each type of a union its own key.
"""

import hashlib
import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from pincite.notes import Note, texts

T = TypeVar("T")
UNWRITTEN: Mapping[str, bool] = {"written": False}
INLINE: Mapping[str, bool] = {"inline": True}


def json_key(key: str) -> Mapping[str, str]:
    """Metadata of a field with a different key in JSON."""
    return {"key": key}


def split(*keys: str) -> Mapping[str, tuple[str, ...]]:
    """Metadata of a union: one key per type, all but one null."""
    return {"split": keys}


def written(get: Callable[[Any], T], key: str = "") -> Callable[[Any], T]:
    """Mark a property as written to JSON, under its name or `key`. It is not read back."""
    get.written = key or get.__name__  # type: ignore[attr-defined]
    return get


@dataclass(frozen=True, slots=True)
class Doc:
    """A field's description in the JSON Schema: `Annotated[Span, Doc("in the claim's text")]`."""

    description: str

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> dict[str, Any]:
        return {**handler(schema), "description": self.description}


class Span(NamedTuple):
    """Half-open character offsets into a text that the owner of the span names."""

    start: int
    end: int

    def of(self, text: str) -> str:
        return text[self.start : self.end]

    def moved(self, by: int) -> "Span":
        return Span(self.start + by, self.end + by)

    def overlaps(self, other: "Span") -> bool:
        """Whether they share a character, or an empty one lies within the other."""
        return self.start < other.end and other.start < self.end


# ── Sources ──────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Document:
    """The text of a source; passages are spans of it."""

    url: str
    title: str
    text: str
    # html, pdf, docx, pptx, epub, rtf, subtitles, image, text, markdown, csv, jsonl, pubmed, jats
    kind: str = "text"
    published: str | None = None  # ISO date stated by the page
    fetched: str | None = None  # ISO date or timestamp of the copy
    language: str | None = None  # ISO 639-1
    meta: Mapping[str, str] = field(default_factory=dict)  # several values are joined by "; "
    # Offsets of anchors that an address can name (`#History`); not stored in a corpus.
    anchors: Mapping[str, int] = field(
        default_factory=dict, compare=False, repr=False, metadata=UNWRITTEN
    )
    corpus: str = field(default="", compare=False, repr=False)  # its name, if several are searched

    @property
    def doc_id(self) -> str:
        """16 hex digits of SHA-256 over url, title and text: equal content has an equal id."""
        content = "\0".join((self.url, self.title, self.text))
        return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]


OPINION = "opinion piece"  # in what is known about a page


class Voice(NamedTuple):
    """Who speaks on a page, by its metadata."""

    author: str = ""
    site: str = ""
    is_opinion: bool = False

    @classmethod
    def of(cls, meta: Mapping[str, str]) -> "Voice":
        is_opinion = "opinion" in meta.get("type", "").lower()
        return cls(meta.get("author") or "", meta.get("site") or "", is_opinion)

    def is_in(self, text: str) -> bool:
        """Whether a text names the author or the site."""
        return any(name and name in text for name in (self.author, self.site))


def about(title: str, published: str | None, meta: Mapping[str, str]) -> str:
    """Return title, author, site and year of a page: "Bridge opens · I. Holm · 1911"."""
    voice = Voice.of(meta)
    kind = OPINION if voice.is_opinion else ""
    known = (title, voice.author, voice.site, (published or "")[:4], kind)
    return " · ".join(part for part in known if part)


GAP = "\n[…]\n"  # between the pieces of a passage: a line of its own, so no sentence crosses it


@dataclass(frozen=True, slots=True)
class Passage:
    """About 100 words of a document, or some of its sentences that are read together.

    `text` is exactly `span` of the document's text, or its `pieces` joined by `GAP`.
    """

    doc_id: str
    url: str
    title: str
    text: str = field(metadata=json_key("passage"))
    span: Annotated[Span, Doc("in the document's text")]
    about: Annotated[str, Doc("title, author, site, year, and dates that relative times mean")] = ""
    # The whole text of the document, if known: it may state what the passage lacks.
    page: str = field(default="", repr=False, compare=False, metadata=UNWRITTEN)
    language: Annotated[str | None, Doc("ISO 639-1; null: unknown")] = None
    # Per cent of confidence in a text that was recognised from a scan.
    recognised: int | None = field(default=None, compare=False, metadata=UNWRITTEN)
    published: str = field(default="", compare=False, metadata=UNWRITTEN)  # ISO, as exact as known
    pieces: Annotated[
        tuple[Span, ...], Doc("of a text from several places: their spans in the document")
    ] = ()
    voice: Voice = field(default=Voice(), compare=False, metadata=UNWRITTEN)

    @classmethod
    def alone(cls, text: str) -> "Passage":
        """Create a passage of no document."""
        return cls("", "", "", text, Span(0, len(text)))

    @property
    def passage_id(self) -> str:
        """`doc_id:start-end`, the same in every corpus with the document."""
        return f"{self.doc_id}:{','.join(f'{a}-{b}' for a, b in self.pieces or (self.span,))}"

    def stands_in(self, document: str) -> bool:
        """Whether the document's text has this one at its spans."""
        return self.text == GAP.join(span.of(document) for span in self.pieces or (self.span,))

    def within_a_piece(self, span: Span) -> Span:
        """Reduce a span of the text to the piece that has most of it."""
        if not self.pieces:
            return span
        cut = [Span(max(span.start, at), min(span.end, at + len(p))) for at, p in self._places()]
        return max(cut, key=lambda part: part.end - part.start)

    def in_document(self, span: Span) -> Span:
        """Return where in the document a span of the text is, which lies within one piece."""
        *_, (at, piece) = (place for place in self._places() if place[0] <= span.start)
        return span.moved(piece.start - at)

    def _places(self) -> Iterator[tuple[int, range]]:
        """Yield where each piece starts in the text, and its offsets in the document."""
        at = 0
        for piece in self.pieces or (self.span,):
            yield at, range(*piece)
            at += piece.end - piece.start + len(GAP)


class Reason(StrEnum):
    """Why a source could not be checked; never a finding against the article."""

    DEAD = "dead"  # 404, 410: the page is gone
    SOFT_404 = "soft_404"  # status 200, but the page says it was not found
    FRONT_PAGE = "front_page"  # its address now leads to the site's front page
    LISTING = "listing"  # a list of search results or stories instead of the page
    NO_HOST = "no_host"  # the site's name does not resolve
    UNREACHABLE = "unreachable"  # no connection, no trusted certificate, or no HTTP
    REDIRECTS = "redirects"  # a loop, or too many
    UNSAFE_ADDRESS = "unsafe_address"  # not a web address; never opened
    NOT_ALLOWED = "not_allowed"  # on a private network or another port; a setting opens it
    ROBOTS = "robots"  # its robots.txt excludes it
    REFUSED = "refused"  # 401, 403, 429, 451, 5xx: the page may exist
    PAYWALL = "paywall"  # the stored page ends where a subscription begins
    LOGIN = "login"  # a login form instead of the page
    CONSENT = "consent"  # a cookie dialog instead of the page
    OFFLINE = "offline"  # a book or a paper issue, without an address
    UNDEFINED = "undefined"  # the article cites a reference that it does not list
    NOT_SUPPLIED = "not_supplied"  # has an address, but no stored copy was found
    EMPTY = "empty"  # a file without text (a scan, a page rendered by scripts)
    UNREADABLE_SCAN = "unreadable_scan"  # its text cannot be recognised, or not on all pages
    UNDECODABLE = "undecodable"  # the bytes do not match the declared type
    ENCRYPTED = "encrypted"  # a password-protected PDF
    TOO_LARGE = "too_large"
    TRUNCATED = "truncated"  # the connection ended before the page did
    TIMED_OUT = "timed_out"
    UNSUPPORTED_TYPE = "unsupported_type"  # an image, a video, a spreadsheet
    LANGUAGE = "language"  # the model does not read the page's language
    TITLE_ONLY = "title_only"  # a bibliographic record without an abstract
    WITHDRAWN = "withdrawn"  # deleted by the publisher of the collection
    USURPED = "usurped"  # the citation says that its domain has a new owner; never opened
    CIRCULAR = "circular"  # Wikipedia or a copy of it, which cannot support its own article
    INTERNAL_ERROR = "internal_error"  # a bug in this program; the detail is the error's class


@dataclass(frozen=True, slots=True)
class Fetched:
    """A page as fetched from the web, not yet read."""

    url: str  # as cited
    final_url: str  # after redirects
    content_type: str | None
    body: bytes
    fetched: str  # ISO timestamp, UTC, of the request


class WebResult(NamedTuple):
    """A page found by a search engine, not fetched yet."""

    url: str
    title: str


FailedStep = Literal[
    "reply",
    "server",
    "budget",
    "stopped",
    "source",
    "language",
    "retracted",
    "negation",
    "statement",
    "internal",
]


@dataclass(frozen=True, slots=True)
class Failed:
    """A step that failed, and why; it counts neither for nor against a claim."""

    step: FailedStep
    detail: str

    @property
    def is_of_run(self) -> bool:
        """Whether the cause concerns the run, whose report states it once."""
        return self.step in ("server", "budget", "stopped")

    @property
    def note(self) -> Note | None:
        """Why there is no second opinion, for a reader; None if the report says it once."""
        return None if self.is_of_run else Note("second_failed", {"why": self.detail})


STOPPED = Failed("stopped", "the run was stopped")


@dataclass(frozen=True, slots=True)
class Unchecked:
    """A source that could not be checked, and why."""

    url: str
    reason: Reason
    detail: str = ""  # for the user: "HTTP 404", "the file has 61 MB, the limit is 50"


class CopyKind(StrEnum):
    """Which copy of a cited source was read."""

    LIVE = "live"  # the page itself, from the web
    ARCHIVED = "archived"  # the archived copy that the citation names
    WAYBACK = "wayback"  # the Wayback Machine's copy nearest to the citation's date
    STORED = "stored"  # from the folder of stored pages
    OWN = "own"  # supplied by the user for this source
    CORPUS = "corpus"


@dataclass(frozen=True, slots=True)
class Copy:
    """The copy of a source that was read."""

    kind: CopyKind
    url: str  # where a reader finds it
    date: str | None = None  # ISO date of an archived copy, else when it was fetched
    corpus: str = ""  # name of the corpus that has it, if several are searched
    file: str = ""  # name of the file that the user supplied


HEADLINE, WEBSITE = "headline", "website"  # metadata of a page: its title apart from its site
COPY_OF = "copy_of"  # metadata of a copy of Wikipedia: the article, or "Wikipedia"
FILE = "file"  # metadata of a document: the name of the file that the user supplied
OWN_SCHEME = "own:"  # of an own copy's address, before its SHA-256 (several: "+")


def own_digest(url: str) -> str | None:
    """Return the SHA-256 in the address of an own copy; None for any other address."""
    match = re.fullmatch(rf"{OWN_SCHEME}([0-9a-f]{{64}}(?:\+[0-9a-f]{{64}})*)", url)
    return match[1] if match else None


class Reliability(StrEnum):
    """A community's rating of a source; never a verdict on what the source says."""

    RELIABLE = "generally_reliable"
    NO_CONSENSUS = "no_consensus"
    UNRELIABLE = "generally_unreliable"
    DEPRECATED = "deprecated"
    BLACKLISTED = "blacklisted"  # the wiki refuses links to it
    MIXED = "mixed"  # judged differently by topic or time
    UNLISTED = "unlisted"  # the list says nothing


@dataclass(frozen=True, slots=True)
class Listing:
    """The rating of an address in a reliability list: its most specific entry."""

    reliability: Reliability = field(metadata=json_key("label"))
    name: str = ""  # of the source in the list
    place: str = ""  # the domain, or domain and path, that matched
    scope: str = ""  # what the rating is limited to: "politics", "2013–present"
    link: str | None = None  # to the discussion
    others: tuple[str, ...] = ()  # other entries for the same place: "politics: no consensus"


class Bar(StrEnum):
    """Why a page was found but must not be suggested."""

    WIKI = "wiki"  # Wikipedia, a sister project or a mirror: circular
    SITE = "site"  # the user excluded it
    DEPRECATED = "deprecated"
    BLACKLISTED = "blacklisted"
    COPY = "copy"  # a near-duplicate of the claim's paragraph that is not older than it
    FILTER = "filter"  # excluded by the run's filters (date, site, language, kind, metadata)


@dataclass(frozen=True, slots=True)
class Exclusion:
    """A page that was found for a claim but left out, and why."""

    url: str
    title: str
    bar: Bar = field(metadata=json_key("reason"))
    detail: str = ""  # for the user: "Daily Example: deprecated"


# ── Articles ─────────────────────────────────────────────────────────────────────────────────────


class FaultKind(StrEnum):
    """What is wrong with a reference as written; the value is the code of its message.

    None of them says that a work does not exist.
    """

    ISBN = "isbn_invalid"  # length or check digit
    ISSN = "issn_invalid"
    ORCID = "orcid_invalid"
    PMID = "pmid_invalid"  # no number that PubMed can have given
    PMC = "pmc_invalid"
    ARXIV = "arxiv_invalid"
    DOI = "doi_invalid"
    REGISTRANT = "doi_registrant"  # a prefix for tests, or beyond those given out
    SAME_DOI = "doi_of_two"  # another reference of the article has it with another title
    FUTURE = "date_in_future"
    TOO_EARLY = "date_too_early"  # before printed books or journals
    ACCESSED_EARLY = "accessed_before_date"
    PAGES = "pages_backwards"
    CHATBOT = "chatbot_trace"
    PLACEHOLDER = "placeholder"

    @property
    def is_impossible(self) -> bool:
        """Whether an identifier of this form was given to no work."""
        return self in (
            *(FaultKind.ISBN, FaultKind.ISSN, FaultKind.PMID, FaultKind.PMC),
            *(FaultKind.ARXIV, FaultKind.DOI, FaultKind.REGISTRANT),
        )


@dataclass(frozen=True, slots=True)
class Fault:
    """Something wrong with a reference as written, in words that a reader can check."""

    kind: FaultKind
    words: str  # of the reference
    other: Annotated[str, Doc("what they are compared with; empty: nothing")] = ""

    @property
    def note(self) -> Note:
        """What is wrong, and what to do."""
        return Note(self.kind, {"words": self.words, "other": self.other})

    @property
    @written
    def message(self) -> str:
        return str(self.note)


@dataclass(frozen=True, slots=True)
class Citation:
    """One use of a reference in an article, with the parameters of its template."""

    # Unique within the article: "r12" for the 12th use; in a manuscript "r7" and "r7-2" for [7].
    citation_id: str
    span: Annotated[Span, Doc("of this use, in the article's source")]
    # Where the reference's content is; equals `span` if it is here.
    definition: Annotated[Span, Doc("of the reference's content, in the article's source")]
    name: str | None = None
    group: str | None = None
    template: str | None = None  # lower case: "cite web", "sfn"; None for free text
    text: str = ""  # the reference as readers see it
    url: str | None = None
    archive_url: str | None = None
    archive_date: str | None = None
    url_status: str | None = None
    title: str | None = None
    publisher: str | None = None  # the first given of website, newspaper, journal and publisher
    authors: tuple[str, ...] = ()
    date: str | None = None
    access_date: str | None = None
    pages: str | None = None
    isbn: str | None = None
    doi: str | None = None
    pmid: str | None = None
    pmc: str | None = None
    issn: str | None = None
    arxiv: str | None = None
    quote: str | None = None
    faults: tuple[Fault, ...] = ()  # of the reference as written, without asking anyone
    tags: tuple[str, ...] = ()  # "dead link", "failed verification", … found at this use

    @property
    def is_marked(self) -> bool:
        """Whether its readers are warned that the work was retracted or is of concern."""
        return not WARNINGS.isdisjoint(self.tags)

    @property
    def reference(self) -> tuple[Span, str]:
        """What all uses of a reference share; the works that it names differ."""
        return self.definition, self.citation_id.partition(".")[2]


WARNINGS = frozenset({"retracted", "expression of concern"})  # tags
# By these tags an editor doubts a source, or asks for another one.
SOURCE_TAGS = frozenset(
    {
        *("failed verification", "verify source", "dubious", "better source needed"),
        *("additional citation needed", "unreliable source?", "unreliable medical source"),
        *("self-published inline", "non-primary source needed", "predatory source"),
        *("obsolete source", "citation needed", "medical citation needed"),
    }
)


@dataclass(frozen=True, slots=True)
class Claim:
    """The statement before a reference mark: a sentence, or a part of one.

    `part` locates the judged words in `sentence`, as the article has them. `text` ends with these
    words; if they have no subject ("and closed in 1902"), or are a table cell or list item, it puts
    their subject in front.
    """

    claim_id: str  # 12 hex digits over title, section and text: survives renumbering
    text: Annotated[str, Doc("the statement that is judged")] = field(metadata=json_key("claim"))
    title: str = ""  # of the article
    section: Annotated[tuple[str, ...], Doc("headings, outermost first; none in the lead")] = ()
    before: Annotated[str, Doc("the sentences before it in its paragraph, and the lead-in")] = ""
    span: Annotated[Span | None, Doc("in the article's source")] = None
    # Adjacent references, judged together. A finding contains them with their results.
    citations: tuple[Citation, ...] = field(default=(), metadata=UNWRITTEN)
    tags: tuple[str, ...] = ()  # "citation needed", "failed verification", …
    origin: str = "prose"  # prose, list, table, template, caption
    sentence: Annotated[str, Doc("the whole sentence; empty: not known")] = ""
    part: Annotated[Span | None, Doc("the judged words in the sentence")] = None
    # The text after it in its paragraph: WAFER keeps it, but it is not judged.
    after: str = field(default="", metadata=UNWRITTEN)
    # The words since the previous citation, if the words before them are needed to read them.
    own: Annotated[Span | None, Doc("the words of the text that are cited; null: all")] = None
    # Citations of the words before `own`.
    earlier: tuple[Citation, ...] = field(default=(), metadata=UNWRITTEN)
    about: Annotated[str, Doc("the article's subject, if the claim has a pronoun for it")] = ""
    unread: Annotated[tuple[str, ...], Doc("templates shown as […] in the claim")] = ()
    uncited_before: Annotated[
        tuple[str, ...], Doc("sentences since the last reference; without their own, not judged")
    ] = ()
    # Of its article, if that is not English: the words of a short claim may not show it.
    language: str = field(default="", metadata=UNWRITTEN)
    # Its mark: number of the block among those with text, from 0, and offset in its plain text.
    mark: tuple[int, int] | None = field(default=None, metadata=UNWRITTEN)

    @classmethod
    def alone(cls, text: str) -> "Claim":
        """Create a claim without an article: a statement, a question, a sentence of an answer."""
        return cls(claim_id_of("", (), text), text)

    @property
    def disputed(self) -> bool:
        return "failed verification" in self.tags

    @property
    def wants_source(self) -> bool:
        return not SOURCE_TAGS.isdisjoint(self.tags)

    @property
    def words(self) -> str:
        """The judged words as in the article, without a subject put before them."""
        return self.part.of(self.sentence) if self.part else self.text

    @property
    def context(self) -> str:
        """SIDE's input: `title [SEP] section [SEP] text … [CIT] text after` (Petroni et al.)."""
        text = f"{self.before} {self.words}".strip()
        path = " :: ".join(self.section)
        return f"{self.title} [SEP] {path} [SEP] {text}[CIT] {self.after}".rstrip()


def claim_id_of(title: str, section: tuple[str, ...], text: str) -> str:
    """Return the id of a claim from its text and place: stable while other claims come and go."""
    content = "\0".join((title, *section, text))
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Article:
    """An article's claims, and warnings about what could not be parsed."""

    title: str
    source: str  # the wikitext or HTML that all spans refer to
    claims: tuple[Claim, ...]
    revision_id: str | None = None
    timestamp: str | None = None
    language: str = "en"
    n_references: int = 0  # uses of references, including those without a claim
    warnings: tuple[str, ...] = ()
    url: str | None = None  # of this exact revision, if it came from a wiki
    markup: Literal["wikitext", "html"] = "wikitext"  # of the source
    page_id: str | None = None  # number of the page in its wiki


# ── Judgements ───────────────────────────────────────────────────────────────────────────────────


FoundBy = Literal["words", "meaning", "both", ""]


class Hit(NamedTuple):
    """A passage found by a retriever. Higher `score` is better; `rank` starts at 1."""

    passage: Passage
    score: float
    rank: int
    found_by: FoundBy = ""  # which of several searches; "" for a single one


class Effect(StrEnum):
    """What a witness does to a verdict; `judgement.decide` says how."""

    CONTRADICTS = "contradicts"
    LIMITS = "limits"  # the claim is at most partly supported
    REFUSES = "refuses"  # the passage does not support the claim


class WitnessKind(StrEnum):
    """What was seen in a passage; the value is the code of its message in `notes`."""

    VALUE = "other_value"  # another value, name or word of the opposite meaning in its place
    DENIAL = "denied"
    NETWORK = "read_as_contrary"  # a contradiction that only the network reads
    WEAKER = "stated_only_as"  # only denied, alleged, planned or hedged
    SWAPPED = "roles_swapped"
    NAMESAKE = "about_another"  # another person where the claim has the article's "he"
    SPEAKER = "said_by_another"  # than the claim names
    OWNER = "value_of_another"  # the claim's value, which the source gives for another thing
    NARROWER = "said_of_less"  # the first, or the largest, of a smaller kind or place
    UNCLEAR = "may_be_another"  # a description or a pronoun that may stand for another
    MISREAD = "may_be_misread"  # a contradiction in a scan: one misread digit makes one

    @property
    def effect(self) -> Effect:
        if self in (WitnessKind.VALUE, WitnessKind.DENIAL, WitnessKind.NETWORK):
            return Effect.CONTRADICTS
        if self in (self.SWAPPED, self.NAMESAKE, self.SPEAKER, self.MISREAD):
            return Effect.REFUSES
        return Effect.LIMITS


@dataclass(frozen=True, slots=True)
class Witness:
    """What a passage shows about a claim, in words that a reader can check."""

    kind: WitnessKind
    claim: Annotated[str, Doc("the words of the claim")] = ""
    source: Annotated[str, Doc("the words of the source")] = ""
    sentence: Annotated[Span | None, Doc("in the passage's text")] = None
    other: Annotated[str, Doc("whom the source's words are about")] = ""

    @property
    def note(self) -> Note:
        """The message for a reader."""
        values = {"claim": self.claim, "source": self.source, "other": self.other}
        return Note(self.kind, {name: words for name, words in values.items() if words})


@dataclass(frozen=True, slots=True)
class Readout:
    """What the network says of a claim and a passage. It is never changed."""

    support: Annotated[float, Doc("calibrated log-odds of support")]
    refuted: Annotated[float, Doc("probability of a contradiction, given no support")] = 0.0
    network: Annotated[float | None, Doc("log-odds of support without any rule")] = None


class Verdict(StrEnum):
    """A language model's verdict on a claim."""

    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly_supported"
    NOT_SUPPORTED = "not_supported"
    CONTRADICTED = "contradicted"
    UNUSABLE = "unusable"  # a login form, an error page, another text: no verdict possible


@dataclass(frozen=True, slots=True)
class Trust:
    """What a model's opinion may change, from its examination and the user's own rows."""

    refuses: Annotated[bool, Doc("it passed: its refusals stand")] = False
    contradicts: Annotated[bool, Doc("its contradictions, with a quote, are shown as such")] = False
    confirms: Annotated[bool, Doc("its support outweighs our doubt, measured on own rows")] = False


NO_TRUST = Trust()


@dataclass(frozen=True, slots=True)
class Opinion:
    """A language model's verdict on a claim, with the quotes and words that were verified."""

    verdict: Verdict
    model: str  # "name@host": the server that read the text
    quotes: tuple[str, ...] = ()  # as in the sources; quotes not found there are left out
    missing: tuple[str, ...] = ()  # words of the claim that the sources lack, as in the claim
    why: str = ""  # one sentence by the model, which is untrusted text
    n_invented: int = 0  # quotes found in no source
    whole: bool = True  # False: the sources were too long, and it read only their best passages
    trust: Trust = NO_TRUST

    @property
    def note(self) -> Note:
        """The verdict, for a reader."""
        return Note(f"second_{self.verdict}", {"model": self.model})


class Stance(NamedTuple):
    """How far evidence counts for and against a claim, each from 0 to 1."""

    supports: float
    refutes: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """How one passage bears on one claim. The three probabilities sum to one.

    `judgement.decide` derives them from what the network says and from the witnesses.
    """

    passage: Passage = field(metadata=INLINE)
    prob_supported: float
    prob_refuted: float
    prob_neutral: float
    score: Annotated[float, Doc("log-odds of support; ranks evidence")]
    quote: Annotated[Span | None, Doc("the best sentence, in the passage's text")] = field(
        default=None, metadata=json_key("quote_in_passage")
    )
    readout: Annotated[Readout | None, Doc("of the network; null: of a language model")] = None
    witnesses: tuple[Witness, ...] = ()
    stance: Annotated[Stance | None, Doc("how far it counts; null: as probable")] = None
    unstated: Annotated[tuple[str, ...], Doc("figures of the claim not in the passage")] = ()
    unnamed: Annotated[tuple[str, ...], Doc("names of the claim not in the passage")] = ()
    unsupported: Annotated[tuple[str, ...], Doc("words that a token-level network doubts")] = ()
    notes: Annotated[tuple[Note, ...], Doc("on the copy that was read")] = ()
    analysis: str = ""  # what a language model wrote before it chose; empty for a verifier
    opinion: Annotated[Opinion | Failed | None, Doc("a language model's; null: not asked")] = None
    failed: Failed | None = field(default=None, metadata=UNWRITTEN)  # why it was not judged
    verifier: Annotated[str, Doc("the network for other languages, if that judged")] = ""

    @property
    def contradiction(self) -> Witness | None:
        """The contradiction that a rule found, if any."""
        by_rule = (WitnessKind.VALUE, WitnessKind.DENIAL)
        return next((witness for witness in self.witnesses if witness.kind in by_rule), None)

    @property
    @written
    def reasons_coded(self) -> tuple[Note, ...]:
        """The messages for a reader."""
        lacks = (
            ("not_stated", self.unstated),
            ("not_named", self.unnamed),
            ("not_found_by_network", self.unsupported),
        )
        missing = (Note(code, {"words": words}) for code, words in lacks if words)
        seen = (witness.note for witness in self.witnesses)
        said = (self.opinion.note,) if self.opinion and self.opinion.note else ()
        return (*self.notes, *said, *seen, *missing)

    @property
    @written
    def reasons(self) -> tuple[str, ...]:
        return texts(self.reasons_coded)

    @property
    @partial(written, key="quote")
    def quoted(self) -> str:
        """The quote, verbatim from the stored text; empty if there is none."""
        return self.quote.of(self.passage.text) if self.quote else ""

    @property
    @written
    def quote_span(self) -> Annotated[Span | None, Doc("of the quote in the document's text")]:
        return self.passage.in_document(self.quote) if self.quote else None


class DecidedBy(StrEnum):
    """Who decided on a label."""

    PINCITE = "pincite"
    MODEL = "model"  # the examined language model of the second opinion
    BOTH = "both"


class Basis(StrEnum):
    """What a reader can see that a label rests on."""

    NETWORK = "network"  # nothing
    NAMES = "names"  # the claim's names, figures and quotations, at the quote
    QUALIFIED = "qualified"  # that the source does not state it as a fact
    SHOWN = "shown"  # what the reasons name


class Label(StrEnum):
    """The verdict on a claim or a citation."""

    SUPPORTED = "supported"
    PARTLY_SUPPORTED = "partly_supported"  # one part is supported, another is not
    DISPUTED = "disputed"  # an examined model finds support, Pincite does not
    NOT_SUPPORTED = "not_supported"  # likely fails verification
    REFUTED = "refuted"  # the source contradicts it
    UNCHECKED = "unchecked"


class Verifiability(StrEnum):
    """A verdict together with a search for better sources (SIDE, Petroni et al. 2023)."""

    CITED = "cited"  # a citation supports the claim
    BETTER_SOURCE = "better_source"  # no citation supports all of it, but a found page does
    DOUBTFUL = "may_be_unverifiable"  # neither does; a small corpus may lack the right page


class StatementType(StrEnum):
    """What kind of statement a reading is (EvidenceSeeker, “Preprocessor”)."""

    DESCRIPTIVE = "descriptive"  # says how things are
    ASCRIPTIVE = "ascriptive"  # says that someone says, believes or denies something
    NORMATIVE = "normative"  # says how things should be, or values them


PartKind = Literal["clause", "figure", "name", "quotation", "contradiction"]


@dataclass(frozen=True, slots=True)
class Part:
    """A part of a claim that can be checked separately, and whether the source supports it."""

    kind: PartKind
    span: Annotated[Span, Doc("in the claim's text; clauses never overlap")]
    words: Annotated[str, Doc("what the span covers")]
    supported: bool
    evidence: Annotated[Evidence | None, Doc("null: checked by a rule")] = None
    text: Annotated[str, Doc("of a clause: what was judged, with its subject")] = ""


@dataclass(frozen=True, slots=True)
class Place:
    """Where a quote is in its source, and where the citation points."""

    page: Annotated[str | None, Doc("of subtitles a time; null: no pages, or unknown")] = None
    printed: Annotated[bool, Doc("the printed number; else counted in the file, from 1")] = False
    cited: str | None = None  # "p. 12", "section History", "highlighted text"
    elsewhere: bool = False  # the quote is not where the citation points


@dataclass(frozen=True, slots=True)
class Changed:
    """Today's page, if it supports less of the claim than the archived copy does."""

    copy: Copy
    evidence: Evidence
    label: Label


class WorkStatus(StrEnum):
    """What was found about a reference; the worst first."""

    OTHER_WORK = "other_work"  # an identifier belongs to another work
    RETRACTED = "retracted"
    WITHDRAWN = "withdrawn"
    IMPOSSIBLE = "impossible"  # an identifier cannot exist
    PARTLY_RETRACTED = "partly_retracted"
    CONCERN = "expression_of_concern"
    DIFFERS = "differs"  # the work was found; the reference describes it differently
    UNVERIFIED = "unverified"  # no source that was asked has it
    UNCHECKED = "unchecked"  # a source gave no answer
    SUPERSEDED = "superseded"
    CORRECTED = "corrected"
    AGREES = "agrees"

    @property
    def is_in_doubt(self) -> bool:
        """Whether the work cited is another one, does not exist, or no longer stands."""
        return list(WorkStatus).index(self) < list(WorkStatus).index(WorkStatus.DIFFERS)


@dataclass(frozen=True, slots=True)
class Correction:
    """A parameter of a citation template: what it says, and what the record has."""

    parameter: str
    cited: str
    known: str


@dataclass(frozen=True, slots=True)
class CitedWork:
    """What is known of the work that a reference names."""

    status: WorkStatus
    notes: tuple[Note, ...] = ()
    notice: Annotated[str, Doc("DOI of the notice of its retraction; empty: unknown")] = ""
    corrections: tuple[Correction, ...] = ()
    template: Annotated[str, Doc("its citation template, corrected from the record")] = ""
    is_marked: Annotated[bool, Doc("the article already says that it was retracted")] = False

    @property
    @written
    def messages(self) -> tuple[str, ...]:
        return texts(self.notes)


NO_WORK = CitedWork(WorkStatus.UNCHECKED)


@dataclass(frozen=True, slots=True)
class CitationResult:
    """One citation of a claim: the best evidence in its source, or why there is none.

    `missing` lists the unsupported parts of a claim that is supported or partly supported; it is
    empty for a claim that fails as a whole. If the page changed since it was cited, all fields
    describe the archived copy, which the editor read, and `changed` describes today's page.
    """

    citation: Citation = field(metadata=INLINE)
    outcome: Evidence | Unchecked = field(metadata=split("evidence", "unchecked"))
    label: Label
    clauses: Annotated[
        tuple[Part, ...], Doc("all that were judged; empty if the claim is one clause")
    ] = ()
    missing: tuple[Part, ...] = ()  # in the order of the claim
    lacking: Annotated[
        tuple[Part, ...],
        Doc("figures, names and quotations that the source does not state, or contradicts"),
    ] = ()
    listing: Annotated[Listing | None, Doc("null: no list was given, or no address")] = field(
        default=None, metadata=json_key("reliability")
    )
    place: Annotated[Place | None, Doc("null: unknown")] = None
    copy: Annotated[Copy | None, Doc("the copy that was read; null: none")] = None
    not_live: Annotated[
        Unchecked | None, Doc("why an archived copy was read instead of the page")
    ] = None
    changed: Annotated[Changed | None, Doc("today's page, if it supports less")] = None
    other_copy: Annotated[bool, Doc("the user's copy does not mention its citation")] = False
    work: Annotated[CitedWork | None, Doc("null: it was not looked up")] = None

    @property
    def reference_notes(self) -> tuple[Note, ...]:
        """What is wrong with the reference as written, and what is known of its work."""
        return (*(fault.note for fault in self.citation.faults), *(self.work or NO_WORK).notes)

    @property
    def is_in_doubt(self) -> bool:
        """Whether the work is in doubt, and the article does not say so."""
        work = self.work or NO_WORK
        return work.status.is_in_doubt and not work.is_marked


@dataclass(frozen=True, slots=True)
class Suggestion:
    """A source whose evidence outranks that of the existing citation."""

    evidence: Evidence
    published: str | None
    gain: Annotated[float, Doc("log-odds above the existing citation")]
    listing: Listing | None = field(default=None, metadata=json_key("reliability"))
    place: Place | None = None  # None: the source has no pages
    corpus: Annotated[str, Doc("its corpus; empty if only one was searched")] = ""
    found_by: Annotated[FoundBy, Doc("the search that found its page; empty: of the web")] = ""
    headline: Annotated[str, Doc("its title without the site's name, if that is known")] = ""
    site: Annotated[str, Doc("the website, journal or publisher that the page names")] = ""
    authors: Annotated[tuple[str, ...], Doc("as the page names them")] = ()

    @property
    @written
    def url(self) -> str:
        return self.evidence.passage.url

    @property
    @written
    def title(self) -> str:
        return self.evidence.passage.title


def sigmoid(log_odds: float) -> float:
    return 1 / (1 + math.exp(-max(-30.0, min(30.0, log_odds))))


@dataclass(frozen=True, slots=True)
class Finding:
    """The result for one claim: its citations alone and together, and better sources.

    `label` is supported if one citation, or all of them together, support the claim. It is never a
    failure if a citation could not be checked.
    """

    claim: Claim = field(metadata=INLINE)
    citations: tuple[CitationResult, ...]
    together: Annotated[Evidence | None, Doc("the sources' best passages, read as one text")]
    label: Label
    score: Annotated[float | None, Doc("log-odds of support; null if nothing could be checked")]
    suggestions: Annotated[tuple[Suggestion, ...], Doc("better sources, best first")]
    n_candidates: int = 0  # corpus passages that were judged
    missing: Annotated[tuple[Part, ...], Doc("parts that none of its sources supports")] = ()
    lacking: Annotated[tuple[Part, ...], Doc("as in a citation, for all sources together")] = ()
    excluded: Annotated[
        tuple[Exclusion, ...], Doc("pages that were found but must not be suggested")
    ] = ()
    opinion: Annotated[Opinion | Failed | None, Doc("a language model's; null: not asked")] = None
    decided_by: DecidedBy = DecidedBy.PINCITE
    failed: Annotated[Failed | None, Doc("a step that raised an error")] = None

    @property
    @written
    def prob_supported(self) -> float | None:
        """Probability by Pincite's own verifier that the group supports the whole claim."""
        return None if self.score is None else round(sigmoid(self.score), 4)

    @property
    @written
    def verifiability(
        self,
    ) -> Annotated[Verifiability | None, Doc("null: sources could not be read, or no search")]:
        """Whether a citation or a found page supports the claim; an editor's tag counts."""
        if self.label is Label.SUPPORTED and not self.claim.disputed:
            return Verifiability.CITED
        if self.suggestions:
            return Verifiability.BETTER_SOURCE
        fails = self.label in (Label.NOT_SUPPORTED, Label.REFUTED) or not self.citations
        return Verifiability.DOUBTFUL if fails and self.n_candidates else None

    @property
    @written
    def source_changed(self) -> bool:
        """Whether an archived copy of a citation supports more than today's page does."""
        return any(result.changed for result in self.citations)

    @property
    def is_reference_in_doubt(self) -> bool:
        return any(result.is_in_doubt for result in self.citations)

    @property
    def has_reference_notes(self) -> bool:
        return any(result.reference_notes for result in self.citations)


@dataclass(frozen=True, slots=True)
class Uncited:
    """A sentence that probably needs a citation, and sources that could be cited for it."""

    # Without citations; with its tag if an editor asked for one.
    claim: Claim = field(metadata=INLINE)
    probability: Annotated[float, Doc("share of such sentences with a citation in Wikipedia")]
    reasons_coded: tuple[Note, ...]
    suggestions: tuple[Suggestion, ...] = ()  # best first
    n_candidates: int = 0  # corpus passages that were judged
    excluded: tuple[Exclusion, ...] = ()  # pages that were found but must not be suggested
    failed: Failed | None = None  # why the search for sources failed

    @property
    @written
    def reasons(self) -> tuple[str, ...]:
        return texts(self.reasons_coded)
