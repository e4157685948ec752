"""HTML as a tree: parsed without network, entities or unbounded depth; read out line by line.

What a reader would see, what the head says (language, addresses), and the marks of a paywall.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from html import unescape
from itertools import chain
from typing import Any, NamedTuple, cast
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
# Opacity is not among them: pages that fade in state 0 for what scripts will show. Off the page is
# what is moved by four digits: three are what layouts move pictures and columns by.
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*hidden"
    r"|font-size\s*:\s*0+(\.0*)?\s*(px|em|rem|pt|%)?\s*(;|!|$)"
    r"|(?<![-\w])(text-indent|left|top)\s*:\s*-\d{4}",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"(?:^|;)\s*(color|background(?:-color)?)\s*:\s*([^;]+)")
_WHITE = re.compile(r"white|#fff(fff)?|rgba?\(255,255,255(,1(\.0*)?)?\)|hsl\(.*,100%\)")
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
AFTER_NAME = 120  # characters: more than eight words
# The bars that archives put above a page: the Wayback Machine and Archive-It, pywb (Arquivo.pt, UK
# Web Archive, Conifer), the UK Government Web Archive, the Library of Congress; archive.today.
_ARCHIVE_BARS = (
    "//*[@id='wm-ipp-base' or @id='wm-ipp' or @id='wm-ipp-print' or @id='donato'"
    " or @id='_wb_plain_banner' or @id='_wb_frame_top_banner' or @id='wb-banner'"
    " or @id='webArchiveInfobox' or @id='ukgwa-banner' or @id='ait-client-banner'"
    " or @id='loc-banner' or @id='replay-banner' or @id='wayback-banner'"
    " or @id='archive-banner'] | "
    "//body[.//*[@id='CONTENT'] and .//*[@id='DIVSHARE']]//*[@id='HEADER' or @id='DIVSHARE']"
)
# The same where a copy holds the words of a bar without its elements: whole lines near the top.
_BANNER_LINES = 12
_BANNER_LINE = re.compile(
    r"(internet archive )?(the )?wayback machine( ?[-–—] ?https?://\S*)?"
    r"|https?://(web\.archive\.org/web|archive\.(today|is|ph|li|fo|vn|md))/\S*"
    r"|[\d,]+ captures?( \d.*)?|\d{1,2} \w{3,9} \d{4} ?[-–] ?\d{1,2} \w{3,9} \d{4}"
    r"|about this capture|collected by|timestamps"
    r"|(this is|you are (viewing|looking at)) an? (archived|cached|saved|preserved) "
    r"(web ?page|web ?site|copy|version|snapshot|capture|page)\b.{0,300}"
    r"|\W*(the national archives\W+)?(archived content\W+)?this "
    r"(snapshot|page|website|copy|capture),?( was| is)? "
    r"(taken|captured|archived|crawled|saved|acquired|preserved) (on|by|from|at)\b.{0,300}"
    r"|external links, forms,? and search( boxes)? may not (work|function).{0,200}"
    r"|(archive\.today|archive\.is|archive\.ph|webpage capture|all snapshots( from host.{0,100})?)"
    r"|(saved from|no other snapshots from this url|history|←prior|next→|webpage screenshot"
    r"|share|download \.zip|report bug or abuse)"
    r"|archived (from|by) (the )?(original|\S+ on \d).{0,200}",
    re.IGNORECASE,
)
_BANNER_SIGN = re.compile(
    r"wayback machine|archiv|captures?\b|snapshot|webpage capture", re.IGNORECASE
)
SEEN_CHARS = 50_000  # enough for the teaser and all around it; in the longest, 10 MB take 9 s
# Bylines stand near the top; a page of comments may mark thousands.
MOST_MARKED, LONGEST_BYLINE = 5, 200
# Which attributes a tag has, as HTML's standard splits it (13.2.5.32 and on); each sign is looked
# at once. libxml2 takes quadratic time for them: 40,000 in a tag took 2.6 s.
_ATTRIBUTE = re.compile(
    r"[\s/]*+(?:=[^\s/>=]*+|[^\s/>=]++)"
    r"(?:\s*+=\s*+(?:\"[^\"]*+\"?|'[^']*+'?|(?![\"'])[^\s>]*+))?+"
)
_TAG = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE.pattern})*+")
MAX_ATTRIBUTES = 1_000  # browsers' own pages have some 30, frameworks' generated ones some 100
_META_CHARSET = re.compile(
    rb"<(?:meta[^>]{0,200}?charset|\?xml[^>]{0,200}?encoding)\s*=\s*[\"']?\s*([\w.:-]+)",
    re.IGNORECASE,
)


_SPACES = re.compile(r"\s+")
# What a piece of text can be in; the first counts.
_PARTS = ("comments", "h1", "a")
_BLOCK_TAGS = frozenset("aside div li ol section ul".split())
_COMMENTS = re.compile(
    r"\b(?<![-_])(comments?|replies|disqus|respond)"
    r"([-_]?(area|body|content|list|section|thread|text|wrapper|\d+))?(?!\S)",
    re.IGNORECASE,
)
Piece = tuple[str, str]  # text that may begin with a line break, and the part it is in


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


@dataclass(frozen=True, slots=True)
class Block:
    """A line of what a reader sees of a page; `linked` is the share of it that is in links."""

    text: str
    linked: float = 0.0
    headline: bool = False  # stands in the page's `<h1>`
    comment: bool = False  # stands among what readers wrote below


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


class Visible(NamedTuple):
    """The text that a reader sees, and what an address can name in it."""

    text: str
    names: list[tuple[str, str]]  # an `id` or `<a name>`, and the words that follow it, in order
    pieces: list[Piece]


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


def no_fault_of_memory(error: etree.XMLSyntaxError) -> None:
    """Raise MemoryError where libxml2 had none left, which it tells as a fault of the text."""
    code = getattr(error, "code", None)  # the stubs do not know it
    if code == etree.ErrorTypes.ERR_NO_MEMORY:
        raise MemoryError from error


def parsed_xml(data: bytes) -> Any:
    """The root of an XML file that has no DTD, for readers of formats made of XML; else None."""
    try:
        root = etree.fromstring(data, xml_parser())
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        return None
    docinfo: Any = root.getroottree().docinfo
    return None if docinfo.doctype else root


def parsed(source: str) -> Page | None:
    """The page as a tree, `None` if the parser finds not one element."""
    parser = lxml_html.HTMLParser(
        huge_tree=False, no_network=True, remove_comments=True, remove_pis=True, encoding="utf-8"
    )
    source = _with_few_attributes(source)
    try:
        # The parser stops at NUL and knows no lone surrogates.
        data = source.replace("\0", "").encode("utf-8", "replace") or b" "
        tree: Any = lxml_html.document_fromstring(data, parser=parser)
    except etree.ParserError:
        return None
    except etree.XMLSyntaxError as error:
        no_fault_of_memory(error)
        return None
    for bar in tree.xpath(_ARCHIVE_BARS):
        if bar.getparent() is not None:
            bar.drop_tree()
    limits = parser.error_log.filter_types([etree.ErrorTypes.ERR_RESOURCE_LIMIT])
    return Page(tree, source, cut_short=bool(len(limits)))


def declared_charset(data: bytes) -> str | None:
    """The encoding that a `<meta>` or the XML declaration in the first kilobytes names."""
    match = _META_CHARSET.search(data[:4096])
    return match[1].decode("ascii", "replace") if match else None


def visible(page: Page, most_names: int) -> Visible:
    """What a reader would see but navigation and footer: a block a line, cells with bars.

    With at most `most_names` of its names; none, and no pieces, of a page that the parser gave up.
    """
    if page.cut_short:
        return Visible(cleaned(_without_tags(page.source)), [], [])
    pieces: list[Piece] = []
    names: list[tuple[str, int]] = []
    for name, piece in _visible_pieces(page.tree):
        if name and len(names) < most_names:
            names.append((name, len(pieces)))
        if piece[0]:
            pieces.append(piece)
    texts = [text for text, _ in pieces]
    named = [(name, _joined(texts, start)) for name, start in names]
    return Visible(cleaned("".join(texts)), named, pieces)


def _joined(pieces: list[str], start: int) -> str:
    """The text from a piece on, as long as a name needs it."""
    length, end = 0, start
    while end < min(len(pieces), start + AFTER_NAME) and length < AFTER_NAME:
        length += len(pieces[end].strip())
        end += 1
    return cleaned("".join(pieces[start:end]))


def blocks_of(pieces: Iterable[Piece]) -> list[Block]:
    """The lines that the pieces make, with what they are on the page."""
    blocks, line = list[Block](), list[Piece]()
    for piece in chain(pieces, [("\n", "")]):
        if line and piece[0][:1] == "\n":
            blocks.append(_block(line))
            line = []
        if not piece[0].isspace() or line:
            line.append(piece)
    return [block for block in blocks if block.text]


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


def statements_of(page: Page) -> Statements:
    """What the page states of its authors and its date."""
    metas: dict[str, list[str]] = {}
    for meta in page.tree.xpath("//meta[@content]"):
        names = f"{meta.get('name', '')} {meta.get('property', '')} {meta.get('itemprop', '')}"
        for name in names.lower().replace(".", ":").split():  # RDFa allows several in one
            metas.setdefault(name, []).append(meta.get("content"))
    scripts = page.tree.xpath("//script[contains(@type, 'ld+json')]")
    marked = page.tree.xpath(
        "//body//a[@rel='author'] | //body//*[@itemprop='author']//*[@itemprop='name']"
        " | //body//*[@itemprop='author'][not(*)]"
    )
    dates = page.tree.xpath("//body//*[@itemprop='datePublished']")
    return Statements(
        metas=metas,
        json_ld=[script.text or "" for script in scripts],
        bylines=[str(element.text_content())[:LONGEST_BYLINE] for element in marked[:MOST_MARKED]],
        dates=[element.get("datetime") or element.get("content") or "" for element in dates],
    )


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
    for element in page.tree.xpath("//body//template | //body//dialog[not(@open)]"):
        element.drop_tree()


def drop_camouflaged(page: Page) -> None:
    """Take text in the colour of its background out of the tree, where the page states both.

    A page without a style sheet is white. What a style sheet does is not computed: white text may
    stand on a dark photograph, and is kept.
    """
    styled = page.tree.xpath("boolean(//style | //link[contains(@rel, 'stylesheet')])")
    grounds: dict[Any, str] = {}
    for element in page.tree.xpath("//body//*[contains(@style, 'color') or @color]"):
        colour = _stated_colour(element, "color")
        if not colour or colour != _ground_of(element, grounds, "" if styled else "white"):
            continue
        if not element.xpath("boolean(.//*[contains(@style, 'color') or @color])"):
            element.drop_tree()


def _ground_of(element: Any, grounds: dict[Any, str], default: str) -> str:
    """The background of an element: its own or that of the nearest ancestor that states one."""
    own = _stated_colour(element, "background")
    if own or (parent := element.getparent()) is None:
        return own or default
    if parent not in grounds:
        stated = (
            _stated_colour(above, "background") for above in (parent, *parent.iterancestors())
        )
        grounds[parent] = next(filter(None, stated), default)
    return grounds[parent]


def _stated_colour(element: Any, what: str) -> str:
    """The colour or background in an element's own attributes, each white under one name."""
    style = (element.get("style") or "").lower()
    stated = [value for name, value in _COLOUR.findall(style) if name.startswith(what)]
    legacy = ("color",) if what == "color" else ("bgcolor", "background")
    value = next(filter(None, (*stated[-1:], *map(element.get, legacy))), "")
    colour = re.sub(r"\s+|!important", "", value.lower())
    return "white" if _WHITE.fullmatch(colour) else colour


def without_banner(text: str) -> str:
    r"""A page's text without the lines that an archive put above it.

    >>> without_banner("The Wayback Machine - https://web.archive.org/web/2013/\nA mill.")
    'A mill.'
    """
    lines = text.split("\n")
    top = [line for line in lines[:_BANNER_LINES] if not _BANNER_LINE.fullmatch(line.strip())]
    if len(top) == min(len(lines), _BANNER_LINES):
        return text
    dropped = (line for line in lines[:_BANNER_LINES] if line not in top)
    if not any(_BANNER_SIGN.search(line) for line in dropped):
        return text
    return "\n".join([*top, *lines[_BANNER_LINES:]]).strip("\n")


def _is_web_address(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and " " not in url


def _with_few_attributes(source: str) -> str:
    """The page without the attributes of a tag after its thousandth: no reader asks for them."""
    least = 2 * MAX_ATTRIBUTES  # characters that so many attributes take
    if not any(match.end() - match.start() > least for match in _TAG.finditer(source)):
        return source
    few = re.compile(rf"<[a-zA-Z][^\s/>]*+(?:{_ATTRIBUTE.pattern}){{0,{MAX_ATTRIBUTES}}}+")
    return _TAG.sub(lambda match: cast(re.Match[str], few.match(match[0]))[0], source)


def _block(line: list[Piece]) -> Block:
    text = " ".join("".join(piece for piece, _ in line).split())
    linked = sum(len(piece) for piece, part in line if part == "a")
    parts = {part for piece, part in line if not piece.isspace()}
    return Block(text, linked / max(1, len(text)), "h1" in parts, "comments" in parts)


def _visible_pieces(tree: Any) -> Iterator[tuple[str, Piece]]:
    """Text in document order, each piece with the name of the element that it begins, if any.

    A walk by events, since recursion would end at Python's limit.
    """
    walk = etree.iterwalk(tree, events=("start", "end"))
    opened: dict[str, Any] = {}  # the outermost element of each part that the walk is in
    part = ""
    for event, element in walk:
        tag = element.tag if isinstance(element.tag, str) else ""
        hidden = _is_hidden(element, tag)
        if event == "start":
            if hidden:
                walk.skip_subtree()
                continue
            if new := _part_of(element, tag):
                opened.setdefault(new, element)
                part = next(filter(opened.__contains__, _PARTS))
            name = element.get("id") or (element.get("name") if tag == "a" else None) or ""
            yield name, (_border(tag, element) + _unbroken(element.text), part)
        else:
            if part and element in opened.values():
                opened = {name: one for name, one in opened.items() if one is not element}
                part = next(filter(opened.__contains__, _PARTS), "")
            yield "", (("" if hidden else _border(tag)) + _unbroken(element.tail), part)


def _part_of(element: Any, tag: str) -> str:
    if tag in ("a", "h1"):
        return tag
    if tag not in _BLOCK_TAGS:
        return ""
    names = (element.get("class"), element.get("id"))
    return "comments" if any(name and _COMMENTS.search(name) for name in names) else ""


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
    if not text or text.isspace():  # every other one is
        return " " if text else ""
    if "  " not in text and text.isprintable():
        return text
    return _SPACES.sub(" ", text)


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
