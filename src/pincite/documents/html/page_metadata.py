"""What a page states of itself in its head: its headline, who wrote it, when it was published.

Pure functions over JSON-LD, meta elements and marked elements, most explicit first. A statement
that is none (an address, a role, the site's own name as its author) is left out: nothing is better
than something wrong, since people are quoted by these names and judged by these dates.
"""

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from html import unescape
from typing import Any

from pincite.documents.clean import one_line
from pincite.documents.dates import iso_date

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


@dataclass(frozen=True, slots=True)
class Statements:
    """What the head and the marked elements of a page hold, unread.

    `metas` has the contents of meta elements by name, lower case with colons; `json_ld` the texts
    of the scripts; `bylines` and `dates` what elements hold that are marked as author and date.
    """

    metas: Mapping[str, Sequence[str]] = field(default_factory=dict)
    json_ld: Sequence[str] = ()
    bylines: Sequence[str] = ()
    dates: Sequence[str] = ()


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
