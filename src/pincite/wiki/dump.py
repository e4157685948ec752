"""MediaWiki XML dumps, one page at a time: a dump of any size takes the memory of its largest page.

Dumps are files from strangers: entities are not resolved, nothing is fetched, and libxml2's own
limits (10 MB a text node, depth 256) stay on.
"""

import difflib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import IO, Any

from lxml import etree

from pincite.errors import InputError

MAX_TITLES = 50_000  # remembered titles that begin like the wanted one, to suggest close ones
_HEAD = 2  # letters that a title shares with the wanted one to be remembered


@dataclass(frozen=True, slots=True)
class DumpPage:
    """One page of a dump with its latest revision."""

    title: str
    namespace: int
    text: str
    redirect: str | None = None  # the title it redirects to
    revision_id: str | None = None
    timestamp: str | None = None
    language: str | None = None  # of the wiki
    deleted: bool = False  # the text of this revision was deleted by administrators


def normal_title(title: str) -> str:
    """A title as MediaWiki stores it.

    >>> normal_title("ada_Lovelace ")
    'Ada Lovelace'
    """
    text = " ".join(title.replace("_", " ").split())
    return text[:1].upper() + text[1:]


def read_pages(stream: IO[bytes], name: str) -> Iterator[DumpPage]:
    """Every page of the XML in `stream`, in order.

    Raises:
        InputError: `stream` is not well-formed; `name` is what the message calls it.
    """
    try:
        events = etree.iterparse(
            stream,
            events=("end",),
            tag="{*}page",
            resolve_entities=False,
            no_network=True,
            load_dtd=False,
            huge_tree=False,
        )
        for _, page in events:
            yield _page(page)
            page.clear()
            while page.getprevious() is not None:
                del page.getparent()[0]
    except (etree.XMLSyntaxError, OSError, EOFError) as error:
        message = f"{name} cannot be read as a MediaWiki dump: {error}. Fetch the file again."
        raise InputError(message) from error


def find_page(stream: IO[bytes], name: str, title: str) -> DumpPage:
    """The page called `title`; reads no further than that.

    Raises:
        InputError: there is no such page, or it is a redirect; names titles that are close.
    """
    wanted = normal_title(title)
    alike: list[str] = []
    for page in read_pages(stream, name):
        if page.title == wanted:
            return _no_redirect(page, name)
        if page.title[:_HEAD].lower() == wanted[:_HEAD].lower() and len(alike) < MAX_TITLES:
            alike.append(page.title)
    close = difflib.get_close_matches(wanted, alike, n=3, cutoff=0.6)
    hint = f"Close titles: {', '.join(close)}." if close else "Titles are case-sensitive."
    message = f"{name} has no page called {wanted!r}. Expected the exact title. {hint}"
    raise InputError(message)


def _no_redirect(page: DumpPage, name: str) -> DumpPage:
    if page.deleted:
        message = (
            f"The text of the latest revision of {page.title!r} in {name} was deleted. "
            "Ask for another article, or use a later dump."
        )
        raise InputError(message)
    if page.redirect is None:
        return page
    message = (
        f"{page.title!r} in {name} is a redirect and has no claims. Expected an article. "
        f"Ask for {page.redirect!r}."
    )
    raise InputError(message)


def _page(page: Any) -> DumpPage:
    redirect = page.find("{*}redirect")
    revisions = page.findall("{*}revision")
    latest = revisions[-1] if revisions else None
    text = latest.find("{*}text") if latest is not None else None
    namespace = page.findtext("{*}ns") or "0"
    return DumpPage(
        page.findtext("{*}title") or "",
        int(namespace) if namespace.lstrip("-").isdecimal() else 0,
        (text.text or "") if text is not None else "",
        redirect.get("title") if redirect is not None else None,
        latest.findtext("{*}id") if latest is not None else None,
        latest.findtext("{*}timestamp") if latest is not None else None,
        page.getroottree().getroot().get("{http://www.w3.org/XML/1998/namespace}lang"),
        text is not None and text.get("deleted") is not None,
    )
