"""Scores and measures of labelled claims, and `pincite eval claims` as a user meets it."""

import json
import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest
from click.testing import CliRunner, Result
from evaluation.invented import BRIDGE, FILLER, WordVerifier, cut_row
from support.laws import FakeEncoder
from support.rows import rows
from syrupy.assertion import SnapshotAssertion

from pincite import runtime
from pincite.cli import cli
from pincite.documents.jsonl import LabelledClaim
from pincite.errors import InputError
from pincite.verbs.verify import build
from pincite_lab.evaluation import claims, tables
from pincite_lab.evaluation.claims import Scorer, by_url_depth, by_verifier

Write = Callable[..., Path]

BM25 = Scorer("BM25", claims.bm25)
TRUE = "The stone bridge of Varde opened in 1911."
ROWS = [
    (TRUE, "support"),
    ("The bridge has three arches.", "support"),
    ("The bridge of Varde opened in 1950.", "refute"),
    ("A railway crosses the island twice.", "nei"),
]
MIXED = [
    ("The old bridge of Varde was opened in 1911.", "support", BRIDGE, {"url": "https://a.ex/b/c"}),
    ("The stone bridge has three arches.", "support", BRIDGE, {"url": "https://a.ex/b"}),
    ("The bridge of Varde was opened in 1911 by a famous king.", "partial"),
    ("The bridge of Varde cost 90 crowns.", "not_support", BRIDGE, {"url": "https://a.ex/"}),
    ("Trams rolled through distant suburbs.", "not_support"),
]
WICE = [
    (TRUE, "support", "The old stone bridge of Varde opened in 1911."),
    ("The bridge has three arches.", "support"),
    ("The bridge opened in 1911 with a parade of horses.", "partial"),
    ("Trams rolled through distant suburbs.", "not_support"),
]


def measured(path: Path, *scorers: Any) -> dict[str, Any]:
    return claims.measure(claims.predict(path, scorers), 0.55)


def test_systems_stand_in_one_table(write: Write, words: WordVerifier) -> None:
    heard: list[tuple[str, int, int]] = []
    predictions = claims.predict(
        write(ROWS), [by_verifier(words), BM25, by_url_depth()], lambda *told: heard.append(told)
    )
    result = claims.measure(predictions, 0.55)
    assert heard == [("pincite", 4, 4), ("BM25", 4, 4), ("URL depth", 4, 4)]
    ours, bm25, depth = result["systems"]
    assert result["labels"]["support"] == 2
    assert ours["auroc"] == 1.0
    assert ours["accuracy"] == 1.0
    assert ours["pairs"] == 4
    assert [bm25[key] for key in ("macro_f1", "ece", "balanced_accuracy")] == [None] * 3
    assert (depth["n"], depth["auroc"]) == (0, None)
    json.dumps(result, allow_nan=False)


def test_evidence_without_words_ranks_last(write: Write, words: WordVerifier) -> None:
    rows = [(TRUE, "support"), (TRUE, "nei", " "), ("Trams rolled far.", "nei")]
    predictions = claims.predict(write(rows), [by_verifier(words)])
    assert claims.measure(predictions, 0.55)["systems"][0]["auroc"] == 1.0
    found = predictions.systems["pincite"]
    assert found.evidence
    assert (found.evidence[1], found.values[1]) == (None, -math.inf)


def test_partial_rows_are_left_out_of_one_measure(write: Write, words: WordVerifier) -> None:
    ours = measured(write(WICE), by_verifier(words))["systems"][0]
    assert ours["auroc_without_partial"] == 1.0
    assert ours["macro_f1"] is None  # labels that are not of the three


OF_LANGUAGES = rows("lab/evaluation/claims/of_languages")


def test_figures_by_the_languages_of_claim_and_passage(write: Write, words: WordVerifier) -> None:
    def meta(pair: str) -> dict[str, str]:
        claim, passage = pair.split("-")
        own = {"lang_claim": claim, "lang_passage": passage}
        return {"lang": claim} if claim == passage else own

    labelled = [(claim, label, source, meta(pair)) for pair, claim, label, source in OF_LANGUAGES]
    result = measured(write(labelled), by_verifier(words), BM25)
    ours, bm25 = (each["languages"] for each in result["systems"])
    assert {name: each["n"] for name, each in ours.items()} == {
        "same language": 6, "English passage": 1,
        "de-de": 2, "de-en": 1, "en-en": 1, "fr-fr": 3,
    }  # fmt: skip
    assert (ours["de-de"]["auroc"], ours["fr-fr"]["auroc"]) == (1.0, 0.75)
    assert ours["same language"]["auroc"] == 0.875  # of those with both classes
    assert ours["fr-fr"]["accused"] == 0.5  # of the supported rows
    assert bm25["fr-fr"]["accused"] is None
    assert "same language" in tables.claims_table([result])
    assert "languages" not in measured(write(ROWS), BM25)["systems"][0]


def test_one_class_is_not_applicable_and_no_crash(write: Write, words: WordVerifier) -> None:
    predictions = claims.predict(write([(TRUE, "support")] * 2), [by_verifier(words), BM25])
    result = claims.measure(predictions, 0.55)
    assert result["systems"][0]["auroc"] is None
    assert tables.claims_table([result]).count("n/a") == 16


@pytest.mark.parametrize("content", ["", "\n\n"])
def test_an_empty_file_is_an_error(tmp_path: Path, content: str) -> None:
    (tmp_path / "empty.jsonl").write_text(content)
    with pytest.raises(InputError, match=r"empty\.jsonl has no rows; expected JSON lines"):
        claims.read_rows(tmp_path / "empty.jsonl")


# Systems


def values(scorer: Scorer, *rows: object) -> list[float]:
    heard: list[int] = []
    found = scorer.score(rows, heard.append)  # type: ignore[arg-type]
    assert heard[-1] == len(rows)
    return [float(value) for value in found.values]


def lengths(pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [float(len(passage)) for _, passage in pairs]


def test_url_depth_counts_path_elements_and_says_when_there_is_no_address() -> None:
    rows = [
        cut_row("x", url="https://news.example/2011/05/bridge.html?a=/b/c#/d"),
        cut_row("x", urls=["https://a.example/", "https://b.example//x//y/"]),
        cut_row("x", url="https://a.example"),
        cut_row("x", url=None, urls="https://no-list.example/a"),
        cut_row("x"),
        cut_row("x", url="https://[broken/a"),
    ]
    expected = [3, 2, 0, np.nan, np.nan, np.nan]
    assert values(claims.by_url_depth(), *rows) == pytest.approx(expected, nan_ok=True)


def test_bm25_by_hand() -> None:
    rows = [cut_row("bridge", "Bridge bridge town."), cut_row("river", "Town.")]
    # Two passages of 3 and 1 words, mean 2; "bridge" stands in one of two: ln(1 + 1.5 / 1.5).
    idf, norm = np.log(2), 0.9 * (1 - 0.4 + 0.4 * 3 / 2)
    assert values(BM25, *rows) == pytest.approx([idf * 2 * 1.9 / (2 + norm), 0])


def test_cosine_is_that_of_the_best_passage() -> None:
    claim = "A baker sold warm bread on the market square every single morning of that week."
    same, other, nothing = values(
        Scorer("", partial(claims.cosines, FakeEncoder(256))),
        *(cut_row(claim, text) for text in (f"{FILLER} {BRIDGE}", BRIDGE, "")),
    )
    assert same > 0.9 > other
    assert nothing == -np.inf


def test_relevance_takes_the_best_passage() -> None:
    row = cut_row("x", BRIDGE + FILLER)
    found = values(Scorer("", partial(claims.relevance, lengths)), row, cut_row("x", " "))
    assert found == [max(len(passage.text) for passage in row.passages), -np.inf]


def test_document_level_sees_the_first_passages_only(words: WordVerifier) -> None:
    late = cut_row("The bridge of Varde opened in 1911", FILLER + BRIDGE)
    assert values(by_verifier(words), late) > values(claims.by_first_passages(words), late)
    words.n_pairs = 0
    claims.by_first_passages(words).score([late], lambda n: None)
    assert words.n_pairs == 3


# The command


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: WordVerifier) -> Path:
    """A folder without models, and a pipeline whose verifier needs none."""

    pipeline = SimpleNamespace(verifier=words)
    run = SimpleNamespace(pipeline=pipeline, versions={"verifier": "words"})

    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(build, "verifying", lambda *_, **__: nullcontext(run))
    monkeypatch.setattr(runtime, "encoder", lambda settings: FakeEncoder())
    monkeypatch.setattr(claims, "cross_encoder", lambda threads: lengths)
    return tmp_path


def run_claims(*arguments: str) -> Result:
    return CliRunner().invoke(cli, ["eval", *arguments], catch_exceptions=False)


def test_claims_table(home: Path, write: Write, snapshot: SnapshotAssertion) -> None:
    assert run_claims("claims", str(write(MIXED)), "-q").output == snapshot


class AlwaysSupported(WordVerifier):
    """Calls every row supported."""

    def verify(self, pairs: Sequence[Any]) -> list[Any]:
        return [replace(one, prob_supported=0.9) for one in super().verify(pairs)]

    def close(self) -> None:
        """Nothing is open."""


def test_two_verifiers_agree_where_both_say_supported(write: Write, words: WordVerifier) -> None:
    credulous = by_verifier(AlwaysSupported(), "credulous")
    predictions = claims.predict(write(WICE), [by_verifier(words), BM25, credulous])
    (pair,) = claims.side_by_side(predictions, {"pincite", "credulous"}, 0.55)
    assert (pair["first"], pair["second"], pair["n"]) == ("pincite", "credulous", 3)
    assert (pair["both"]["n"], pair["both"]["right"], pair["both"]["precision"]) == (2, 2, 1.0)
    assert pair["first_only"]["precision"] is None
    assert (pair["second_only"]["n"], pair["second_only"]["right"]) == (1, 0)
    assert (pair["agreement"], pair["kappa"]) == (pytest.approx(2 / 3, abs=1e-4), 0.0)


def test_verifiers_stand_side_by_side_in_the_report(
    home: Path, write: Write, words: WordVerifier, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = AlwaysSupported()
    monkeypatch.setattr(runtime, "verifier", lambda models, keep: other)
    options = ("--no-baselines", "--json", "--verifier", "words", "--verifier", "credulous")
    written = json.loads(run_claims("claims", str(write(WICE)), *options).output)
    result = written["results"][0]
    assert written["versions"] == {"verifier": "words"}
    assert [one["system"] for one in result["systems"]] == ["words", "credulous"]
    (pair,) = result["side_by_side"]
    assert pair["both"]["n"] == 2
    text = run_claims("claims", str(write(WICE)), *options[:1], *options[2:]).output
    assert "words and credulous, 3 rows: agreement 0.667" in text


def test_a_gain_is_shown_only_if_documents_agree_on_it() -> None:
    """Twenty rows corrected in one document are one observation, not twenty."""

    def compared(n_documents: int, n_broken: int = 0) -> claims.Comparison:
        labels = ["nei"] * n_broken + ["support"] * (20 - n_broken)
        urls = [{"url": n * n_documents // 20} for n in range(20)]
        rows = [LabelledClaim("", TRUE, TRUE, *each) for each in zip(labels, urls, strict=True)]
        never = SimpleNamespace(fingerprint="never", verify=lambda pairs: [
            replace(each, prob_supported=0.0) for each in WordVerifier().verify(pairs)
        ])  # fmt: skip
        return claims.compare(rows, cast(Any, never), WordVerifier(), 0.5)

    sure, mixed = compared(10), compared(20, n_broken=10)
    assert (sure.gain, sure.interval, sure.shown) == (1.0, [1.0, 1.0], True)
    assert (mixed.gain, mixed.shown) == (0.0, False)
    few, many = (compared(n, n_broken=4) for n in (4, 20))
    assert few.gain == many.gain == 0.6
    assert [(each.n_documents, each.shown) for each in (few, many)] == [(4, False), (20, True)]
    assert claims.objection(mixed, sure)
    assert not claims.objection(sure, sure)
    fallen = replace(sure, auroc_before=0.9, auroc_after=0.6)
    for most, refused in ((-0.1, True), (0.1, False)):  # documents have to agree on a loss
        assert bool(claims.objection(sure, replace(fallen, auroc_interval=[-0.5, most]))) == refused
