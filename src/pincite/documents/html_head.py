"""Reads what a web page states about itself, in JSON-LD, meta elements and marked-up elements."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from html import unescape
from itertools import chain, islice
from typing import Any

from pincite.documents.html_text import without_tags
from pincite.documents.markup import Page
from pincite.documents.text import clean_text, one_line
from pincite.text import patterns, tables_beside
from pincite.text.dates import iso_date
from pincite.text.identifiers import doi_in

EARLIEST = "1800-01-01"  # digitised newspapers carry the date of the issue
MIN_SITE_LETTERS = 3  # "bbc"; shorter labels of a host are no names
MAX_AUTHOR_CHARS = 80  # longer values are sentences: "Jane Doe is a reporter who …"
MAX_AUTHORS = 20  # papers of large collaborations list thousands
MAX_TYPE_CHARS = 80  # of all schema.org types of a page
MAX_UPDATES = 2_000  # of a live blog
# Names of meta elements as `Statements.metas` has them. Those of libraries and journals come first:
# catalogues fill them in, while `author` often comes from a template.
AUTHOR_METAS = ("citation_author", "dc:creator", "dcterms:creator")
DOI_METAS = ("citation_doi", "bepress_citation_doi", "prism:doi", "dc:identifier", "doi")
LANGUAGES = (  # where a page states its own, best first
    "@lang[. != '']",
    "@*[name() = 'xml:lang'][. != '']",
    "/html/body/@lang",
    "//meta[@property='og:locale']/@content",
    "//meta[@http-equiv='content-language' or @http-equiv='Content-Language']/@content",
)
_WORDS = tables_beside(__file__)["words"]
DATE_METAS = _WORDS["date_metas"].split()
_OPINION_SECTIONS = _WORDS["opinion_sections"].split()
_PATTERNS = patterns(__file__, "html")
# Of XHTML, perhaps in comments of JavaScript: "/* <![CDATA[ */ { … } /* ]]> */".
_CDATA = re.compile(r'[^{["]*<!\[CDATA\[(?P<json>.*)\]\]>.*', re.DOTALL)
# schema.org types of written works, unlike `Person`, `VideoObject` or `Product`.
_WRITTEN = re.compile(r"(Article|Posting|Report|Review|WebPage|CreativeWork|Book|Thesis)$")
_UNSPECIFIC = ("WebPage", "CreativeWork", "Article", "Organization")
_NOT_A_NAME = re.compile(r"https?:|www\.|//|^/|[\\@{}<>=|\d]")
_DASHES = " ,–—-"
# A year, perhaps with its month and day: "2015", "2015-04", "2015-04-30", "2015/4/30", "20150430".
_ISO = re.compile(r"(\d{4})(?:-(\d\d?)(?:-(\d\d?))?|/(\d\d?)/(\d\d?)|(\d\d)(\d\d))?(?!\d)")
_SEPARATOR = re.compile(r"\s*(?:\||::)\s*|\s+[-–—·•«»]\s+|:\s+")  # in the title of a page


@dataclass(frozen=True, slots=True)
class Statements:
    """Raw metadata from the head and from marked-up elements."""

    metas: Mapping[str, Sequence[str]] = field(default_factory=dict)  # in lower case, with colons
    works: Sequence[Mapping[str, Any]] = ()  # JSON-LD objects of written works
    dates: Sequence[str] = ()  # contents of elements marked as the date
    language: str | None = None


def statements_of(page: Page) -> Statements:
    metas = dict[str, list[str]]()
    for meta in page.tree.xpath("//meta[@content]"):
        names = f"{meta.get('name', '')} {meta.get('property', '')} {meta.get('itemprop', '')}"
        for name in names.lower().replace(".", ":").split():  # RDFa allows several in one
            metas.setdefault(name, []).append(meta.get("content"))
    scripts = page.tree.xpath("//script[contains(@type, 'ld+json')]")
    dates = page.tree.xpath("//body//*[@itemprop='datePublished']")
    return Statements(
        metas=metas,
        works=written_works(script.text or "" for script in scripts),
        dates=[element.get("datetime") or element.get("content") or "" for element in dates],
        language=next(map(str, chain.from_iterable(map(page.tree.xpath, LANGUAGES))), None),
    )


def written_works(scripts: Iterable[str]) -> list[Mapping[str, Any]]:
    """The JSON-LD objects of written works, also in lists and graphs; skips invalid scripts."""
    works = list[Mapping[str, Any]]()
    for script in scripts:
        section = _CDATA.fullmatch(script)
        text = section["json"].strip(" \t\r\n/*") if section else script
        try:
            parsed = json.loads(text, strict=False)
        except (ValueError, RecursionError):
            continue
        for outer in _listed(parsed):
            graph = outer.get("@graph") if isinstance(outer, dict) else None
            things = graph if isinstance(graph, list) else [outer]
            objects = (thing for thing in things if isinstance(thing, dict))
            works += [
                o for o in objects if any(_WRITTEN.search(str(t)) for t in _listed(o.get("@type")))
            ]
    return works


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value]


def title_of(page: Page) -> str:
    paths = ("//meta[@property='og:title']/@content", "//head/title//text()", "//title//text()")
    titles = (one_line("".join(page.tree.xpath(path)[:1])) for path in paths)
    return next(filter(None, titles), "")


def headline_of(stated: Statements) -> str:
    """The JSON-LD headline; empty if it is truncated or there are several (a front page)."""
    titles = {one_line(unescape(str(work.get("headline") or ""))) for work in stated.works} - {""}
    headline = titles.pop() if len(titles) == 1 else ""
    return "" if headline.endswith(("…", "...")) else headline


def site_of(stated: Statements) -> str:
    """The name of the site, or the publisher of the page's first written work."""
    publishers = (work.get("publisher") for work in stated.works)
    names = (str(body.get("name") or "") for body in publishers if isinstance(body, dict))
    return next(filter(None, map(one_line, (*stated.metas.get("og:site_name", ()), *names))), "")


def title_and_site(title: str, headline: str, site: str, host: str) -> tuple[str, str]:
    """Split "Bridge opens - News - Varde Gazette" into its title and the name of the site.

    A part names the site if the page or its host does, or if without it the headline is left.
    """
    if _letters(title) == _letters(headline):
        return title, site
    label = max(host.removeprefix("www.").split(".")[:-1], key=len, default="")
    known = [name for name in map(_site_letters, (site, label)) if len(name) >= MIN_SITE_LETTERS]
    rest = title  # loses its last part, then the one before: the places of separators stay
    for separator in reversed(list(_SEPARATOR.finditer(title))):
        front, back = rest[: separator.start()], rest[separator.end() :]
        first, last = _site_letters(front), _site_letters(back)
        if first in known:  # "Varde Gazette: Bridge opens"
            return back, site or front
        if separator[0].strip() == ":":  # "Bridge opens: a report"
            continue
        if headline and _letters(front) == _letters(headline):
            return front, site or _SEPARATOR.split(back)[-1]
        # "Varde" names the site "Varde Gazette" as well.
        if last and any(last.startswith(name) or name.startswith(last) for name in known):
            rest, site = front, site or back
    return rest, site


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text.lower()))


def _site_letters(name: str) -> str:
    return _letters(name.lower().removeprefix("the "))


def author_of(stated: Statements, site: str, guess: str = "") -> str:
    """The authors' names, joined by "; "; empty if there are none.

    Catalogue metadata comes first, then bodies named in JSON-LD; `guess` is trafilatura's result
    from JSON-LD, other meta elements and bylines, cut at "and".
    """
    catalogued = (stated.metas.get(name, ()) for name in AUTHOR_METAS)
    given = (work.get("author") for work in stated.works)
    authors = (a for one in given for a in (one if isinstance(one, list) else [one]))
    named = (a for a in authors if isinstance(a, dict) and "Organization" in str(a.get("@type")))
    bodies = [str(author.get("name") or "") for author in named]
    sites = {_letters(name) for name in (site, *stated.metas.get("og:site_name", ()))}
    for source in (*catalogued, bodies, [guess]):
        names = (_person(part) for text in source for part in one_line(text).split(";"))
        unique = dict.fromkeys(name for name in names if name and _letters(name) not in sites)
        if unique:
            return "; ".join(islice(unique, MAX_AUTHORS))
    return ""


def _person(byline: str) -> str:
    """The name in a byline ("By Eva Lund"); empty if it is none ("Staff writer")."""
    name = _PATTERNS["introduced"].sub("", byline.strip(_DASHES), count=1).strip(_DASHES)
    is_other = _NOT_A_NAME.search(name) or _PATTERNS["not_a_person"].fullmatch(name)
    is_name = len(name) <= MAX_AUTHOR_CHARS and not is_other and any(map(str.isalpha, name))
    return name if is_name else ""


def doi_of(stated: Statements) -> str:
    dois = (doi_in(text) for name in DOI_METAS for text in stated.metas.get(name, ()))
    return next(filter(None, dois), "")


def type_of(stated: Statements) -> str:
    """The schema.org types of the page's first written work, its publisher and its section."""
    work = next(iter(stated.works), {})
    publisher = work.get("publisher")
    of_publisher = publisher.get("@type") if isinstance(publisher, dict) else []
    types = [*_listed(work.get("@type")), *_listed(of_publisher)]
    sections = (one_line(text).lower() for text in stated.metas.get("article:section", ()))
    if any(section in _OPINION_SECTIONS for section in sections):
        types.append("OpinionNewsArticle")
    specific = (name for name in types if isinstance(name, str) and name not in _UNSPECIFIC)
    return "; ".join(map(one_line, specific))[:MAX_TYPE_CHARS]


def published_of(stated: Statements, guess: str = "") -> str | None:
    """The ISO publication date as precise as stated, not in the future; else the `guess`."""
    texts = [str(work.get("datePublished") or "") for work in stated.works]
    texts += [text for name in DATE_METAS for text in stated.metas.get(name, ())]
    days = map(iso_day, (*texts, *stated.dates, guess))
    today = date.today().isoformat()
    in_time = (day for day in days if day and EARLIEST[: len(day)] <= day <= today[: len(day)])
    return next(in_time, None)


def iso_day(text: str) -> str:
    """The ISO date at the beginning of a text; empty if there is none.

    >>> iso_day("2015-04-30T07:19:58"), iso_day("2015/4/3"), iso_day("20150430"), iso_day("2015-04")
    ('2015-04-30', '2015-04-03', '2015-04-30', '2015-04')
    """
    match = _ISO.match(text.strip())
    return iso_date(*filter(None, match.groups())) if match else ""


def updates_of(stated: Statements, shown: str) -> list[str]:
    """The entries of a live blog that only its JSON-LD has, each with headline and time."""
    blogs = (work for work in stated.works if "LiveBlogPosting" in _listed(work.get("@type")))
    entries = chain.from_iterable(_listed(blog.get("liveBlogUpdate")) for blog in blogs)
    texts = []
    for entry in islice(entries, MAX_UPDATES):
        parts = entry if isinstance(entry, dict) else {}
        stated_parts = (parts.get(key) for key in ("headline", "datePublished", "articleBody"))
        lines = [clean_text(without_tags(unescape(str(part or "")))) for part in stated_parts]
        if lines[-1] and lines[-1] not in shown:
            texts.append("\n".join(filter(None, lines)))
    return texts
