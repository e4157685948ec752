from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.protocols import Floats
from pincite.retrieval import fusion
from pincite.retrieval.fusion import (
    MODES,
    Reranked,
    fuse,
    reciprocal_rank_fusion,
    sum_by_maximum,
    union,
    weighted_sum,
)
from pincite.types import Claim, Hit, Passage


def hit(name: str, rank: int, text: str | None = None, score: float = 1.0) -> Hit:
    passage = replace(Passage.alone(text or name), doc_id=name, url=f"https://{name}.example/")
    return Hit(passage, score, rank)


def run(names: str) -> list[Hit]:
    return [hit(name, rank) for rank, name in enumerate(names, 1)]


def ids(hits: list[Hit]) -> str:
    return "".join(h.passage.doc_id for h in hits)


runs = st.permutations("abcdef").map(lambda names: run("".join(names[:4])))


def test_fused_scores_are_sums_of_reciprocal_ranks() -> None:
    fused = reciprocal_rank_fusion([run("ab"), run("bc")], 10)
    assert ids(fused) == "bac"
    assert fused[0].score == 1 / 62 + 1 / 61
    assert [h.rank for h in fused] == [1, 2, 3]


@pytest.mark.parametrize("mode", MODES)
def test_fused_hits_say_which_search_found_them(mode: fusion.Mode) -> None:
    found = {ids([each]): each.found_by for each in fuse(run("ab"), run("bc"), 10, mode)}
    assert found == {"a": "words", "b": "both", "c": "meaning"}


def test_weighted_sum_by_hand() -> None:
    words = [hit("a", 1, score=12.0), hit("b", 2, score=6.0), hit("c", 3, score=2.0)]
    meaning = [hit("b", 1, score=0.9), hit("d", 2, score=0.4)]
    found = weighted_sum([words, meaning], [0.6, 0.4], 10)
    # b: 0.6 × (6 − 2) / (12 − 2) + 0.4 × 1; c and d are the lowest of their runs.
    assert [(h.passage.doc_id, h.rank) for h in found] == [("b", 1), ("a", 2), ("c", 3), ("d", 4)]
    assert [h.score for h in found] == pytest.approx([0.64, 0.6, 0.0, 0.0])


@given(runs, runs, st.integers(0, 8))
def test_every_mode_keeps_every_passage_once(one: list[Hit], two: list[Hit], k: int) -> None:
    for mode in MODES:
        found = fuse(one, two, 100, mode)
        assert sorted(ids(found)) == sorted(set(ids(one)) | set(ids(two)))
        assert [h.rank for h in found] == list(range(1, len(found) + 1))
        assert [h.score for h in found] == sorted((h.score for h in found), reverse=True)
        assert fuse(one, two, k, mode) == found[:k]
    assert reciprocal_rank_fusion([one, two], k) == reciprocal_rank_fusion([two, one], k)


def test_verifai_divides_by_the_best_score() -> None:
    words = [hit("a", 1, score=8.0), hit("b", 2, score=2.0)]
    meaning = [hit("b", 1, score=0.5), hit("c", 2, score=0.25)]
    found = {h.passage.doc_id: h.score for h in fuse(words, meaning, 10, "verifai")}
    assert found == pytest.approx({"a": 0.7, "b": 0.7 * 0.25 + 0.3, "c": 0.3 * 0.5})
    assert sum_by_maximum([[hit("a", 1, score=-1.0)]], [1.0], 5)[0].score == 0.0


def test_union_is_dense_first_then_what_words_add() -> None:
    assert ids(union([run("ba"), run("acb")], 10)) == "bac"
    assert ids(fuse(run("acb"), run("ba"), 10, "union")) == "bac"


def test_shares_of_the_best_score() -> None:
    assert fusion.shares([]) == []
    assert fusion.shares(run("a")) == [1.0]
    found = fusion.shares([hit._replace(score=3.0 - n) for n, hit in enumerate(run("abc"))])
    assert found == [1.0, 0.5, 0.0]
    assert fusion.with_prior(1.0, 1.0) > fusion.with_prior(1.0, 0.5) > 1.0


def test_of_one_document_only_the_first_hits_are_read() -> None:
    pages = [hit(page, rank, f"{page}{rank}", 9.0 - rank) for rank, page in enumerate("aaaab", 1)]
    read: list[str] = []

    class Search:
        def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
            return [pages[:k] for _ in queries]

    class Reader:
        def relevance(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
            read.extend(passage.text for _, passage in pairs)
            return np.array([float(passage.text[1]) for _, passage in pairs], dtype=np.float32)

    (found,) = Reranked(Search(), Reader(), of_one=2).retrieve(["?"], 10)
    assert read == ["a1", "a2", "b5"]
    assert {h.passage.text: h.score for h in found[:3]} == {"a1": 1.0, "a2": 2.0, "b5": 5.0}
    assert [(h.passage.text, h.score) for h in found[3:]] == [("a3", 1.0), ("a4", 1.0)]
    assert [h.rank for h in found] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("share", "order"), [(0.0, "ab"), (0.4, "ab"), (0.6, "ba"), (1.0, "ba")])
def test_the_weight_of_meaning_is_a_setting(share: float, order: str) -> None:
    words = [hit("a", 1, score=9.0), hit("b", 2, score=1.0)]
    meaning = [hit("b", 1, score=9.0), hit("a", 2, score=1.0)]
    assert ids(fuse(words, meaning, 2, "weighted", share)) == order
