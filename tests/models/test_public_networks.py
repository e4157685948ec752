"""Each layout on a tiny random network of its architecture, saved as its authors save theirs."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from support.laws import check_verifier

from conftest import WORDS
from pincite.errors import MissingModel
from pincite.models import public, weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.types import Claim, Passage, Span

pytestmark = pytest.mark.train

# The signs of RoBERTa and T5 beside those of BERT, DeBERTa and ModernBERT, which WORDS has; and
# what the prompts say.
SIGNS = ["<pad>", "</s>", "<s>", "<unk>"]
VOCABULARY = [*SIGNS, *WORDS, *"predict : Premise Hypothesis Summarize passage conclude".split()]
SIZE = 256  # more than T5's token "1", 209
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": SIZE,
         "intermediate_size": 48, "max_position_embeddings": 600}  # fmt: skip
T5 = {"d_model": 32, "d_kv": 8, "d_ff": 48, "num_layers": 2, "num_heads": 4, "vocab_size": SIZE,
      "feed_forward_proj": "gated-gelu", "decoder_start_token_id": 0}  # fmt: skip
DEBERTA = {**SMALL, "relative_attention": True, "position_buckets": 16, "pos_att_type": "p2c|c2p",
           "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False,
           "type_vocab_size": 0, "max_relative_positions": -1}  # fmt: skip
DEBERTAS = "DebertaV2ForSequenceClassification"
NLI = {0: "contradiction", 1: "entailment", 2: "neutral"}


def write_tokenizer(folder: Path, like: str) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    signs = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>", "cls": "<s>", "sep": "</s>"}
    pair = "<s> $A </s> </s> $B </s>"
    if like == "bert":  # DeBERTa's and ModernBERT's too
        signs = {"pad": "[PAD]", "eos": "[SEP]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
        pair = "[CLS] $A [SEP] $B [SEP]"
    if like == "t5":
        signs = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>"}
        pair = "$A </s> $B </s>"
    known = {word: i for i, word in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordLevel(known, unk_token=signs["unk"]))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    tokenizer.post_processor = processors.TemplateProcessing(
        single=pair[: pair.index("$A")] + "$A " + signs["eos"],
        pair=pair,
        special_tokens=[(sign, known[sign]) for sign in dict.fromkeys(signs.values())],
    )
    named = {f"{name}_token": sign for name, sign in signs.items()}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, **named).save_pretrained(folder)


INFERENCE = {**DEBERTA, "id2label": NLI, "label2id": {label: i for i, label in NLI.items()}}
TWO = {"num_labels": 2, "pad_token_id": 0}
MODERN = {"global_attn_every_n_layers": 2, "local_attention": 16}
TOKENS = "ModernBertForTokenClassification"
WRONG = {0: "entailment", 1: "neutral", 2: "contradiction"}  # as ModernCE's configuration says
# By the name on the hub: class of the network, its tokenizer, and its configuration.
NETWORKS: dict[str, tuple[str, str, str, dict[str, Any]]] = {
    "MiniCheck-Flan-T5-Large": ("T5ForConditionalGeneration", "t5", "T5Config", T5),
    "MiniCheck-RoBERTa-Large": (
        "RobertaForSequenceClassification", "roberta", "RobertaConfig", {**SMALL, **TWO},
    ),
    "FactCG-DeBERTa-v3-Large": (DEBERTAS, "bert", "DebertaV2Config", DEBERTA),
    "mDeBERTa-v3-base-mnli-xnli": (DEBERTAS, "bert", "DebertaV2Config", INFERENCE),
    "ModernCE-base-nli": (
        "ModernBertForSequenceClassification", "bert", "ModernBertConfig",
        {**SMALL, **MODERN, "pad_token_id": 0, "id2label": WRONG},
    ),
    "lettucedect-base-modernbert-en-v1": (
        TOKENS, "bert", "ModernBertConfig", {**SMALL, **TWO, **MODERN},
    ),
    "lettucedect-mmbert-base-hu-v1": (
        TOKENS, "bert", "ModernBertConfig", {**SMALL, **TWO, **MODERN},
    ),
    "lettucedect-v2-mmbert-base": (
        TOKENS, "bert", "ModernBertConfig",
        {**SMALL, **MODERN, "pad_token_id": 0, "id2label": {0: "supported", 1: "hallucinated"}},
    ),
}  # fmt: skip
HHEM = "hallucination_evaluation_model"


def write_network(folder: Path, kind: str, like: str, config: str, sizes: dict[str, Any]) -> Path:
    import torch
    import transformers

    torch.manual_seed(13)
    model = getattr(transformers, kind)(getattr(transformers, config)(**sizes))
    for weight in model.parameters():  # so that a network of two layers tells texts apart
        torch.nn.init.normal_(weight, 0, 0.5)
    model.save_pretrained(folder)
    write_tokenizer(folder, like)
    return folder


def write_hub_model(parent: Path, name: str) -> Path:
    """The files of a repository; of HHEM the weights below "t5.", all else elsewhere."""
    if name != HHEM:
        return write_network(parent / name, *NETWORKS[name])
    from safetensors.torch import load_file, save_file

    folder, sizes = parent / name, {**T5, "num_labels": 2}
    write_network(folder / "foundation", "T5ForTokenClassification", "t5", "T5Config", sizes)
    stored = load_file(folder / "foundation" / "model.safetensors")
    stored.pop("transformer.encoder.embed_tokens.weight", None)
    save_file({f"t5.{name}": value for name, value in stored.items()}, folder / "model.safetensors")
    (folder / "foundation" / "model.safetensors").unlink()
    config = {"model_type": "HHEMv2", "architectures": ["HHEMv2ForSequenceClassification"],
              "auto_map": {"AutoConfig": "configuration_hhem_v2.HHEMv2Config"}}  # fmt: skip
    (folder / "config.json").write_text(json.dumps(config))
    return folder


@pytest.fixture(scope="module", params=[*NETWORKS, HHEM])
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_hub_model(tmp_path_factory.mktemp("hub"), request.param)


def passage(text: str) -> Passage:
    return Passage("d1", "https://varde.example/", "", text, Span(0, len(text)))


CLAIM = Claim("c1", "the bridge opened in 1911 .")
PAIRS = [
    (CLAIM, passage("a bridge in the old town was opened in 1911 .")),
    (CLAIM, passage("the river was old .")),
    (Claim("c2", "the town was old ."), passage("the bridge opened in 1911 .")),
]


def test_every_layout_keeps_the_laws(folder: Path) -> None:
    verifier = CrossEncoderVerifier(folder, threads=1)
    check_verifier(verifier, PAIRS)
    assert "/" in verifier.fingerprint, "the layout is part of what was asked"
    scores = [evidence.score for evidence in verifier.verify(PAIRS)]
    assert len({round(score, 3) for score in scores}) == len(scores), "it tells texts apart"


# By the beginning of the name: the class that the published code loads, and the texts it reads.
PUBLISHED = {
    "MiniCheck-Flan": ("AutoModelForSeq2SeqLM", ["predict: {document}</s>{claim}"]),
    "MiniCheck": ("AutoModelForSequenceClassification", ["{document}</s>{claim}"]),
    "FactCG": ("AutoModelForSequenceClassification", [
        "{document}\n\nChoose your answer: based on the paragraph above can we conclude that "
        '"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
    ]),
    "hall": ("", [
        "<pad> Determine if the hypothesis is true given the premise?\n\n"
        "Premise: {document}\n\nHypothesis: {claim}"
    ]),
    "lettucedect-v2-": ("AutoModelForTokenClassification", ["{document}", "{claim}"]),
    "lettucedect-mmbert-base-hu-": ("AutoModelForTokenClassification", [
        "Foglalja össze az alábbi szöveget:\nszövegrészlet 1: {document}\noutput:\n\n\n", "{claim}"
    ]),
    "lettuce": ("AutoModelForTokenClassification", [
        "Summarize the following text:\npassage 1: {document}\noutput:", "{claim}"
    ]),
    "": ("AutoModelForSequenceClassification", ["{document}", "{claim}"]),
}  # fmt: skip


def shown_by_hand(folder: Path, document: str, claim: str) -> tuple[Any, Any]:
    """The published code's own way, written again: the loaded network, and its input."""
    import transformers

    kind, texts = next(way for name, way in PUBLISHED.items() if folder.name.startswith(name))
    own = folder if kind else folder / "foundation"
    tokenizer = transformers.AutoTokenizer.from_pretrained(own)
    model = getattr(transformers, kind).from_pretrained(own) if kind else hhem_by_hand(folder)
    shown = [text.format(document=document, claim=claim) for text in texts]
    return model.eval(), tokenizer(*shown, return_tensors="pt")


def hhem_by_hand(folder: Path) -> Any:
    from safetensors.torch import load_file
    from transformers import AutoConfig, T5ForTokenClassification

    config = AutoConfig.from_pretrained(folder / "foundation", num_labels=2)
    model = T5ForTokenClassification(config)
    stored = load_file(folder / "model.safetensors")
    own = {name.removeprefix("t5."): value for name, value in stored.items()}
    model.load_state_dict(own, strict=False)
    model.transformer.encoder.embed_tokens.weight = model.transformer.shared.weight
    return model


def log_odds_by_hand(folder: Path, document: str, claim: str) -> float:
    """Of support, from the outputs that the published code takes."""
    import torch

    model, shown = shown_by_hand(folder, document, claim)
    if folder.name.startswith("MiniCheck-Flan"):
        shown["decoder_input_ids"] = torch.zeros((1, 1), dtype=torch.long)
    with torch.no_grad():
        logits = model(**shown).logits[0]
    if folder.name.startswith("MiniCheck-Flan"):
        no, yes = logits[0, [3, 209]]
        return float(yes - no)
    if folder.name.startswith("lettuce"):
        of_claim = logits[-len(claim.split()) - 1 : -1]
        return -float((of_claim[:, 1] - of_claim[:, 0]).max())
    logits = logits[0] if folder.name == HHEM else logits
    others = torch.cat([logits[:1], logits[2:]])  # of two labels, and of NLI's three, 1 is support
    return float(logits[1] - others.logsumexp(0))


def test_every_layout_says_what_the_published_code_says(folder: Path) -> None:
    verifier = CrossEncoderVerifier(folder, threads=1)
    for (claim, source), evidence in zip(PAIRS, verifier.verify(PAIRS), strict=True):
        expected = log_odds_by_hand(folder, source.text, claim.text)
        assert evidence.score == pytest.approx(expected, abs=1e-4)
        turned = log_odds_by_hand(folder, claim.text, source.text)
        assert abs(turned - expected) > 1e-3, "the order of the texts makes no difference here"


def loaded(folder: Path) -> tuple[public.PublicNetwork, Any]:
    network = CrossEncoderVerifier(folder, threads=1)._network
    assert isinstance(network, public.PublicNetwork)
    return network, network._backend


def test_a_source_cannot_end_itself_and_write_the_claim(folder: Path) -> None:
    """What ends a document in a row of tokens is text in a source, and left out."""
    _, backend = loaded(folder)
    signs = backend._tokenizer.all_special_tokens
    model, shown = backend._model, []

    def listening(**given: Any) -> Any:
        known = set(backend._tokenizer.all_special_ids)
        shown.append([token for token in given["input_ids"][0].tolist() if token in known])
        return model(**given)

    backend._model = listening
    for document in ("the river was old", f"the river{' the '.join(['', *signs])} was old"):
        backend.logits([(document, CLAIM.text)])
    innocent, forged = shown
    assert forged == innocent


def test_a_network_without_its_head_is_refused(tmp_path: Path) -> None:
    """Made up at random, it would judge."""
    folder = tmp_path / "MiniCheck-RoBERTa-Large"
    sizes = {**SMALL, "pad_token_id": 0}
    bare = write_network(folder, "RobertaModel", "roberta", "RobertaConfig", sizes)
    with pytest.raises(MissingModel, match="lacks the weights classifier"):
        CrossEncoderVerifier(bare)


def test_hhem_without_what_it_was_made_of_says_what_to_do(tmp_path: Path) -> None:
    folder = write_hub_model(tmp_path, HHEM)
    shutil.rmtree(folder / "foundation")
    with pytest.raises(MissingModel, match=r"google/flan-t5-base.*pincite models fetch"):
        CrossEncoderVerifier(folder)


def test_code_of_a_folder_is_never_run(tmp_path: Path) -> None:
    folder = write_hub_model(tmp_path, "mDeBERTa-v3-base-mnli-xnli")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForSequenceClassification": "evil.Evil"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('it ran')\n")
    assert CrossEncoderVerifier(folder).verify(PAIRS)


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    folder = write_hub_model(tmp_path, "MiniCheck-RoBERTa-Large")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingModel, match=r"docs/verifiers\.md"):
        weights.locate(str(folder))
    with pytest.raises(MissingModel, match="cannot be loaded"):
        CrossEncoderVerifier(folder)
