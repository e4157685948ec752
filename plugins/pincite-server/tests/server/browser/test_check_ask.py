"""Corpora, checks and answers in a browser: the main ways, by keyboard too, and how they look."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect
from server.browser.watched import Watched, seen_in_all_looks
from server.processes import Served

Watch = Callable[..., Watched]
KNOWLEDGE, ABSTRACTS = "Demo: a knowledge base", "Demo: sixty abstracts"
BALANCED = "Cycling accidents in Hallin fell after the speed limit of 2021."
QUESTION = "Does velorin reduce the number of migraine days?"


def ask_for(page: Page, path: str, text: str, corpus: str, button: str) -> None:
    page.goto(path)
    page.locator("textarea").fill(text)
    page.locator("select[name=corpus]").select_option(label=corpus)
    page.get_by_role("button", name=button).click()


@pytest.fixture(scope="session")
def checked(demo: Served) -> str:
    """The job of a check, done."""
    return demo.ran("check", statement=BALANCED, corpus=corpus_of(demo, KNOWLEDGE))


@pytest.fixture(scope="session")
def answered(demo: Served) -> str:
    return demo.ran("ask", question=QUESTION, corpus=corpus_of(demo, ABSTRACTS))


def corpus_of(demo: Served, name: str) -> str:
    listed = demo.get("/api/v1/corpora")["corpora"]
    return str(next(c["corpus_id"] for c in listed if c["name"] == name))


def test_readings_are_edited_before_the_evidence(watch: Watch) -> None:
    with watch() as seen:
        page = seen.page("/check")
        ask_for(page, "/check", BALANCED, KNOWLEDGE, "Find readings")
        expect(page.get_by_role("button", name="Look for evidence")).to_be_visible()
        page.locator("textarea").last.fill("The Skeld dam was completed in 1971.")
        page.get_by_role("button", name="Look for evidence").click()
        expect(page.locator("article.finding")).to_have_count(2)
        first, second = page.locator("article.finding").all()
        # Two texts for it and one against: which side of ±0.2 the mean falls on is the network's.
        expect(first.locator(".result .chip")).to_contain_text(re.compile("balanced|weak"))
        expect(first.locator(".side")).to_have_count(2)
        expect(second.locator(".result .chip")).to_contain_text("disconfirmation")
        first.get_by_text("Add to a test set").click()
        first.get_by_role("combobox").last.select_option("inconclusive")
        first.get_by_role("button", name="Add", exact=True).click()
        expect(page.get_by_text("You said: right.")).to_be_visible()


def test_an_answer_grows_and_its_references_open_by_keyboard(watch: Watch) -> None:
    with watch() as seen:
        page = seen.page("/ask")
        ask_for(page, "/ask", QUESTION, ABSTRACTS, "Ask")
        sentence = page.locator("[data-standing]").first
        expect(sentence).to_be_visible()
        expect(page.get_by_role("link", name="BibTeX")).to_be_visible()  # all of it
        expect(sentence.locator("> .chip")).to_contain_text("verbatim from")
        tip = sentence.locator(".tip").first
        expect(tip).to_be_hidden()
        sentence.locator(".cited a").first.focus()
        expect(tip.locator("mark")).to_be_visible()
        page.keyboard.press("Escape")
        expect(tip).to_be_hidden()
        expect(page.locator(".retracted").first).to_contain_text("RETRACTED")
        with page.expect_download() as got:
            page.get_by_role("link", name="BibTeX").click()
        assert "@" in got.value.path().read_text(encoding="utf-8")
        page.goto("/history?kind=ask")
        expect(page.locator("main")).to_contain_text(QUESTION)


def test_nothing_serious_and_nothing_beyond_the_edge(
    watch: Watch, demo: Served, article: str, checked: str, answered: str
) -> None:
    corpus = corpus_of(demo, KNOWLEDGE)
    paths = ["/", "/history", "/help", "/corpora", f"/corpora/{corpus}?q=dam", "/check", "/ask"]
    paths += [f"/jobs/{each}" for each in (article, f"{article}?threshold=0.9", checked, answered)]
    dam = "The Skeld dam was completed in 1971."
    paths.append(f"/jobs/{demo.ran('check', statement=[BALANCED, dam], corpus=corpus)}")
    papers = corpus_of(demo, ABSTRACTS)
    paths.append(f"/jobs/{demo.ran('ask', question=[QUESTION, 'Who is it?'], corpus=papers)}")
    with watch() as seen:
        page = seen.page("/corpora")
        for path in paths:
            page.goto(path)
            seen_in_all_looks(page)
