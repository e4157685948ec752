from hypothesis import given
from hypothesis import strategies as st

from pincite.core.fusion import kept, reciprocal_rank_fusion, without_copies
from pincite.types import Hit, Passage, Span


def hit(name: str, rank: int, text: str | None = None, score: float = 1.0) -> Hit:
    words = text or name
    return Hit(
        Passage(name, f"https://{name}.example/", name, words, Span(0, len(words))), score, rank
    )


def run(names: str) -> list[Hit]:
    return [hit(name, rank) for rank, name in enumerate(names, 1)]


def ids(hits: list[Hit]) -> str:
    return "".join(h.passage.doc_id for h in hits)


runs = st.permutations("abcdef").map(lambda names: run("".join(names[:4])))


def test_by_hand() -> None:
    fused = reciprocal_rank_fusion([run("ab"), run("bc")], 10)
    assert ids(fused) == "bac"
    assert fused[0].score == 1 / 62 + 1 / 61
    assert [h.rank for h in fused] == [1, 2, 3]


def test_ties_break_on_passage_id() -> None:
    assert ids(reciprocal_rank_fusion([run("b"), run("a")], 10)) == "ab"


@given(runs, runs)
def test_symmetric_and_without_repetition(one: list[Hit], two: list[Hit]) -> None:
    fused = reciprocal_rank_fusion([one, two], 100)
    assert fused == reciprocal_rank_fusion([two, one], 100)
    assert set(ids(fused)) == set(ids(one)) | set(ids(two))
    assert len(ids(fused)) == len(set(ids(fused)))


@given(runs, runs, st.integers(0, 8))
def test_a_shorter_list_is_the_start_of_a_longer_one(
    one: list[Hit], two: list[Hit], k: int
) -> None:
    assert reciprocal_rank_fusion([one, two], k) == reciprocal_rank_fusion([one, two], 100)[:k]


def test_nothing_fused_is_nothing() -> None:
    assert reciprocal_rank_fusion([], 5) == reciprocal_rank_fusion([[], []], 5) == []


def test_kept_closes_ranks_up() -> None:
    assert [h.rank for h in kept(run("abc"), lambda h: h.passage.doc_id != "a")] == [1, 2]


def test_a_syndicated_text_counts_once_and_a_rewrite_stays() -> None:
    text = "The harbour bridge was opened by mayor Holm on a windy morning before large crowds"
    copies = [
        hit("a", 1, text),
        hit("b", 2, text + "."),
        hit("c", 3, "Mayor Holm opened the bridge, and the wind blew."),
    ]
    assert ids(without_copies(copies)) == "ac"
