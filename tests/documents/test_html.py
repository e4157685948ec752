"""Web pages: the article, restored blocks, anchors and metadata."""

import json
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from support.found import refusal
from support.rows import each_row

from pincite.documents import html, html_head, html_text, lost_blocks
from pincite.documents.body import Body
from pincite.documents.html_head import Statements, author_of, headline_of
from pincite.documents.html_text import Anchor, Block
from pincite.documents.lost_blocks import restore_blocks
from pincite.documents.markup import addresses_in, parse_page
from pincite.documents.outcome import TEASER_WORDS
from pincite.documents.text import with_language
from pincite.types import Document, Reason, Unchecked

PARAGRAPHS = [
    "The harbour bridge of Lindvik was opened on 4 May 1931 by the mayor, Ada Holm, after "
    "six years of work and two changes of contractor.",
    "It is 412 metres long and carried a tram line until 1968, when the line was closed against "
    "the votes of the district council.",
    "Since 2004 the bridge has been listed as a monument, and its lamps have been lit by the "
    "same family of electricians for three generations.",
]
ARTICLE = f"""<!doctype html><html lang="en-GB"><head>
<title>The harbour bridge - Lindvik Post</title>
<meta property="og:title" content="The harbour bridge"><meta name="author" content="Eva Lund">
<meta property="og:site_name" content="Lindvik Post">
<meta property="article:published_time" content="2011-03-04T08:00:00Z">
<link rel="canonical" href="https://post.example/bridge">
<script>var secret = "not text";</script><style>p {{ color: red }}</style></head>
<body><nav><a href="/">Home</a> <a href="/sport">Sport</a></nav>
<article><h1>The harbour bridge</h1>{"".join(f"<p>{p}</p>" for p in PARAGRAPHS)}
<h2>Figures</h2>
<table><tr><th>Year</th><th>Trams</th></tr><tr><td>1950</td><td>312</td></tr></table>
<p style="display: none">The bridge is made of cheese and nobody has seen it in the daytime.</p>
</article><footer>Imprint and terms</footer></body></html>"""


def read(source: str | bytes, **known: str) -> Document | Unchecked:
    data = source.encode() if isinstance(source, str) else source
    body = Body("https://post.example/b?id=1", data, **known)  # type: ignore[arg-type]
    return with_language(html.read_html(body))


def document(source: str | bytes) -> Document:
    found = read(source)
    assert isinstance(found, Document), found
    return found


def test_an_article_has_its_text_table_and_metadata_alone() -> None:
    found = document(ARTICLE)
    lines = found.text.split("\n")
    assert all(paragraph in lines for paragraph in PARAGRAPHS)
    assert any("; " in line and line.endswith(": 312") for line in lines)
    assert found.title == "The harbour bridge"
    assert found.language == "en"
    assert found.published == "2011-03-04"
    assert found.kind == "html"
    assert found.meta == {"site": "Lindvik Post", "author": "Eva Lund"}
    absent = ("not text", "color", "cheese", "Imprint", "Sport", "---")
    assert not [words for words in absent if words in found.text]


def test_a_front_page_gives_its_headlines() -> None:
    headlines = [f"District {n} votes for a new tram line to the harbour" for n in range(40)]
    items = "".join(f"<div class='card'><h3><a href='/{h}'>{h}</a></h3></div>" for h in headlines)
    found = document(f"<html><body><h1>Lindvik Post</h1><main>{items}</main></body></html>")
    assert all(headline in found.text for headline in headlines)


@each_row("documents/html/a_term_and_its_value_are_one_line")
@pytest.mark.parametrize("running", ["", f"<p>{PARAGRAPHS[0]}</p><p>{PARAGRAPHS[1]}</p>"])
def test_a_term_and_its_value_are_one_line(markup: str, lines: list[str], running: str) -> None:
    found = document(f"<html><body><main><h1>The mill</h1>{running}{markup}</main></body></html>")
    assert set(lines) <= {line.removeprefix("- ") for line in found.text.split("\n")}


def test_visible_text_keeps_blocks_apart_and_words_together() -> None:
    source = "<body><h1>A b<b>o</b>ld title</h1><p>one<br>two</p><p>three\n four</p></body>"
    page = parse_page(source)
    assert page
    text = html_text.visible_text(page).text
    assert text.split() == "A bold title one two three four".split()
    assert "three four" in text


@pytest.mark.parametrize(
    ("encoding", "meta"),
    [("utf-8", ""), ("mac-roman", "macintosh"), ("utf-16", ""), ("utf-8", "iso-8859-1")],
)
def test_pages_are_decoded_whatever_they_declare(encoding: str, meta: str) -> None:
    head = f'<meta charset="{meta}">' if meta else ""
    source = f"<html><head>{head}</head><body><p>Åse waited.</p></body></html>"
    assert document(source.encode(encoding)).text == "Åse waited."


@each_row("documents/html/signs_of_a_paywall_in_the_markup")
def test_signs_of_a_paywall_in_the_markup(head: str, more: str) -> None:
    body = f"<p>{PARAGRAPHS[0]}</p>{more}"
    page = f"<html><head>{head}</head><body>{body}</body></html>"
    assert refusal(read(page)).reason is Reason.PAYWALL


@pytest.mark.parametrize("content", ["True", "true", ""])
def test_a_free_page_has_no_paywall(content: str) -> None:
    free = f'<meta itemprop="isAccessibleForFree" content="{content}">'
    assert document(f"<html><head>{free}</head><body><p>{PARAGRAPHS[0]}</p></body></html>")


@pytest.mark.parametrize("start", ["<html><body>", "<p>First</p>", "First ", "4 > 3 "])
def test_text_below_the_parsers_depth_is_not_lost(start: str) -> None:
    source = f"{start}{'<div>' * 1_000}far down{'</div>' * 1_000}<p>after</p>"
    text = document(f"{source}<script>no</script></body></html>").text
    shown = start.replace("<html><body>", "").replace("<p>", "").replace("</p>", "")
    assert text.split() == [*shown.split(), "far", "down", "after"]


def test_addresses_a_page_states() -> None:
    assert addresses_in(ARTICLE) == ["https://post.example/bridge"]
    saved = "<!-- saved from url=(0026)https://post.example/saved --><html><body>x</body></html>"
    assert addresses_in(saved) == ["https://post.example/saved"]
    bad = '<html><head><link rel="canonical" href="javascript:alert(1)"><p>x</html>'
    assert addresses_in(bad) == []
    assert addresses_in('<link rel="canonical" href="http://[bad">') == []


def page(body: str, head: str = "") -> str:
    return f"<!doctype html><html lang='en'><head>{head}</head><body>{body}</body></html>"


LOST = "The bridge was repainted in 1987, in a green that nobody had asked for."
RUNNING = "".join(f"<p>{paragraph}</p>" for paragraph in PARAGRAPHS)


@each_row("documents/html/no_part_of_an_article_is_lost")
def test_no_part_of_an_article_is_lost(markup: str) -> None:
    source = f"<article><h1>The bridge</h1>{markup}<p>{PARAGRAPHS[2]}</p></article>"
    text = document(page(source)).text
    places = [text.find(part) for part in (PARAGRAPHS[0], LOST, PARAGRAPHS[1], PARAGRAPHS[2])]
    assert -1 not in places
    assert places == sorted(places)


def test_the_lead_below_the_headline_is_read() -> None:
    lead = f"<header><h1>The bridge</h1><p class='standfirst'>{LOST}</p></header>"
    source = f"{lead}<div class='share'>Share</div><main>{RUNNING}</main>"
    assert LOST in document(page(source)).text


def test_comments_before_other_text_are_excluded() -> None:
    comments = f"<div id='comments'><div class='comment-body'><p>{LOST}</p></div></div>"
    about = "<p>The Lindvik Post has reported from the harbour since 1896 without a break.</p>"
    found = document(page(f"<div class='post'><h1>Bridge</h1>{RUNNING}{comments}{about}</div>"))
    assert PARAGRAPHS[2] in found.text
    assert LOST not in found.text


@each_row("documents/html/hidden_text_is_not_evidence")
def test_hidden_text_is_not_evidence(hidden: str) -> None:
    middle = f"<p>{PARAGRAPHS[0]}</p>{hidden}<p>{PARAGRAPHS[1]}</p><p>{PARAGRAPHS[2]}</p>"
    text = document(page(f"<article><h1>The bridge</h1>{middle}</article>")).text
    assert LOST not in text
    assert all(paragraph in text for paragraph in PARAGRAPHS)


@each_row("documents/html/light_and_small_text_is_kept")
def test_light_and_small_text_is_kept(shown: str, head: str) -> None:
    middle = f"<p>{PARAGRAPHS[0]}</p>{shown}<p>{PARAGRAPHS[1]}</p><p>{PARAGRAPHS[2]}</p>"
    assert LOST in document(page(f"<article><h1>The bridge</h1>{middle}</article>", head)).text


def test_article_body_of_json_ld() -> None:
    head = script(articleBody=" ".join(PARAGRAPHS))
    found = document(page("<div id='root'>Loading</div><script src='app.js'></script>", head))
    assert all(paragraph in found.text for paragraph in PARAGRAPHS)


def test_a_long_lead_does_not_hide_a_paywall() -> None:
    lead = " ".join(f"{LOST[:-1]} on pier {n}." for n in range(7))
    more = "".join(f"<p>Of the second bridge: {paragraph}</p>" for paragraph in PARAGRAPHS)
    header = f"<header><h1>The bridge</h1><p class='standfirst'>{lead}</p></header>"
    article = f"{header}<div class='share'>Share</div><main>{RUNNING}{more}</main>"
    assert len(document(page(article)).text.split()) > TEASER_WORDS
    wall = "<div class='paywall'>Subscribe to continue reading</div>"
    assert refusal(read(page(article + wall))).reason is Reason.PAYWALL


TODAY_BAR = (
    "<center><div id='HEADER'><table><tr><td>archive.today webpage capture</td><td>Saved from"
    "</td></tr></table></div><div id='CONTENT'>",
    "</div><div id='DIVSHARE'>share, download, report an error</div></center>",
)


@pytest.mark.parametrize("body", [ARTICLE, f"<html><body><p>{PARAGRAPHS[0]}</p></body></html>"])
def test_the_banner_of_archive_today_is_removed(body: str) -> None:
    before, after = TODAY_BAR
    framed = body.replace("<body>", f"<body>{before}").replace("</body>", f"{after}</body>")
    text = document(framed).text
    assert PARAGRAPHS[0] in text
    assert not [word for word in ("capture", "Saved", "share") if word in text]


@pytest.mark.parametrize("body", [ARTICLE, f"<html><body><p>{PARAGRAPHS[0]}</p></body></html>"])
def test_the_insert_of_the_wayback_machine_is_cut_by_its_comments(body: str) -> None:
    begin = "<!-- BEGIN WAYBACK TOOLBAR INSERT -->"
    end = "<!-- END WAYBACK TOOLBAR INSERT -->"
    bar = f"{begin}<div class='new'><p>Saved 9 times by the Wayback Machine in 2014.</p></div>{end}"
    plain = document(body).text
    assert document(body.replace("<body>", f"<body>{bar}")).text == plain
    assert PARAGRAPHS[0] in document(body.replace("<body>", f"<body>{begin}")).text


def test_a_page_with_an_id_as_in_archives() -> None:
    page = f"<html><body><div id='HEADER'><p>{PARAGRAPHS[0]}</p></div></body></html>"
    assert PARAGRAPHS[0] in document(page).text


FIRST = "The council of Lindvik met on Tuesday to speak about the harbour."
LEFT_OUT = "Its oldest crane was sold for scrap in the autumn of 1987."
NEXT = "Nobody spoke for the engineers who had asked to keep it."
EXTRACTED = f"{FIRST}\n{NEXT}"


SECOND = "A museum had offered twice as much for it."
MIDDLE = "A vote was then put off until the engineers had been heard."
TEASER = Block("Also today: a bakery on the square closes after ninety years.")
STORIES = [
    Block(f"Story number {n} has these few words") for n in range(lost_blocks.MAX_LEAD_WORDS // 6)
]
ENDS = (Block(FIRST), Block(NEXT))
HEADLINE = Block("Crane sold", headline=True)


@pytest.mark.parametrize(
    ("blocks", "expected"),
    [
        ([Block(FIRST), Block(LEFT_OUT), Block("Advert"), Block(SECOND), Block(NEXT)],
         f"{FIRST}\n{LEFT_OUT}\n{SECOND}\n{NEXT}"),
        ([Block(FIRST), Block("Read more: the crane nobody bought", linked=0.8), Block(NEXT)],
         EXTRACTED),
        ([Block(FIRST), *ENDS], EXTRACTED),  # said twice on the page
        ([TEASER, *ENDS, TEASER], EXTRACTED),  # outside of the article
        ([TEASER, HEADLINE, Block(LEFT_OUT), *ENDS], f"{LEFT_OUT}\n{EXTRACTED}"),
        ([TEASER, Block("The sale of the crane"), Block(LEFT_OUT), *ENDS],
         f"{LEFT_OUT}\n{EXTRACTED}"),
        ([HEADLINE, *STORIES, *ENDS], EXTRACTED),
    ],
)  # fmt: skip
def test_blocks_between_extracted_lines_are_restored(blocks: list[Block], expected: str) -> None:
    assert restore_blocks(EXTRACTED, blocks, "The sale of the crane | Lindvik Post") == expected


def test_blocks_between_distant_lines_are_not_restored() -> None:
    blocks = [Block(FIRST), Block(LEFT_OUT), Block(NEXT), Block(MIDDLE)]
    assert restore_blocks(f"{FIRST}\n{MIDDLE}\n{NEXT}", blocks, "") == f"{FIRST}\n{MIDDLE}\n{NEXT}"
    texts = ["委员会星期二开会讨论港口。", "起重机在秋天被卖掉了。", "没有人为工程师说话。"]
    found = restore_blocks(f"{texts[0]}\n{texts[2]}", list(map(Block, texts)), "")
    assert found.split("\n") == texts


def linked_data(*things: object) -> Statements:
    return Statements(works=html_head.written_works(map(json.dumps, things)))


def article(**fields: object) -> dict[str, object]:
    return {"@context": "https://schema.org", "@type": "NewsArticle", **fields}


def script(**fields: object) -> str:
    data = json.dumps(article(**fields))
    return f"<script type='application/ld+json'>{data}</script>"


SITE = "<meta property='og:site_name' content='Lindvik Post'>"
TITLE = "<title>The harbour bridge - Lindvik Post</title>"
PUBLISHER = {"@type": ["Organization", "NewsMediaOrganization"], "name": "Lindvik Post"}
BYLINE = (
    "<a rel='author'></a><span itemprop='author'><b itemprop='name'>By Eva Lund</b></span>"
    "<time itemprop='datePublished' datetime='2011-03-04'>Friday</time>"
)
OTHER_DATE = "<time datetime='2019-05-05'>May</time>"


@pytest.mark.parametrize(
    ("head", "above", "expected"),
    [
        ("", "", {"published": None, "author": None, "type": None}),
        ("", BYLINE, {"published": "2011-03-04", "author": "Eva Lund"}),
        (
            f"<meta property='og:title' content='This bridge'>"
            f"{script(headline='The bridge', datePublished='2011-03-04T08:00:00Z')}",
            OTHER_DATE,
            {"title": "The bridge", "published": "2011-03-04"},
        ),
        (script(publisher=PUBLISHER), "", {"type": "NewsArticle; NewsMediaOrganization"}),
        (script(**{"@type": "WebPage"}), "", {"type": None}),
        ("<meta property='article:section' content='Comment'>", "", {"type": "OpinionNewsArticle"}),
        (SITE + TITLE, "", {"site": "Lindvik Post", "headline": "The harbour bridge"}),
        (script(publisher=PUBLISHER) + TITLE, "", {"site": "Lindvik Post"}),
        (TITLE, "", {"website": "Lindvik Post", "headline": "The harbour bridge"}),
    ],
)
def test_metadata_is_what_the_page_states(
    head: str, above: str, expected: dict[str, str | None]
) -> None:
    found = document(page(f"<article><h1>The harbour bridge</h1>{above}{RUNNING}</article>", head))
    stated = {"title": found.title, "published": found.published, **found.meta}
    assert {name: stated.get(name) for name in expected} == expected


@each_row("documents/html/authors_of_a_page")
def test_authors_of_a_page(head: dict[str, object], byline: str, expected: str) -> None:
    source = f"<article><h1>Bridge</h1>{byline}{RUNNING}</article>"
    found = document(page(source, script(**head) + SITE))
    assert found.meta.get("author", "") == expected


@pytest.mark.parametrize(
    "name",
    [
        *("Edit", "By", "admin", "Staff Writer", "Lindvik Post", "https://post.example/eva"),
        *("eva@post.example", "@eva", "4 May 2011", "—", "", "View profile", "x" * 100),
    ],
)
def test_names_of_no_person_are_no_authors(name: str) -> None:
    stated = Statements(metas={"citation_author": [name]})
    assert author_of(stated, "Lindvik Post", guess=name) == ""


@each_row("documents/html/bylines_without_their_introduction")
def test_bylines_without_their_introduction(byline: str, name: str) -> None:
    assert author_of(Statements(), "", byline) == name


TITLES = Path(__file__).parents[1] / "cases" / "titles"


@pytest.mark.parametrize("row", json.loads((TITLES / "written.json").read_text()))
def test_the_title_of_a_page_is_apart_from_the_name_of_its_site(row: dict[str, Any]) -> None:
    given = (row["title"], row["headline"], row["name"], row["host"])
    assert html_head.title_and_site(*given) == tuple(row["is"])


def test_authors_of_a_catalogue_come_first_and_a_collaboration_is_cut() -> None:
    names = [f"Author {'x' * n}" for n in range(1, 50)]
    found = author_of(Statements(metas={"citation_author": names}), "", "template")
    assert found.count("; ") == html_head.MAX_AUTHORS - 1


def test_broken_and_deep_linked_data_states_nothing() -> None:
    texts = ["{", "[" * 100_000, '"Article"', "null", "[[[1]]]", "<![CDATA[", "]]>", ""]
    texts.append('{"@graph": 3}')
    stated = Statements(works=html_head.written_works(texts))
    assert (headline_of(stated), html_head.published_of(stated)) == ("", None)


@pytest.mark.parametrize(
    ("begin", "end"),
    [("<![CDATA[", "]]>"), ("//<![CDATA[\n", "\n//]]>"), ("/* <![CDATA[ */ ", " /* ]]> */")],
)
def test_linked_data_in_a_cdata_section(begin: str, end: str) -> None:
    text = f"\n{begin}{json.dumps(article(headline='Crane sold'))}{end}\n"
    assert headline_of(Statements(works=html_head.written_works([text]))) == "Crane sold"


def test_linked_data_may_mention_cdata() -> None:
    text = json.dumps(article(headline="Crane sold", articleBody="XML has <![CDATA[ and ]]> too."))
    assert headline_of(Statements(works=html_head.written_works([text]))) == "Crane sold"


def test_only_the_one_whole_headline_of_an_article_counts() -> None:
    assert headline_of(linked_data(article(headline="Crane &amp; ship"))) == "Crane & ship"
    assert headline_of(linked_data(article(headline="Crane sold to the highest …"))) == ""
    front_page = [article(headline="Crane sold"), article(headline="Ship sunk")]
    assert headline_of(linked_data(front_page)) == ""
    assert headline_of(linked_data({"@type": "Organization", "headline": "Lindvik Post"})) == ""


def test_dates_of_publication() -> None:
    stated = linked_data(article(datePublished="2011-03-04", dateModified="2020-01-01"))
    assert html_head.published_of(stated, guess="2020-01-01") == "2011-03-04"
    metas = {"article:published_time": ["2012-03-04T08:00:00Z"]}
    assert html_head.published_of(Statements(metas=metas, dates=["2020-01-01"])) == "2012-03-04"
    assert html_head.published_of(Statements(dates=["", "2013-01-02"])) == "2013-01-02"
    assert html_head.published_of(Statements(), guess="2014-01-02") == "2014-01-02"
    assert html_head.published_of(Statements(dates=["yesterday"])) is None


def test_no_date_before_print_and_none_in_the_future() -> None:
    tomorrow = (date.today() + timedelta(days=2)).isoformat()
    assert html_head.published_of(Statements(dates=[tomorrow, "1492-10-12"])) is None
    assert html_head.published_of(Statements(dates=[tomorrow, "1952-10-12"])) == "1952-10-12"
    assert (
        html_head.published_of(linked_data(article(datePublished=str(date.today().year))))
        is not None
    )


FILLER = "The river runs by the town and boats lie at its quays all summer. " * 6
NAMED = f"""<html><head><title>Bridge</title></head><body>
<nav><a href="#History">History</a></nav>
<main><ul><li><a href="#History">History</a></li><li><a href="#Cost">Cost</a></li></ul>
<h1>The bridge</h1><p>{FILLER}</p>
<h2 id="History">History</h2><p>The bridge opened in 1911 after long delay. {FILLER}</p>
<h2><span id="Cost">Cost</span></h2><p>It took two million crowns to build. {FILLER}</p>
<p><a name="old"></a>Names of old pages work as well as new ones. {FILLER}</p>
<p id="hidden" style="display:none">Nobody sees what is written here.</p>
</main></body></html>"""


def test_anchors_locate_the_following_words() -> None:
    page = document(NAMED)
    following = {name: " ".join(page.text[at:].split()[:4]) for name, at in page.anchors.items()}
    assert following == {
        "History": "History The bridge opened",
        "Cost": "Cost It took two",
        "old": "Names of old pages",
    }


def test_anchors_are_limited_in_number_and_text() -> None:
    lines = "".join(
        f"<p id='n{n}'>Number {n} of many</p>" for n in range(2 * html_text.MAX_ANCHORS)
    )
    assert len(document(page(lines)).anchors) == html_text.MAX_ANCHORS
    locate_anchors, anchor = html_text.locate_anchors, Anchor("a", "one two three")
    assert locate_anchors([anchor], "one two three") == {"a": 0}
    assert locate_anchors([anchor], "one two three " * 200_000) == {}
    assert locate_anchors([Anchor("a", ""), Anchor("b", "not there at all")], "one two") == {}


@pytest.mark.parametrize("tag", ["del", "s", "strike"])
def test_what_is_struck_out_is_no_text(tag: str) -> None:
    page = (
        f"<html><title>Lake</title><body><article><h1>Lake Sill</h1><p>Lake Sill is <{tag}>81"
        f"</{tag}> <ins>86</ins> metres deep, as the survey of the county found in 2011 after a "
        f"long summer of work. <{tag}>It was drained.</{tag}></p></article></body></html>"
    )
    found = document(page)
    assert "Sill is 86 metres" in found.text
    assert "81" not in found.text
    assert "drained" not in found.text


def test_entries_of_a_live_blog_are_read_once() -> None:
    shown = "The bridge at Holm is closed, the police say, and buses stop at the market square."
    older = "A barge struck the <b>second</b> pier of the bridge at noon &amp; sank."
    blog = {
        "@type": "LiveBlogPosting",
        "liveBlogUpdate": [
            {"@type": "BlogPosting", "headline": "Closed", "articleBody": shown},
            {"headline": "Barge", "datePublished": "2020-06-02T12:10", "articleBody": older},
            *("text", None, {"articleBody": 7}, {"headline": "No text"}),
        ],
    }
    page = (
        f'<html><head><title>Bridge</title><script type="application/ld+json">{json.dumps(blog)}'
        f"</script></head><body><article><h1>Bridge</h1><p>{shown}</p></article></body></html>"
    )
    found = document(page)
    assert found.text.count(shown) == 1
    entry = "Barge\n2020-06-02T12:10\nA barge struck the second pier of the bridge at noon & sank."
    assert entry in found.text
    assert "No text" not in found.text
