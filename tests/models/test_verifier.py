import json
import math
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from support.laws import check_verifier
from support.rows import each_row

from conftest import write_model
from pincite.errors import MissingModel, PinciteWarning
from pincite.models import weights
from pincite.models.calibration import FEATURES, LEAST_SUPPORT, OF_A_GAP, contrary, features
from pincite.models.session import LogitCache
from pincite.models.verifier import CrossEncoderVerifier, lacking
from pincite.protocols import Floats
from pincite.text.paraphrase import verifier_input
from pincite.text.words import sentences_of
from pincite.types import GAP, Claim, Passage, Span, WitnessKind


def passage(text: str, title: str = "Varde") -> Passage:
    return Passage("d1", "https://varde.example/", title, text, Span(0, len(text)), title)


CLAIM = Claim("c1", "The bridge by Ingrid Holm was opened in 1911.")
PAIRS = [
    (CLAIM, passage("The bridge opened in 1911. It was designed by Ingrid Holm.")),
    (CLAIM, passage("The bridge opened in 1913.")),
    (CLAIM, passage("Tomatoes.")),
]


@pytest.fixture
def verifier(tiny_verifier: Path) -> CrossEncoderVerifier:
    return CrossEncoderVerifier(tiny_verifier)


def test_a_verifier_keeps_the_laws(verifier: CrossEncoderVerifier) -> None:
    check_verifier(verifier, PAIRS)


def test_what_the_rest_of_the_page_states_is_not_missing() -> None:
    alone = passage("The bridge opened in May.")
    whole = replace(alone, page=f"{alone.text} Ingrid Holm designed it. It was built in 1911.")
    of_other = replace(alone, page=f"{alone.text} Tomatoes.")
    pairs = [(CLAIM, each) for each in (alone, whole, of_other)]
    found = features(pairs, np.zeros((3, 2), np.float32), [None] * 3)
    lacks = [FEATURES.index("figures_missing"), FEATURES.index("names_missing")]
    assert found[:, lacks].tolist() == [[1, 2], [0, 0], [1, 2]]
    assert alone == whole  # one place is one passage, whether its page is at hand or not


def test_three_logits_and_one_become_log_odds(
    verifier: CrossEncoderVerifier, tiny_reranker: Path
) -> None:
    rows = [verifier_input(claim.text, passage.text) for claim, passage in PAIRS]
    shares = np.exp(verifier._run(rows))
    shares /= shares.sum(axis=1, keepdims=True)
    support, refuted = verifier.log_odds(PAIRS).T
    assert support == pytest.approx(np.log(shares[:, 0] / (1 - shares[:, 0])), abs=1e-4)
    assert refuted == pytest.approx(np.log(shares[:, 1] / shares[:, 2]), abs=1e-4)
    reranker = CrossEncoderVerifier(tiny_reranker)
    assert reranker.log_odds(PAIRS)[:, 0] == pytest.approx(reranker._run(rows)[:, 0])
    assert all(e.prob_refuted < 1e-6 for e in reranker.verify(PAIRS))


def calibrated(tiny_verifier: Path, tmp_path: Path, **changes: object) -> Path:
    folder = tmp_path / "calibrated"
    shutil.copytree(tiny_verifier, folder)
    content = {
        "features": [*FEATURES, "intercept"],
        "support": [1, 0, -2, 0, 0, 0, 0, 0, 0.5],
        "refute": [0, 1, 0, 0, 0, 0, 0, 0, 0],
        "name": "by hand",
        "contrary_from": 99.0,
        "denied_from": 99.0,
        "flags": [[0.2, 0.5, 0.1], [0.5, 0.8, 0.3]],
    }
    (folder / "calibration.json").write_text(json.dumps(content | changes))
    return folder


def test_a_missing_figure_lowers_the_score_by_the_calibrated_amount(
    verifier: CrossEncoderVerifier, tiny_verifier: Path, tmp_path: Path
) -> None:
    scored = CrossEncoderVerifier(calibrated(tiny_verifier, tmp_path))
    before = [e.score for e in verifier.verify(PAIRS)]
    after = [e.score for e in scored.verify(PAIRS)]
    assert after == pytest.approx([before[0] + 0.5, before[1] - 1.5, before[2] - 1.5], abs=1e-4)
    assert scored.fingerprint.endswith("+by hand")
    assert scored.calibration.rates_at(0.1) is None
    assert scored.calibration.rates_at(0.2) == (0.5, 0.1)
    assert scored.calibration.rates_at(0.9) == (0.8, 0.3)


@pytest.mark.parametrize("changes", [{"features": ["logit"]}, {"support": "x"}, {"flags": [1]}])
def test_a_calibration_or_a_network_that_does_not_fit_says_so(
    tiny_verifier: Path, tmp_path: Path, changes: dict[str, object]
) -> None:
    with pytest.raises(MissingModel, match="not a calibration that this version reads"):
        CrossEncoderVerifier(calibrated(tiny_verifier, tmp_path, **changes))
    with pytest.raises(MissingModel, match="has 2 outputs"):
        CrossEncoderVerifier(write_model(tmp_path / "two", labels=2))


def test_reasons_name_what_the_passage_lacks() -> None:
    assert lacking(CLAIM, PAIRS[0][1]) == ((), ())
    assert lacking(CLAIM, PAIRS[1][1]) == (("1911",), ("Ingrid Holm",))


@each_row("models/verifier/only_a_witness_refutes_and_it_is_the_reason")
def test_only_a_witness_refutes_and_it_is_the_reason(
    verifier: CrossEncoderVerifier, claim: str, text: str, told: str
) -> None:
    denied, silent = verifier.verify(
        [(Claim("c", claim), passage(text)), (Claim("c", claim), passage("Tomatoes grow in rows."))]
    )
    assert denied.reasons[0] == told
    assert denied.prob_refuted >= 0.6 * (1 - denied.prob_supported)
    assert denied.quoted == text
    assert silent.prob_refuted == 0, "a passage that lacks everything denies nothing"


@pytest.fixture
def sure(tiny_verifier: Path, tmp_path: Path) -> CrossEncoderVerifier:
    return CrossEncoderVerifier(calibrated(tiny_verifier, tmp_path, contrary_from=-9.0))


def test_a_sure_network_refutes_what_is_on_its_topic(sure: CrossEncoderVerifier) -> None:
    on_topic, elsewhere = sure.verify([PAIRS[0], PAIRS[2]])
    assert on_topic.prob_refuted > 0
    assert on_topic.witnesses[0].kind is WitnessKind.NETWORK
    assert on_topic.readout
    assert on_topic.readout.network == pytest.approx(sure.log_odds([PAIRS[0]])[0, 0], abs=1e-5)
    assert elsewhere.prob_refuted == 0


def test_a_claim_that_denies_has_a_bound_of_its_own(tiny_verifier: Path, tmp_path: Path) -> None:
    folder = calibrated(tiny_verifier, tmp_path, contrary_from=-9.0, denied_from=9.0)
    network, denial = CrossEncoderVerifier(folder), Claim("c", "Ingrid Holm built no bridge.")
    said, denied = network.verify([PAIRS[0], (denial, PAIRS[0][1])])
    assert said.prob_refuted > 0
    assert WitnessKind.NETWORK not in [witness.kind for witness in denied.witnesses]
    odds = np.zeros((1, 2), dtype=np.float32)
    (found,), places = network.contrary([PAIRS[0]], odds, np.array([9.0], dtype=np.float32))
    assert not places, "below the bound nothing is read again"
    assert found == contrary(odds)[0]


@each_row("models/verifier/figures_that_are_stated_or_follow")
def test_the_network_alone_does_not_refute_figures_that_are_stated_or_follow_from_two(
    sure: CrossEncoderVerifier, claim: str, states: str, lacks: str
) -> None:
    pairs = [(Claim("c", claim), passage(text)) for text in (states, lacks)]
    stated, lacking = sure.verify(pairs)
    assert stated.prob_refuted == 0
    assert lacking.prob_refuted > 0


def test_what_the_network_alone_refutes_with_is_quoted(sure: CrossEncoderVerifier) -> None:
    text = "The bridge stands. Ingrid Holm built the bridge.\nRain fell. It opened late."
    pieces = [text[:48], "Ingrid Holm built the bridge.\nRain fell.", text[49:]]
    of_pieces = [(CLAIM, passage(piece)) for piece in pieces]
    even = np.zeros((1, 2), dtype=np.float32)
    (whole,), places = sure.contrary([(CLAIM, passage(text))], even, np.array([-9.0], np.float32))
    odds = sure.log_odds(of_pieces)
    best = np.full(3, max(0.0, odds[:, 0].max()), dtype=np.float32)
    said = contrary(odds, best)
    sentences = [(CLAIM, passage(span.of(text))) for span in sentences_of(text)]
    alone = contrary(sure.log_odds(sentences))
    quoted = int((said + np.maximum(alone[:-1], alone[1:])).argmax())
    assert places[0].of(text) == pieces[quoted]
    assert whole == pytest.approx(min(said.max(), contrary(even)[0]), abs=1e-5)
    (short,) = sure.verify([PAIRS[0]])
    assert short.quoted == PAIRS[0][1].text.strip()


def test_a_heading_and_a_date_are_not_quoted_instead_of_the_contrary_sentence() -> None:
    shipped = CrossEncoderVerifier(weights.locate(weights.VERIFIER), threads=1)
    says = (
        "The wall was finished in 1963, one year later than planned, since the cement works at "
        "Orrest could not deliver enough in the winter of 1961."
    )
    text = (
        "The building of the Skeld dam\n\nPlans for a dam above Skeld were drawn up after the "
        "flood of 1954, in which eleven people died in Dunmoor. Work on the foundations began in "
        f"the spring of 1959. {says}\n\nNine farms were given up. Their owners received land near "
        "Dunmoor, and the chapel of Upper Skeld was taken down and built anew above the shore."
    )
    source = passage(text, "The building of the Skeld dam")
    (found,) = shipped.verify([(Claim("c", "The Skeld dam was completed in 1971."), source)])
    assert found.witnesses[0].kind is WitnessKind.NETWORK
    assert says in found.quoted


def test_the_quote_of_what_supports_is_the_sentence_that_says_it() -> None:
    shipped = CrossEncoderVerifier(weights.locate(weights.VERIFIER), threads=1)
    claim = Claim("c", "Low blood sugar raises the risk of dementia.")
    shares = "Dementia was sought in patients with low blood sugar."
    says = "Patients with severe hypoglycaemia had a greater risk of dementia later."
    text = f"{shares} They were seen each year. {says}"
    supports, repeats, silent = shipped.verify(
        [
            (claim, passage(text)),
            (claim, passage(f"{text} So low blood sugar raises the risk of dementia.")),
            (claim, passage(f"{shares} They were seen each year. Their blood was taken at home.")),
        ]
    )
    assert supports.quoted == says
    assert repeats.quoted == "So low blood sugar raises the risk of dementia."
    assert silent.quoted == shares


def test_what_contradicts_leaves_little_to_support() -> None:
    # P = (0.1, 0.8, 0.1) and (0.3, 0.6, 0.1): supported, refuted, neutral.
    said = np.array([[math.log(1 / 9), math.log(8)], [math.log(3 / 7), math.log(6)]])
    by_hand = [math.log(4) + math.log(9), math.log(1.5) + math.log(7 / 3)]
    assert contrary(said) == pytest.approx(by_hand, abs=1e-4)
    beside = contrary(said, np.array([math.log(3 / 7)] * 2))
    assert beside == pytest.approx([math.log(4) + math.log(7 / 3), by_hand[1]], abs=1e-4)
    neutral = np.array([[-9.0, 0.0]])  # no support at all, and refuted as likely as neutral
    assert contrary(neutral) == pytest.approx([-LEAST_SUPPORT], abs=1e-2)
    assert np.isfinite(contrary(np.array([[-90.0, 90.0], [90.0, -90.0]]))).all()


class Counting:
    """Computes for real, and counts what it is asked."""

    def __init__(self, verifier: CrossEncoderVerifier, most: int = 10**6) -> None:
        self.verifier, self.most, self.asked = verifier, most, 0

    def __call__(self, rows: Sequence[tuple[str, str]]) -> Floats:
        if self.asked >= self.most:
            raise KeyboardInterrupt
        self.asked += len(rows)
        return self.verifier._run(rows)


def test_a_known_pair_is_not_judged_again_even_after_an_interruption(
    verifier: CrossEncoderVerifier, tmp_path: Path
) -> None:
    many = [(f"The bridge opened in {n}.", "The bridge opened in 1911.") for n in range(200)]
    pairs = [*many, many[0]]
    judged = LogitCache(tmp_path / "judged.sqlite", "net@1")
    with pytest.raises(KeyboardInterrupt):
        judged.logits(pairs, Counting(verifier, most=64))
    judged.close()
    counting, resumed = Counting(verifier), LogitCache(tmp_path / "judged.sqlite", "net@1")
    for _ in range(2):
        assert np.array_equal(resumed.logits(pairs, counting), verifier._run(pairs))
        assert counting.asked == 200 - 64
    resumed.close()


@pytest.mark.parametrize("place", ["damaged", "damaged/below", "/proc/judged.sqlite", "full"])
def test_a_cache_that_cannot_be_used_is_one_warning(
    place: str, verifier: CrossEncoderVerifier, tmp_path: Path
) -> None:
    (tmp_path / "damaged").write_bytes(b"no database" * 100)
    rows, counting = [(claim.text, passage.text) for claim, passage in PAIRS], Counting(verifier)

    def used() -> list[object]:
        judged = LogitCache(tmp_path / place, "net@1")
        if place == "full":
            judged._db.execute("PRAGMA query_only=1")
        found = [judged.logits(rows, counting).tolist() for _ in range(2)]
        judged.close()
        return found

    with pytest.warns(PinciteWarning) as warned:
        first, again = used()
    assert (len(warned), first) == (1, again)
    assert counting.asked == len(rows) * (2 if place == "full" else 1)


def test_a_verifier_that_keeps_its_logits_gives_the_same_evidence(
    tiny_verifier: Path, tmp_path: Path, verifier: CrossEncoderVerifier
) -> None:
    keeping = CrossEncoderVerifier(tiny_verifier, judged=tmp_path / "judged.sqlite")
    first = keeping.verify(PAIRS)
    assert first == keeping.verify(PAIRS) == verifier.verify(PAIRS)
    keeping.close()


def test_one_pair_that_raises_costs_itself(tiny_verifier: Path) -> None:
    class Broken(CrossEncoderVerifier):
        def _logits(self, pairs: Sequence[tuple[Claim, Passage]]) -> Floats:
            if any("ſix" in passage.text for _, passage in pairs):
                raise KeyError
            return super()._logits(pairs)

    pairs = [PAIRS[0], (CLAIM, passage("The bridge had ſix arches.")), PAIRS[2]]
    found = Broken(tiny_verifier).verify(pairs)
    assert [each.failed is not None for each in found] == [False, True, False]
    whole = CrossEncoderVerifier(tiny_verifier).verify([PAIRS[0], PAIRS[2]])
    assert [e.score for e in (found[0], found[2])] == pytest.approx([e.score for e in whole])


def test_a_contrary_word_counts_only_where_the_passage_lacks_the_claims_own() -> None:
    claim = Claim("c", "The price fell in May.")
    texts = ("The price rose in May.", "The price rose in April. In May the price fell.")
    found = features(
        [(claim, passage(text)) for text in texts], np.zeros((2, 2), np.float32), [None] * 2
    )
    assert found[:, FEATURES.index("contrast_differs")].tolist() == [1, 0]


def from_three_places() -> tuple[str, Passage]:
    page = "Ingrid Holm drew it. Rain fell. The bridge opened in 1911. Snow fell. It is of stone."
    pieces = tuple(span for n, span in enumerate(sentences_of(page)) if n % 2 == 0)
    text = GAP.join(span.of(page) for span in pieces)
    whole = Span(pieces[0].start, pieces[-1].end)
    return page, replace(passage(text), span=whole, page=page, pieces=pieces)


def test_a_quote_of_sentences_read_together_stands_in_their_document() -> None:
    page, together = from_three_places()
    model = CrossEncoderVerifier(weights.locate(weights.VERIFIER))
    (found,) = model.verify([(CLAIM, together)])
    assert found.quoted
    assert found.quote_span is not None
    assert found.quote_span.of(page) == found.quoted


def test_each_gap_in_a_text_costs_it_support(verifier: CrossEncoderVerifier) -> None:
    _, torn = from_three_places()
    as_one = replace(torn, text=torn.text.replace(GAP, " "), pieces=())
    whole, with_gaps = verifier.verify([(CLAIM, as_one), (CLAIM, torn)])
    assert with_gaps.score == pytest.approx(whole.score - 2 * OF_A_GAP, abs=1e-4)
