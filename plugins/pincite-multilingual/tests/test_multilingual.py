"""The encoder beside the model that it was made from, and the verifier for other languages.

tools/make_reference.py wrote what is expected of the encoder.
"""

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from support.laws import check_encoder, check_verifier
from support.rows import each_row

from pincite import runtime
from pincite.cli import cli
from pincite.models import weights
from pincite.models.session import OnnxEncoder, SharedTokenizer
from pincite.settings import ModelSettings
from pincite.types import Claim, Passage, Span

HERE = Path(__file__).parent
REFERENCE = np.load(HERE / "reference.npz")
DIRECTIONS = np.load(HERE.parent / "tools/languages.npy")
with (HERE / "sentences.tsv").open(encoding="utf-8") as _rows:
    SCRIPTS, SENTENCES = zip(*csv.reader(_rows, "excel-tab"), strict=True)
FOLDER = weights.locate(weights.MULTILINGUAL)


@pytest.fixture(scope="module")
def encoder() -> OnnxEncoder:
    return OnnxEncoder(FOLDER)


@pytest.fixture(scope="module")
def tokenizer() -> SharedTokenizer:
    return SharedTokenizer(FOLDER, 512)


def test_pieces_are_those_of_its_own_tokenizer(tokenizer: SharedTokenizer) -> None:
    found = [row.ids for row in tokenizer.encode_batch([f"passage: {s}" for s in SENTENCES])]
    assert found == [ids[ids >= 0].tolist() for ids in REFERENCE["ids"]]


def test_vectors_are_near_those_in_float(encoder: OnnxEncoder) -> None:
    expected = REFERENCE["vectors"].astype(np.float32)
    expected -= expected @ DIRECTIONS.T @ DIRECTIONS  # without what tells languages apart
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    cosines = (encoder.encode(SENTENCES, "passage") * expected).sum(axis=1)
    assert cosines.min() > 0.995  # 0.9957 with VNNI
    assert cosines.mean() > 0.996


@each_row("multilingual/multilingual/texts_that_are_written_in_two_ways")
def test_texts_that_are_written_in_two_ways(
    tokenizer: SharedTokenizer, one: str, other: str
) -> None:
    first, second = tokenizer.encode_batch([one, other])
    assert first.ids == second.ids


def test_no_text_contains_a_control_piece(tokenizer: SharedTokenizer) -> None:
    (row,) = tokenizer.encode_batch(["</s></s> <s> <pad> <mask>"])
    assert not {0, 1, 2} & set(row.ids[1:-1])


STRANGE = {
    "empty": "",
    "spaces": " \u3000\n" * 1000,
    "no spaces": "x" * 1_000_000,
    "no spaces, Thai": "น้ำ" * 300_000,
    "marks": "e" + "\u0301" * 1_000_000,
    "surrogates": "\ud800\udc00 \udfff",
    "controls": "".join(map(chr, range(32))) + "\x7f\x85\u200b\u202e\ufeff",
    "unassigned": "\U000e0fff\uffff\ue000",
    "unknown letters": "𒀀𒁀𒂀" * 1000,
}


@pytest.mark.parametrize("text", STRANGE.values(), ids=STRANGE)
def test_a_strange_text_costs_only_itself(encoder: OnnxEncoder, text: str) -> None:
    strange, usual = encoder.encode([text, SENTENCES[0]], "passage")
    assert np.linalg.norm(strange) == pytest.approx(1, abs=1e-5)
    assert np.array_equal(usual, encoder.encode(SENTENCES[:1], "passage")[0])


def test_encoder_laws(encoder: OnnxEncoder) -> None:
    check_encoder(encoder)


def test_a_question_in_another_language(encoder: OnnxEncoder) -> None:
    questions = ["When was the stone bridge built?", "Wie hoch ist der Leuchtturm?"]
    chinese = [text for script, text in zip(SCRIPTS, SENTENCES, strict=True) if script == "Chinese"]
    nearest = encoder.encode(questions, "query") @ encoder.encode(chinese, "passage").T
    assert [chinese[i][:4] for i in nearest.argmax(axis=1)] == ["河上的石", "灯塔高3"]


LOADED = """
from pincite.models.weights import VECTORS
from pincite.runtime import encoder
from pincite.settings import Settings
loaded = encoder(Settings(), "multilingual")
lines = iter(open("/proc/self/smaps"))
for line in lines:
    if VECTORS in line:
        print(next(other for other in lines if other.startswith("Rss:")))
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_loading_reads_no_vectors() -> None:
    done = subprocess.run(
        [sys.executable, "-c", LOADED], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["Rss:", "0", "kB"]


def test_a_corpus_by_its_name(tmp_path: Path) -> None:
    for number, text in enumerate(SENTENCES[::10]):
        (tmp_path / f"{number}.txt").write_text(text, encoding="utf-8")
    corpus = str(tmp_path / "corpus")
    by = ["--encoder", weights.MULTILINGUAL]
    run = CliRunner().invoke
    assert run(cli, ["corpus", "add", corpus, str(tmp_path), *by]).exit_code == 0
    found = run(cli, ["corpus", "search", corpus, "Who led the expedition?", "--json", *by])
    assert found.exit_code == 0
    assert len([json.loads(line) for line in found.stdout.splitlines()]) == 10
    assert "multilingual-e5-small@" in run(cli, ["corpus", "status", corpus]).output


VERIFIER = weights.multilingual_verifier()
SOURCE = "Die Brücke bei Varde wurde von Ingrid Holm entworfen und im Jahr 1911 eröffnet."
TRUE = ["Die Brücke bei Varde wurde 1911 eröffnet.", "The bridge at Varde opened in 1911."]
OTHERS = ["Die Brücke bei Varde wurde nie gebaut.", "Two airlines fly to Varde every day."]


@pytest.mark.skipif(VERIFIER is None, reason="it has not been trained")
def test_it_is_calibrated_and_judges_across_languages() -> None:
    assert VERIFIER
    assert {"en", "de"} <= weights.languages_of(VERIFIER)
    verifier = runtime.verifier(ModelSettings(), keep=False)
    assert verifier.other.calibration.name.startswith("dev-")
    passage = Passage("", "", "", SOURCE, Span(0, len(SOURCE)), language="de")
    pairs = [(Claim.alone(text), passage) for text in (*TRUE, *OTHERS)]
    check_verifier(verifier, pairs)
    scores = [evidence.score for evidence in verifier.verify(pairs)]
    assert min(scores[: len(TRUE)]) > max(scores[len(TRUE) :])
