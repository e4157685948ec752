"""Articles as MediaWiki's skins frame them, with as much of its `mw` as a user script asks for.

The markup around the content follows what Vector legacy, Vector 2022 and Minerva put out; the
articles are invented.
"""

import html
import json

from support.rows import text_of

ORIGIN = "https://en.wiki.example"
SKINS = ("vector", "vector-2022", "minerva")

MW = text_of("server/browser/wiki_pages/mw.js")
STYLE = text_of("server/browser/wiki_pages/style.css")
MENUS = json.loads(text_of("server/browser/wiki_pages/menus.json"))
READ = '<li id="ca-view"><a href="#content">Read</a></li>'


def ref(number: int, note: str, use: int = 0, group: str = "") -> str:
    """The mark of a reference."""
    mark = f"cite_ref-{note}_{number}-{use}" if note else f"cite_ref-{number}"
    to = f"cite_note-{note}-{number}" if note else f"cite_note-{number}"
    return (
        f'<sup id="{mark}" class="reference"><a href="#{to}"><span class="cite-bracket">[</span>'
        f'{group}{number}<span class="cite-bracket">]</span></a></sup>'
    )


def note(number: int, name: str, url: str, title: str) -> str:
    """An entry of the list of references."""
    to = f"cite_note-{name}-{number}" if name else f"cite_note-{number}"
    return (
        f'<li id="{to}"><span class="mw-cite-backlink"><a href="#cite_ref-{number}">↑</a></span> '
        f'<span class="reference-text"><cite class="citation web cs1"><a rel="nofollow" '
        f'class="external text" href="{html.escape(url)}">{html.escape(title)}</a></cite></span>'
        "</li>"
    )


def references(*entries: str) -> str:
    return (
        '<div class="mw-heading mw-heading2"><h2 id="References">References</h2></div>'
        f'<div class="mw-references-wrap"><ol class="references">{"".join(entries)}</ol></div>'
    )


BRIDGE, TRAM = "https://a.example/bridge", "https://a.example/tram"
SOURCES = {
    BRIDGE: "The old bridge of Varde was opened in 1911 by the mayor of the town, who spoke.",
    TRAM: "The tram of Varde reached the harbour in 1922, and the town had a holiday that day.",
}
PICTURED = text_of("server/browser/wiki_pages/pictured.html")
ARTICLES = {
    name: text_of(f"server/browser/wiki_pages/{name}.html")
    for name in ("plain", "sections", "older")
}


def page(skin: str, content: str, title: str = "Varde", *, dark: bool = False) -> str:
    """A page of the wiki, with the user script."""

    config = json.loads(text_of("server/browser/wiki_pages/config.json"))
    config |= {"skin": skin, "wgTitle": title, "wgPageName": title.replace(" ", "_")}
    mw = MW.replace("CONFIG", json.dumps(config).replace("<", "\\u003c"))
    night = " skin-theme-clientpref-night" if dark else ""
    return (
        f'<!doctype html><html lang="en" class="skin-{skin}{night}"><head><meta charset="utf-8">'
        f'<meta name="viewport" content="width=device-width"><title>{html.escape(title)} - Wiki'
        "</title>"
        f"<style>{STYLE}</style></head><body class='skin-{skin}'>{MENUS[skin].format(READ)}"
        f'<main id="content" class="mw-body"><h1 id="firstHeading">{html.escape(title)}</h1>'
        '<div id="mw-content-text" class="mw-body-content"><div class="mw-content-ltr '
        f'mw-parser-output" lang="en" dir="ltr">{content}</div></div></main>'
        f'<script>{mw}</script><script src="/gadget.js"></script></body></html>'
    )
