"""The measurement itself, on a folder of pages written for it."""

import gzip
import json
from pathlib import Path

import pytest
from bench_html import Reading, by_pincite, cases, kept_sentences, main, score

LONG = "The harbour bridge was opened by the mayor in May 1931."
SECOND = "It carried a tram line until the year of the flood."


def folder_of(where: Path, name: str, body: str, expected: str, **stated: str) -> None:
    folder = where / name
    folder.mkdir()
    (folder / "source.html").write_text(f"<html><body>{body}</body></html>")
    (folder / "expected.html.gz").write_bytes(gzip.compress(expected.encode()))
    (folder / "expected-metadata.json").write_text(json.dumps(stated))


def test_a_score() -> None:
    found = score(f"{LONG} {SECOND}", LONG)
    assert found.sentences == 0.5
    assert found.precision == 1.0
    assert found.recall == pytest.approx(11 / 22)
    assert found.f1 == pytest.approx(2 / 3)


def test_a_sentence_is_kept_whatever_its_spaces_and_signs_but_not_its_words() -> None:
    assert dict(kept_sentences(LONG, LONG.replace(" ", "\n").replace(".", " …"), "en"))[LONG]
    assert not dict(kept_sentences(LONG, LONG.replace("May", "June"), "en"))[LONG]


def test_a_folder_of_pages(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    body = f"<article><h1>Bridge</h1><p>{LONG}</p><p>{SECOND}</p></article>"
    for name in ("one-1", "two", "three", "four", "five", "six"):
        folder_of(tmp_path, name, body, f"<p>{LONG}</p>", title="Bridge", publishedTime="soon")
    (tmp_path / "empty").mkdir()
    found = cases(tmp_path)
    assert [case.name for case in found] == ["five", "four", "one-1", "six", "three", "two"]
    assert {case.half for case in found} == {"choosing", "held-back"}
    assert (found[0].text, found[0].title, found[0].day) == (LONG, "Bridge", "")
    assert by_pincite(found[0]) == Reading(f"Bridge\n{LONG}\n{SECOND}", "Bridge")
    main([str(tmp_path), "--rounds", "1", "--half", "choosing"])
    printed = capsys.readouterr().out
    assert "pincite                            1.000" in printed
    main([str(tmp_path), "--page", "two"])
    assert f"+ {SECOND}" in capsys.readouterr().out
