"""HTML as a tree: parsed without network, entities or unbounded depth; read out line by line.

What a reader would see, what the head says (language, addresses), and the marks of a paywall. With
`xml_records`, the only file here that knows lxml; `html` hands the tree on without looking inside.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html import unescape
from typing import Any
from urllib.parse import urlsplit

from lxml import etree
from lxml import html as lxml_html

from pincite.documents.clean import cleaned, one_line
from pincite.documents.outcome import Markup

_INVISIBLE_TAGS = frozenset(
    "head script style noscript template svg math object iframe canvas audio video select button "
    "nav footer dialog".split()
)
_INLINE_TAGS = frozenset(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i img ins kbd label mark q rb rp "
    "rt ruby s samp small span strike strong sub sup time tt u var wbr".split()
)
_CELL_TAGS = frozenset({"td", "th"})
_HIDDEN = re.compile(r"(display\s*:\s*none|visibility\s*:\s*hidden)", re.IGNORECASE)
_PAYWALL_NAME = re.compile(
    r"(?<![a-z])(pay|reg|meter|subscri(ber|ption))[-_]?(wall|gate|barrier)|"
    r"subscri(ber|ption)s?[-_]only|piano[-_](offer|inline)|locked[-_]content",
    re.IGNORECASE,
)
_NOT_FREE = re.compile(r'"isAccessibleForFree"\s*:\s*"?false', re.IGNORECASE)
# What browsers leave in a page they save: Chrome and its kin, then the SingleFile extension.
_SAVED_FROM = re.compile(
    r"<!-- saved from url=\(\d+\)(\S+)|Page saved with SingleFile\s+url: (\S+)"
)
# The bars that the Wayback Machine and archive.today put above a page.
_ARCHIVE_BARS = (
    "//*[@id='wm-ipp-base' or @id='wm-ipp' or @id='wm-ipp-print' or @id='donato'] | "
    "//body[.//*[@id='CONTENT'] and .//*[@id='DIVSHARE']]//*[@id='HEADER' or @id='DIVSHARE']"
)
SEEN_CHARS = 50_000  # enough for the teaser and all around it; in the longest, 10 MB take 9 s
_META_CHARSET = re.compile(rb"<meta[^>]{0,200}?charset\s*=\s*[\"']?\s*([\w.:-]+)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Page:
    """A parsed page; `cut_short` if the parser gave up at its limits of depth or size."""

    tree: Any
    source: str
    cut_short: bool = False

    @property
    def n_elements(self) -> int:
        """Number of elements and comments in the tree."""
        return sum(1 for _ in self.tree.iter())


def xml_parser(encoding: str | None = None) -> etree.XMLParser:
    """A parser for XML of others; `encoding` overrides what a file says of itself.

    No network, no entities, no depth beyond 256: libxml2's own limits stay on.
    """
    return etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
        encoding=encoding,
    )


def parsed_xml(data: bytes) -> Any:
    """The root of an XML file that has no DTD, for readers of formats made of XML; else None."""
    try:
        root = etree.fromstring(data, xml_parser())
    except etree.XMLSyntaxError:
        return None
    docinfo: Any = root.getroottree().docinfo
    return None if docinfo.doctype else root


def parsed(source: str) -> Page | None:
    """The page as a tree, `None` if the parser finds not one element."""
    parser = lxml_html.HTMLParser(
        huge_tree=False, no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8"
    )
    try:
        tree = lxml_html.document_fromstring(_storable(source), parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError):
        return None
    _drop_bars(tree)
    limits = parser.error_log.filter_types([etree.ErrorTypes.ERR_RESOURCE_LIMIT])
    return Page(tree, source, cut_short=bool(len(limits)))


def declared_charset(data: bytes) -> str | None:
    """The encoding that a `<meta>` in the first kilobytes names."""
    match = _META_CHARSET.search(data[:4096])
    return match[1].decode("ascii", "replace") if match else None


def visible_text(page: Page) -> str:
    """What a reader would see but navigation and footer: a block a line, cells with bars."""
    if page.cut_short:
        return cleaned(_without_tags(page.source))
    return cleaned("".join(_visible_pieces(page.tree)))


def markup_of(page: Page, title: str, visible: str) -> Markup:
    """What the page's markup says beside its text."""
    scripts = page.tree.xpath("//script")
    described = (s.text or "" for s in scripts if "json" in (s.get("type") or ""))
    not_free = any(_NOT_FREE.search(text) for text in described) or bool(
        page.tree.xpath("//meta[@itemprop='isAccessibleForFree'][starts-with(@content, 'alse', 2)]")
    )
    names = page.tree.xpath("//body//*[not(self::script)]/@class | //body//*/@id")
    walls = (match[0] for name in names if (match := _PAYWALL_NAME.search(name)))
    password = bool(page.tree.xpath("//input[@type='password']"))
    return Markup(title, visible[:SEEN_CHARS], len(scripts), not_free, next(walls, ""), password)


def title_of(page: Page) -> str:
    """The page's own title: what it hands to those who share it, else `<title>`."""
    for path in (
        "//meta[@property='og:title']/@content",
        "//head/title//text()",
        "//title//text()",
    ):
        if title := one_line("".join(page.tree.xpath(path)[:1])):
            return title
    return ""


def language_declared(page: Page) -> str | None:
    """The `lang` attribute of the page, or the locale or language that a meta element states."""
    if lang := page.tree.get("lang") or page.tree.get("xml:lang"):
        return str(lang)
    paths = (
        "/html/body/@lang",
        "//meta[@property='og:locale']/@content",
        "//meta[@http-equiv='content-language' or @http-equiv='Content-Language']/@content",
    )
    return next((str(found[0]) for path in paths if (found := page.tree.xpath(path))), None)


def addresses_in(source: str) -> list[str]:
    """Where a stored page says it is from: canonical link, `og:url`, then the saver's note."""
    page = parsed(source)
    if page is None:
        return []
    found = page.tree.xpath("//link[contains(concat(' ', @rel, ' '), ' canonical ')]/@href")
    found += page.tree.xpath("//meta[@property='og:url']/@content")
    found += [match[1] or match[2] for match in _SAVED_FROM.finditer(source[:5_000])]
    return list(dict.fromkeys(url for url in map(one_line, found) if _is_web_address(url)))


def drop_hidden(page: Page) -> None:
    """Take elements that are styled away out of the tree: what no reader sees is no evidence."""
    for element in page.tree.xpath("//body//*[@hidden or @style]"):
        if _is_hidden(element, "div") and element.getparent() is not None:
            element.drop_tree()


def _drop_bars(tree: Any) -> None:
    """Take what an archive put above the page out of it."""
    for bar in tree.xpath(_ARCHIVE_BARS):
        if bar.getparent() is not None:
            bar.drop_tree()


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in url


def _storable(source: str) -> bytes:
    """UTF-8 for the parser, which stops at NUL and knows no lone surrogates."""
    return source.replace("\0", "").encode("utf-8", "replace") or b" "


def _visible_pieces(tree: Any) -> Iterator[str]:
    """Text in document order; a walk by events, since recursion would end at Python's limit."""
    walk = etree.iterwalk(tree, events=("start", "end"))
    for event, element in walk:
        tag = element.tag if isinstance(element.tag, str) else ""
        if event == "start":
            if _is_hidden(element, tag):
                walk.skip_subtree()
                continue
            yield _border(tag, element) + _unbroken(element.text)
        else:
            yield ("" if _is_hidden(element, tag) else _border(tag)) + _unbroken(element.tail)


def _is_hidden(element: Any, tag: str) -> bool:
    if tag in _INVISIBLE_TAGS or not tag or element.get("hidden") is not None:
        return True
    return _HIDDEN.search(element.get("style") or "") is not None


def _border(tag: str, opening: Any = None) -> str:
    """What separates an element from its surroundings: nothing inline, a bar between cells."""
    if tag in _INLINE_TAGS:
        return ""
    if tag in _CELL_TAGS:
        return " | " if opening is not None and opening.getprevious() is not None else " "
    return "\n"


def _unbroken(text: str | None) -> str:
    """White space in HTML is one space, line breaks included."""
    return re.sub(r"\s+", " ", text) if text else ""


def _without_tags(source: str) -> str:
    """Text between tags in one pass, for pages too deep to parse; linear in any input."""
    pieces, skipping = [], ""
    for part in source.replace("\0", "").split("<"):
        tag, _, text = part.partition(">")
        name = re.match(r"/?[a-zA-Z]*", tag)
        name_of_tag = name[0].lower() if name else ""
        if skipping:
            skipping = "" if name_of_tag == f"/{skipping}" else skipping
        elif name_of_tag in ("script", "style", "template", "svg"):
            skipping = name_of_tag
        if not skipping:
            pieces.append(text if name_of_tag.strip("/") in _INLINE_TAGS else f"\n{text}")
    return unescape("".join(pieces))
