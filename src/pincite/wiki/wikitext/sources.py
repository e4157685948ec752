"""What a reference says: its content, in wikitext, as sources.

One reference can name several works (a bundled list); each citation template and each address is
a source of its own. A link to a web archive belongs to the work before it.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pincite.text.identifiers import doi_in
from pincite.types import Span
from pincite.wiki.references import WAYBACK, Source, short_key, translated
from pincite.wiki.wikitext.render import plain
from pincite.wiki.wikitext.templates import (
    ARCHIVES,
    HARVARD,
    SHORT_CITATIONS,
    TAGS,
    is_citation,
)
from pincite.wiki.wikitext.tree import Kind, Node, Parameter, by_name, parameters

_ARCHIVE = re.compile(
    r"https?://(?:web\.archive\.org|archive\.(?:is|today|org/web|ph|fo|li)|(?:www\.)?webcitation\.org)/",
    re.IGNORECASE,
)
_WEB = re.compile(r"https?://", re.IGNORECASE)
_STAMP = re.compile(r"\d{8,14}\Z")  # of the Wayback Machine: year to second
_MANY = re.compile(r"[1-9]a1\Z")
_BARE = re.compile(r"(?<![\w./@])www\.[\w-]+\.[^\s<>\[\]{}|\"]+", re.IGNORECASE)
_IN_TEXT = {
    "isbn": re.compile(r"\bISBN[ :]*((?:97[89][- ]?)?[\d][\d -]{7,14}[\dXx])"),
    "pmid": re.compile(r"\bPMID[ :]*(\d{4,9})\b"),
}


def read_sources(nodes: Sequence[Node], source: str, span: Span) -> tuple[Source, ...]:
    """The works that a reference's content names; `span` is where the reference stands.

    Empty only if the content is. Content that is neither template nor address is one source
    with nothing but a text.
    """
    text = plain(nodes, source)
    tags = tuple(dict.fromkeys(_tags(nodes, source)))
    found: list[Source] = []
    works = list(_works(nodes, source))
    for node in sorted(works, key=_says_dead):  # these last: they repeat an address
        for made in _read(node, source, span):
            place = _archived_by(node, made, found)
            if place is not None:
                found[place] = _with_archive(found[place], made)
            elif not (_says_dead(node) and _is_among(made, found)):
                found.append(made)
    if not found and nodes:
        found.append(_free_text(nodes, source, text, span))
    if len(found) == 1 and found[0].template is None and text:
        found = [replace(found[0], text=text, fields=_identifiers(text) | dict(found[0].fields))]
    return tuple(replace(each, tags=tags) for each in found)


def _says_dead(node: Node) -> bool:
    """Whether it is {{toter Link|url=…}} and the like: a tag that may be all there is of a work."""
    return node.kind is Kind.TEMPLATE and TAGS.get(node.name) == "dead link"


def _is_among(made: Source, works: Sequence[Source]) -> bool:
    url = made.fields.get("url")
    return any(url in (work.fields.get("url"), work.fields.get("archive-url")) for work in works)


def read_short(node: Node, source: str, span: Span) -> tuple[Source, ...]:
    """A short citation ({{sfn}}, {{harvnb}}) as sources that name their works by a key.

    One source, but for {{sfnm|1a1=Ito|1y=2001|2a1=Rao|2y=2002}}, which has several.
    """
    given = {key: plain(p.nodes, source) for key, p in by_name(node, source).items()}
    works = [given]
    if node.name == "sfnm":
        numbers = sorted({key[0] for key in given if _MANY.match(key)})
        works = [_one_of_many(given, number) for number in numbers] or works
    return tuple(_short(work, node.local, span) for work in works)


def _one_of_many(given: Mapping[str, str], number: str) -> dict[str, str]:
    """The parameters of one work of {{sfnm}}, as those of {{sfn}}."""
    mine = {key[1:]: value for key, value in given.items() if key.startswith(number) and value}
    names = [mine[f"a{i}"] for i in range(1, 5) if f"a{i}" in mine]
    words = [*names, mine.get("y", "")]
    pages = {key: mine[key] for key in ("p", "pp", "loc") if key in mine}
    return {str(i): word for i, word in enumerate(words, 1)} | pages


def _short(given: Mapping[str, str], name: str, span: Span) -> Source:
    words = [given[key] for key in map(str, range(1, 7)) if given.get(key)]
    shown = " ".join(words)
    if page := given.get("p") or given.get("pp") or given.get("loc"):
        shown += f", {page}"
    key = short_key(words[:-1], words[-1]) if words else ""
    if given.get("ref"):
        key = short_key([given["ref"].removeprefix("CITEREF")], "")
    return Source(span, shown, name, given, short_key=key)


def read_template(node: Node, source: str, span: Span) -> Source:
    """A citation template as a source, its parameters in plain text, by their English names."""
    given = {key: _value(key, p, source) for key, p in by_name(node, source).items()}
    given = translated(given) if node.edition.parameters else given
    if node.name in ARCHIVES:
        given = _of_archive(given)
    return Source(span, describe(given), node.local, given)


def _value(name: str, parameter: Parameter, source: str) -> str:
    if name == "ref" and (key := _short_ref(parameter.nodes, source)):
        return key
    text = plain(parameter.nodes, source)
    if name.endswith("url") and not _WEB.match(text):  # de: |Online=[https://a.example Online]
        links = (n for n in parameter.nodes if n.kind in (Kind.EXTERNAL, Kind.URL))
        return next((_address(link, source) for link in links), text)
    return text


def _of_archive(given: Mapping[str, str]) -> dict[str, str]:
    """{{wayback|url=http://a.example|date=20130501000000}} with the address of the copy."""
    url, stamp = given.get("url", ""), given.get("date", "")
    if not url or _ARCHIVE.match(url) or not _STAMP.match(stamp):
        return dict(given)
    copy = f"{WAYBACK}{stamp}/{url}"
    day = f"{stamp[:4]}-{stamp[4:6]}-{stamp[6:8]}"
    return {**given, "archive-url": copy, "archive-date": day, "date": ""}


def describe(given: Mapping[str, str]) -> str:
    """A citation template as one line: authors, date, title, work."""
    people = given.get("last") or given.get("last1") or given.get("author") or given.get("author1")
    date = given.get("date") or given.get("year")
    titles = [given[key] for key in ("chapter", "title") if given.get(key)]
    works = [
        given[k] for k in ("work", "website", "journal", "newspaper", "publisher") if given.get(k)
    ]
    return ". ".join(part for part in (people, date, *titles, *works[:1]) if part)


def _free_text(nodes: Sequence[Node], source: str, text: str, span: Span) -> Source:
    """Content without template or address; {{Greenwood&Earnshaw2nd}} is known by its name only."""
    own = next((n for n in nodes if n.kind is Kind.TEMPLATE), None)
    name = own.local if own and not text else ""
    if not name or (own and own.name in TAGS):
        return Source(span, text)
    return Source(span, f"{{{{{name}}}}}", name)


def _works(nodes: Sequence[Node], source: str) -> Iterator[Node]:
    """Citation templates and addresses, not those inside a citation template."""
    for node in nodes:
        if node.kind in (Kind.EXTERNAL, Kind.URL):
            yield node
        elif node.kind is Kind.TEMPLATE:
            name = node.name
            if is_citation(name) or name in HARVARD | SHORT_CITATIONS or _has_url(node, source):
                yield node
            elif name not in TAGS:
                yield from (n for part in node.parts[1:] for n in _works(part, source))
            elif _says_dead(node):  # es: {{enlace roto|1={{cita web|…}}|2=http://…}}
                yield from (n for part in node.parts[1:2] for n in _works(part, source))
        else:
            yield from (n for part in node.parts for n in _works(part, source))


def _has_url(node: Node, source: str) -> bool:
    return any(p.name == "url" for p in parameters(node, source))


def _read(node: Node, source: str, span: Span) -> tuple[Source, ...]:
    """The works that one template or address names: one, or several in {{sfnm}}."""
    if node.kind is Kind.TEMPLATE:
        if node.name in HARVARD | SHORT_CITATIONS:
            return read_short(node, source, span)
        return (read_template(node, source, span),)
    address = _address(node, source)
    title = plain([node], source) if node.kind is Kind.EXTERNAL else ""
    return (Source(span, title or address, None, {"url": address, "title": title}),)


def _address(node: Node, source: str) -> str:
    """The address of an external link or of a bare one."""
    address = source[node.start : node.end]
    if node.kind is Kind.EXTERNAL:
        address = source[node.start + 1 : node.end - 1].split(maxsplit=1)[0]
    return f"https:{address}" if address.startswith("//") else address


def _archived_by(node: Node, made: Source, works: Sequence[Source]) -> int | None:
    """Which of `works`, if one, `made` is only a link to an archived copy of: mostly the last."""
    url = made.fields.get("url", "")
    if node.name in ARCHIVES and "archive-url" in made.fields:  # it says what it is a copy of
        return next((n for n, w in enumerate(works) if w.fields.get("url", url) == url), None)
    last = works[-1] if works and url else None
    linked = bool(_ARCHIVE.match(url)) and made.template is None
    copies = last and (node.name in ARCHIVES or (linked and last.short_key is None))
    return len(works) - 1 if copies else None


def _with_archive(work: Source, copy: Source) -> Source:
    found = {k: copy.fields[k] for k in ("archive-url", "archive-date") if k in copy.fields}
    return replace(work, fields={"archive-url": copy.fields["url"]} | found | dict(work.fields))


def _tags(nodes: Sequence[Node], source: str) -> Iterator[str]:
    for node in nodes:
        if node.kind is Kind.TEMPLATE and node.name in TAGS:
            yield TAGS[node.name]
        for part in node.parts:
            yield from _tags(part, source)


def _short_ref(nodes: Sequence[Node], source: str) -> str | None:
    """The key that {{harvid|Ito|2001}} or {{sfnref|Ito|2001}} in `ref=` stands for."""
    for node in nodes:
        if node.kind is Kind.TEMPLATE and node.name in ("harvid", "sfnref"):
            return " ".join(plain(p.nodes, source) for p in parameters(node, source) if not p.named)
    return None


def _identifiers(text: str) -> dict[str, str]:
    """ISBN, DOI and PMID that a free-text reference mentions."""
    found = {name: pattern.search(text) for name, pattern in _IN_TEXT.items()}
    known = {name: match[1].rstrip(".") for name, match in found.items() if match}
    doi, bare = doi_in(text), _BARE.search(text)
    if bare:
        known["url"] = bare[0].rstrip(".,;:!?)")
    return known | ({"doi": doi} if doi else {})
