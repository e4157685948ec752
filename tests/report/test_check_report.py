"""Every format of a check report: what it says, and that no text in it becomes anything else."""

import io
import json
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from check_samples import check_report, result
from hostile import CASES, Page
from hypothesis import given as given_any
from hypothesis import strategies as st
from rich.console import Console
from support.rows import each_row

from pincite.errors import ConfigError, MissingExtra
from pincite.judgement.confirmation import Outcome
from pincite.judgement.provenance import Source, SourceKind
from pincite.report.cells import BARS, REASONS
from pincite.types import Bar, Exclusion, Reason, Unchecked
from pincite.verbs.check import render, terminal, wording
from pincite.verbs.check.report import CheckReport
from pincite.verbs.check.spoken import Occasion


def test_several_statements_have_a_summary_and_distinct_footnotes() -> None:
    one = check_report()
    both = replace(one, checks=(*one.checks, replace(one.checks[0], statement="Vole")))
    text = render.to_footnotes(both)
    marks = re.findall(r"^\[\^([^]]+)\]:", text, re.MULTILINE)
    assert len(marks) == len(set(marks)) > 2
    assert set(re.findall(r"\[\^([^]]+)\](?!:)", text)) == set(marks)
    page = Page(render.to_html(both))
    assert {"#check-1", "#check-2"} <= set(page.all("href"))
    assert console_text(both).count("Vole") == 2


def test_quotes_are_marked_in_their_passages() -> None:
    assert set(Page(render.to_html(check_report())).marked) == {"Varde"}


def with_sources(*sources: Source, outcome: Outcome = Outcome.BALANCED) -> CheckReport:
    """The sample, its first documents with these sources; the third is against."""
    report = check_report()
    (check,) = report.checks
    first = check.results[0]
    named = zip(first.items, [*sources, *[Source()] * len(first.items)], strict=False)
    items = tuple(replace(item, source=source) for item, source in named)
    first = replace(first, items=items, weight=replace(first.weight, outcome=outcome))
    return replace(report, checks=(replace(check, results=(first,)),))


def console_text(report: CheckReport, limit: int = 3) -> str:
    console = Console(record=True, width=160, file=io.StringIO())
    terminal.print_report(report, console, limit=limit)
    return console.export_text()


def test_what_contradicts_a_reading_comes_first_and_independent_sources_before_own() -> None:
    own = Source(SourceKind.PRESS_RELEASE, "Varde Council", own=True)
    report = with_sources(own, Source(SourceKind.PRESS, "Varde Post", "Ada Holm"))
    page = render.to_html(report)
    assert page.index("Against it (1)") < page.index("For it (2)")
    assert page.index("Varde Post · Ada Holm") < page.index("press release · Varde Council")
    written = render.to_markdown(report)
    assert written.index("Against it:") < written.index("For it:")
    assert written.index("Varde Post") < written.index("Varde Council")
    footnotes = render.to_footnotes(report)
    assert footnotes.index("[^1]: Against") < footnotes.index(": For")
    shown = console_text(report, limit=1)
    assert shown.index("against") < shown.index("for  ")
    rows = [line.split(",") for line in render.to_csv(report).splitlines()]
    assert rows[1][rows[0].index("source_kind")] == "press_release"


@pytest.mark.parametrize(
    ("sources", "named"),
    [
        ([Source(speaker="Ada Holm")] * 2, "Ada Holm"),
        ([Source(publisher="Varde Council", own=True)] * 2, "Varde Council"),
        (
            [Source(speaker="Ada Holm"), Source(publisher="Varde Council", own=True)],
            "Ada Holm, Varde",
        ),
        ([Source(speaker="Ada Holm"), Source(publisher="Varde Post")], ""),
        ([Source(publisher="Varde Council", own=True, primary=True)] * 2, ""),
    ],
)
def test_the_label_names_those_who_alone_say_so(sources: list[Source], named: str) -> None:
    report = with_sources(*sources, outcome=Outcome.CONFIRMATION)
    (result,) = report.checks[0].results
    (review,) = json.loads(render.to_claimreview(report))["@graph"]
    rating = review["reviewRating"]
    shown = console_text(report), render.to_markdown(report), render.to_footnotes(report)
    written = *shown, render.to_html(report), render.to_csv(report), rating["alternateName"]
    assert all(result.label in each for each in written)
    assert (named or wording.LOOKS[result.weight.outcome].label) in result.label
    assert (rating["ratingValue"] == 4) is bool(named)


@pytest.mark.parametrize(
    ("text_ids", "outcome", "said"),
    [
        ((1, 1, 2, 2, 2), Outcome.BALANCED, "2 documents"),
        ((1, 1, 1, 1, 1), Outcome.BALANCED, "one document"),
        ((1, 1, 1, 1, 1), Outcome.CONFIRMATION, "1 document "),
        ((1, 2, 2, 3, 4), Outcome.CONFIRMATION, "4 documents"),
    ],
)
def test_a_warning_counts_documents(text_ids: tuple[int, ...], outcome: Outcome, said: str) -> None:
    first = check_report().checks[0].results[0]
    items = tuple(replace(first.items[0], text_id=each) for each in text_ids)
    weight = replace(first.weight, outcome=outcome, contradictions=tuple(range(len(items))))
    assert said in wording.warning(replace(first, items=items, weight=weight)).partition(";")[0]


def test_a_page_is_accessible() -> None:
    """In English around quotes of any language, its headings without gaps, no colour alone."""
    page = render.to_html(check_report())
    assert '<html lang="en">' in page
    levels = [int(level) for level in re.findall(r"<h([1-6])", page)]
    assert levels[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    chips = re.findall(r'<span class="chip \w+"><span aria-hidden="true">(\W+)</span> \w', page)
    assert len(chips) == page.count('class="chip ')  # a sign and words


def test_a_template_of_evidence_seeker_needs_its_plugin(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(render, "entry_points", lambda **_: ())
    template = tmp_path / "theirs.tmpl"
    template.write_text("{{ evse_result.request }}")
    with pytest.raises(MissingExtra, match="pincite-evidenceseeker"):
        render.to_markdown(check_report(), template)


@pytest.mark.parametrize("name", ["claims", "claims[0].documents[0].metadata"])
def test_a_template_that_prints_a_table_prints_no_markup(tmp_path: Path, name: str) -> None:
    (tmp_path / "own.md.j2").write_text(f"{{{{ {name} }}}}")
    written = render.to_markdown(check_report("# <b>x</b>"), tmp_path / "own.md.j2")
    assert "<b>" not in written.replace("\\<", "")


@each_row("report/check_report/unsafe_and_broken_templates")
def test_unsafe_and_broken_templates(tmp_path: Path, text: str) -> None:
    (tmp_path / "bad.md.j2").write_text(text)
    with pytest.raises(ConfigError, match=r"bad.md.j2 cannot be filled in"):
        render.to_markdown(check_report(), tmp_path / "bad.md.j2")
    with pytest.raises(ConfigError, match="cannot be read"):
        render.to_markdown(check_report(), tmp_path / "none.md.j2")


TEXTS = st.text(st.characters()) | st.sampled_from(["no", "1e5", "a: b #", "\x85\u2028", "\ud800"])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
)


@given_any(VALUES)
def test_yaml_of_any_shape(value: object) -> None:
    text = render.to_yaml(value)
    assert yaml.safe_load(text) == value
    assert json.dumps(yaml.safe_load(text)) == json.dumps(value)  # 1 and True are equal too


@given_any(TEXTS)
def test_yaml_of_a_text_says_that_it_is_one(text: str) -> None:
    """Whichever version of YAML its reader knows: 1.1 and 1.2 differ in "no", "y" and "1e5"."""
    assert re.fullmatch(r'- "[^\n]*"\n', render.to_yaml([text]))


@pytest.mark.parametrize(("text", "url"), CASES)
def test_claimreview_is_valid_and_holds_no_markup(text: str, url: str) -> None:
    written = render.to_claimreview(check_report(text, url))
    assert "<" not in written
    document = json.loads(written)
    reviews = document["@graph"]
    assert [review["reviewRating"]["ratingValue"] for review in reviews] == [4, 4, 2]
    assert all(review["@type"] == "ClaimReview" for review in reviews)
    works = [work for review in reviews for work in review["citation"]]
    assert all(work.get("url", "http").startswith("http") for work in works)
    assert works[0]["datePublished"] == "2010-05-14"


def test_claimreview_can_be_published() -> None:
    report = check_report()
    names = ("author", "author_url", "url")
    values = ("Faktencheck Süd", "https://sued.example/", "https://sued.example/2026/tram")
    mine = {f"claimreview.{n}": value for n, value in zip(names, values, strict=True)}
    report = replace(report, settings={**report.settings, **mine})
    reviews = json.loads(render.to_claimreview(report))["@graph"]
    for review in reviews:
        assert review["author"] == {"@type": "Organization", "name": values[0], "url": values[1]}
        assert review["inLanguage"] == "en"
        rating = review["reviewRating"]
        assert rating["worstRating"] <= rating["ratingValue"] <= rating["bestRating"]
        assert rating["alternateName"]
    page = render.to_html(report)
    assert len({review["url"] for review in reviews}) == len(reviews)
    assert all(f'id="{review["url"].partition("#")[2]}"' in page for review in reviews)
    assert len([*render.before_publishing(report)]) == 1


def test_claimreview_invents_no_publisher() -> None:
    (first, *_) = json.loads(render.to_claimreview(check_report()))["@graph"]
    assert not {"author", "url"} & set(first)
    assert (
        "claimreview.author, claimreview.author_url"
        in [*render.before_publishing(check_report())][-1]
    )


def test_a_terminal_shows_a_strong_contradiction_whatever_the_limit() -> None:
    shown = console_text(check_report(), limit=0)
    assert re.search(r"against +−0.80", shown)
    assert "stopped after 1 of 2 statements" in shown


def test_the_nearest_neutral_quotes_are_shown_if_nothing_else_is() -> None:
    report = check_report()
    (check,) = report.checks
    neutral = result(1, "The pier was sold.", "https://varde.example/", 0.0, 0.0)
    assert len(neutral.nearest) == 2
    assert result(1, "The pier was sold.", "https://varde.example/", 0.0, 0.9).nearest == []
    only = replace(report, checks=(replace(check, results=(neutral,)),))
    for written in (render.to_markdown(only), render.to_footnotes(only), render.to_html(only)):
        assert "The pier was sold." in written
    assert "[^1]: " in render.to_footnotes(only)
    assert "“The pier was sold" in console_text(only)
    assert [*render.before_publishing(only)] == [
        "claimreview: no reading has a rating, so the file holds no review."
    ]


def test_claimreview_names_speaker_and_date_of_a_statement() -> None:
    report = check_report()
    spoken = replace(report.checks[0], occasion=Occasion("Mayor Oduya", "2019-05"))
    (first, *_) = json.loads(render.to_claimreview(replace(report, checks=(spoken,))))["@graph"]
    assert first["itemReviewed"]["author"]["name"] == "Mayor Oduya"
    assert first["itemReviewed"]["datePublished"] == "2019-05"


def test_pages_that_are_not_evidence_are_listed_in_words() -> None:
    unread = Unchecked("https://a.example/", Reason.SOFT_404, "")
    barred = Exclusion("https://b.example/", "", Bar.WIKI)
    report = check_report("plain", "https://varde.example/")
    first = replace(report.checks[0].results[0], unread=(unread,), excluded=(barred,))
    report = replace(report, checks=(replace(report.checks[0], results=(first,)),))
    for text in (render.to_markdown(report), render.to_html(report), console_text(report)):
        assert REASONS[unread.reason] in text
        assert BARS[barred.bar] in text
