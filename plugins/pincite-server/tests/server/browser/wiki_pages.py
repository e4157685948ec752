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
MENUS = {
    "vector": '<div id="mw-head"><div id="p-cactions" class="vector-menu"><ul>{}</ul></div></div>',
    "vector-2022": '<nav class="vector-page-toolbar" aria-label="Page tools"><div id="p-cactions" '
    'class="vector-menu mw-portlet"><ul class="vector-menu-content-list">{}</ul></div></nav>',
    "minerva": '<nav class="minerva-header" aria-label="Tools"><div id="p-tb"><ul>{}</ul></div>'
    "</nav>",
}
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


def older(shown: str, mark: str, to: str = "cite_note-b-1") -> str:
    """The mark of a reference or note, as it was before brackets had elements of their own."""
    return f'<sup id="{mark}" class="reference"><a href="#{to}">[{shown}]</a></sup>'


def references(*entries: str) -> str:
    return (
        '<div class="mw-heading mw-heading2"><h2 id="References">References</h2></div>'
        f'<div class="mw-references-wrap"><ol class="references">{"".join(entries)}</ol></div>'
    )


BRIDGE, TRAM = "https://a.example/bridge", "https://a.example/tram"
PLAIN = (
    f"<p>The old bridge of Varde was opened in 1911 by the mayor.{ref(1, '')} "
    f"The tram reached the harbour in 1940.{ref(2, '')}</p>"
    + references(note(1, "", BRIDGE, "Bridge"), note(2, "", TRAM, "Tram"))
)
SECTIONS = (
    f"<p>Varde 🌉 has an old bridge that was opened in 1911 by the mayor.{ref(1, 'ü')}</p>"
    '<div class="mw-heading mw-heading2"><h2 id="Tram">Tram</h2></div>'
    f"<p>The tram reached the harbour in 1922.{ref(2, '')}{ref(1, 'ü', 1)}</p>"
    '<div class="mw-heading mw-heading3"><h3 id="Later">Later</h3></div>'
    f"<p>The tram was closed in 1958.{ref(2, '')[:-6]}</sup></p>"
    + references(note(1, "ü", BRIDGE, "Bridge"), note(2, "", TRAM, "Tram"))
)
# As MediaWiki wrote it before 2024: an old revision, a draft copied from one. Notes have letters.
OLDER = (
    f"<p>The old bridge of Varde was opened in 1911 by the mayor.{older('1', 'cite_ref-b_1-0')}"
    f"{older('a', 'cite_ref-2', 'cite_note-2')}</p>"
    '<h2><span class="mw-headline" id="Tram">Tram</span><span class="mw-editsection">[<a '
    'href="/w/index.php?title=Varde&amp;action=edit&amp;section=1">edit</a>]</span></h2>'
    f"<p>The tram reached the harbour in 1922.{older('2', 'cite_ref-3', 'cite_note-3')} It crosses "
    f"the bridge, which was opened in 1911.{older('1', 'cite_ref-b_1-1')}</p>"
    '<div class="reflist"><div class="mw-references-wrap"><ol class="references">'
    '<li id="cite_note-2"><span class="mw-cite-backlink"><b><a href="#cite_ref-2">^</a></b></span> '
    '<span class="reference-text">The mayor was ill, and came all the same.</span></li></ol></div>'
    "</div>" + references(note(1, "b", BRIDGE, "Bridge"), note(3, "", TRAM, "Tram"))
)
PICTURED = (
    f"<p>The old bridge of Varde was opened in 1911 by the mayor.{ref(1, '')} "
    f"The tram reached the harbour in 1940.{ref(2, 't')} "
    f"It carried 90,000 people in its first year.{ref(2, 't', 1)} "
    f"The market hall burnt down in 1963.{ref(3, '')}</p>"
    + references(
        note(1, "", BRIDGE, "Bridge"),
        note(2, "t", TRAM, "Tram"),
        note(3, "", "https://a.example/hall", "Hall"),
    )
)
ARTICLES = {"plain": PLAIN, "sections": SECTIONS, "older": OLDER}


def page(skin: str, content: str, title: str = "Varde", *, dark: bool = False) -> str:
    """A page of the wiki, with the user script."""

    config = {
        "skin": skin,
        "wgTitle": title,
        "wgPageName": title.replace(" ", "_"),
        "wgScriptPath": "/w",
        "wgAction": "view",
        "wgIsArticle": True,
        "wgRevisionId": 7,
        "wgUserLanguage": "en",
        "wgPageContentLanguage": "en",
    }
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
