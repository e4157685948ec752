"""Web pages written for the tests: texts in eleven languages, each set in several frames.

`tests/cases/pages/texts.jsonl` has a text a line: `kind`, `lang`, `title` and `lines`. A line that
begins with `=` is the headline, with `*` a list of links, with `!` buttons. `chrome.jsonl` has what
surrounds them by language. Every page of a text is in the same half.
"""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from random import Random
from typing import Any

CASES = Path(__file__).parents[1] / "cases" / "pages"
FRAMES = ("bare", "cms", "tables")
WHOLE = ("shell", "archive", "parked")  # never within the frame of a site
PASSWORDS = {
    "Password",
    "Password:",
    "Passwort",
    "Mot de passe",
    "Contraseña",
    "Palavra-passe",
    "Wachtwoord",
    "Hasło",
    "Пароль",
    "パスワード",
    "密码",
}


@dataclass(frozen=True, slots=True)
class Page:
    kind: str
    lang: str
    frame: str
    url: str
    source: str
    held_out: bool


def rows(name: str) -> list[dict[str, Any]]:
    lines = (CASES / name).read_text(encoding="utf-8").splitlines()
    return list(map(json.loads, lines))


def pages() -> Iterator[Page]:
    chrome = {row["lang"]: row for row in rows("chrome.jsonl")}
    for number, text in enumerate(rows("texts.jsonl")):
        digest = hashlib.sha256(json.dumps([text["kind"], text["title"], text["lines"]]).encode())
        url = f"https://www.site{number}.example/2009/05/story-{number}.html"
        for frame in FRAMES:
            drawn = Random(f"{digest.hexdigest()}{frame}")
            source = _page(text, chrome[text["lang"]], frame, url, drawn)
            yield Page(text["kind"], text["lang"], frame, url, source, digest.digest()[0] % 2 == 1)


def _page(text: dict[str, Any], chrome: dict[str, Any], frame: str, url: str, drawn: Random) -> str:
    kind = text["kind"]
    body = _body(text, chrome, frame, drawn)
    if kind == "shell":
        body = _shell(body, text, frame)
    elif kind in WHOLE or frame == "bare":
        box = _login_box(chrome) if kind == "document" and drawn.random() < 0.3 else ""
        body = f"{box}<div id='content'>{body}</div>"
    elif frame == "cms":
        body = _cms(body, chrome, drawn)
    else:
        body = _tables(body, chrome, drawn)
    if kind == "document" and drawn.random() < 0.4:
        body += f"<div class='box'><p>{drawn.choice(chrome['prompts'])}</p></div>"
    head = f"<meta charset='utf-8'><title>{escape(text['title'])}</title>{_head(kind, frame, url)}"
    scripts = drawn.choice(
        ["", _blob(drawn), "<script src='/a.js'></script>" * drawn.randint(1, 9)]
    )
    if kind == "shell":
        scripts = _blob(drawn) + "<script src='/static/js/main.js'></script>" * 3
    return (
        f"<!DOCTYPE html><html lang='{text['lang']}'><head>{head}</head>"
        f"<body class='{drawn.choice(['', 'page', 'no-js home'])}'>{body}{scripts}</body></html>"
    )


def _head(kind: str, frame: str, url: str) -> str:
    root = "/".join(url.split("/")[:3]) + "/"
    sloppy = kind == "document" and url.endswith("3.html")  # one page in ten
    address = root if kind == "front" or sloppy else url
    found = {
        "bare": "",
        "cms": f"<link rel='canonical' href='{address}'><meta name='generator' content='Kernel'>",
        "tables": f"<meta property='og:url' content='{address}'>",
    }[frame]
    if kind in ("gone", "parked", "shell", "archive") and frame != "bare":
        found = ""
    if kind == "teaser" and frame == "cms":
        stated = '{"@type": "NewsArticle", "isAccessibleForFree": false}'
        found += f"<script type='application/ld+json'>{stated}</script>"
    return found


def _body(text: dict[str, Any], chrome: dict[str, Any], frame: str, drawn: Random) -> str:
    found = []
    for line in text["lines"]:
        sign, _, rest = line.partition(" ")
        if sign == "=":
            found.append(f"<h1>{escape(rest)}</h1>")
        elif sign == "*":
            items = rest.split(" * ")
            if text["kind"] == "front":
                items += [story[0] for story in chrome["stories"]] * drawn.randint(1, 3)
            teasers = [story[1] for story in chrome["stories"]] if len(text["lines"]) > 2 else [""]
            if text["kind"] == "parked" and frame == "tables":  # its links are scripts
                found += [f"<div data-n='{n}'>{escape(each)}</div>" for n, each in enumerate(items)]
                continue
            found.append(
                "<ul class='items'>"
                + "".join(
                    f"<li><a href='/a/{n}'>{escape(item)}</a>"
                    + (f" <p>{escape(teasers[n % len(teasers)])}</p>" if frame == "tables" else "")
                    + "</li>"
                    for n, item in enumerate(items)
                )
                + "</ul>"
            )
        elif sign == "!":
            tag = drawn.choice(["button", "a href='#'", "div role='button'"])
            buttons = (escape(each) for each in rest.split(" ! "))
            found += [f"<{tag}>{each}</{tag.split()[0]}>" for each in buttons]
        elif line in PASSWORDS and text["kind"] == "login":
            found.append(f"<label>{escape(line)}</label><input type='password' name='p'>")
        else:
            wall = text["kind"] == "teaser" and line is text["lines"][-1] and frame == "tables"
            tag = "p class='paywall-offer'" if wall else "p"
            found.append(f"<{tag}>{escape(line)}</p>")
    return "".join(found)


def _shell(body: str, text: dict[str, Any], frame: str) -> str:
    if frame == "bare":
        return f"<noscript>{body}</noscript><div id='root'></div>"
    if frame == "cms":
        return f"<div id='app'><div class='spinner'>{body}</div></div>"
    head = f"<header><a href='/'>{escape(text['title'])}</a></header>"
    return f"{head}<main id='__next'></main><noscript><div>{body}</div></noscript>"


def _login_box(chrome: dict[str, Any]) -> str:
    fields = "<input name='u'><input type='password' name='p'>"
    return f"<div class='box'>{chrome['prompts'][0]}<form action='/in'>{fields}</form></div>"


def _blob(drawn: Random) -> str:
    state = {"page": {"id": drawn.randint(1, 9**9), "flags": [drawn.random() for _ in range(40)]}}
    return f"<script id='__STATE__' type='application/json'>{json.dumps(state)}</script>"


def _stories(chrome: dict[str, Any], teasers: bool) -> str:
    return "".join(
        f"<div class='story'><h3><a href='/s/{n}'>{title}</a></h3>"
        + (f"<p>{teaser}</p></div>" if teasers else "</div>")
        for n, (title, teaser) in enumerate(chrome["stories"])
    )


def _cms(body: str, chrome: dict[str, Any], drawn: Random) -> str:
    nav = "".join(f"<li><a href='/{n}'>{item}</a></li>" for n, item in enumerate(chrome["nav"]))
    cookies = f"<div class='cookie-layer'><p>{chrome['cookies']}</p></div>"
    aside = f"<aside><h2>{chrome['related']}</h2>{_stories(chrome, drawn.random() < 0.5)}</aside>"
    return (
        f"{cookies if drawn.random() < 0.7 else ''}<header><nav><ul>{nav}</ul></nav>"
        f"<a href='/login'>{chrome['sign_in']}</a></header><main>{body}</main>"
        f"{aside if drawn.random() < 0.7 else ''}"
        f"<footer><p>{chrome['newsletter']}</p><p>{chrome['footer']}</p></footer>"
    )


def _tables(body: str, chrome: dict[str, Any], drawn: Random) -> str:
    menu = " | ".join(f"<a href='/{n}.htm'>{item}</a>" for n, item in enumerate(chrome["nav"]))
    right = _login_box(chrome) if drawn.random() < 0.4 else ""
    right += _stories(chrome, drawn.random() < 0.3) if drawn.random() < 0.6 else ""
    return (
        f"<table width='780'><tr><td colspan='2' class='top'>{menu}</td></tr>"
        f"<tr><td class='text'>{body}</td><td class='right'>{right}</td></tr>"
        f"<tr><td colspan='2'><small>{chrome['footer']}</small></td></tr></table>"
    )
