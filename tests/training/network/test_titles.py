"""`pincite train titles` from articles to titles, with tiny networks of both forms."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="training needs the extra: pincite[train]")

from pincite import runtime  # noqa: E402
from pincite.cli import main  # noqa: E402
from pincite.corpus.embedded import EmbeddedCorpus  # noqa: E402
from pincite.errors import ConfigError, InputError, MissingExtra, MissingModel  # noqa: E402
from pincite.models.titles import CUE, Reading, TrainedTitles, load  # noqa: E402
from pincite.retrieval.queries import GENERATED_WEIGHT, lexical_query  # noqa: E402
from pincite.settings import Settings  # noqa: E402
from pincite.testing import check_title_writer  # noqa: E402
from pincite.training import prepare  # noqa: E402
from pincite.training.recipe import TITLES, TitlesRecipe, recipe_in  # noqa: E402
from pincite.training.run import Run  # noqa: E402
from pincite.training.titles import pairs  # noqa: E402
from pincite.training.titles import run as titles  # noqa: E402
from pincite.types import Claim  # noqa: E402

TOWNS = "Varde Holm Skov Lund Aaby Brenn Tofte Nesby Gram Olst".split()
THINGS = "bridge mill tower school harbour church".split()
RECIPE = TitlesRecipe(
    visits=10,
    max_context_tokens=40,
    max_title_tokens=12,
    batch_pairs=8,
    steps=30,
    learning_rate=1e-2,
)
FORMS = ("seq2seq", "causal")


def wikitext(town: str) -> str:
    """An article with a claim and a titled source for each thing of the town."""
    return "\n\n".join(
        f"The {thing} of {town} was opened in 19{number}.<ref>{{{{cite web "
        f"|url=https://a.example/{town}/{thing} |title=Old {thing} of {town}}}}}</ref>"
        for number, thing in enumerate(THINGS, 10)
    )


def write_base(folder: Path, form: str) -> Path:
    """A Hugging Face folder of two layers of random weights with a word-level tokenizer."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import (
        BartConfig,
        BartForConditionalGeneration,
        GPT2Config,
        GPT2LMHeadModel,
        PreTrainedTokenizerFast,
    )

    words = "<pad> <unk> <s> </s> The of was opened in Old Title : . , SEP [ ]".split()
    words += [*TOWNS, *THINGS, *(f"19{n}" for n in range(10, 16))]
    tokenizer = Tokenizer(models.WordLevel({w: i for i, w in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    if form == "seq2seq":
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
        )
    names = {"eos_token": "</s>", "bos_token": "<s>", "unk_token": "<unk>"}
    if form == "seq2seq":
        names["pad_token"] = "<pad>"  # causal models often name none
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(folder)
    torch.manual_seed(1)
    ends: dict[str, Any] = {"bos_token_id": 2, "eos_token_id": 3, "vocab_size": len(words)}
    model: Any
    if form == "seq2seq":
        sizes = {"encoder_layers": 2, "decoder_layers": 2, "d_model": 32}
        for part in ("encoder", "decoder"):
            sizes |= {f"{part}_attention_heads": 4, f"{part}_ffn_dim": 48}
        model = BartForConditionalGeneration(
            BartConfig(pad_token_id=0, max_position_embeddings=96, init_std=0.1,
                       decoder_start_token_id=3, forced_eos_token_id=None, **sizes, **ends)
        )  # fmt: skip
    else:
        model = GPT2LMHeadModel(
            GPT2Config(
                n_embd=32, n_layer=2, n_head=4, n_positions=96, initializer_range=0.1, **ends
            )
        )
    model.save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def bases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bases")
    return {form: write_base(folder / form, form) for form in FORMS}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    for town in TOWNS[:4]:
        (folder / f"{town}.wiki").write_text(wikitext(town))
    return folder


@pytest.fixture(params=FORMS)
def run(
    request: pytest.FixtureRequest, data: Path, tmp_path: Path, bases: dict[str, Path]
) -> Run[TitlesRecipe]:
    base = str(bases[request.param])
    return Run(data, tmp_path / "run", RECIPE, base, device="cpu", threads=1)


def silent(*_: object) -> None:
    pass


def trained(run: Run[TitlesRecipe], stop_at: int = 0) -> list[float]:
    """The mean loss at each step that was done."""
    means: list[float] = []

    def progress(done: int, total: int, loss: float) -> None:
        means.append(loss)
        if done == stop_at:
            raise KeyboardInterrupt

    titles.train_titles(run, silent, silent, progress)
    return means


def weights_of(run: Run[TitlesRecipe]) -> bytes:
    return (run.folder / "model" / "model.safetensors").read_bytes()


def test_the_loss_falls_and_titles_are_learnt(run: Run[TitlesRecipe]) -> None:
    means = trained(replace(run, recipe=replace(RECIPE, steps=60, visits=20)))
    assert means[-1] < 0.5 * means[1]
    card = json.loads((run.folder / "model" / "pincite.json").read_text())
    assert (card["kind"], card["form"]) == ("titles", Path(run.base).name)
    writer = TrainedTitles(run.folder / "model", threads=1)
    kept = pairs.kept_pairs(run.folder / prepare.GROUPS)
    assert len(kept) == 24
    found = writer.titles([pair.context for pair in kept])
    hit = sum([pair.title] == guess for pair, guess in zip(kept, found, strict=True))
    assert hit > len(kept) // 2, found


def test_beams_and_sampling_keep_the_laws(run: Run[TitlesRecipe]) -> None:
    trained(run)
    contexts = ["Holm [SEP] The mill of Holm", "Skov [SEP] The bridge", "", "Holm [SEP] The mill"]
    likeliest = TrainedTitles(run.folder / "model", n=3, threads=1)
    check_title_writer(likeliest, contexts)
    assert any(len(found) > 1 for found in likeliest.titles(contexts))
    drawn = TrainedTitles(run.folder / "model", n=3, sampled=True, threads=1)
    check_title_writer(drawn, contexts)
    again = TrainedTitles(run.folder / "model", n=3, sampled=True, threads=1)
    assert again.titles(contexts) == drawn.titles(contexts)
    other = TrainedTitles(run.folder / "model", n=3, sampled=True, seed=2, threads=1)
    assert other.titles(contexts) != drawn.titles(contexts)
    assert len({w.fingerprint for w in (likeliest, drawn, again, other)}) == 3
    before = torch.random.get_rng_state()
    drawn.titles(contexts)
    assert torch.equal(torch.random.get_rng_state(), before)


def test_an_interrupted_run_ends_with_the_same_weights(
    run: Run[TitlesRecipe], tmp_path: Path
) -> None:
    trained(run)
    cut = replace(run, folder=tmp_path / "cut")
    with pytest.raises(KeyboardInterrupt):
        trained(cut, stop_at=11)
    assert not (cut.folder / "model").exists()
    assert len(trained(cut)) == 19
    assert weights_of(cut) == weights_of(run)
    other = replace(run, recipe=replace(RECIPE, seed=14), folder=tmp_path / "other")
    trained(other)
    assert weights_of(other) != weights_of(run)


KILLED = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {tests!r})
import torch
from pincite.training import loop
from pincite.training.titles import run as titles
from pincite.training.run import Run
import test_titles
torch.set_num_threads(1)
loop.descend.__defaults__ = (None, 0.0)
def progress(done, total, loss):
    if done == 9:
        os.kill(os.getpid(), signal.SIGKILL)
run = Run(Path({data!r}), Path({folder!r}), test_titles.RECIPE, {base!r}, device="cpu", threads=1)
titles.train_titles(run, print, print, progress)
"""


def test_a_killed_run_ends_with_the_same_weights(run: Run[TitlesRecipe], tmp_path: Path) -> None:
    cut = replace(run, folder=tmp_path / "cut")
    code = KILLED.format(tests=str(Path(__file__).parent), data=str(run.data), base=run.base,
                         folder=str(cut.folder))  # fmt: skip
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    trained(run)
    assert len(trained(cut)) == 30 - 8, "saved after step 8, killed in 9"
    assert weights_of(cut) == weights_of(run)


@pytest.mark.parametrize("form", FORMS)
def test_a_context_is_cut_from_the_left_and_a_title_ends(bases: dict[str, Path], form: str) -> None:
    _, tokenizer, found = load(str(bases[form]))
    assert found == form
    reading = Reading(tokenizer, found, 6, 9)
    long = tokenizer.decode(reading.context("Holm " * 20 + "mill of Varde"))
    assert "mill of Varde" in long
    assert long.count("Holm") < 6
    assert long.endswith(CUE.strip().replace(":", " :")) == (form == "causal")
    assert reading.title("Old mill")[-1] == tokenizer.eos_token_id


def told(heard: list[str], max_bad: int = 20) -> pairs.Told:
    return pairs.Told(silent, heard.append, max_bad)


def read(data: Path, **recipe: int) -> pairs.Sieve:
    return pairs.read_pairs(data, TitlesRecipe(**recipe), lambda title: len(title) < 60, told([]))


def test_junk_repetition_and_long_titles_are_left_out(tmp_path: Path) -> None:
    cites = ["A mill", "A mill", "404 Not Found", "Archived copy", "nytimes.com", "x" * 70, ""]
    refs = "".join(f"<ref>{{{{cite web|url=http://a/{n}|title={t}}}}}</ref>"
                   for n, t in enumerate(cites))  # fmt: skip
    (tmp_path / "Holm.wiki").write_text(f"The mill burned in 1911.{refs}")
    found = read(tmp_path)
    assert found.kept == [pairs.TitlePair("Holm [SEP] The mill burned in 1911.", "A mill")]
    assert sorted(found.dropped.values()) == [1, 1, 4]


def test_records_take_titles_from_themselves_or_the_pages_beside(
    tmp_path: Path, write: Callable[[Path, list[Any]], Path]
) -> None:
    def record(number: int, **page: str) -> dict[str, Any]:
        return {
            "id": str(number),
            "input": f"Holm [SEP] History [SEP] It burned in 19{number}. [CIT]",
            "output": [{"answer": "x", "provenance": [page]}],
        }

    rows = [record(10, url="http://a/1", title="A mill"), record(11, url="http://a/2"),
            record(12, url="http://a/3"), "no record"]  # fmt: skip
    write(tmp_path / "dev.jsonl.gz", rows)
    page = {"url": "http://a/2", "title": "A fire", "text": "It burned."}
    write(tmp_path / "corpus-dev.jsonl", [page])
    heard: list[str] = []
    found = pairs.read_pairs(tmp_path, TitlesRecipe(), lambda _: True, told(heard))
    assert [(pair.context, pair.title) for pair in found.kept] == [
        ("Holm [SEP] History [SEP] It burned in 1910.", "A mill"),
        ("Holm [SEP] History [SEP] It burned in 1911.", "A fire"),
    ]
    assert len(heard) == 1
    with pytest.raises(InputError, match="More than 0 lines"):
        pairs.read_pairs(tmp_path, TitlesRecipe(), lambda _: True, told([], max_bad=0))


def test_the_seed_chooses_among_many(data: Path) -> None:
    every = read(data).kept
    some = read(data, pairs=5).kept
    assert len(some) == 5
    assert set(some) <= set(every)
    assert read(data, pairs=5).kept == some
    assert read(data, pairs=5, seed=2).kept != some
    assert read(data / "Holm.wiki", pairs=0).kept == [p for p in every if "Holm" in p.title]


def test_data_without_titles_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.wiki").write_text("Nothing is cited here.")
    with pytest.raises(InputError, match="no pair of a claim"):
        read(tmp_path)
    with pytest.raises(InputError, match="There is no"):
        read(tmp_path / "nowhere")


def test_a_plan_holds_every_pair_once_a_visit() -> None:
    some = [pairs.TitlePair("x" * n, "t") for n in range(20)]
    recipe = replace(RECIPE, visits=2, steps=0)
    batches = titles.plan(some, recipe)
    assert sorted(n for batch in batches for n in batch) == sorted([*range(20), *range(20)])
    assert max(map(len, batches)) == 8
    assert titles.plan(some, replace(recipe, seed=2)) != batches
    assert titles.plan(some, replace(recipe, steps=3)) == batches[:3]


def test_what_cannot_be_trained_is_refused(run: Run[TitlesRecipe], tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match="cannot be loaded as a Hugging Face model that writes"):
        trained(replace(run, base=str(tmp_path / "nowhere")))
    long = replace(run, recipe=replace(RECIPE, max_context_tokens=90, max_title_tokens=97),
                   folder=tmp_path / "long")  # fmt: skip
    if Path(run.base).name == "causal":
        with pytest.raises(ConfigError, match="need 187 places; this network has 96"):
            trained(long)
    with pytest.raises(MissingModel, match="holds no model that writes titles"):
        TrainedTitles(Path(run.base))


def test_the_shipped_recipe_and_what_is_wrong_in_another(tmp_path: Path) -> None:
    assert recipe_in(TITLES, TitlesRecipe) == TitlesRecipe()
    path = tmp_path / "r.toml"
    for text, message in [
        ("batch_pairs = 0", "batch_pairs is 0; expected a number above 0"),
        ("towers = 'one'", "unknown key 'towers'; TitlesRecipe knows seed"),
        ("[[sets]]\nname = 'a'", "unknown key 'sets'"),
    ]:
        path.write_text(text)
        with pytest.raises(ConfigError, match=message):
            recipe_in(path, TitlesRecipe)


def test_the_command_and_what_it_says(
    data: Path, bases: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    (tmp_path / "r.toml").write_text("steps = 3\nmax_context_tokens = 40\nmax_title_tokens = 12")

    def call(*more: object, code: int = 0) -> str:
        given = ["data", "--recipe", "r.toml", "--base", bases["causal"], "--device", "cpu"]
        monkeypatch.setattr(sys, "argv", ["pincite", "train", "titles", *map(str, [*given, *more])])
        with pytest.raises(SystemExit) as ended:
            main()
        message = capsys.readouterr().err
        assert (ended.value.code or 0) == code, message
        return message

    message = call("--run", "mine", "--threads", 1)
    assert "24 of 24 pairs are learnt from" in message
    assert "--expansion titles --title-model mine/model" in message
    assert call("--run", "mine", "-q") == ""
    (tmp_path / "r.toml").write_text("steps = 4\nmax_context_tokens = 40\nmax_title_tokens = 12")
    assert "recipe.steps was 3, is 4" in call("--run", "mine", code=2)


def test_a_trained_model_expands_queries(run: Run[TitlesRecipe], tmp_path: Path) -> None:
    trained(run)
    settings = Settings.of(expansion="titles", titles=str(run.folder / "model"), threads=1)
    with EmbeddedCorpus.create(tmp_path / "corpus", None) as corpus:
        expander = runtime.expander(settings, corpus)
        assert expander is not None
        assert expander.fingerprint.startswith("titles by model@")
        claim = Claim("c", "The mill of Holm was opened in 1911.", "Holm")
        (query,) = expander.expand([claim])
        (guessed,) = set(query) - set(lexical_query(claim))
        assert guessed[1] == GENERATED_WEIGHT
        drawn = runtime.expander(settings.but(title_decoding="sample"), corpus)
        assert drawn is not None
        assert "sampled" in drawn.fingerprint


def test_without_torch_the_extra_is_named(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("pincite.models.titles.find_spec", lambda name: None)
    (tmp_path / "pincite.json").write_text('{"kind": "titles"}')
    with pytest.raises(MissingExtra, match=r"pip install 'pincite\[train\]'"):
        TrainedTitles(tmp_path)
