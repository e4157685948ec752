"""Uses of references and what they refer to: named, list-defined and short citations.

A use only says which reference it means, and the reference may be defined further down; so uses
and definitions are collected first, by `inline.py` or `html.py`, and brought together here.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from pincite.types import Citation, Span
from pincite.wiki.fields import Known, known_fields, last_names, year_of

_Key = tuple[str, str]  # group and name of a reference


@dataclass(frozen=True, slots=True)
class Source:
    """One work named in a reference: a citation template, an address, or free text."""

    span: Span  # of the reference's content, or of the template for a short citation's work
    text: str = ""
    template: str | None = None
    fields: Mapping[str, str] = field(default_factory=dict)  # template parameters in plain text
    tags: tuple[str, ...] = ()
    short_key: str | None = None  # of a short citation: the work is found by it


@dataclass(slots=True)
class Use:
    """One use of a reference; `sources` is empty where the reference is defined elsewhere."""

    span: Span
    name: str | None = None
    group: str | None = None
    sources: tuple[Source, ...] = ()
    pages: str | None = None  # {{rp}}, or the details of a sub-reference
    tags: tuple[str, ...] = ()  # inline tags that stand directly after this use


@dataclass(slots=True)
class Definitions:
    """Everything in the article that a use can mean."""

    named: dict[_Key, tuple[Source, ...]] = field(default_factory=dict)
    works: dict[str, Source] = field(default_factory=dict)  # full citations by short key

    def define(self, group: str | None, name: str, sources: tuple[Source, ...]) -> None:
        """Remember a named reference; the first definition with content counts, as in MediaWiki."""
        if sources:
            self.named.setdefault((group or "", name), sources)

    def find(self, use: Use) -> tuple[Source, ...]:
        """The sources that `use` means; a name is looked for in other groups as a last resort."""
        if use.sources or use.name is None:
            return use.sources
        if found := self.named.get((use.group or "", use.name)):
            return found
        return next((s for (_, name), s in self.named.items() if name == use.name), ())


def short_key(names: Iterable[str], year: str) -> str:
    """What {{sfn|Ito|Rao|2001}} and its full citation have in common.

    >>> short_key(["Ito", "Rao"], "2001")
    'ito rao 2001'
    """
    return " ".join(re.sub(r"[\W_]+", " ", " ".join([*list(names)[:4], year])).lower().split())


def work_keys(fields: Mapping[str, str]) -> list[str]:
    """The short keys under which a full citation can be meant; `ref=` adds one."""
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
    """The citations of each use, in order, at least one each; and what could not be resolved."""
    resolved: list[list[Citation]] = []
    missing: list[str] = []
    for number, use in enumerate(uses, 1):
        sources = definitions.find(use)
        if not sources:
            missing.append(
                f"reference {use.name!r} is used but not defined"
                if use.name
                else f"the reference at character {use.span.start} is empty"
            )
            sources = (Source(use.span),)
        cited = [_work(source, definitions, missing) for source in sources]
        resolved.append(
            [
                _citation(use, f"r{number}" + (f".{part}" if part > 1 else ""), source)
                for part, source in enumerate(cited, 1)
            ]
        )
    return resolved, missing


def _work(source: Source, definitions: Definitions, missing: list[str]) -> Source:
    """The source itself, or for a short citation its full one with the short one's pages."""
    if source.short_key is None:
        return source
    key = source.short_key
    work = definitions.works.get(key) or definitions.works.get(key.replace(" ", ""))
    if work is None:
        missing.append(f"no full citation for the short one {source.text!r}")
        return source
    pages = {key: source.fields[key] for key in ("p", "pp", "loc") if source.fields.get(key)}
    fields = {k: v for k, v in work.fields.items() if k not in ("page", "pages", "at")} | pages
    return replace(
        work,
        text=f"{source.text}: {work.text}",
        template=source.template,
        fields=fields,
        tags=source.tags + work.tags,
    )


def _citation(use: Use, citation_id: str, source: Source) -> Citation:
    known: Known = known_fields(source.fields)
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
