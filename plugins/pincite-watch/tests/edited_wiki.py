"""A wiki whose pages are edited, moved and deleted, and which lists what changed."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from support.wiki_server import PER_REPLY, Wiki, WikiPage

from pincite_watch.watcher import Watcher

CITE = "<ref>{{{{cite web |url={url} |title={title}}}}}</ref>"


def sentence(text: str, url: str, title: str = "Page") -> str:
    return text + CITE.format(url=url, title=title)


@dataclass
class EditedWiki(Wiki):
    """Its log is one change a second, from 2026-01-01 on."""

    changes: list[dict[str, Any]] = field(default_factory=list)
    revision: int = 100
    hides_changes: bool = False

    def answer(self, asked: dict[str, str]) -> dict[str, Any]:
        if asked.get("list") == "recentchanges" and self.hides_changes:
            return {"error": {"code": "readapidenied", "info": "You need read permission."}}
        if asked.get("list") == "recentchanges":
            return self._changes(asked)
        if asked.get("list") == "allpages":
            return {"query": {"allpages": [{"title": page.title} for page in self.pages]}}
        return super().answer(asked)

    def edit(self, title: str, text: str) -> int:
        self.revision += 1
        if page := self.titled(title):
            page.revisions.append((self.revision, text))
        else:
            self.pages.append(WikiPage(len(self.changes) + 1, title, [(self.revision, text)]))
        self._log("edit" if page else "new", title)
        return self.revision

    def move(self, title: str, to: str, *, leaves_redirect: bool = True) -> None:
        page = self.titled(title)
        assert page
        page.title = to
        self.revision += 1
        if leaves_redirect:
            redirect: list[tuple[int, str | None]] = [(self.revision, f"#REDIRECT [[{to}]]")]
            self.pages.append(WikiPage(5_000 + self.revision, title, redirect, to))
        self._log("log", title)
        self.changes[-1] |= {"logtype": "move", "logparams": {"target_title": to}}

    def delete(self, title: str) -> None:
        self.pages = [page for page in self.pages if page.title != title]
        self._log("log", title)

    def _log(self, kind: str, title: str) -> None:
        n = len(self.changes)
        stamp = f"2026-01-01T{n // 3600:02}:{n // 60 % 60:02}:{n % 60:02}Z"
        space = 118 if title.startswith("Draft:") else 0
        row = {"type": kind, "title": title, "timestamp": stamp, "ns": space, "rcid": n + 1}
        self.changes.append(row)

    def _changes(self, asked: dict[str, str]) -> dict[str, Any]:
        spaces = list(map(int, asked["rcnamespace"].split("|")))
        wanted = [each for each in self.changes if each["ns"] in spaces]
        later = [each for each in wanted if each["timestamp"] >= asked["rcstart"]]
        start = int(asked.get("rccontinue", "0"))
        reply: dict[str, Any] = {"query": {"recentchanges": later[start : start + PER_REPLY]}}
        if start + PER_REPLY < len(later):
            reply["continue"] = {"rccontinue": str(start + PER_REPLY), "continue": "-||"}
        return reply


class Clock:
    """The time of the stores, in seconds; it stands still."""

    def __init__(self) -> None:
        self.at = 1_800_000_000.0

    def days(self, n: float) -> None:
        self.at += n * 86_400


SOURCES = {
    "https://weir.example/": "The weir at Tolne was built of oak in 1911 by the miller Per Holm.",
    "https://mill.example/": "The mill at Tolne burned down in May 1934. Nobody was hurt.",
    "https://ferry.example/": "The ferry across the Tolne carried forty people and ran until 1960.",
}
WEIR = sentence("The weir at Tolne was built in 1911.", "https://weir.example/")
FERRY = sentence("The ferry across the Tolne ran until 1960.", "https://ferry.example/")
WRONG = sentence("The mill at Tolne burned down in May 1937.", "https://mill.example/")
Making: TypeAlias = Callable[..., Watcher]


def text_of(*paragraphs: str) -> str:
    return "'''Tolne''' is a river.\n\n" + "\n\n".join(paragraphs) + "\n"
