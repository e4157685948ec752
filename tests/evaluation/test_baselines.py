from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from evaluation.invented import BRIDGE, FILLER, WordVerifier, cut_row
from support.laws import FakeEncoder

from conftest import write_model
from pincite.evaluation import scorers
from pincite.evaluation.scorers import ByVerifier, Scorer, Unavailable, document_level


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
    assert values(scorers.UrlDepth(), *rows) == pytest.approx(
        [3, 2, 0, np.nan, np.nan, np.nan], nan_ok=True
    )


def test_bm25_by_hand() -> None:
    rows = [cut_row("bridge", "Bridge bridge town."), cut_row("river", "Town.")]
    # Two passages of 3 and 1 words, mean 2; "bridge" stands in one of two: ln(1 + 1.5 / 1.5).
    idf, norm = np.log(2), 0.9 * (1 - 0.4 + 0.4 * 3 / 2)
    assert values(scorers.Bm25(), *rows) == pytest.approx([idf * 2 * 1.9 / (2 + norm), 0])


def test_bm25_ranks_the_evidence_that_shares_rare_words_first() -> None:
    rows = [cut_row("The bridge of Varde opened", text) for text in (BRIDGE, FILLER, "")]
    first, second, third = values(scorers.Bm25(), *rows)
    assert first > second > third == -np.inf


def test_cosine_is_that_of_the_best_passage() -> None:
    claim = "A baker sold warm bread on the market square every single morning of that week."
    same, other, nothing = values(
        scorers.Cosine(FakeEncoder(256)),
        *(cut_row(claim, text) for text in (f"{FILLER} {BRIDGE}", BRIDGE, "")),
    )
    assert same > 0.9 > other
    assert nothing == -np.inf


def test_relevance_takes_the_best_passage() -> None:
    row = cut_row("x", BRIDGE + FILLER)
    assert values(scorers.Relevance(lengths), row, cut_row("x", " ")) == [
        max(len(passage.text) for passage in row.passages),
        -np.inf,
    ]


def test_relevance_on_a_real_network(tmp_path: Path) -> None:
    scorer = scorers.relevance(str(write_model(tmp_path / "reranker", labels=1)), threads=1)
    both = values(scorer, cut_row("the bridge opened in 1911"), cut_row("the town was old ."))
    assert np.isfinite(both).all()
    assert both[0] != both[1]


def test_document_level_sees_the_first_passages_only(words: WordVerifier) -> None:
    late = cut_row("The bridge of Varde opened in 1911", FILLER + BRIDGE)
    (whole,), (beginning,) = (
        values(scorer, late) for scorer in (ByVerifier(words), document_level(words))
    )
    assert whole > beginning
    words.n_pairs = 0
    document_level(words).score([late], lambda n: None)
    assert words.n_pairs == 3


def test_a_missing_model_is_reported(
    words: WordVerifier, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    systems = scorers.all_of(words, encoder=lambda: FakeEncoder())
    missing = [one for one in systems if isinstance(one, Unavailable)]
    assert [(one.name, one.why) for one in missing] == [
        ("ms-marco cross-encoder", "not available: make reranker")
    ]
    assert len({one.name for one in systems}) == 5


@pytest.mark.parametrize("make", [scorers.UrlDepth, scorers.Bm25])
def test_no_rows_give_no_values(make: Callable[[], Scorer]) -> None:
    assert make().score([], lambda n: None).values.shape == (0,)
