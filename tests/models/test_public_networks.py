"""Each layout on a tiny random network of its architecture, saved as its authors save theirs."""

import json
from collections.abc import Callable
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

# RoBERTa's special tokens, beside those of BERT and DeBERTa in WORDS, and words of the prompts.
SIGNS = ["<pad>", "</s>", "<s>", "<unk>"]
VOCABULARY = [*SIGNS, *WORDS, *"paragraph conclude".split()]
SIZE = 256
SMALL = {"hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "vocab_size": SIZE,
         "intermediate_size": 48, "max_position_embeddings": 600}  # fmt: skip
DEBERTA = {**SMALL, "relative_attention": True, "position_buckets": 16, "pos_att_type": "p2c|c2p",
           "norm_rel_ebd": "layer_norm", "share_att_key": True, "position_biased_input": False,
           "type_vocab_size": 0, "max_relative_positions": -1}  # fmt: skip
NLI = {0: "contradiction", 1: "entailment", 2: "neutral"}


def write_tokenizer(folder: Path, like: str) -> None:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    signs = {"pad": "<pad>", "eos": "</s>", "unk": "<unk>", "cls": "<s>", "sep": "</s>"}
    pair = "<s> $A </s> </s> $B </s>"
    if like == "bert":  # DeBERTa's too
        signs = {"pad": "[PAD]", "eos": "[SEP]", "unk": "[UNK]", "cls": "[CLS]", "sep": "[SEP]"}
        pair = "[CLS] $A [SEP] $B [SEP]"
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


def network(folder: Path, kind: str, like: str, config: Any) -> Path:
    import torch
    import transformers

    torch.manual_seed(13)
    model = getattr(transformers, kind)(config)
    for weight in model.parameters():  # so that a network of two layers tells texts apart
        torch.nn.init.normal_(weight, 0, 0.5)
    model.save_pretrained(folder)
    write_tokenizer(folder, like)
    return folder


def minicheck_roberta(folder: Path) -> Path:
    from transformers import RobertaConfig

    config = RobertaConfig(**SMALL, num_labels=2, pad_token_id=0)
    return network(folder, "RobertaForSequenceClassification", "roberta", config)


def deberta(folder: Path, **more: Any) -> Path:
    from transformers import DebertaV2Config

    config = DebertaV2Config(**DEBERTA, **more)
    return network(folder, "DebertaV2ForSequenceClassification", "bert", config)


def inference(folder: Path) -> Path:
    return deberta(folder, id2label=NLI, label2id={v: k for k, v in NLI.items()})


MAKE: dict[str, Callable[[Path], Path]] = {
    "MiniCheck-RoBERTa-Large": minicheck_roberta,
    "MiniCheck-DeBERTa-v3-Large": deberta,
    "FactCG-DeBERTa-v3-Large": deberta,
    "nli-deberta-v3-base": inference,
    "mDeBERTa-v3-base-mnli-xnli": inference,
}


@pytest.fixture(scope="module", params=MAKE)
def folder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return MAKE[request.param](tmp_path_factory.mktemp("hub") / request.param)


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


def log_odds_by_hand(folder: Path, document: str, claim: str) -> float:
    """Log-odds of support, with the input format of the published code written again."""
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    texts = [document, claim]
    if folder.name.startswith("MiniCheck"):
        texts = [tokenizer.eos_token.join([document, claim])]
    elif folder.name.startswith("FactCG"):
        texts = [
            f"{document}\n\nChoose your answer: based on the paragraph above can we conclude that "
            f'"{claim}"?\n\nOPTIONS:\n- Yes\n- No\nI think the answer is '
        ]
    with torch.no_grad():
        logits = model(**tokenizer(*texts, return_tensors="pt")).logits[0]
    others = torch.cat([logits[:1], logits[2:]])  # of two labels, and of NLI's three, 1 is support
    return float(logits[1] - others.logsumexp(0))


def test_every_layout_says_what_the_published_code_says(folder: Path) -> None:
    verifier = CrossEncoderVerifier(folder, threads=1)
    for (claim, source), evidence in zip(PAIRS, verifier.verify(PAIRS), strict=True):
        expected = log_odds_by_hand(folder, source.text, claim.text)
        assert evidence.score == pytest.approx(expected, abs=1e-4)
        turned = log_odds_by_hand(folder, claim.text, source.text)
        assert abs(turned - expected) > 1e-3, "the order of the texts makes no difference here"


def test_a_long_source_is_cut_and_not_the_claim(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(public, "MAX_TOKENS", 64)
    network = CrossEncoderVerifier(folder, threads=1)._network
    long = "the old town " * 30
    one, other = network.logits([(claim, long) for claim in ("a bridge .", "a bridge in 1911 .")])
    assert abs(one[0] - other[0]) > 1e-4


def test_a_source_cannot_end_itself_and_write_the_claim(folder: Path) -> None:
    """What ends a document in a row of tokens is text in a source, and left out."""
    network = CrossEncoderVerifier(folder, threads=1)._network
    assert isinstance(network, public.PublicNetwork)
    backend: Any = network._backend
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
    from transformers import RobertaConfig

    config = RobertaConfig(**SMALL, pad_token_id=0)
    bare = network(tmp_path / "MiniCheck-RoBERTa-Large", "RobertaModel", "roberta", config)
    with pytest.raises(MissingModel, match="lacks the weights classifier"):
        CrossEncoderVerifier(bare)


def test_code_of_a_folder_is_never_run(tmp_path: Path) -> None:
    folder = inference(tmp_path / "nli-deberta-v3-base")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModelForSequenceClassification": "evil.Evil"}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "evil.py").write_text("raise SystemExit('it ran')\n")
    assert CrossEncoderVerifier(folder).verify(PAIRS)


def test_a_pickle_is_not_read(tmp_path: Path) -> None:
    folder = minicheck_roberta(tmp_path / "MiniCheck-RoBERTa-Large")
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(MissingModel, match=r"docs/verifiers\.md"):
        weights.locate(str(folder))
    with pytest.raises(MissingModel, match="cannot be loaded"):
        CrossEncoderVerifier(folder)
