"""Resolves uses of references (named, list-defined, short citations) to their definitions."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pincite.text.identifiers import doi_in
from pincite.types import Citation, Span
from pincite.wiki.templates import TABLE

WAYBACK = "https://web.archive.org/web/"  # followed by the time of a copy and the address
MAX_PEOPLE = 30  # numbered authors per citation
MAX_DIGITS = 4  # of an author's number
# Values of the old |deadurl= as |url-status=: yes and no, in the ten languages.
_DEAD = dict.fromkeys("yes y true 1 404 ja j oui si sí sì sim tak да".split(), "dead")
_DEAD |= dict.fromkeys("no n false 0 nein non não nao nee nie нет".split(), "live")
_YEAR = re.compile(r"\b(\d{4}[a-z]?)\b")
_ORIGINAL = ("orig-date", "orig-year", "origdate", "origyear")  # of a reprint: "2002 [1962]"
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_WEB = re.compile(
    r"(?:https?://(?=https?:))?(?P<scheme>(?:https?|ftp)://|//|(?=www\.\w))(?P<rest>[^\s/]\S*)",
    re.IGNORECASE,
)
_Key = tuple[str, str]  # group and name of a reference


@dataclass(frozen=True, slots=True)
class Source:
    """One work named in a reference: a citation template, an address, or free text."""

    span: Span  # of the reference's content, or of the template for a short citation's work
    text: str = ""
    template: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)  # template parameters in plain text
    tags: tuple[str, ...] = ()
    short_key: str | None = None  # of a short citation: the key of its work


@dataclass(slots=True)
class Use:
    """One use of a reference; `sources` is empty if the reference is defined elsewhere."""

    span: Span
    name: str | None = None
    group: str | None = None
    sources: tuple[Source, ...] = ()
    pages: str | None = None  # from {{rp}}, or the details of a sub-reference
    tags: tuple[str, ...] = ()  # inline tags directly after this use
    citation_id: str = ""  # empty: its place among the uses, "r12"


@dataclass(slots=True)
class Definitions:
    """All named references and works defined in an article."""

    named: dict[_Key, tuple[Source, ...]] = field(default_factory=dict)
    works: dict[str, Source] = field(default_factory=dict)  # full citations by short key

    def define(self, group: str | None, name: str, sources: tuple[Source, ...]) -> None:
        """Register a named reference; the first definition with content wins, as in MediaWiki."""
        if sources:
            self.named.setdefault((group or "", name), sources)

    def find(self, use: Use) -> tuple[Source, ...]:
        """The sources of `use`; searches other groups for the name as a last resort."""
        if use.sources or use.name is None:
            return use.sources
        if found := self.named.get((use.group or "", use.name)):
            return found
        return next((s for (_, name), s in self.named.items() if name == use.name), ())


def short_key(names: Iterable[str], year: str) -> str:
    """The key shared by {{sfn|Ito|Rao|2001}} and its full citation: "ito rao 2001"."""
    return " ".join(re.sub(r"[\W_]+", " ", " ".join([*list(names)[:4], year])).lower().split())


def work_keys(fields: Mapping[str, str]) -> list[str]:
    """The short keys of a full citation; `ref=` adds one."""
    names, year = last_names(fields), year_of(fields)
    keys = [short_key(names, year)] if names else []
    if names and fields.get("ref"):  # {{odn|Nowak|2001}} for |autor=Jan Nowak |odn=tak
        keys.append(short_key([name.split()[-1] for name in names], year))
    if fields.get("ref"):  # {{sfn|Лугин|1988}} for |ref=Лугин |год=1988
        ref = fields["ref"].removeprefix("CITEREF")
        keys += [short_key([ref], ""), short_key([ref], year)]
    return keys + [key.replace(" ", "") for key in keys]


def resolve(
    uses: Sequence[Use], definitions: Definitions
) -> tuple[list[list[Citation]], list[str]]:
    """Return the citations of each use in order, at least one each, and unresolved names."""
    resolved: list[list[Citation]] = []
    missing: list[str] = []
    for number, use in enumerate(uses, 1):
        sources = definitions.find(use)
        if not sources and use.name:
            missing.append(f"reference {use.name!r} is used but not defined")
        elif not sources:
            missing.append(f"the reference at character {use.span.start} is empty")
        citations: list[Citation] = []
        for part, source in enumerate(sources or (Source(use.span),), 1):
            citation_id = use.citation_id or f"r{number}"
            citation_id += f".{part}" if part > 1 else ""
            citations.append(_citation(use, citation_id, _work(source, definitions, missing)))
        resolved.append(citations)
    return resolved, missing


def _work(source: Source, definitions: Definitions, missing: list[str]) -> Source:
    if source.short_key is None:
        return source
    key, works = source.short_key, definitions.works
    work = works.get(key) or works.get(key.replace(" ", ""))
    if work is None:
        missing.append(f"no full citation was found for the short citation {source.text!r}")
        return source
    pages = {key: source.fields[key] for key in ("p", "pp", "loc") if source.fields.get(key)}
    fields = {k: v for k, v in work.fields.items() if k not in ("page", "pages", "at")} | pages
    text, tags = f"{source.text}: {work.text}", source.tags + work.tags
    return replace(work, text=text, template=source.template, fields=fields, tags=tags)


def _citation(use: Use, citation_id: str, source: Source) -> Citation:
    known = known_fields(source.fields)
    if use.pages:
        known["pages"] = use.pages
    return Citation(
        citation_id,
        use.span,
        source.span,
        name=use.name,
        group=use.group,
        template=source.template,
        text=source.text,
        tags=tuple(dict.fromkeys((*source.tags, *use.tags))),
        **known,
    )


# ── Parameters of citation templates ──────────────────────


def known_fields(given: Mapping[str, str]) -> dict[str, Any]:
    """Map plain-text parameters to fields of `types.Citation`; the first alias wins.

    >>> known_fields({"archiveurl": "http://a.org/1", "last": "Ito", "first": "Mei"})
    {'archive_url': 'http://a.org/1', 'authors': ('Mei Ito',)}
    """
    known: dict[str, Any] = {}
    for ours, aliases in TABLE["fields"].items():
        value = next((given[alias] for alias in aliases if given.get(alias)), "")
        if ours.endswith("url"):
            value = address_in(value) or ""
        if value:
            known[ours] = value
    if "date" in known and (original := next(filter(None, map(given.get, _ORIGINAL)), "")):
        known["date"] += f" [{original}]"
    if "url_status" in known:
        known["url_status"] = _DEAD.get(known["url_status"].lower(), known["url_status"].lower())
    url = known.get("url", "")
    if doi := doi_in(known.get("doi") or (url if "doi.org/" in url.lower() else "")):
        known["doi"] = doi
    if authors := tuple(_authors(given)):
        known["authors"] = authors
    return known


def address_in(text: str) -> str | None:
    """The address at the beginning of a text, with a scheme; None if there is none.

    >>> address_in("//a.example/x"), address_in("www.a.example see"), address_in("p. 5")
    ('https://a.example/x', 'http://www.a.example', None)
    """
    found = _WEB.match(text.strip())
    if found is None:
        return None
    scheme = {"//": "https://", "": "http://"}.get(found["scheme"], found["scheme"])
    return scheme + found["rest"]


def translated(given: Mapping[str, str]) -> dict[str, str]:
    """Rename parameters to English, and split or join those that English templates do not have.

    >>> translated({"people": "Karl Mott, Eva Lind", "day": "3", "month": "Mai", "year": "1911"})
    {'day': '3', 'month': 'Mai', 'year': '1911', 'author1': 'Karl Mott', 'author2': 'Eva Lind', \
'date': '3 Mai 1911'}
    """
    found = dict(given)
    people = found.pop("people", "")
    names = re.split(r"\s*;\s*" if ";" in people else r"\s*,\s+", people)
    if len(names) == 2 and ";" not in people and " " not in min(names, key=len):
        names = [people]  # "Mott, Karl" is one
    found |= {f"author{n}": name for n, name in enumerate(names, 1) if name}
    if (stamp := found.pop("archive-stamp", "")) and found.get("url"):
        found["archive-url"] = f"{WAYBACK}{stamp}/{found['url']}"
    if found.get("month") and not found.get("date"):
        found["date"] = " ".join(filter(None, map(found.get, ("day", "month", "year"))))
    if found.pop("dead-since", ""):
        found["dead-url"] = "yes"
    return found


def last_names(given: Mapping[str, str]) -> tuple[str, ...]:
    """Last names of the authors, else of the editors, as used in short citations."""
    for prefix in ("", "editor"):
        names = []
        for number in _numbers(given):
            name = _person(given, prefix, number)
            if name and name[0] not in names:
                names.append(name[0])
        if names:
            return tuple(names)
    return ()


def year_of(given: Mapping[str, str]) -> str:
    """The year, with a letter that distinguishes works of one year; empty if there is none."""
    for key in ("year", "date", "publication-date"):
        if found := _YEAR.search(given.get(key, "")):
            return found[1]
    return ""


def _numbers(given: Mapping[str, str]) -> list[str]:
    found = {digits for key in given if (digits := "".join(filter(str.isdecimal, key)))}
    numbers = sorted(int(digits) for digits in found if len(digits) < MAX_DIGITS)
    return ["", *map(str, numbers[:MAX_PEOPLE])]


def _authors(given: Mapping[str, str]) -> Iterable[str]:
    if given.get("vauthors"):
        yield from (name.strip() for name in given["vauthors"].split(",") if name.strip())
    seen = set()
    for number in _numbers(given):
        last, first = _person(given, "", number) or ("", "")
        east_asian = _HAN_OR_KANA.match(last) and _HAN_OR_KANA.match(first)
        name = last + first if east_asian else f"{first} {last}".strip()
        if name and name not in seen:
            seen.add(name)
            yield name
    if not seen and given.get("authors"):
        yield given["authors"]


def _person(given: Mapping[str, str], role: str, number: str) -> tuple[str, str] | None:
    """Last and first name of one person; `author=Ito, Mei` is split at its comma."""
    prefix, whole = f"{role}-" if role else "", role or "author"

    def filled(*keys: str) -> str:
        return next((given[key] for key in keys if given.get(key)), "")

    if last := filled(f"{prefix}last{number}", f"{role}{number}-last", f"{prefix}surname{number}"):
        first = (f"{prefix}first{number}", f"{role}{number}-first", f"{prefix}given{number}")
        return last, filled(*first)
    name = filled(f"{whole}{number}", f"{whole}-name{number}")
    last, comma, first_name = name.partition(",")
    if comma and "," not in first_name:
        return last.strip(), first_name.strip()
    return (name, "") if name else None
