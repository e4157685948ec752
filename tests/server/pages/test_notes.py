"""Notes of reports on a German page: which have German words, and what becomes of their values."""

import re
from dataclasses import replace

import ask_samples
import pytest
import samples
from fastapi.testclient import TestClient

from pincite import notes
from pincite.notes import ENGLISH, Note, as_written
from pincite.server.jobs import Status
from pincite.server.rendering import translations
from pincite.server.site import Site
from pincite.server.tables import Kind
from pincite.types import (
    Citation,
    CitationResult,
    Copy,
    CopyKind,
    Label,
    Place,
    Reason,
    Span,
    Unchecked,
)
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.verify import wording

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
    for text in ("%(x)s", "nothing that was found bears on the question closely enough", "\ud800"):
        (note,) = as_written(text)
        assert german(note) == str(note) == text


def test_what_is_said_of_a_place_and_a_change_is_german() -> None:
    place = Place("31", cited="p. 12")
    for page in ("31", None):
        for printed in (True, False):
            for elsewhere in (True, False):
                there = replace(place, page=page, printed=printed, elsewhere=elsewhere)
                for label in (Label.SUPPORTED, Label.NOT_SUPPORTED):
                    said = wording.where(there, label, GERMAN)
                    assert bool(said) == (elsewhere or page is not None)
                    assert said != wording.where(there, label) or not said
    changed = [
        result
        for finding in samples.report().findings
        for result in finding.citations
        if result.changed and result.copy
    ]
    assert changed
    for result in changed:
        assert result.copy
        undated = replace(result, copy=replace(result.copy, date=None))
        assert "die archivierte Kopie vom 2014-03-02 " in wording.what_changed(result, GERMAN)
        assert "die archivierte Kopie belegt" in wording.what_changed(undated, GERMAN)


def test_what_is_said_of_answers_is_german() -> None:
    cut = replace(ask_samples.every_standing(), cut=True, failure="the server went away")
    searched = replace(cut.searched, absent=("Esbjerg", "harbour"))
    answer = replace(cut, searched=searched)
    absent, broken, failed = ask_wording.cautions(answer, GERMAN)
    assert absent.startswith("In keinem gelesenen Text steht „Esbjerg“, „harbour“")
    assert broken.startswith("Das Schreiben wurde")
    assert failed == "Ein Teil fehlt: the server went away"
    unknown = ask_wording.unknown_retractions(answer.references, GERMAN)
    assert unknown
    assert unknown != ask_wording.unknown_retractions(answer.references)


# ── Pages ────────────────────────────────────────────────────────────────────────────────────────


def shown(client: TestClient, site: Site, kind: Kind, result: str, place: str = "") -> str:
    """The German page of a job's result."""
    job, _ = site.jobs.submit("local", kind, "A title", {"corpus": "x"})
    assert site.jobs.take("w")
    site.jobs.finish(job.job_id, "w", Status.DONE, result=result)
    page = client.get(f"/jobs/{job.job_id}{place}", headers={"Accept-Language": "de"})
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
        shown(client, site, "verify", report.to_json(), f"/findings/{each.claim.claim_id}")
        for each in findings
    ]
    whole = "".join(pages)
    assert "<li>diese Zahlen stehen nicht in der Stelle: „1913“</li>" in whole
    assert "die archivierte Kopie vom 2014-03-02 belegt die Aussage, die Seite von heute" in whole
    assert "does not state" not in whole


@pytest.mark.parametrize(
    ("copy", "not_live", "said"),
    [
        (
            Copy(CopyKind.STORED, "https://a.example/", "2026-05-14T10:00:00Z"),
            None,
            "gespeicherte Kopie, abgerufen am 2026-05-14",
        ),
        (
            Copy(CopyKind.WAYBACK, "https://a.example/", "2014-03-02"),
            Unchecked("https://a.example/", Reason.DEAD, "HTTP 404"),
            "Kopie in der Wayback Machine vom 2014-03-02; die Seite selbst: toter Link (HTTP 404)",
        ),
        (
            Copy(CopyKind.OWN, f"own:{'0123456789abcdef' * 4}"),
            None,
            "Ihre eigene Kopie (SHA-256 0123456789ab…)",
        ),
    ],
)
def test_which_copy_was_read(copy: Copy, not_live: Unchecked | None, said: str) -> None:
    citation = Citation("r1", Span(0, 6), Span(0, 6), url="https://a.example/")
    unread = Unchecked("https://a.example/", Reason.EMPTY)
    result = CitationResult(citation, unread, Label.UNCHECKED, copy=copy, not_live=not_live)
    assert wording.copy_read(result, GERMAN) == said
