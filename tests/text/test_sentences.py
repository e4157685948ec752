import string
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.text.sentences import sentences, trimmed, whole_sentences
from pincite.types import Span


@pytest.mark.parametrize(
    ("language", "parts"),
    [
        ("en", ["Dr. Holm et al. saw 3.5 m (p < 0.05 vs. control).", "It was repeated."]),
        ("en", ["Ærø 🛥 sailed.", "Žižek waved."]),
        ("en", ["One \ud83d day.", "Two days."]),
        ("de", ["Sie wurde im 19. Jh. von Dr. h. c. Max Lenz erbaut.", "Am 3. Mai 1911 fiel sie."]),
        (
            "de",
            ["Er kam auf Platz 3.", "Der 2. Weltkrieg kam.", "Der Turm misst 12 m.", "Er fiel."],
        ),
        ("fr", ["M. J.-P. Roux vécut av. Foch.", "« Est-ce vrai ? » demanda-t-il.", "Non."]),
        (
            "es",
            ["Está a 12 km.", "La Dra. Vega vivió en el s. XIX d. C. y murió.", "¿Quién lo vio?"],
        ),
        ("it", ["Misura ca. 12 km.", "Il dott. Rossi, cfr. p. 5, morì nel 300 a.C. e fu sepolto."]),
        ("pt", ["No séc. XIX, a Dra. Vega morreu.", "Mede aprox. 12 km.", "Era maior."]),
        ("nl", ["De brug is van ir. J. de Vries, o.a. uit 1911.", "Ze is 12 km.", "Zij viel."]),
        (
            "pl",
            ["W 1920 r. Zamek spłonął.", "Odbudowano go w maju 1931 r.", "Ul. św. Jana ma dr. X."],
        ),
        ("ru", ["Мост открыт в 1911 г.", "В 1920 г. Замок сгорел.", "Ул. им. А. С. Лугина пуста."]),
        (
            "ja",
            [
                "路線である。",
                "1911年に開業した。",
                "「本当か？」と彼は尋ねた（当時3歳。後の市長）。",
                "以上",
            ],
        ),
        ("zh", ["全長12.5公里。", "2001年重開！", "“這是真的嗎？”他問道。"]),
        ("de", ["Er liegt 300 m ü. M. und hat 12 Tsd. Einwohner.", "Es ist röm. Ursprungs."]),
        ("fr", ["Le bd. Holm a été refait par la dir. Roux.", "Il ferme à 20 h 30."]),
        ("es", ["Tiene 1234 hab. (2019) y mide 5 km.", "La presa es de 1953."]),
        ("it", ["Vive in v. Roma, n. 12, a Corno.", "Ha 1200 ab. (2011)."]),
        ("nl", ["Er wonen 40 inw. (2019), d.w.z. 3% van o.a. Varen.", "Mevr. Bos en de rest e.a."]),
        ("pl", ["Wspominał p. Wrona, tzw. Wilk, z m. st. Tormo.", "Młyn spłonął w 1944 r."]),
        ("ru", ["В 3 км к ю.-в. от села жил инж. Иванов.", "Было 3 млн чел. (2010)."]),
        ("ja", ["翌年、Mr. Holm が来た。", "No. 5は残った。"]),
    ],
)
def test_sentences_of_languages(language: str, parts: list[str]) -> None:
    text = ("" if language in ("ja", "zh") else " ").join(parts)
    assert [s.of(text) for s in whole_sentences(text, language)] == parts


def test_a_line_break_ends_a_sentence() -> None:
    text = "Opening hours\nMonday to Friday\n\nThe bridge is closed."
    assert [s.of(text) for s in sentences(text)] == text.replace("\n\n", "\n").split("\n")


def check_spans(text: str, spans: list[Span]) -> None:
    """They are in order and trimmed, and no word is lost."""
    assert all(a.end <= b.start for a, b in pairwise(spans))
    assert all(span.of(text) == span.of(text).strip() != "" for span in spans)
    assert "".join("".join(span.of(text) for span in spans).split()) == "".join(text.split())


@given(st.text(alphabet=string.ascii_letters + " .!?\n\té🛥\u00a0\u2028", max_size=300))
def test_spans_are_ordered_trimmed_and_lose_no_word(text: str) -> None:
    check_spans(text, sentences(text))


@given(
    st.text(alphabet="abAÄя .!?。「」（）\n12km№", max_size=80),
    st.sampled_from(["de", "ja", "pl", "ru", "xx"]),
)
def test_whole_sentences_are_ordered_and_lose_no_word(text: str, language: str) -> None:
    check_spans(text, whole_sentences(text, language))


@given(st.text(alphabet=" ab\n", max_size=20))
def test_trimmed_is_what_strip_leaves(text: str) -> None:
    assert trimmed(text, Span(0, len(text))).of(text) == text.strip()


def test_a_line_of_quotation_marks_does_not_stall() -> None:
    spans = sentences("“" * 100_000)
    assert sum(span.end - span.start for span in spans) == 100_000


def test_very_long_lines_lose_nothing() -> None:
    text = "The bridge of Varde was opened again. " * 1000
    check_spans(text, sentences(text))
