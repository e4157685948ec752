"""A real MediaWiki in a folder: Debian's package on SQLite, served by `php -S`; needs no root.

    wiki = start(tmp_path)                      # empty, but for templates; seconds
    fill(wiki)                                  # our three articles, with the pages that they cite
    wiki.edit("Sund Light", "new wikitext")     # → revision id; as user Admin
    wiki.move("Sund Light", "Sund Lighthouse")
    wiki.revert("Sund Lighthouse")              # undo the newest edit → revision id
    wiki.delete("Sund Lighthouse")
    wiki.call(action="query", …)                # any other request to wiki.api, as Admin
    wiki.configure("$wgGroupPermissions['*']['read'] = false;")
    wiki.sources.put("fire.html", "text")       # → its address; wiki.sources.asked lists requests
    wiki.stop()

Everything listens on 127.0.0.1 at free ports: `wiki.url`, `wiki.api`, `wiki.sources.url`.
"""

import hashlib
import html
import http.cookiejar
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time
import urllib.request
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

from support.rows import rows, text_of

INSTALLED = Path("/usr/share/mediawiki")
MISSING = (
    "MediaWiki is not installed: apt-get install mediawiki php-cli php-sqlite3 php-mbstring php-xml"
)
ARTICLES = ("Sund Light", "Ostrup Brewery", "Hedda Lind")
CATEGORY = "Sund"
PASSWORD = "only-for-tests-1"
PHP = """
$wgServer = WebRequest::detectServer();
$wgArticlePath = '/wiki/$1';
$wgUploadDirectory = '%(folder)s/images';
$wgCacheDirectory = '%(folder)s/cache';
$wgMainCacheType = CACHE_DB;
$wgAllowUserJs = true;
$wgRateLimits = [];
$wgVisualEditorShowBetaWelcome = false;
foreach ( [ 'Cite', 'Gadgets', 'ParserFunctions', 'VisualEditor', 'WikiEditor' ] as $name ) {
	wfLoadExtension( $name );
}
"""
# /wiki/Title is an article; everything else is a file of MediaWiki.
ROUTER = """<?php
$path = parse_url( $_SERVER['REQUEST_URI'], PHP_URL_PATH );
if ( $path !== '/' && strncmp( $path, '/wiki/', 6 ) !== 0 ) {
	return false;
}
$_SERVER['SCRIPT_NAME'] = $_SERVER['PHP_SELF'] = '/w/index.php';
$_SERVER['SCRIPT_FILENAME'] = __DIR__ . '/site/w/index.php';
unset( $_SERVER['PATH_INFO'] );
require __DIR__ . '/site/w/index.php';
"""


def is_installed() -> bool:
    return (INSTALLED / "api.php").exists() and shutil.which("php") is not None


@dataclass
class Sources:
    """The web pages that articles cite, on a port of their own."""

    pages: dict[str, str] = field(default_factory=dict)
    asked: list[tuple[str, int]] = field(default_factory=list)  # path and status of each request
    url: str = ""

    def __post_init__(self) -> None:
        handler = type("Handler", (_Handler,), {"sources": self})
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self._server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def put(self, name: str, text: str, title: str = "") -> str:
        """Publish an article with this text, a paragraph a line; returns its address."""
        title = html.escape(title or name.partition(".")[0])
        paragraphs = "".join(f"<p>{html.escape(line)}</p>\n" for line in text.splitlines())
        self.pages[name] = (
            f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>{title}</title>'
            f"</head><body><article><h1>{title}</h1>\n{paragraphs}</article></body></html>"
        )
        return f"{self.url}/{name}"

    def stop(self) -> None:
        self._server.shutdown()
        self._server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    sources: Sources

    def do_GET(self) -> None:
        page = self.sources.pages.get(self.path.partition("?")[0].removeprefix("/"))
        body = (page or "<p>There is no such page.</p>").encode()
        tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
        status = 200 if page else 404
        if page and self.headers.get("If-None-Match") == tag:
            status, body = 304, b""
        self.sources.asked.append((self.path, status))
        self.send_response(status)
        self.send_header("ETag", tag)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        return


class MediaWiki:
    """A running wiki; see the module."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.sources = folder, Sources()
        self._settings = folder / "LocalSettings.php"
        self._environment = os.environ | {"MW_CONFIG_FILE": str(self._settings)}
        self._install()
        self._process, self.url = self._serve()
        self.api = f"{self.url}/w/api.php"
        cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
        self._client = urllib.request.build_opener(urllib.request.ProxyHandler({}), cookies)
        token = self.call(action="query", meta="tokens", type="login")["query"]["tokens"]
        self.call(action="login", lgname="Admin", lgpassword=PASSWORD, lgtoken=token["logintoken"])

    def _install(self) -> None:
        for name in ("db", "images", "cache", "site"):
            (self.folder / name).mkdir()
        (self.folder / "site" / "w").symlink_to(INSTALLED)
        (self.folder / "router.php").write_text(ROUTER, encoding="utf-8")
        database = ("--dbtype", "sqlite", "--dbpath", str(self.folder / "db"), "--dbname", "wiki")
        paths = ("--scriptpath", "/w", "--confpath", str(self.folder), "--lang", "en")
        who = ("--pass", PASSWORD, "Test Wiki", "Admin")
        php("install.php", *database, *paths, *who, environment=dict(os.environ))
        self.configure(PHP % {"folder": self.folder})

    def _serve(self) -> tuple["subprocess.Popen[bytes]", str]:
        """Start PHP's server on a port that it chooses."""
        log = self.folder / "server.log"
        given = ("opcache.enable_cli=1", "opcache.revalidate_freq=0", "display_errors=0")
        options = (*(part for each in given for part in ("-d", each)), "-S", "127.0.0.1:0")
        with log.open("wb") as written:
            process = subprocess.Popen(
                ["php", *options, "-t", str(self.folder / "site"), str(self.folder / "router.php")],
                env=self._environment | {"PHP_CLI_SERVER_WORKERS": "3"},
                stdout=written,
                stderr=written,
                start_new_session=True,
            )
        while not (found := re.search(r"\((http://[\d.:]+)\) started", log.read_text())):
            assert process.poll() is None, log.read_text()
            time.sleep(0.02)
        return process, found[1]

    def configure(self, settings: str) -> None:
        """Add lines to LocalSettings.php, which the next request reads."""
        with self._settings.open("a", encoding="utf-8") as file:
            file.write(f"{settings}\n")

    def call(self, **parameters: object) -> dict[str, Any]:
        """One request to the API as Admin; an error of the wiki fails the test."""
        given = {"format": "json", "formatversion": "2", **parameters}
        with self._client.open(self.api, urlencode(given).encode(), timeout=120) as reply:
            found: dict[str, Any] = json.load(reply)
        assert "error" not in found, found["error"]
        return found

    def _write(self, action: str, **parameters: object) -> dict[str, Any]:
        tokens = self.call(action="query", meta="tokens")["query"]["tokens"]
        reply = self.call(action=action, token=tokens["csrftoken"], **parameters)
        return dict(reply[action])

    def edit(self, title: str, text: str, summary: str = "") -> int:
        """Save a page; returns its newest revision."""
        done = self._write("edit", title=title, text=text, summary=summary)
        return int(done.get("newrevid") or self.revision(title))

    def move(self, title: str, to: str, **more: object) -> None:
        self._write("move", **{"from": title, "to": to, **more})

    def delete(self, title: str) -> None:
        self._write("delete", title=title)

    def revert(self, title: str) -> int:
        """Undo the newest edit."""
        return int(self._write("edit", title=title, undo=self.revision(title))["newrevid"])

    def revision(self, title: str) -> int:
        found = self.call(action="query", titles=title, prop="info")
        return int(found["query"]["pages"][0]["lastrevid"])

    def text(self, title: str) -> str:
        found = self.call(action="parse", page=title, prop="wikitext")
        return str(found["parse"]["wikitext"])

    def page(self, title: str) -> str:
        """The address of an article."""
        return f"{self.url}/wiki/{quote(title.replace(' ', '_'))}"

    def bot_password(self) -> tuple[str, str]:
        """A new bot password of Admin: its name and the password."""
        name, password = "tests", "0123456789abcdefghijklmnopqrstuv"
        options = ("--appid", name, "--grants", "basic", "Admin", password)
        php("createBotPassword.php", *options, environment=self._environment)
        return f"Admin@{name}", password

    def dump(self, *options: str) -> bytes:
        """What dumpBackup.php writes: --current or --full."""
        return php("dumpBackup.php", "--quiet", *options, environment=self._environment)

    def stop(self) -> None:
        os.killpg(self._process.pid, signal.SIGKILL)  # with its workers
        self._process.wait()
        self.sources.stop()


def php(script: str, *options: str, environment: dict[str, str]) -> bytes:
    """Run a maintenance script of MediaWiki; returns what it prints."""
    command = ["php", str(INSTALLED / "maintenance" / script), *options]
    done = subprocess.run(command, env=environment, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def start(folder: Path) -> MediaWiki:
    """Install a wiki into a folder and serve it; call `stop` afterwards."""
    wiki = MediaWiki(folder)
    for title, text in rows("mediawiki/templates"):
        wiki.edit(title, text)
    return wiki


def fill(wiki: MediaWiki) -> None:
    """Publish the sources, and write our articles."""
    for name, title, text in rows("mediawiki/sources"):
        wiki.sources.put(name, text, title)
    for title in ARTICLES:
        wiki.edit(title, article(wiki, title))


def article(wiki: MediaWiki, title: str) -> str:
    name = title.lower().replace(" ", "-")
    return text_of(f"mediawiki/articles/{name}.wiki").replace("SOURCES", wiki.sources.url)
