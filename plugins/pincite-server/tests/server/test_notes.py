"""Notes of reports on a German page: which have German words, and what becomes of their values."""

import re
from dataclasses import replace

import ask_samples
import pytest
import samples
from fastapi.testclient import TestClient
from server.corpora_of_tests import finished

from pincite import notes
from pincite.notes import ENGLISH, Note, as_written
from pincite_server.rendering import translations
from pincite_server.site import Site
from pincite_server.tables import Kind

GERMAN = translations("de").gettext
VALUES = ["31", "p. 12", "<b>%(x)s</b> 50 %", "a; b", "line\nbreak", "{n} \\1", "\ud800"]
CODES = sorted(set(ENGLISH) - {notes.AS_WRITTEN})


def german(note: Note) -> str:
    return notes.said(note, GERMAN)


def places(template: str) -> set[str]:
    return set(re.findall(r"%\((\w+)\)s", template))


@pytest.mark.parametrize("code", CODES)
def test_each_code_has_german_words_for_the_same_values(code: str) -> None:
    english, translated = ENGLISH[code], GERMAN(ENGLISH[code])
    assert places(translated) == places(english)
    only_values = "%(file)s: %(problem)s"
    assert (translated != english) == (english != only_values)
    for value in VALUES:
        values = {name: f"{value}{n}" for n, name in enumerate(sorted(places(english)))}
        for say in (str, GERMAN):
            words = notes.said(Note(code, values), say)
            assert all(each in words for each in values.values()), words


def test_several_words_are_quoted_as_the_language_quotes() -> None:
    note = Note("not_stated", {"words": ("1913", "May")})
    assert str(note) == "the passage does not state “1913”, “May”"
    assert german(note).endswith(": „1913“, „May“")


def test_a_text_without_a_code_stays_as_it_is() -> None:
    for text in ("%(x)s", "no document is relevant enough to the question", "\ud800"):
        (note,) = as_written(text)
        assert german(note) == str(note) == text


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────


def shown(client: TestClient, site: Site, kind: Kind, result: str, place: str = "") -> str:
    """The German page of a job's result."""
    job_id = finished(site, kind, result, corpus="x")
    page = client.get(f"/jobs/{job_id}{place}", headers={"Accept-Language": "de"})
    assert page.status_code == 200, page.text
    return page.text


def test_a_german_answer_says_in_german_why_there_is_none(client: TestClient, site: Site) -> None:
    why = (Note("nothing_relevant"),)
    silent = replace(ask_samples.abstained(), abstained_coded=why)
    told = ask_samples.answer_report(silent, ask_samples.broken_off(), ask_samples.every_standing())
    page = shown(client, site, "ask", told.to_json())
    assert str(why[0]) not in page
    for said in (
        "nichts von dem, was gefunden wurde, hat genug mit der Frage zu tun",
        "Das Schreiben wurde vor dem Ende angehalten: die Antwort bricht ab.",
        "Ein Teil fehlt: the server went away: connection reset",
        "⚠ Beleg 2 wurde zurückgezogen",
        '<span lang="en">says “two years”</span>',  # nothing of ours
        '– nicht geprüft: <span lang="en">in a language the model does not read</span>',
    ):
        assert said in page, said


def test_a_german_finding_says_its_reasons_in_german(client: TestClient, site: Site) -> None:
    findings = tuple(
        replace(each, claim=replace(each.claim, claim_id=f"{n:03}"))
        for n, each in enumerate(samples.report().findings)
    )
    report = replace(samples.report(), findings=findings, settings={"verify.threshold": 0.3})
    pages = [
        shown(client, site, "verify", report.to_json(), f"?claim={each.claim.claim_id}")
        for each in findings
    ]
    whole = "".join(pages)
    assert "<li>in dieser Passage fehlt: „1913“</li>" in whole
    assert "die archivierte Kopie vom 2014-03-02 belegt die Aussage, die Seite von heute" in whole
    assert "does not state" not in whole
