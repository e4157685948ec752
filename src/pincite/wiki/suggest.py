"""Generates templates as wikitext for an editor to paste.

Titles and quotes come from untrusted pages, so every parameter is escaped: it cannot end the
template, open a template, link or tag, or sign.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from typing import Literal, NamedTuple
from urllib.parse import quote as percent_encode

from pincite.text import patterns
from pincite.types import Correction
from pincite.wiki.templates import TABLE, edition, known_fields
from pincite.wiki.wikitext import read_template
from pincite.wiki.wikitext_tree import Kind, Node, by_name, parse

DateFormat = Literal["dmy", "mdy", "iso"]

# Characters with a meaning in wikitext, and the entities that display them. The pipe has its own
# template, which editors know.
_ESCAPES = {
    "&": "&amp;", "<": "&lt;", ">": "&gt;", "[": "&#91;", "]": "&#93;", "{": "&#123;",
    "}": "&#125;", "|": "{{!}}", "~": "&#126;", "'": "&#39;", "_": "&#95;", "=": "&#61;",
    ":": "&#58;", "*": "&#42;", "#": "&#35;", ";": "&#59;", "-": "&#45;",
}  # fmt: skip
_JOINERS = "\u200c\u200d"  # not printable in Unicode's terms, but needed in Persian and Hindi
_ALWAYS = frozenset("<>[]{}|")
_RUNS = patterns(__file__, "suggest")["runs"]
_WRITTEN_OUT: dict[DateFormat, re.Pattern[str]] = {
    "dmy": re.compile(r"\b\d{1,2}(?:\s|&nbsp;)[A-Z][a-z]+\s\d{4}\b"),
    "mdy": re.compile(r"\b[A-Z][a-z]+(?:\s|&nbsp;)\d{1,2},\s\d{4}\b"),
}
_REQUESTED = re.compile(r"\{\{\s*use (dmy|mdy) dates\s*[|}]", re.IGNORECASE)
_ADDRESS = re.compile(r"https?://[^/\s]", re.IGNORECASE)
_SAFE_IN_URL = "%/:?#@!$&'()*+,;=-._~"


def date_format_of(article: str) -> DateFormat:
    """Return the format that an article's source requests, or else writes most of its dates in.

    >>> date_format_of("{{Use mdy dates}} It opened on 4 May 1931."), date_format_of("In 1931.")
    ('mdy', 'iso')
    """
    if requested := _REQUESTED.search(article):
        return "mdy" if requested[1][0] in "mM" else "dmy"
    counts = {kind: len(dates.findall(article)) for kind, dates in _WRITTEN_OUT.items()}
    return max(counts, key=lambda kind: counts[kind]) if any(counts.values()) else "iso"


class Dates(NamedTuple):
    """How to write dates, and today's."""

    today: date
    how: DateFormat = "iso"

    def written(self, iso: str | None) -> str:
        """Write an ISO date, of any precision, as the article does.

        >>> Dates(date.today(), "dmy").written("2004-05-14"), Dates(date.today()).written("2004-05")
        ('14 May 2004', 'May 2004')
        """
        try:
            day = date.fromisoformat(f"{(iso or '')[:10]}-01"[:10])
        except ValueError:
            return iso or ""
        if iso and len(iso) < len("2004-05-14"):
            return f"{day:%B %Y}"  # "2004-05" may be read as 2004 to 2005
        written = {"dmy": f"{day.day} {day:%B %Y}", "mdy": f"{day:%B} {day.day}, {day.year}"}
        return written.get(self.how, day.isoformat())


def template(name: str, **given: str | None) -> str:
    """A template with escaped parameters.

    >>> template("failed verification", date="November 2026", reason="Source says 1911 | 1912")
    '{{failed verification|date=November 2026|reason=Source says 1911 {{!}} 1912}}'
    """
    return "{{" + name + parameters(**given) + "}}"


def parameters(**given: str | None) -> str:
    """Escaped parameters; empty ones are omitted, "_" in a name is "-". Raises as `escape_url`."""
    known = {key.replace("_", "-"): value for key, value in given.items() if value}
    escaped = {k: (escape_url if k.endswith("url") else escape_parameter)(known[k]) for k in known}
    return "".join(f"|{key}={value}" for key, value in escaped.items())


def correct_template(
    source: str, language: str, title: str, known: Mapping[str, str]
) -> tuple[tuple[Correction, ...], str]:
    """Correct the template that cites `title` in a reference of a wiki; also returns it whole.

    `known`: what the record has, by the fields of `Citation`. No parameter is added.
    """
    for node in _templates(parse(source, edition(language))[0]):
        if known_fields(read_template(node, source, node.span).fields).get("title") != title:
            continue
        given, changes = by_name(node, source), dict[int, Correction]()
        for ours, value in known.items():
            filled = (given[a] for a in TABLE["fields"][ours] if a in given)
            if parameter := next((p for p in filled if p.raw(source)), None):
                raw = parameter.raw(source)
                start = source.index(raw, parameter.nodes[0].start)
                changes[start] = Correction(parameter.name, raw, escape_parameter(value))
        text = source[: node.end]
        for start in sorted(changes, reverse=True):
            text = text[:start] + changes[start].known + text[start + len(changes[start].cited) :]
        return tuple(changes[n] for n in sorted(changes)), text[node.start :] if changes else ""
    return (), ""


def _templates(nodes: Sequence[Node]) -> Iterator[Node]:
    for node in nodes:
        if node.kind is Kind.TEMPLATE:
            yield node
        yield from (template for part in node.parts for template in _templates(part))


def escape_parameter(text: str) -> str:
    """Escape `text` as a parameter value that displays as the text, on one line.

    >>> escape_parameter("[[Rome]] ~~~~")
    '&#91;&#91;Rome&#93;&#93; &#126;&#126;&#126;&#126;'
    """
    line = " ".join("".join(c if c.isprintable() or c in _JOINERS else " " for c in text).split())
    in_runs = {n for run in _RUNS.finditer(line) for n in range(*run.span())}
    return "".join(
        _ESCAPES.get(char, f"&#{ord(char)};") if n in in_runs or char in _ALWAYS else char
        for n, char in enumerate(line)
    )


def escape_url(url: str) -> str:
    """Percent-encode a parameter's address; raises ValueError unless it is http or https."""
    url = url.strip()
    if not _ADDRESS.match(url):
        raise ValueError(f"{url[:80]!r} cannot be cited; expected http:// or https://")
    encoded = percent_encode(re.sub("[\ud800-\udfff]", "\ufffd", url), safe=_SAFE_IN_URL)
    special = re.compile(r"'{2,}|~{3,}|__")
    return special.sub(lambda run: "".join(f"%{ord(char):02X}" for char in run[0]), encoded)
