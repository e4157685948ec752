"""Sentences of reports in another language: which are known, and what becomes of their values."""

import re
from dataclasses import replace

import ask_samples
import pytest
import samples
from fastapi.testclient import TestClient

from pincite.models.verifier import reasons
from pincite.server.jobs.store import Status
from pincite.server.pages import languages
from pincite.server.pages.results import translated
from pincite.server.site import Site
from pincite.server.tables import Kind
from pincite.types import (
    Citation,
    CitationResult,
    Copy,
    CopyKind,
    Label,
    Passage,
    Place,
    Reason,
    Span,
    Unchecked,
)
from pincite.verbs.ask import data as ask_data
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.answer_check import other_figures_said
from pincite.verbs.ask.pipeline import NOTHING_RELEVANT
from pincite.verbs.verify import data, wording

GERMAN = languages.translations("de").gettext
ENGLISH = languages.translations("en").gettext
VALUES = ["31", "p. 12", "<b>%(x)s</b> 50 %", "a; b", "line\nbreak", "{n} \\1", "\ud800"]


def german(text: str) -> str:
    return translated.said(text, GERMAN)


@pytest.mark.parametrize("template", translated.SENTENCES)
def test_each_sentence_is_known_again_with_its_values(template: str) -> None:
    names = re.findall(r"%\((\w+)\)s", template)
    for value in VALUES:
        values = {name: f"{value}{n}" for n, name in enumerate(names)}
        assert translated.said(template % values, ENGLISH) == template % values
        assert german(template % values) == GERMAN(template) % values
    assert GERMAN(template) != template


def test_what_is_not_known_stays_as_it_is() -> None:
    for text in ("", "; ", "its references say nothing of it; the server went away", "x" * 9_999):
        assert german(text) == ""
    long = "cited " + ", found on p. 1" * 50_000
    assert german(long) == ""


def test_the_most_telling_template_is_taken() -> None:
    assert german("p. 3") == "S. 3"
    assert german("p. 3 of the file") == "S. 3 der Datei"
    assert german("cited p. 12, found on p. 31 of the file").endswith(
        "gefunden auf S. 31 der Datei"
    )


def test_what_the_verifier_and_its_rules_say_is_known() -> None:
    def passage(text: str) -> Passage:
        return Passage("0" * 16, "https://a.example", "A", text, Span(0, len(text)))

    pairs = (
        ("Ingrid Holm opened it in 1911.", "It was opened in 1913."),
        ("It has 3 doors, 4 gates and 7 towers.", "It is old."),
    )
    witnesses = ("source: 1913 · claim: 1911", "source: “never rebuilt” · claim: “rebuilt”")
    assert all(map(german, witnesses))
    for claim, text in pairs:
        said = reasons(claim, passage(text))
        assert said
        assert all(map(german, said)), said
    two = "; ".join(
        other_figures_said(f"The rate fell by {n}%.", "Of 90 women, 9% left. The rate fell by 4%.")
        for n in (9, 9)
    )
    assert german(two).count("der Satz sagt „9%“, der Beleg „4%“") == 2


def test_what_is_said_of_a_place_and_a_change_is_known() -> None:
    place = Place("31", cited="p. 12")
    for page in ("31", None):
        for printed in (True, False):
            for elsewhere in (True, False):
                there = replace(place, page=page, printed=printed, elsewhere=elsewhere)
                for label in (Label.SUPPORTED, Label.NOT_SUPPORTED):
                    said = wording.where(there, label)
                    assert bool(said) == (elsewhere or page is not None)
                    assert german(said) or not said
    cited = [each for finding in samples.report().findings for each in finding.citations]
    changed = [wording.what_changed(each) for each in cited if each.changed]
    assert changed
    assert all(map(german, changed)), changed


def test_what_is_said_of_answers_is_known() -> None:
    cut = replace(ask_samples.every_standing(), cut=True, failure="the server went away")
    searched = replace(cut.searched, absent=("Esbjerg", "harbour"))
    answer = replace(cut, searched=searched)
    said = ask_wording.cautions(answer)
    assert len(said) == 3
    assert all(map(german, (*said, ask_wording.unknown_retractions(answer.references))))
    assert german(said[0]).startswith("In keinem gelesenen Text steht “Esbjerg”, “harbour”")


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
    silent = replace(ask_samples.abstained(), abstained=NOTHING_RELEVANT)
    told = ask_samples.answer_report(silent, ask_samples.broken_off(), ask_samples.every_standing())
    page = shown(client, site, "ask", ask_data.to_json(told))
    assert NOTHING_RELEVANT not in page
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
    report = replace(samples.report(), findings=findings, settings={"threshold": 0.3})
    pages = [
        shown(client, site, "verify", data.to_json(report), f"/findings/{each.claim.claim_id}")
        for each in findings
    ]
    whole = "".join(pages)
    assert "<li>diese Zahlen stehen nicht in der Stelle: “1913”</li>" in whole
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
