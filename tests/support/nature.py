"""Pages written for the tests that are not the page, copies of Wikipedia, and their neighbours.

Each file of `tests/cases/nature` has pages of one group: a line with the site's frame, language and
address, the title, and the body. Every second page is held back: no cue or weight was chosen by it.
"""

from dataclasses import dataclass
from html import escape
from pathlib import Path

CASES = Path(__file__).parents[1] / "cases" / "nature"
HALVES = (False, True)


@dataclass(frozen=True, slots=True)
class NaturePage:
    url: str
    source: str
    held_back: bool


def pages_of(group: str) -> list[NaturePage]:
    pages = []
    text = (CASES / f"{group}.txt").read_text(encoding="utf-8")
    for number, entry in enumerate(text.split("=== ")[1:]):
        head, title, body = entry.split("\n", 2)
        about, url = head.split(" | ")
        frame, language, *live = about.split()
        source = FRAMES[frame].format(
            title=escape(title),
            body=body,
            language=language,
            url=url,
            site=url.split("/")[2],
            json_ld=LIVE if live else ARTICLE,
        )
        pages.append(NaturePage(url, source, number % 2 == 1))
    return pages


ARTICLE = '{"@context": "https://schema.org", "@type": "WebPage"}'
LIVE = '{"@context": "https://schema.org", "@type": "LiveBlogPosting"}'
BARE = """<html><head><title>{title}</title></head><body>{body}</body></html>"""
PAPER = """<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<script src="/js/ads.js"></script></head><body><div class="cookie-bar"><p>We use cookies.</p>
<button>Accept</button></div><header><a href="/" class="logo">{site}</a><form action="/search">
<input type="search" name="q"><button>Search</button></form><nav><ul><li><a href="/news">News</a>
</li><li><a href="/sport">Sport</a></li><li><a href="/in">Sign in</a></li></ul></nav></header>
<main>{body}</main><aside><h2>Most read</h2><ol><li><a href="/x1">Heron nests on the town hall roof
</a></li><li><a href="/x2">Bakery wins prize for its rye loaf</a></li><li><a href="/x3">Lock gates
to be replaced in autumn</a></li></ol></aside><footer><ul><li><a href="/c">Contact us</a></li><li>
<a href="/t">Terms</a></li></ul><p>© {site}</p></footer></body></html>"""
SHOP = """<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
</head><body class="page"><div id="top"><div class="menu"><a href="/">Home</a>
<a href="/all">All</a> <a href="/basket">Basket (0)</a>
<a href="/account">My account</a></div></div><div class="crumbs">
<a href="/">Home</a> &raquo; <a href="/all">All</a></div><div id="content">{body}</div>
<div class="foot"><div class="col"><b>Visit</b> <a href="/open">Opening times</a></div>
<div class="col"><b>Newsletter</b> <form><input name="mail" placeholder="Your e-mail"></form></div>
</div></body></html>"""
APP = """<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta property="og:title" content="{title}"><meta property="og:url" content="{url}">
<script type="application/ld+json">{json_ld}</script></head><body><a class="skip" href="#m">Skip to
content</a><div class="bar" role="navigation"><a href="/">{site}</a><a href="/menu">Menu</a></div>
<div id="m" role="main"><article>{body}</article></div><div role="contentinfo"><a href="/privacy">
Privacy</a> <a href="/about">About</a></div><script src="/static/main.js"></script></body></html>"""
WIKI = """<!DOCTYPE html><html lang="{language}"><head><meta charset="utf-8"><title>{title}</title>
<meta name="generator" content="MediaWiki 1.31.1"></head><body class="mediawiki"><div id="content">
<h1 id="firstHeading">{title}</h1><div id="bodyContent"><div id="mw-content-text">{body}</div>
<div id="catlinks"><a href="/wiki/Category:Places">Places</a></div></div></div>
<div id="mw-navigation"><ul><li><a href="/wiki/Main_Page">Main page</a></li><li>
<a href="/wiki/Special:Random">Random page</a>
</li></ul></div></body></html>"""
FRAMES = {"bare": BARE, "paper": PAPER, "shop": SHOP, "app": APP, "wiki": WIKI}
