"""The bi-encoder's networks: loaded, written, and exported to what runs without torch."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from support.laws import check_encoder  # noqa: E402

from pincite.errors import ConfigError, MissingModel  # noqa: E402
from pincite.models import weights  # noqa: E402
from pincite.models.encoder import OnnxEncoder  # noqa: E402
from pincite.training import bert_onnx, network  # noqa: E402
from pincite.training.encoder import towers  # noqa: E402
from pincite.training.export import export  # noqa: E402
from pincite.training.recipe import EncoderRecipe, SetRecipe  # noqa: E402

RECIPE = EncoderRecipe(sets=(SetRecipe("towns"),), max_query_tokens=32, max_passage_tokens=64)
TEXTS = [
    "The mill of Holm was opened in 1811.",
    "the church of Gram is closed",
    "a",
    "The people of Gram remember the old church. " * 9,
]


def apart(both: towers.Towers) -> towers.Towers:
    """Two towers that differ, as training makes them."""
    with torch.no_grad():
        for parameter in both.query.parameters():
            parameter.add_(0.1 * torch.randn(parameter.shape, generator=torch.manual_seed(2)))
    return both


@pytest.mark.parametrize("pooling", ["mean", "cls"])
@pytest.mark.parametrize("kind", ["shared", "separate"])
@pytest.mark.parametrize("base", ["tiny_bert", "tiny_roberta"])
def test_what_is_exported_encodes_as_the_torch_model(
    base: str, kind: str, pooling: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    recipe = replace(RECIPE, pooling=pooling, towers=kind)
    both = towers.load(str(request.getfixturevalue(base)), recipe)
    both.eval()
    if kind == "separate":
        apart(both)
    towers.write(both, recipe, tmp_path / "model")
    assert not (tmp_path / "model.part").exists()
    said = export(tmp_path / "model", tmp_path / "out", source="a test", licence="CC0-1.0",
                  floats=True)  # fmt: skip
    assert said == "encoder"
    encoder = OnnxEncoder(weights.locate(str(tmp_path / "out")), threads=1)
    check_encoder(encoder)
    read = towers.load_trained(tmp_path / "model")
    want = {role: read.judged(TEXTS, role, 64).numpy() for role in ("query", "passage")}
    assert np.abs(want["query"][0] @ want["query"][1]) < 0.999, "the rows differ"
    for role in ("query", "passage"):
        np.testing.assert_allclose(encoder.encode(TEXTS, role), want[role], atol=2e-4)
    assert np.allclose(want["query"], want["passage"], atol=1e-3) == (kind == "shared")


def test_int8_is_near(tiny_bert: Path, tmp_path: Path) -> None:
    both = towers.load(str(tiny_bert), RECIPE)
    towers.write(both, RECIPE, tmp_path / "model")
    export(tmp_path / "model", tmp_path / "out", source="a test", licence="CC0-1.0")
    got = OnnxEncoder(tmp_path / "out").encode(TEXTS, "query")
    want = towers.load_trained(tmp_path / "model").judged(TEXTS, "query", 64).numpy()
    assert (got * want).sum(axis=1).min() > 0.97


def test_the_card_says_how_it_reads(tiny_bert: Path, tmp_path: Path) -> None:
    recipe = replace(RECIPE, towers="separate", pooling="cls")
    towers.write(apart(towers.load(str(tiny_bert), recipe)), recipe, tmp_path / "model")
    export(tmp_path / "model", tmp_path / "out", source="a test", licence="CC0-1.0")
    card = json.loads((tmp_path / "out" / "pincite.json").read_text())
    digest = card.pop("query_sha256")
    assert len(digest) == 64
    assert card == {
        "kind": "encoder",
        "pooling": "cls",
        "query": "title+claim",
        "max_tokens": 64,
        "source": "a test",
        "licence": "CC0-1.0",
    }
    (tmp_path / "out" / "pincite.json").write_text('{"pooling": "max"}')
    with pytest.raises(MissingModel, match=r"pooling 'max'; expected one of mean, cls"):
        OnnxEncoder(tmp_path / "out")


def test_what_a_run_wrote_is_a_base_with_both_its_towers(tiny_bert: Path, tmp_path: Path) -> None:
    recipe = replace(RECIPE, towers="separate")
    both = apart(towers.load(str(tiny_bert), recipe))
    both.eval()
    before = both.judged(TEXTS, "query", 32)
    towers.write(both, recipe, tmp_path / "model")
    again = towers.load(str(tmp_path / "model"), recipe)
    torch.testing.assert_close(again.judged(TEXTS, "query", 32), before)
    one = towers.load(str(tmp_path / "model"), RECIPE)
    assert one.shared
    torch.testing.assert_close(
        one.judged(TEXTS, "query", 32), again.judged(TEXTS, "passage", 32)
    )  # fmt: skip


def test_only_the_claims_tower_learns_where_the_index_is_to_stay(tiny_bert: Path) -> None:
    both = towers.load(str(tiny_bert), replace(RECIPE, towers="query"))
    learnt = {name.split(".")[0] for name, p in both.named_parameters() if p.requires_grad}
    assert learnt == {"query"}
    both.train()
    one, other = (both.vectors(TEXTS, "passage", 64) for _ in range(2))
    assert torch.equal(one, other), "no dropout where nothing learns"
    assert not one.requires_grad
    assert both.vectors(TEXTS, "query", 64).requires_grad


def test_the_default_base_comes_out_of_its_int8_file(
    tmp_path: Path, tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of twelve heads, since the file does not name their number."""
    from transformers import BertConfig, BertModel

    _, tokenizer = network.load(str(tiny_bert))
    config = BertConfig(
        vocab_size=tokenizer.get_vocab_size(), hidden_size=48, num_hidden_layers=2,
        num_attention_heads=12, intermediate_size=64, max_position_embeddings=70,
        initializer_range=0.2,
    )  # fmt: skip
    model = BertModel(config, add_pooling_layer=False).eval()
    state = {name: value.numpy() for name, value in model.state_dict().items()}
    folder = tmp_path / "models" / weights.ENCODER
    folder.mkdir(parents=True)
    bert_onnx.quantise(bert_onnx.build(state, 12, head=False), folder / "model.onnx")
    tokenizer.save(str(folder / "tokenizer.json"))
    monkeypatch.setattr(weights, "PACKAGE", tmp_path / "models")
    got = towers.load(weights.ENCODER, RECIPE).judged(TEXTS, "query", 64)
    want = towers.Towers(model, model, tokenizer, "mean").judged(TEXTS, "query", 64)
    assert float((got * want).sum(dim=1).min()) > 0.99
    assert float(torch.abs(want[0] @ want[1])) < 0.98, "the rows differ"
    with pytest.raises(ConfigError, match="max_query_tokens is 71; this network has places for 70"):
        towers.load(weights.ENCODER, replace(RECIPE, max_query_tokens=71))


def test_padding_and_neighbours_change_nothing(
    tiny_bert: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for pooling in ("mean", "cls"):
        both = towers.load(str(tiny_bert), replace(RECIPE, pooling=pooling))
        alone = torch.cat([both.judged([text], "query", 64) for text in TEXTS])
        torch.testing.assert_close(both.judged(TEXTS, "query", 64), alone, atol=1e-5, rtol=0)
        monkeypatch.setattr(network, "CHUNK_TOKENS", (20, 20))
        torch.testing.assert_close(both.judged(TEXTS, "query", 64), alone, atol=1e-5, rtol=0)


def test_an_encoder_for_the_index_keeps_the_laws(tiny_bert: Path) -> None:
    check_encoder(towers.TowersEncoder(towers.load(str(tiny_bert), RECIPE), "tiny", 64))


@pytest.mark.parametrize("card", [None, {"kind": "verifier"}])
def test_what_is_no_trained_encoder_is_named(tmp_path: Path, card: Any) -> None:
    if card:
        (tmp_path / "pincite.json").write_text(json.dumps(card))
    with pytest.raises(MissingModel, match="holds no trained encoder"):
        towers.load_trained(tmp_path)
    with pytest.raises(MissingModel, match="cannot be loaded as a Hugging Face encoder"):
        towers.load(str(tmp_path), RECIPE)
