"""The pipeline's own decisions: what may be evidence, what counts once, what cannot be used."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from evaluation.invented import WordVerifier
from support.laws import FakeEncoder

from pincite.corpus.engines import EmbeddedCorpus
from pincite.judgement.confirmation import Outcome
from pincite.settings import CheckSettings, Settings
from pincite.types import Document, Failed, Passage, Span, StatementType
from pincite.verbs.check.confirm import VerifierJudge
from pincite.verbs.check.pipeline import CheckPipeline, PassageFinder, WindowFinder, candidate
from pincite.verbs.check.report import Interpretation, Reading

TEXT = (
    "The harbour bridge was built of granite from the quarry above the river. Mayor Holm opened it "
    "on a windy morning before large crowds. Trams crossed it from the first day. The ferry that "
    "had served the quay until then was sold. Painters came in summer to draw its slender piers."
)
DOCUMENTS = [
    Document("https://a.example/", "Bridge", TEXT, published="2015-03-01", language="en"),
    Document("https://copy.example/", "Copy", TEXT, published="2016-03-01", language="en"),
    Document("https://de.example/", "Brücke", "Die harbour bridge ist aus Granit.", language="de"),
    Document("https://mill.example/", "Mill", "The mill closed long ago.", meta={"author": "Holm"}),
]
READING = Reading("r1", "The harbour bridge was built of granite.", StatementType.DESCRIPTIVE)


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[EmbeddedCorpus]:
    with EmbeddedCorpus.create(tmp_path / "kb", FakeEncoder()) as found:
        found.add(DOCUMENTS)
        yield found


def pipeline(corpus: EmbeddedCorpus, **parts: Any) -> CheckPipeline:
    finder = PassageFinder(corpus.by("hybrid"), corpus.get)
    return replace(CheckPipeline(finder, VerifierJudge(WordVerifier())), **parts)


def test_a_text_on_two_pages_is_found_once_with_both_addresses(corpus: EmbeddedCorpus) -> None:
    (result,) = pipeline(corpus).check(READING.text).results
    (item,) = [item for item in result.items if "granite" in item.passage.text]
    assert {item.passage.url, *item.copies} == {"https://a.example/", "https://copy.example/"}
    every = PassageFinder(corpus.by("hybrid"), corpus.get, CheckSettings(count_copies=True))
    (found,) = every.find([READING])
    assert len([f for f in found if "granite" in f.passage.text]) == 2


def test_what_an_unknown_speaker_did_is_not_judged(corpus: EmbeddedCorpus) -> None:
    (result,) = pipeline(corpus).check("I closed the mill.").results
    assert (result.weight.outcome, result.reading.lacks) == (Outcome.NOT_JUDGED, ("speaker",))


def test_the_source_of_a_passage_is_kept(corpus: EmbeddedCorpus) -> None:
    (result,) = pipeline(corpus).check("The mill closed long ago.").results
    (item,) = [item for item in result.items if item.passage.title == "Mill"]
    assert (item.published, dict(item.meta)) == (None, {"author": "Holm"})
    assert result.weight.outcome is Outcome.STRONG_CONFIRMATION


def test_a_report_names_local_files_without_their_folders(tmp_path: Path) -> None:
    text = "The mayor added that the old mill closed long ago."
    with EmbeddedCorpus.create(tmp_path / "files", FakeEncoder()) as files:
        files.add([Document("file:///home/ada/two%20words.txt", "", text)])
        (result,) = pipeline(files).check("The mill closed long ago.").results
    (item,) = result.items
    assert item.passage.url == "two words.txt"
    assert item.source.kind == "unknown"


@pytest.mark.parametrize(
    ("reading", "kind", "own"),
    [
        ("The mill closed long ago.", StatementType.DESCRIPTIVE, False),
        ("Holm & Co closed the mill.", StatementType.DESCRIPTIVE, True),
        ("Holm & Co says that it closed the mill.", StatementType.ASCRIPTIVE, False),
    ],
)
def test_own_words_are_the_source_of_what_someone_says(
    corpus: EmbeddedCorpus, reading: str, kind: StatementType, own: bool
) -> None:
    mine = Interpretation((Reading("r1", reading, kind),), "user")
    (result,) = pipeline(corpus).check(reading, mine).results
    item = next(item for item in result.items if item.passage.title == "Mill")
    assert (item.source.speaker, item.source.own) == ("", own)


def test_a_page_in_an_unsupported_language_is_not_judged(corpus: EmbeddedCorpus) -> None:
    only = pipeline(corpus, languages=frozenset({"en"}))
    (result,) = only.check(READING.text).results
    (failed,) = [item.outcome for item in result.items if isinstance(item.outcome, Failed)]
    assert failed.step == "language"
    assert "(de)" in failed.detail
    assert result.weight.n_failed == 0, "what cannot be read makes no run incomplete"


def test_a_retracted_source_is_left_out_by_name(corpus: EmbeddedCorpus) -> None:
    text = "The windmill on the dyke turned for the last time."
    corpus.add([Document("https://old.example/", "RETRACTED: A windmill", text, language="en")])
    (result,) = pipeline(corpus).check(text).results
    (retracted,) = [
        item for item in result.items if item.failed and item.failed.step == "retracted"
    ]
    assert "A windmill" in retracted.passage.title
    assert result.weight.n_failed == 0, "what is left out on purpose makes no run incomplete"


def test_a_passage_missing_from_the_stored_text_is_not_evidence() -> None:
    document = DOCUMENTS[0]
    said = "The harbour bridge was built of steel."
    passage = Passage(document.doc_id, document.url, "", said, Span(0, len(said)))
    assert candidate(document, passage).lost
    assert candidate(None, passage).lost
    true = replace(passage, text=TEXT[:12], span=Span(0, 12))
    assert candidate(document, true).lost is None


@pytest.mark.parametrize(("window", "n_sentences"), [(0, 1), (3, 4), (9, 5)])
def test_windows_of_sentences(corpus: EmbeddedCorpus, window: int, n_sentences: int) -> None:
    """The nearest sentence is the first of its text: only those behind it are its neighbours."""
    finder = WindowFinder(
        corpus.dense(), FakeEncoder(), corpus.get, CheckSettings(top_k=1, window_size=window)
    )
    first = "The harbour bridge was built of granite from the quarry above the river."
    ((found,),) = finder.find([replace(READING, text=first)])
    document = next(d for d in DOCUMENTS if d.url == found.passage.url)
    assert found.passage.span.of(document.text) == found.passage.text
    assert found.passage.text.startswith(first)
    assert found.passage.text.count(". ") + 1 == n_sentences


def test_overlapping_windows_count_once(corpus: EmbeddedCorpus) -> None:
    finder = WindowFinder(corpus.dense(), FakeEncoder(), corpus.get, CheckSettings(top_k=6))
    once = pipeline(corpus, finder=finder).check(READING.text).results[0]
    settings = Settings(check=CheckSettings(count_copies=True))
    each = pipeline(corpus, finder=finder, settings=settings).check(READING.text).results[0]
    assert len(once.items) == each.weight.n_texts == 6
    pages = {"https://a.example/", "https://copy.example/"}
    assert {item.passage.url for item in once.items} >= pages
    assert len({item.text_id for item in once.items if item.passage.url in pages}) == 1
    assert once.weight.n_texts < 6


@pytest.mark.parametrize("statement", ["?!", "Who built the bridge of Varde?"])
def test_what_is_not_a_statement_has_no_reading(corpus: EmbeddedCorpus, statement: str) -> None:
    check = pipeline(corpus).check(statement)
    assert (check.results, check.complete) == ((), False)
    assert [failure.step for failure in check.failures] == ["statement"]
