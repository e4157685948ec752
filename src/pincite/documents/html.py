"""A web page → its article, with headings, anchors and what its head states.

trafilatura extracts the article; what it left out between two blocks that it kept is put back:
lists in lists, leads and captions are what extractors lose most. Where two blocks stand next to
each other in the extraction but not on the page, running text between them belongs to the article;
so does what stands between the page's headline and the article's first words. Links alone do not.

Of what a page states of itself (JSON-LD, meta elements, marked elements, most explicit first), a
statement that is none (an address, a role, the site's own name as its author) is left out: people
are quoted by these names and judged by these dates.
"""

import json
import logging
import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import date
from functools import cache
from html import unescape
from itertools import accumulate
from typing import Any

from pincite.documents import markup, outcome
from pincite.documents.body import Body
from pincite.documents.clean import cleaned, decoded, one_line
from pincite.documents.dates import iso_date
from pincite.documents.language import code_of
from pincite.documents.markup import Block, Statements
from pincite.text.identifiers import doi_in
from pincite.text.sentences import n_words
from pincite.types import Document, Reason, Unchecked

# As they are written with colons, in lower case.
DOI_METAS = ("citation_doi", "bepress_citation_doi", "prism:doi", "dc:identifier", "doi")
MAX_ANCHORS = 500  # of a page; generated documentation has some thousand, a name for each line
MAX_CHARS = 2_000_000  # of a text; each name is looked for in all of it
# Words that follow a name: eight tell a section from its line in a table of contents, and the
# first three are left where an advertisement stood behind the heading.
_PROBES = (8, 3)
# trafilatura takes about 0.1 ms an element, and its time grows faster than the page from here on:
# 40,000 paragraphs took 3.5 s, and pages of that size are lists and dumps, not articles.
MAX_ELEMENTS = 40_000
_TABLE_RULE = re.compile(r"---[|\- ]*")
# Below this share of the visible words, and with no more words than the second number, the
# extraction is taken for a failure. Calibrated on Mozilla Readability's 60 cases (see
# tests/documents/test_html_cases.py, which holds recall and F1 for these values).
MIN_SHARE = 0.35
FULL_TEXT_WORDS = 200


def read_html(body: Body) -> Document | Unchecked:
    """The article of a page, or the reason why the page holds none."""
    source = decoded(body.data, body.charset, markup.declared_charset(body.data))
    if source is None:
        return Unchecked(body.url, Reason.UNDECODABLE, "the bytes are no text in any encoding")
    page = markup.parsed(source)
    if page is None:
        return Unchecked(body.url, Reason.EMPTY, "the page has no text")
    markup.drop_camouflaged(page)
    visible, names, pieces = markup.visible(page, MAX_ANCHORS)
    visible = markup.without_banner(visible)
    signs = markup.markup_of(page, markup.title_of(page), visible)
    declared = markup.language_declared(page)
    stated = markup.statements_of(page)
    article = _extracted(page, visible)  # last, since it changes the tree
    # trafilatura frames table rows and rules off the first, as Markdown does.
    lines = (article.text or "").split("\n") if article else []
    lines = [line.strip("| ") if line.startswith("|") else line for line in lines]
    running = cleaned("\n".join(line for line in lines if not _TABLE_RULE.fullmatch(line)))
    running = markup.without_banner(running)
    n_article, n_visible = n_words(running), n_words(visible)
    text = visible
    if running and (n_article > FULL_TEXT_WORDS or n_article >= MIN_SHARE * n_visible):
        text = cleaned(filled(running, markup.blocks_of(pieces), signs.title))
    return outcome.of_page(body.url, text, running, signs) or Document(
        url=body.url,
        title=headline_of(stated) or signs.title or one_line(article.title if article else ""),
        text=text,
        kind="html",
        published=published_of(stated, str(article.date or "") if article else ""),
        fetched=body.fetched,
        language=code_of(declared),
        meta=_meta(article, stated),
        anchors=located(names, text),
    )


def _extracted(page: markup.Page, visible: str) -> Any:
    """What trafilatura finds; `None` where it finds nothing or the page is not worth its time."""
    if page.cut_short or page.n_elements > MAX_ELEMENTS:
        return None
    if n_words(visible) >= outcome.SCRIPTED_WORDS:  # else scripts would show what is hidden
        markup.drop_hidden(page)
    try:
        return _extractor()(
            page.tree,
            favor_recall=True,
            include_comments=False,
            include_tables=True,
            with_metadata=True,
            # Only dates that the page states: the extensive search takes any number in the text.
            # Without the earliest date an archive's page of 1952 would have none.
            date_extraction_params={
                "extensive_search": False,
                "original_date": True,
                "min_date": EARLIEST,
            },
        )
    except ImportError:
        raise
    except Exception:  # hostile markup breaks it in ways it does not list; the visible text remains
        return None


def _meta(article: Any, stated: Statements) -> dict[str, str]:
    site = one_line(article.sitename) if article else ""
    author = author_of(stated, site, str(article.author or "") if article else "")
    dois = (doi_in(text) for name in DOI_METAS for text in stated.metas.get(name, ()))
    doi = next(filter(None, dois), "")
    fields = {"site": site, "author": author, "doi": doi}
    return {name: value for name, value in fields.items() if value}


@cache
def _extractor() -> Any:
    # What they have to say about broken pages would reach the terminal without a handler.
    for name in ("trafilatura", "htmldate", "courlan", "justext"):
        logging.getLogger(name).addHandler(logging.NullHandler())
    from trafilatura import bare_extraction

    return bare_extraction


def located(names: Sequence[tuple[str, str]], text: str) -> dict[str, int]:
    """The offset in `text` of each named place (`#History`) whose following words stand there.

    The extraction keeps no names, so a place is found by the words that follow it in the page as a
    reader sees it. One that cannot be found has no offset.

    Args:
        names: a name and the words that follow it, in the order of the page.
        text: what was extracted of the page.
    """
    if not names or len(text) > MAX_CHARS:
        return {}
    words = [(match[0], match.start()) for match in re.finditer(r"\S+", text)]
    flat = f" {' '.join(word for word, _ in words)} "
    places = [0, *accumulate(len(word) + 1 for word, _ in words)]  # of the spaces before words
    found: dict[str, int] = {}
    reached = 0
    for name, following in names[:MAX_ANCHORS]:
        at = _place_after(following.split(), flat, reached)
        if at >= 0 and name not in found:
            found[name] = words[bisect_left(places, at)][1]
            reached = at
    return found


def _place_after(following: Sequence[str], flat: str, reached: int) -> int:
    """Where the words stand from `reached` on, else anywhere; -1 if nowhere."""
    for length in _PROBES:
        if len(following) >= length or length == _PROBES[-1]:
            probe = " ".join(following[:length])
            at = flat.find(f" {probe} ", reached) if probe else -1
            at = flat.find(f" {probe} ") if probe and at < 0 else at
            if at >= 0:
                return at
    return -1


# ── What the extractor left out between two blocks ────────────────────────────────────────────────

# Calibration: the choosing half of Mozilla Readability's cases (`tools/bench_html.py`).
N_GRAM = 4  # words in a row by which a block is known again
MIN_WORDS = 5  # shorter ones are labels: "Share", "Read more", a photographer's name
NEAR = 2  # lines further down at which a label is known again; the same may stand anywhere
MAX_LINKED = 0.5  # a block with more of its words in links leads elsewhere
MAX_LEAD_WORDS = 120  # between headline and article; more is a list of other stories
ABOVE, NOWHERE = -1, -2  # no line of the article: below its headline; not yet near it
# A character of a script without spaces is a word
_WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")
Places = dict[tuple[str, ...], int]


def filled(article: str, blocks: Sequence[Block], title: str) -> str:
    r"""`article` with the blocks that it lacks between two of its neighbouring lines, in order.

    `blocks` are all of the page in its order; `title` is known again as a block of that text.

    >>> texts = "The old mill burnt down.", "Its owner was in Rome.", "Not a man was harmed."
    >>> filled(f"{texts[0]}\n{texts[2]}", [Block(text) for text in texts], "").split("\n")[1]
    'Its owner was in Rome.'
    """
    lines = article.split("\n")
    places = _places(lines)
    lost: dict[int, list[str]] = {}  # what follows a line; ABOVE: what stands before all
    for before, after, texts in _gaps(blocks, places, _words(title)):
        if _is_lost(before, after, texts, lines):
            lost.setdefault(before, []).extend(texts)
    found = lost.get(ABOVE, [])
    for n, line in enumerate(lines):
        found += [line, *lost.get(n, ())]
    return "\n".join(found) if lost else article


def _gaps(
    blocks: Sequence[Block], places: Places, title: list[str]
) -> Iterator[tuple[int, int, list[str]]]:
    """(line before, line after, running text between them that is in no line)."""
    before, gap = NOWHERE, list[str]()
    for block in blocks:
        words = _words(block.text)
        long = len(words) >= MIN_WORDS
        place = _place(words, places) if long or before >= 0 else None
        if block.comment:
            before, gap = NOWHERE, []
        elif place and (long or before <= place[0] <= before + NEAR):
            if gap and before != NOWHERE:
                yield before, place[0], gap
            before, gap = place[1], []
        # The title may name the site after it.
        elif before < 0 and (
            block.headline
            or (words == title[: len(words)] and len(words) >= min(3, len(title)) > 0)
        ):
            before, gap = ABOVE, []
        elif long and block.linked <= MAX_LINKED:
            gap.append(block.text)


def _is_lost(before: int, after: int, texts: list[str], lines: list[str]) -> bool:
    """Whether the lines around a gap are neighbours, and the lead above them no list of stories."""
    between = (line for line in lines[before + 1 : after] if len(_words(line)) >= MIN_WORDS)
    if before > after or any(between):
        return False
    return before != ABOVE or sum(len(_words(text)) for text in texts) <= MAX_LEAD_WORDS


def _places(lines: list[str]) -> Places:
    """The line where words in a row stand first; of a line of fewer words all of them."""
    words, at = list[str](), list[int]()
    places: Places = {}
    for n, line in enumerate(lines):
        here = _words(line)
        words += here
        at += [n] * len(here)
        if 0 < len(here) < N_GRAM:
            places.setdefault(tuple(here), n)
    for gram, n in zip(_n_grams(words), at, strict=False):
        places.setdefault(gram, n)
    return places


def _place(words: list[str], places: Places) -> tuple[int, int] | None:
    """The first and the last line that hold a block, if most of its words stand there."""
    grams = list(_n_grams(words)) or [tuple(words)]
    known = Counter(map(places.__getitem__, filter(places.__contains__, grams)))
    if 2 * known.total() < len(grams):
        return None
    most = max(known.values())  # the others may hold a phrase that comes back
    held = [line for line, n in known.items() if 2 * n >= most]
    return min(held), max(held)


def _n_grams(words: list[str]) -> Iterator[tuple[str, ...]]:
    return zip(*(words[n:] for n in range(N_GRAM)), strict=False)


def _words(text: str) -> list[str]:
    return _WORD.findall(text.lower())


# ── What the head states ──────────────────────────────────────────────────────────────────────────

EARLIEST = "1800-01-01"  # digitised newspapers carry the date of the issue
# As they are written with colons, in lower case. Libraries' and journals' own come first: they are
# filled in by catalogues, and `author` often by a template.
AUTHOR_METAS = (
    "citation_author dc:creator dcterms:creator author article:author parsely-author "
    "sailthru:author byl"
).split()
DATE_METAS = (
    "article:published_time citation_publication_date citation_date dc:date:issued "
    "dcterms:issued dcterms:created parsely-pub-date sailthru:date datepublished pubdate"
).split()
# schema.org's types of what is written; a page's `Person`, `VideoObject` or `Product` is not it.
_WRITTEN = re.compile(r"(Article|Posting|Report|Review|WebPage|CreativeWork|Book|Thesis)$")
# "von" and "par" introduce a byline with a capital letter; without, they belong to a name.
_INTRODUCED = re.compile(
    r"(?i:(written |posted |edited |words |story |text |reviewed )?by)\b:?\s+"
    r"|(Von|Par|Por)\s+(?=\w+\s+\w)|(?i:author|autor|auteur|text|words)\s*:\s*"
)
_NOBODY = re.compile(
    r"(by|edit|admin|administrator|author|authors|editor|editors|editorial( team| staff)?|staff"
    r"|staff (writer|reporter)|newsroom|redaktion|redaction|unknown|anonymous|guest|user|webmaster"
    r"|null|none|undefined|n/a|view profile|see all|follow|share)",
    re.IGNORECASE,
)
_NO_NAME = re.compile(r"https?:|www\.|//|^/|[\\@{}<>=|\d]")
_DASHES = " ,–—-"
_ISO = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?|/(\d\d?)/(\d\d?)|(\d\d)(\d\d))?(?!\d)")
MAX_AUTHOR_CHARS = 80  # longer is a sentence, as in "Jane Doe is a reporter who …"
MAX_AUTHORS = 20  # of a list; papers of collaborations have thousands


def author_of(stated: Statements, site: str, found: str = "") -> str:
    """The authors' names, with "; " between them; empty if the page names none.

    `found` is what an extractor read out of the text; it counts only where nothing is stated.
    """
    sources: list[Iterable[str]] = [_json_authors(stated.json_ld)]
    sources += [stated.metas.get(name, ()) for name in AUTHOR_METAS]
    sources += [[name] for name in stated.bylines]
    sources.append([found])
    sites = {_letters(name) for name in (site, *stated.metas.get("og:site_name", ()))}
    for source in sources:
        texts = (text for text in map(one_line, source) if _letters(text) not in sites)
        pieces = (piece for text in texts for piece in text.split(";"))
        names = [name for name in map(_name, pieces) if name and _letters(name) not in sites]
        if names:
            return "; ".join(list(dict.fromkeys(names))[:MAX_AUTHORS])
    return ""


def headline_of(stated: Statements) -> str:
    """The headline that JSON-LD states; empty if it is cut or one of several (a front page)."""
    things = filter(_is_written, _things(stated.json_ld))
    found = {one_line(unescape(str(thing.get("headline") or ""))) for thing in things} - {""}
    headline = found.pop() if len(found) == 1 else ""
    return "" if headline.endswith(("…", "...")) else headline


def published_of(stated: Statements, found: str = "") -> str | None:
    """The ISO date of publication, as precise as it is stated; none in the future.

    `found` is what an extractor read elsewhere; it counts only where nothing is stated.
    """
    things = filter(_is_written, _things(stated.json_ld))
    texts = [str(thing.get("datePublished") or "") for thing in things]
    texts += [text for name in DATE_METAS for text in stated.metas.get(name, ())]
    texts += [*stated.dates, found]
    days = (iso_day(text) for text in texts)
    today = date.today().isoformat()
    in_time = (d for d in days if d and EARLIEST[: len(d)] <= d <= today[: len(d)])
    return next(in_time, None)


def iso_day(text: str) -> str:
    """The ISO date at the beginning of a text; empty if none stands there.

    >>> iso_day("2015-04-30T07:19:58"), iso_day("2015/4/3"), iso_day("20150430"), iso_day("2015-04")
    ('2015-04-30', '2015-04-03', '2015-04-30', '2015-04')
    """
    match = _ISO.match(text.strip())
    if not match:
        return ""
    year, *rest = (part for part in match.groups() if part)
    return iso_date(year, *rest)


def _name(text: str) -> str:
    """A name without what introduces it; empty if it is no name."""
    name = _INTRODUCED.sub("", text.strip(_DASHES), count=1).strip(_DASHES)
    if len(name) > MAX_AUTHOR_CHARS or _NO_NAME.search(name) or _NOBODY.fullmatch(name):
        return ""
    return name if any(map(str.isalpha, name)) else ""


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _json_authors(texts: Sequence[str]) -> Iterator[str]:
    """The names of the authors of what is written; a mere reference is looked up."""
    things = list(_things(texts))
    named = {thing["@id"]: thing for thing in things if isinstance(thing.get("@id"), str)}
    for thing in filter(_is_written, things):
        authors = thing.get("author") or thing.get("creator") or ()
        for author in authors if isinstance(authors, list) else [authors]:
            if isinstance(author, dict):
                known = author if author.get("name") else named.get(str(author.get("@id")), {})
                author = known.get("name")
            if isinstance(author, str):
                yield unescape(author)


def _things(texts: Sequence[str]) -> Iterator[dict[str, Any]]:
    """The objects of JSON-LD: the outermost, those of lists and graphs; none of a broken script."""
    for text in texts:
        try:
            found = json.loads(_unwrapped(text), strict=False)
        except (ValueError, RecursionError):
            continue
        for outer in found if isinstance(found, list) else [found]:
            inner = outer.get("@graph") if isinstance(outer, dict) else None
            things = inner if isinstance(inner, list) else [outer]
            yield from (thing for thing in things if isinstance(thing, dict))


def _unwrapped(text: str) -> str:
    """A script's text without the `<![CDATA[ … ]]>` of XHTML pages, which hides in a comment."""
    if "<![CDATA[" not in text:
        return text
    inner = text.partition("<![CDATA[")[2].rpartition("]]>")[0].strip()
    return inner.removeprefix("*/").removesuffix("/*").removesuffix("//")


def _is_written(thing: dict[str, Any]) -> bool:
    types = thing.get("@type")
    return any(_WRITTEN.search(str(one)) for one in (types if isinstance(types, list) else [types]))
