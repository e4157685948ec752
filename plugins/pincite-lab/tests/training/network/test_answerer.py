"""`pincite train answerer` from rows to an adapter and to merged weights, with tiny networks."""

import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")
pytest.importorskip("trl", reason="training needs the extra: pincite[train]")

from pincite.errors import (  # noqa: E402
    ConfigError,
    InputError,
    MissingExtra,
    MissingModel,
    install_command,
)
from pincite_lab.training import answerer  # noqa: E402
from pincite_lab.training.answer_rows import Lesson  # noqa: E402
from pincite_lab.training.answerer import PLAIN, WEIGHTS  # noqa: E402
from pincite_lab.training.export import export  # noqa: E402
from pincite_lab.training.recipe import AnswererRecipe, Run  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # of libraries that call each other's old names
TOWNS = "Varde Holm Skov Lund Aaby Brenn".split()
YEARS = [str(year) for year in range(1910, 1916)]
RECIPE = AnswererRecipe(
    visits=20,
    max_tokens=400,
    batch_rows=4,
    rows_at_once=2,
    steps=12,
    learning_rate=2e-2,
    rank=8,
    alpha=16,
    modules=("all-linear",),
    checkpointing=False,
)
LESSON = Lesson("The mill", "of Holm", "was opened in 1912 [1].")
CHAT = (
    "{% for m in messages %}<u>{{ m['content'] }}</s>\n{% endfor %}"
    "{% if add_generation_prompt %}<u>{% endif %}"
)
DEAF = CHAT.replace("{% for", "{% if messages[0]['role'] == 'system' %}{{ raise_exception('no') }}"
                              "{% endif %}{% for", 1)  # fmt: skip


def write_base(folder: Path, kind: str = "llama", template: str | None = None) -> Path:
    """A Hugging Face folder of two layers of random weights with a word-level tokenizer."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    words = (
        "<pad> <unk> <s> </s> <u> The the mill of was opened in When ? . , [ ] ( ) 1 2 3".split()
    )
    words += [*TOWNS, *YEARS, "PUBMED", ":"]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    names = {"eos_token": "</s>", "bos_token": "<s>", "unk_token": "<unk>"}
    fast = transformers.PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, additional_special_tokens=["<u>"], **names
    )
    fast.chat_template = template
    fast.save_pretrained(folder)
    torch.manual_seed(1)
    given: dict[str, Any] = {"bos_token_id": 2, "eos_token_id": 3, "vocab_size": len(words)}
    given |= {"initializer_range": 0.1}
    if kind == "llama":
        given |= {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
        given |= {"num_attention_heads": 4, "max_position_embeddings": 512}
        config = transformers.LlamaConfig(**given)
    else:
        given |= {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 512}
        config = transformers.GPT2Config(**given)
    model = transformers.AutoModelForCausalLM.from_config(config)
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_base(tmp_path_factory.mktemp("bases") / "llama")


def rows() -> list[dict[str, Any]]:
    """Each asks for one of its three abstracts; the last cites what it was not given."""
    made: list[dict[str, Any]] = []
    for number, (town, year) in enumerate(zip(TOWNS, YEARS, strict=True)):
        given = [(number, town, year), (number + 50, "Holm", "1911"), (number + 80, "Lund", "1913")]
        abstracts = [
            {
                "id": f"PUBMED:{n}",
                "title": "The mill",
                "text": f"The mill of {t} was opened in {y}.",
            }
            for n, t, y in given
        ]
        said = f"The mill of {town} was opened in {year} [1]."
        question = f"When was the mill of {town} opened?"
        made.append({"question": question, "abstracts": abstracts, "answer": said})
    return [*made, {**made[0], "answer": "The mill (PUBMED:999)."}]


@pytest.fixture
def run(tmp_path: Path, base: Path) -> Run[AnswererRecipe]:
    data = tmp_path / "rows.jsonl"
    data.write_text("\n".join([*map(json.dumps, rows()), "not json"]))
    return Run(data, tmp_path / "run", RECIPE, str(base), device="cpu", threads=1)


def silent(*_: object) -> None:
    pass


def trained(
    run: Run[AnswererRecipe], stop_at: int = 0, warn: Callable[[str], None] = silent
) -> list[float]:
    """The mean loss at each step that was done."""
    means: list[float] = []

    def progress(done: int, total: int, loss: float) -> None:
        means.append(loss)
        if done == stop_at:
            raise KeyboardInterrupt

    answerer.train_answerer(run, silent, warn, progress)
    return means


def test_answers_are_learnt_and_what_was_left_out_is_told(run: Run[AnswererRecipe]) -> None:
    warned: list[str] = []
    longer = replace(run, recipe=replace(RECIPE, steps=30))
    means = trained(longer, warn=warned.append)
    assert means[-1] < 0.7 * means[0]
    told = "\n".join(warned)
    assert "rows.jsonl line 8: " in told
    assert "6 of 7 rows are used" in told
    assert "left out: 1 whose answer cites what is not among its abstracts" in told
    folder = run.folder / "model"
    assert not list(folder.glob("*.bin"))
    card = json.loads((folder / "pincite.json").read_text())
    assert (card["kind"], card["rows"]["learnt_from"], card["data"]) == (
        "answerer",
        6,
        "rows.jsonl",
    )
    assert card["rows"]["unreadable"] == 1
    assert card["loss"]["last"] < 0.7 * card["loss"]["first"]
    assert card["loss"]["curve"][-1][0] == 30
    assert "opened" not in (folder / "pincite.json").read_text()


def test_a_stopped_run_goes_on_from_its_last_checkpoint(
    run: Run[AnswererRecipe], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pincite_lab.training.encoder.SAVE_EVERY", 4)
    with pytest.raises(KeyboardInterrupt):
        trained(run, stop_at=5)
    run.data.unlink()  # what was read is kept
    assert len(trained(run)) == RECIPE.steps - 4
    card = json.loads((run.folder / "model" / "pincite.json").read_text())
    assert [step for step, _ in card["loss"]["curve"]] == list(range(1, RECIPE.steps + 1))
    with pytest.raises(ConfigError):
        trained(replace(run, recipe=replace(RECIPE, rank=4)))


@pytest.mark.parametrize(("template", "takes"), [(None, True), (CHAT, True), (DEAF, False)])
def test_a_system_message_goes_where_the_template_takes_it(
    tmp_path: Path, template: str | None, takes: bool
) -> None:
    _, tokenizer = answerer.load_base(str(write_base(tmp_path, "gpt2", template)), "float32")
    assert answerer.set_template(tokenizer) is takes
    assert tokenizer.chat_template == (template or PLAIN)
    turns = answerer.turns(LESSON, takes)
    assert len(turns["prompt"]) == (2 if takes else 1)
    assert turns["completion"][0]["content"] == LESSON.answer
    assert {"</s>", "<s>", "<u>"} <= answerer.special_tokens(tokenizer)


def test_merged_weights_write_what_the_adapter_writes(
    run: Run[AnswererRecipe], tmp_path: Path
) -> None:
    from peft import PeftModel
    from transformers import AutoModelForCausalLM, AutoTokenizer

    trained(run)
    model, out, whole = run.folder / "model", tmp_path / "out", tmp_path / "whole"
    export(model, out, source="mills", licence="CC0-1.0")
    export(model, whole, source="mills", licence="CC0-1.0", merge=True)
    assert json.loads((out / "pincite.json").read_text())["licence"] == "CC0-1.0"
    assert not list(whole.glob("adapter*"))
    assert AutoTokenizer.from_pretrained(whole).chat_template == PLAIN
    base = AutoModelForCausalLM.from_pretrained(run.base)
    ids = torch.tensor([[5, 7, 8, 20, 9]])
    with torch.no_grad():
        plain = base(ids).logits
        adapted = PeftModel.from_pretrained(base, out).eval()(ids).logits
        merged = AutoModelForCausalLM.from_pretrained(whole).eval()(ids).logits
    assert torch.allclose(adapted, merged, atol=1e-4)
    assert not torch.allclose(adapted, plain, atol=1e-2)
    (model / WEIGHTS).unlink()
    with pytest.raises(MissingModel, match=r"has no adapter_model\.safetensors"):
        export(model, tmp_path / "no", source="", licence="", merge=True)
    with pytest.raises(ConfigError, match="only an answerer can be merged"):
        export(Path(run.base), tmp_path / "no", source="", licence="", merge=True)


def test_what_cannot_be_trained_is_refused(
    run: Run[AnswererRecipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(ConfigError, match=r"no 'c_attn'; it has .*q_proj"):
        trained(replace(run, recipe=replace(RECIPE, modules=("c_attn",)), folder=tmp_path / "a"))
    with pytest.raises(ConfigError, match="max_tokens is 4096; this network takes 512"):
        trained(replace(run, recipe=replace(RECIPE, max_tokens=4096), folder=tmp_path / "b"))
    with pytest.raises(InputError, match="has no rows to train on"):
        trained(replace(run, recipe=replace(RECIPE, max_tokens=20), folder=tmp_path / "c"))
    monkeypatch.setattr("pincite_lab.training.groups.MAX_BAD", 0)
    with pytest.raises(InputError, match="more than 0 bad rows"):
        trained(replace(run, folder=tmp_path / "d"))
    with pytest.raises(InputError, match=r"a folder of \.jsonl"):
        trained(replace(run, data=tmp_path / "e", folder=tmp_path / "f"))
    with pytest.raises(MissingModel, match="cannot be loaded as a causal"):
        trained(replace(run, base=str(tmp_path / "g"), folder=tmp_path / "h"))
    monkeypatch.setattr(answerer, "find_spec", lambda name: None)
    with pytest.raises(MissingExtra, match=re.escape(install_command("train,qlora"))):
        trained(replace(run, recipe=replace(RECIPE, precision="nf4"), folder=tmp_path / "i"))


def test_four_bits_are_trained_and_merged_into_the_full_base(
    run: Run[AnswererRecipe], tmp_path: Path
) -> None:
    pytest.importorskip("bitsandbytes", reason="needs the extra: pincite[qlora]")
    means = trained(replace(run, recipe=replace(RECIPE, precision="nf4")))
    assert means[-1] < means[0]
    export(run.folder / "model", tmp_path / "whole", source="", licence="", merge=True)
    config = json.loads((tmp_path / "whole" / "config.json").read_text())
    assert "quantization_config" not in config


def test_gpt2_has_layers_of_another_kind_and_bfloat16_is_half_the_memory(
    run: Run[AnswererRecipe], tmp_path: Path
) -> None:
    base = write_base(tmp_path / "gpt2", "gpt2")
    recipe = replace(RECIPE, modules=("c_attn",), precision="bfloat16", steps=3)
    assert len(trained(replace(run, base=str(base), recipe=recipe))) == 3


def test_the_command_and_what_it_says(
    run: Run[AnswererRecipe], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    pincite: Callable[..., str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.toml").write_text("steps = 2\nmax_tokens = 400\nrank = 4\n")
    given = ["train", "answerer", "rows.jsonl", "--recipe", "r.toml", "--base", run.base]
    given += ["--run", "mine"]
    message = pincite(*given, "--threads", 1, "--device", "cpu")
    assert "6 of 7 rows are used" in message
    assert "pincite train export mine/model OUT --merge" in message
    assert (tmp_path / "mine" / answerer.LESSONS).exists()
    assert "recipe.precision was 'float32', is 'nf4'" in pincite(*given, "--qlora", code=2)
    assert "how to serve it" in pincite("train", "export", "mine/model", "whole", "--merge")
