"""An encoder's loss: whose passages are negatives, which is the target, what a teacher adds."""

from dataclasses import replace
from pathlib import Path

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite.errors import ConfigError  # noqa: E402
from pincite.training.encoder import contrast, towers  # noqa: E402
from pincite.training.encoder.contrast import SearchObjective  # noqa: E402
from pincite.training.encoder.searches import Search  # noqa: E402
from pincite.training.recipe import STRATEGIES, EncoderRecipe, SetRecipe  # noqa: E402
from pincite.types import Claim  # noqa: E402

RECIPE = EncoderRecipe(sets=(SetRecipe("towns"),), max_query_tokens=32, max_passage_tokens=64)
MILL = Search(
    "towns", "1", "The mill of Holm was opened in 1811.", "", (), "", ("mill",),
    ("The mill of Holm was opened in 1811.",),
)  # fmt: skip
TOWER = replace(
    MILL, row_id="2", text="The tower of Lund is old.", documents=("tower",),
    passages=("The old tower of Lund is by the river.",),
)  # fmt: skip


@pytest.fixture
def both(tiny_bert: Path) -> towers.Towers:
    found = towers.load(str(tiny_bert), RECIPE)
    found.eval()  # no dropout: losses can be compared
    return found


def loss(both: towers.Towers, searches: list[Search], recipe: EncoderRecipe = RECIPE) -> float:
    found = SearchObjective(recipe, both).loss(searches, 0, torch.Generator())
    return float(found.detach())


def test_whose_passages_are_negatives() -> None:
    searches = [
        replace(MILL, documents=("mill", "mill-two")),  # two pages were laid beside this claim
        TOWER,
        replace(MILL, row_id="3", passages=("A second part of the page.",)),
    ]
    columns = [
        ("mill", "The mill of Holm was opened in 1811."),
        ("mill-two", "An old mill."),
        ("tower", "The old tower of Lund is by the river."),
        ("mill", "A second part of the page."),
        ("other", "The mill of Holm was opened in 1811."),  # another page, the same words
    ]
    assert contrast.are_negative(searches, columns).tolist() == [
        [False, False, True, False, False],
        [True, True, False, True, True],
        [False, True, True, False, True],
    ]


def test_a_passage_is_encoded_once_and_by_its_document() -> None:
    again = replace(MILL, row_id="3", negatives=(("tower", TOWER.passages[0]),))
    found = contrast.shown([MILL, TOWER, again], [[1.0], [1.0], [1.0]])
    assert found.columns == {("mill", MILL.passages[0]): 0, ("tower", TOWER.passages[0]): 1}
    assert found.targets == [[(0, 1.0)], [(1, 1.0)], [(0, 1.0)]]
    assert found.candidates == [[0], [1], [0, 1]]


def test_the_listwise_loss_by_hand() -> None:
    found = contrast.Shown(
        {("a", "x"): 0, ("a", "y"): 1, ("b", "z"): 2}, [[(0, 1.0)], [(1, 0.25), (2, 0.75)]]
    )
    scores = torch.tensor([[1.0, 9.0, 0.0], [0.0, 1.0, 2.0]])
    negative = torch.tensor([[False, False, True], [True, False, False]])
    got = contrast._listwise(scores, found, negative)
    first = torch.log1p(torch.exp(torch.tensor(-1.0)))  # column 1 stands at 9 and counts nowhere
    second = 0.25 * first + 0.75 * torch.log1p(torch.exp(torch.tensor(-2.0)))
    torch.testing.assert_close(got, torch.stack([first, second]))


def test_rows_of_one_document_are_no_negatives_of_each_other(both: towers.Towers) -> None:
    same = replace(MILL, row_id="3", text="The old mill.", passages=("The mill is by the river.",))
    assert loss(both, [MILL, same]) == 0.0
    assert loss(both, [MILL, replace(same, documents=("another",))]) > 0.1
    assert loss(both, [MILL, TOWER, same]) != loss(both, [MILL, TOWER])
    assert loss(both, [MILL]) == 0.0


def test_a_search_without_negatives_has_a_gradient_that_is_finite(both: towers.Towers) -> None:
    found = SearchObjective(RECIPE, both).loss([MILL], 0, torch.Generator())
    found.backward()
    grads = [p.grad for p in both.parameters() if p.grad is not None]
    assert grads
    assert all(bool(torch.isfinite(grad).all()) for grad in grads)


def test_hard_em_takes_the_passage_that_scores_best(both: towers.Towers) -> None:
    passages = ("The market is a fair.", MILL.passages[0], "It was not built by the people.")
    alone = [loss(both, [replace(MILL, passages=(p,)), TOWER]) for p in passages]
    assert max(alone) - min(alone) > 0.05, "the passages differ, or the test tests nothing"
    every = replace(MILL, passages=passages)
    # The tower's row has the mill's chosen passage as its negative, so its part moves as well.
    claim = both.judged([MILL.text], "query", 32)
    best = int((claim @ both.judged(passages, "passage", 64).T).argmax())
    assert loss(both, [every, TOWER]) == pytest.approx(alone[best], abs=1e-5)
    first = replace(RECIPE, strategy="first")
    assert loss(both, [every, TOWER], first) == pytest.approx(alone[0], abs=1e-5)


def test_soft_em_shares_by_score_and_temperature(both: towers.Towers) -> None:
    every = replace(MILL, passages=("The market is a fair.", MILL.passages[0]))
    recipe = replace(RECIPE, strategy="soft_em", temperature=(0.5, 0.5))
    objective = SearchObjective(recipe, both)
    (shares,) = objective._e_step([every], [MILL.text], 0, torch.Generator())
    claim = both.judged([MILL.text], "query", 32)
    cosines = (claim @ both.judged(every.passages, "passage", 64).T)[0]
    expected = torch.softmax(cosines / recipe.score_temperature * 0.5, dim=0)
    assert shares == pytest.approx(expected.tolist(), abs=1e-5)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_has_a_loss(both: towers.Towers, strategy: str) -> None:
    every = replace(MILL, passages=(*MILL.passages, "The market is a fair."))
    assert 0 < loss(both, [every, TOWER], replace(RECIPE, strategy=strategy)) < 100


def test_the_score_is_the_cosine_over_its_temperature(both: towers.Towers) -> None:
    claim = both.judged([MILL.text], "query", 32)
    right, wrong = both.judged([MILL.passages[0], "A fair."], "passage", 64)
    torch.testing.assert_close(claim.norm(), torch.tensor(1.0))
    search = replace(MILL, negatives=(("fair", "A fair."),))
    for temperature in (0.05, 0.5):
        gap = float(claim @ (right - wrong)) / temperature
        expected = float(torch.log1p(torch.exp(torch.tensor(-gap))))
        recipe = replace(RECIPE, score_temperature=temperature)
        assert loss(both, [search], recipe) == pytest.approx(expected, rel=1e-3)


def test_a_teacher_that_agrees_adds_nothing_and_another_does(both: towers.Towers) -> None:
    negatives = (("fair", "A fair."), ("tower", TOWER.passages[0]))
    search = replace(MILL, negatives=negatives)
    recipe = replace(RECIPE, distillation=1.0)
    claim = both.judged([MILL.text], "query", 32)
    texts = [*MILL.passages, *(text for _, text in negatives)]
    cosines = (claim @ both.judged(texts, "passage", 64).T)[0] / recipe.score_temperature
    agreeing = replace(search, scores=tuple(cosines.tolist()))
    assert loss(both, [agreeing], recipe) == pytest.approx(0.0, abs=1e-4)
    scores = (3.0, -1.0, 0.0)
    target = torch.softmax(torch.tensor(scores), dim=0)
    expected = float((target * (target.log() - torch.log_softmax(cosines, dim=0))).sum())
    taught = replace(search, scores=scores)
    assert loss(both, [taught], recipe) == pytest.approx(expected, rel=1e-3)
    half = loss(both, [taught], replace(recipe, distillation=0.5))
    assert half == pytest.approx((expected + loss(both, [search], recipe)) / 2, rel=1e-3)
    assert loss(both, [search], recipe) > 0, "a row without scores keeps its own loss whole"


def test_fields_are_replaced_as_often_as_the_recipe_says(both: towers.Towers) -> None:
    both.tokenizer.add_special_tokens(["[MASK]"])
    recipe = replace(RECIPE, query="only_before_cit+title+section", title_dropout=0.25,
                     section_dropout=1.0)  # fmt: skip
    objective, generator = SearchObjective(recipe, both), torch.Generator().manual_seed(3)
    claim = Claim("1", "It was opened in 1811.", "Holm", ("Old town",), "The mill is old.")
    asked = [objective.query(claim, generator) for _ in range(400)]
    text = "[SEP] [MASK] [SEP] The mill is old. It was opened in 1811."
    assert set(asked) == {f"Holm {text}", f"[MASK] {text}"}
    assert 70 < asked.count(f"[MASK] {text}") < 130
    bare = Claim("1", "It was opened in 1811.")
    assert objective.query(bare, generator) == bare.text, "what is not there is not hidden"


def test_without_a_word_for_what_is_hidden_dropout_is_refused(tiny_bert: Path) -> None:
    with pytest.raises(ConfigError, match=r"none of \[MASK\], <mask>.*title_dropout"):
        towers.load(str(tiny_bert), replace(RECIPE, title_dropout=0.1))


def test_a_long_context_keeps_the_words_next_to_the_claim(both: towers.Towers) -> None:
    recipe = replace(RECIPE, query="only_before_cit", max_query_tokens=20)
    claim = Claim("1", "It was opened in 1 8 1 1.", "Holm", (), "The mill is old. " * 20)
    asked = SearchObjective(recipe, both).query(claim, torch.Generator())
    assert asked.endswith("It was opened in 1 8 1 1.")
    assert len(both.starts(asked)) <= 20 - 2
