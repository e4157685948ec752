"""A wiki on this machine that answers as MediaWiki does."""

import gzip
import json
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

PER_REPLY = 2  # members of a category: a listing of five goes on twice


@dataclass
class WikiPage:
    """One page with its revisions, oldest first: (revision id, wikitext or None if hidden)."""

    page_id: int
    title: str
    revisions: list[tuple[int, str | None]]
    redirect_to: str = ""
    protected: str = ""
    disambiguation: bool = False
    model: str = "wikitext"


@dataclass
class Canned:
    """A reply in place of the wiki's own."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0


def api_error(code: str, info: str = "no", *, after: str = "") -> Canned:
    headers = {"Retry-After": after} if after else {}
    return Canned(200, json.dumps({"error": {"code": code, "info": info}}).encode(), headers)


@dataclass
class Wiki:
    """The pages of a wiki, canned replies to send first, and the requests received."""

    pages: list[WikiPage] = field(default_factory=list)
    category: dict[str, list[str]] = field(default_factory=dict)
    first: list[Canned] = field(default_factory=list)  # sent before the wiki's own replies
    asked: list[dict[str, str]] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    sites: dict[str, bytes] = field(default_factory=dict)  # pages that articles cite, by path
    url: str = ""
    language: str = "en"
    lock: threading.Lock = field(default_factory=threading.Lock)

    def titled(self, title: str) -> WikiPage | None:
        name = title[:1].upper() + title[1:]
        return next((page for page in self.pages if page.title == name), None)

    def answer(self, asked: dict[str, str]) -> dict[str, Any]:
        lists = {"categorymembers": self._members}
        lists |= {"prefixsearch": self._near, "search": self._near}
        return (lists.get(asked.get("list", "")) or self._query)(asked)

    def _query(self, asked: dict[str, str]) -> dict[str, Any]:
        query: dict[str, Any] = {"general": {"lang": self.language}}
        if "revids" in asked:
            wanted = int(asked["revids"])
            holders = [p for p in self.pages if wanted in dict(p.revisions)]
            if not holders:
                query["badrevids"] = {str(wanted): {"revid": wanted, "missing": True}}
            else:
                query["pages"] = [self._page(holders[0], asked, wanted)]
        elif "pageids" in asked:
            held = [p for p in self.pages if p.page_id == int(asked["pageids"])]
            gone = [{"pageid": int(asked["pageids"]), "missing": True}]
            query["pages"] = [self._page(p, asked) for p in held] or gone
        else:
            query |= self._by_titles(asked)
        return {"batchcomplete": True, "query": query}

    def _by_titles(self, asked: dict[str, str]) -> dict[str, Any]:
        found: dict[str, Any] = {"pages": [], "normalized": [], "redirects": []}
        for title in asked["titles"].split("|"):
            name = title[:1].upper() + title[1:]
            if title != name:
                found["normalized"].append({"from": title, "to": name})
            page = self.titled(name)
            if page and page.redirect_to and "redirects" in asked:
                found["redirects"].append({"from": name, "to": page.redirect_to})
                page = self.titled(page.redirect_to)
            if ":" in name and name.split(":")[0] == "Xx":
                found["interwiki"] = [{"title": title, "iw": "xx"}]
            elif "::" in name:
                row = {"title": title, "invalid": True, "invalidreason": "bad characters"}
                found["pages"].append(row)
            elif page:
                found["pages"].append(self._page(page, asked))
            else:
                found["pages"].append({"ns": 0, "title": name, "missing": True})
        return found

    def _page(
        self, page: WikiPage, asked: dict[str, str], wanted: int | None = None
    ) -> dict[str, Any]:
        last = page.revisions[-1][0]
        number = wanted or last
        text = dict(page.revisions)[number]
        space = 118 if page.title.startswith("Draft:") else 0
        row: dict[str, Any] = {"pageid": page.page_id, "ns": space, "title": page.title}
        row |= {"lastrevid": last, "pagelanguage": self.language}
        if page.redirect_to:
            row["redirect"] = True
        if page.protected:
            row["protection"] = [{"type": "edit", "level": page.protected, "expiry": "infinity"}]
            row["protection"].append({"type": "move", "level": "sysop", "expiry": "infinity"})
        if page.disambiguation:
            row["pageprops"] = {"disambiguation": ""}
        if "revisions" in asked.get("prop", ""):
            slot: dict[str, Any] = {"contentmodel": page.model, "contentformat": "text/x-wiki"}
            slot |= {"content": text} if text is not None else {"texthidden": True}
            stamp = "2026-01-01T00:00:00Z"
            row["revisions"] = [{"revid": number, "timestamp": stamp, "slots": {"main": slot}}]
        return row

    def _members(self, asked: dict[str, str]) -> dict[str, Any]:
        titles = self.category.get(asked["cmtitle"].removeprefix("Category:"), [])
        start = int(asked.get("cmcontinue", "0"))
        rows = [{"ns": 0, "title": t} for t in titles[start : start + PER_REPLY]]
        reply: dict[str, Any] = {"query": {"categorymembers": rows}}
        if start + PER_REPLY < len(titles):
            reply["continue"] = {"cmcontinue": str(start + PER_REPLY), "continue": "-||"}
        return reply

    def _near(self, asked: dict[str, str]) -> dict[str, Any]:
        if begin := asked.get("pssearch", "")[:3]:
            rows = [{"title": page.title} for page in self.pages if page.title.startswith(begin)]
        else:
            words = asked["srsearch"].lower()
            rows = [{"title": page.title} for page in self.pages if words in page.title.lower()]
        return {"batchcomplete": True, "query": {asked["list"]: rows}}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wiki: Wiki

    def do_GET(self) -> None:
        wiki, parts = self.wiki, urlsplit(self.path)
        asked = {key: values[0] for key, values in parse_qs(parts.query).items()}
        with wiki.lock:
            wiki.asked.append(asked | {"path": parts.path})
            wiki.headers.append({k.lower(): v for k, v in self.headers.items()})
            canned = wiki.first.pop(0) if wiki.first else None
        reply = canned or self._own(parts.path, asked)
        time.sleep(reply.pause)
        self._send(reply)

    def _own(self, path: str, asked: dict[str, str]) -> Canned:
        if path in self.wiki.sites:
            return Canned(200, self.wiki.sites[path], {"Content-Type": "text/html"})
        if path != "/w/api.php":
            return Canned(404, b"<html>no</html>", {"Content-Type": "text/html"})
        return Canned(200, json.dumps(self.wiki.answer(asked)).encode())

    def _send(self, canned: Canned) -> None:
        body = canned.body
        headers = {"Content-Type": "application/json", **canned.headers}
        if "gzip" in self.headers.get("Accept-Encoding", ""):
            body, headers["Content-Encoding"] = gzip.compress(body), "gzip"
        self.send_response(canned.status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except OSError:  # the client has gone
            self.close_connection = True

    def log_message(self, *_: object) -> None:
        return


@contextmanager
def serving(wiki: Wiki, tls: ssl.SSLContext | None = None) -> Iterator[Wiki]:
    handler = type("Handler", (_Handler,), {"wiki": wiki})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    wiki.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_address[1]}"
    try:
        yield wiki
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
