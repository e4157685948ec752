"""What a citation template says, by our names for it.

English Wikipedia's citation templates have many spellings for one thing (`archiveurl`,
`archive-url`): `[fields]` of `templates.toml`. Other wikis' parameters come here under
their English names (`translated`).
"""

import re
from collections.abc import Iterable, Mapping
from typing import TypedDict

from pincite.text.identifiers import doi_in
from pincite.wiki.editions import TABLE

WAYBACK = "https://web.archive.org/web/"  # followed by the time of a copy and the address
MAX_PEOPLE = 30  # numbered authors that are looked for
MAX_DIGITS = 4  # of such a number
# The old |deadurl= in the words of |url-status=: yes and no, in the ten languages.
_DEAD = dict.fromkeys("yes y true 1 404 ja j oui si sí sì sim tak да".split(), "dead")
_DEAD |= dict.fromkeys("no n false 0 nein non não nao nee nie нет".split(), "live")
_YEAR = re.compile(r"\b(\d{4}[a-z]?)\b")
_HAN_OR_KANA = re.compile("[\u3040-\u30ff\u3400-\u9fff]")
_WEB = re.compile(
    r"(?:https?://(?=https?:))?(?P<scheme>(?:https?|ftp)://|//|(?=www\.\w))(?P<rest>[^\s/]\S*)",
    re.IGNORECASE,
)


class Known(TypedDict, total=False):
    """The fields of `types.Citation` that a template can fill."""

    url: str
    archive_url: str
    archive_date: str
    url_status: str
    title: str
    publisher: str
    date: str
    access_date: str
    pages: str
    isbn: str
    doi: str
    pmid: str
    quote: str
    authors: tuple[str, ...]


def known_fields(given: Mapping[str, str]) -> Known:
    """The fields that `given` (parameters in plain text) fills; the first filled alias wins.

    >>> known_fields({"archiveurl": "http://a.org/1", "last": "Ito", "first": "Mei"})
    {'archive_url': 'http://a.org/1', 'authors': ('Mei Ito',)}
    """
    known = Known()
    for ours, aliases in TABLE["fields"].items():
        value = next((given[alias] for alias in aliases if given.get(alias)), "")
        if ours.endswith("url"):
            value = address_in(value) or ""
        if value:
            known[ours] = value  # type: ignore[literal-required]  # the fields are Known's
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
    """Parameters under English names, with what English templates say in another way.

    >>> translated({"people": "Karl Mott, Eva Lind", "day": "3", "month": "Mai", "year": "1911"})
    {'day': '3', 'month': 'Mai', 'year': '1911', 'author1': 'Karl Mott', 'author2': 'Eva Lind', \
'date': '3 Mai 1911'}
    """
    found = dict(given)
    people = _listed(found.pop("people", ""))
    found |= {f"author{n}": name for n, name in enumerate(people, 1) if name}
    if (stamp := found.pop("archive-stamp", "")) and found.get("url"):
        found["archive-url"] = f"{WAYBACK}{stamp}/{found['url']}"
    if found.get("month") and not found.get("date"):
        found["date"] = " ".join(filter(None, map(found.get, ("day", "month", "year"))))
    if found.pop("dead-since", ""):
        found["dead-url"] = "yes"
    return found


def _listed(people: str) -> list[str]:
    """The people of one parameter: "Karl Mott, Eva Lind", but "Mott, Karl" is one."""
    parts = re.split(r"\s*;\s*" if ";" in people else r"\s*,\s+", people)
    alone = len(parts) == 2 and ";" not in people and " " not in min(parts, key=len)
    return [people] if alone else parts


def last_names(given: Mapping[str, str]) -> tuple[str, ...]:
    """Last names of the authors, or else of the editors: what a short citation calls the work."""
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
    """The year, with the letter that tells two works of one year apart; empty if none."""
    for key in ("year", "date", "publication-date"):
        if found := _YEAR.search(given.get(key, "")):
            return found[1]
    return ""


def _numbers(given: Mapping[str, str]) -> list[str]:
    """The numbers that people have in `given`, in order, after the person without one."""
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
    """Last and first name of one person; an `author=Ito, Mei` is split at its comma."""
    prefix = f"{role}-" if role else ""
    lasts = (f"{prefix}last{number}", f"{role}{number}-last", f"{prefix}surname{number}")
    firsts = (f"{prefix}first{number}", f"{role}{number}-first", f"{prefix}given{number}")
    wholes = (f"{role or 'author'}{number}", f"{role or 'author'}-name{number}")
    last = next((given[key] for key in lasts if given.get(key)), "")
    first = next((given[key] for key in firsts if given.get(key)), "")
    if last:
        return last, first
    whole = next((given[key] for key in wholes if given.get(key)), "")
    if not whole:
        return None
    if whole.count(",") == 1:
        last, first = (part.strip() for part in whole.split(","))
        return last, first
    return whole, ""
