"""`pincite train encoder` from files to a folder that `--encoder` loads; stopped runs go on."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")
pytest.importorskip("sentence_transformers", reason="training needs the extra: pincite[train]")

from support.files import write_jsonl  # noqa: E402
from support.laws import check_encoder  # noqa: E402
from training.conftest import invented  # noqa: E402

from pincite.errors import ConfigError, InputError, MissingModel  # noqa: E402
from pincite.models.session import OnnxEncoder  # noqa: E402
from pincite_lab.training import encoder, network  # noqa: E402
from pincite_lab.training.export import export  # noqa: E402
from pincite_lab.training.recipe import EncoderRecipe, Run, SetRecipe  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that call each other's old names
RECIPE = EncoderRecipe(
    sets=(SetRecipe("towns", visits=4), SetRecipe("more", visits=2)),
    max_tokens=64,
    batch_claims=6,
    steps=12,
    learning_rate=5e-3,
)


def silent(*_: object) -> None:
    pass


@pytest.fixture
def run(tmp_path: Path, tiny_bert: Path) -> Run[EncoderRecipe]:
    data = tmp_path / "data"
    data.mkdir()
    write_jsonl(data / "towns.jsonl.gz", *invented(24), "not json")
    write_jsonl(data / "more.jsonl", *invented(12, seed=5))
    return Run(data, tmp_path / "run", RECIPE, str(tiny_bert), dense=False, device="cpu", threads=1)


def trained(run: Run[EncoderRecipe], stop_at: int = 0) -> list[float]:
    losses: list[float] = []

    def progress(done: int, total: int, loss: float) -> None:
        assert total == RECIPE.steps
        losses.append(loss)
        if done == stop_at:
            raise KeyboardInterrupt

    encoder.train_encoder(run, silent, silent, progress)
    return losses


def test_negatives_are_of_other_documents(run: Run[EncoderRecipe]) -> None:
    run.folder.mkdir()
    pairs = encoder.prepared(run, silent, silent)
    sought = 16 * 4 + 8 * 2  # rows that support or refute, by visits
    assert len(pairs) == sought
    assert all(pair["negative"] != pair["positive"] for pair in pairs)
    assert encoder.prepared(run, silent, silent) == pairs, "kept"


def test_a_trained_encoder_is_exported_as_it_was_trained(
    run: Run[EncoderRecipe], tmp_path: Path
) -> None:
    losses = trained(run)
    assert len(losses) == RECIPE.steps
    assert losses[-1] < losses[0]
    model = run.folder / "model"
    assert json.loads((model / "pincite.json").read_text()) == {
        "kind": "encoder",
        "pooling": "mean",
        "max_tokens": 64,
    }
    assert not [*model.rglob("*.bin")]
    assert export(model, tmp_path / "out", source="mills", licence="CC0-1.0", floats=True)
    exported = OnnxEncoder(tmp_path / "out", threads=1)
    check_encoder(exported, ["the bridge of Varde", "", "the old mill"])
    body, _ = network.load_body(str(model))
    ids = torch.tensor([exported._session._tokenizer.encode("the mill").ids])
    with torch.no_grad():
        pooled = body.eval()(input_ids=ids).last_hidden_state[0].mean(dim=0).numpy()
    assert np.allclose(
        exported.encode(["the mill"], "query")[0], pooled / np.linalg.norm(pooled), atol=1e-3
    )


def test_a_stopped_run_goes_on_from_its_last_checkpoint(
    run: Run[EncoderRecipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(encoder, "SAVE_EVERY", 4)
    with pytest.raises(KeyboardInterrupt):
        trained(run, stop_at=9)
    assert len(trained(run)) == RECIPE.steps - 8, "saved after step 8"
    with pytest.raises(ConfigError):
        trained(replace(run, recipe=replace(RECIPE, seed=14)))


def test_what_cannot_be_trained_is_refused(run: Run[EncoderRecipe], tmp_path: Path) -> None:
    with pytest.raises(MissingModel):
        trained(replace(run, base=str(tmp_path / "none"), folder=tmp_path / "a"))
    rows = [row for row in invented(12) if row["label"] == "nei"]
    for name in ("towns.jsonl.gz", "more.jsonl"):
        write_jsonl(run.data / name, *rows)
    with pytest.raises(InputError):
        trained(replace(run, folder=tmp_path / "b"))
