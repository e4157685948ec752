"""Two networks: the shipped one, and a small random one for other languages."""

import json
import re
import shutil
import sys
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import onnx
import pytest
from models.test_session import Words, random_rows
from support.laws import check_verifier

from conftest import HEADS, WIDTH, tiny_weights
from pincite import runtime
from pincite.errors import PinciteWarning, install_command
from pincite.models import calibration, weights
from pincite.models.routing import RoutedVerifier
from pincite.models.verifier import CrossEncoderVerifier
from pincite.models.weights import PIECES, VECTORS, multilingual_verifier
from pincite.settings import ModelSettings
from pincite.types import (
    Claim,
    Passage,
    Span,
)
from pincite_lab.training import bert_onnx

ENGLISH = "The bridge over the river at Varde was built of stone and opened in 1911."
GERMAN = "Die Brücke über den Fluss bei Varde ist aus Stein und wurde 1911 eröffnet."
FINNISH = "Silta on kivestä, ja se avattiin vuonna 1911, kun kaupunki oli vielä pieni."
CLAIM, GERMAN_CLAIM = "The bridge at Varde opened in 1911.", "Die Brücke bei Varde ist von 1911."
SURE = {"contrary_from": -90.0, "denied_from": -90.0, "flags": []}  # any reading is enough


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A verifier that takes the vectors of pieces, with a head on the means of both texts."""
    monkeypatch.setitem(sys.modules, "sentencepiece", SimpleNamespace(SentencePieceProcessor=Words))
    np.save(tmp_path / VECTORS, random_rows())
    (tmp_path / PIECES).touch()
    rng, state = np.random.default_rng(3), tiny_weights(labels=3)
    del state[bert_onnx.WORDS]
    state["pooler.dense.weight"] = rng.normal(0, 0.1, (WIDTH, 4 * WIDTH)).astype(np.float32)
    for end in ("weight", "bias"):
        state[f"{bert_onnx.STANDARD}.{end}"] = rng.normal(0, 1, 4 * WIDTH).astype(np.float32)
    found = tmp_path / weights.MULTILINGUAL_VERIFIER
    found.mkdir()
    onnx.save(bert_onnx.build(state, HEADS, head=True), found / "model.onnx")
    card = {"kind": "verifier", "max_tokens": 64, "languages": ["en", "de", "ja"]}
    (found / "pincite.json").write_text(json.dumps(card))
    return found


@pytest.fixture(scope="module")
def first() -> CrossEncoderVerifier:
    return CrossEncoderVerifier(weights.locate(weights.VERIFIER))


@pytest.fixture
def routed(first: CrossEncoderVerifier, folder: Path) -> RoutedVerifier:
    return RoutedVerifier(first, folder)


def passage(text: str, language: str | None = None) -> Passage:
    return Passage("", "", "", text, Span(0, len(text)), language=language)


def judges(verifier: RoutedVerifier, pairs: Sequence[tuple[Claim, Passage]]) -> list[str]:
    return [evidence.verifier.partition("@")[0] for evidence in verifier.verify(pairs)]


def test_it_is_a_verifier(routed: RoutedVerifier) -> None:
    claims = [Claim.alone(text) for text in (CLAIM, GERMAN_CLAIM)]
    check_verifier(routed, [(c, passage(text)) for c in claims for text in (ENGLISH, GERMAN)])


@pytest.mark.parametrize(
    ("claim", "source", "other"),
    [
        (Claim.alone(CLAIM), passage(ENGLISH), False),
        (Claim.alone("Varde opened 1911."), passage(ENGLISH), False),  # no telling word
        (Claim.alone("Óðinn opened 1911."), passage(ENGLISH), False),
        (Claim.alone("Varde 1911."), passage("Varde: 1911"), False),
        (Claim.alone(CLAIM), passage(GERMAN), True),
        (Claim.alone(CLAIM), passage("Varde: 1911", "de"), True),
        (Claim.alone(GERMAN_CLAIM), passage(ENGLISH), True),
        (Claim.alone(GERMAN_CLAIM), passage(GERMAN), True),
        (Claim("", "Varde 1911.", language="de"), passage(ENGLISH), True),  # of a German article
        (Claim.alone("橋は1911年に開業した。"), passage(ENGLISH), True),
        (Claim.alone(FINNISH), passage(ENGLISH), True),  # not for the network of English
        (Claim.alone(CLAIM), passage(FINNISH), False),  # nobody reads it: as without the other
    ],
)
def test_which_network_judges(
    routed: RoutedVerifier, claim: Claim, source: Passage, other: bool
) -> None:
    expected = weights.MULTILINGUAL_VERIFIER if other else ""
    assert judges(routed, [(claim, source)]) == [expected]
    alone = routed.other if other else routed.first
    (odds,) = routed.log_odds([(claim, source)])
    assert odds.tolist() == alone.log_odds([(claim, source)])[0].tolist()
    assert routed.relevance([(claim, source)]) == alone.relevance([(claim, source)])


def test_english_pairs_are_judged_as_without_the_other(
    first: CrossEncoderVerifier, routed: RoutedVerifier
) -> None:
    claims = [Claim.alone(CLAIM), Claim.alone("The bridge at Varde opened in 1913.")]
    english = [(claim, passage(ENGLISH)) for claim in claims]
    assert routed.verify(english) == first.verify(english)
    assert "other" not in vars(routed), "it is loaded for the first pair that needs it"
    mixed = [english[0], (claims[0], passage(GERMAN)), english[1]]
    assert routed.verify(mixed)[::2] == first.verify(english)


def test_the_fingerprint_names_both(first: CrossEncoderVerifier, routed: RoutedVerifier) -> None:
    assert routed.fingerprint == f"{first.fingerprint} and {routed.other.fingerprint}"
    assert routed.languages == {"en", "de", "ja"}
    assert RoutedVerifier(first).fingerprint == first.fingerprint
    assert RoutedVerifier(first).languages == {"en"}


def test_a_network_that_is_still_to_be_measured_judges_all(tmp_path: Path, folder: Path) -> None:
    new = tmp_path / "new"
    shutil.copytree(folder, new)
    (new / "pincite.json").write_text('{"max_tokens": 64, "languages": []}')
    alone = RoutedVerifier(CrossEncoderVerifier(new), folder)
    assert judges(alone, [(Claim.alone(GERMAN_CLAIM), passage(GERMAN))]) == [""]
    assert alone.languages == set()


@pytest.fixture
def installed(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder, as a package brings it."""
    point = SimpleNamespace(load=lambda: folder)
    monkeypatch.setattr(weights, "entry_points", lambda group, name: [point])
    monkeypatch.setattr(weights, "multilingual_verifier", multilingual_verifier)
    return folder


@pytest.mark.parametrize("lacking", ["model.onnx", f"../{VECTORS}", f"../{PIECES}"])
def test_a_package_that_lacks_a_file_is_named_and_english_is_still_read(
    installed: Path, lacking: str
) -> None:
    assert multilingual_verifier() == installed
    assert runtime.verifier(ModelSettings(), keep=False).languages == {"en", "de", "ja"}
    (installed / lacking).unlink()
    repair = install_command("multilingual", repair=True)
    with pytest.warns(PinciteWarning, match=re.escape(repair)):
        assert runtime.verifier(ModelSettings(), keep=False).languages == {"en"}


@pytest.mark.parametrize("across", [-90.0, None])
def test_across_languages_a_bound_of_its_own_counts(folder: Path, across: float | None) -> None:
    bound = {} if across is None else {"across_from": across}
    of_raw = {"support": [0.0] * 8 + [-9.0], "refute": [0.0] * 8 + [9.0], "name": "test"}
    names = [*calibration.FEATURES, "intercept"]
    stored = of_raw | SURE | bound | {"features": names}
    (folder / calibration.FILE).write_text(json.dumps(stored))
    verifier = CrossEncoderVerifier(folder)
    far, near = verifier.verify(
        [(Claim.alone(CLAIM), passage(GERMAN)), (Claim.alone(GERMAN_CLAIM), passage(GERMAN))]
    )
    assert (far.prob_refuted > 0.5) == (across is not None)
    assert near.prob_refuted > 0.5
    off_topic = "Der Hafen hat drei Kräne, und die Fähre ist nicht mehr in Betrieb."
    (other,) = verifier.verify([(Claim.alone(GERMAN_CLAIM), passage(off_topic))])
    assert other.prob_refuted == 0.0, "on another topic, as far as words tell"
