"""Who speaks in a quote. The quote stands between two `*`."""

import pytest

from pincite.types import Span
from pincite.verbs.check.speakers import UNNAMED, speaker_in

OIL = "Tarn poured oil into the river"
READING = f"{OIL}."
SPEECH = f"“We have proof. *{OIL}.* It must stop"
TRANSCRIPT = """LIV BERG: Good morning.

ADA QUILL: Good morning. We won.

LIV BERG: *And Tarn poured oil into the river.*

ADA QUILL: That is so.
"""


def speaker(text: str, reading: str = READING) -> str:
    start, end = text.index("*"), text.rindex("*") - 1
    return speaker_in(reading, text.replace("*", ""), Span(start, end))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        (f"*“{OIL},” Ms Quill told a crowd of forty.*", "Ms Quill"),
        (f"*‘{OIL},’ Ms Quill told a crowd of forty.*", "Ms Quill"),
        (f'*"{OIL}," thundered Ada Quill.*', "Ada Quill"),
        (f"*“{OIL},” Ada Quill, a baker, boasted.*", "Ada Quill"),
        (f"*“{OIL},” a spokesman for the yard said.*", "a spokesman for the yard"),
        (f"Ada Quill of Varde spoke first. *“{OIL}.”* Applause.", "Ada Quill of Varde"),
        (f"Ada Quill said: “It stinks. *{OIL}.* Stop it.”", "Ada Quill"),
        (f"Mayor Oduya left. {SPEECH},” said Ada Quill.", "Ada Quill"),
        (f"“It stinks,” Ada Quill told us. {SPEECH}.”", "Ada Quill"),
        (f"Applause followed. *“{OIL}.”*", UNNAMED),
        (f"*“{OIL},” he said.*", UNNAMED),
        (
            "Mr Quill promised that the yard would close.\nHe also spoke of the river. "
            f"*“{OIL},” he said.*",
            "Mr Quill",
        ),
        (f"Ada Quill said so. He said it stinks. *“{OIL},” he told a crowd.*", "Ada Quill"),
        (f"He said that it stinks. *“{OIL},” he told a crowd.*", UNNAMED),
        ("*The Mayor replied that Tarn had poured oil into the river.*", "the Mayor"),
        (f"The campaigner Ada Quill spoke. *She said {OIL}.*", "Ada Quill"),
        (
            "*The candidate in the Harbour ward, Ada Quill, said that Tarn poured oil into the "
            "river.*",
            "the candidate in the Harbour ward",
        ),
        (f"*Ada Quill, who runs a mill, told the Post that {OIL}.*", "Ada Quill"),
        ("*Ada Quill asked whether Tarn had poured oil into the river.*", "Ada Quill"),
        (f"*In the words of Ada Quill, {OIL}.*", "Ada Quill"),
        (
            "*Tarn poured 4,000 litres of oil into the river, the council announced today.*",
            "the council",
        ),
        (TRANSCRIPT, "Liv Berg"),
    ],
)
def test_ascribed_words_have_a_speaker(text: str, name: str) -> None:
    assert speaker(text) == name


@pytest.mark.parametrize(
    "text",
    [
        f"Ada Quill spoke first. *{OIL}.*",
        f"Ada Quill spoke of a “mess”. *{OIL}.*",
        f"*{OIL}. “Tarn poured oil, and it stinks,” said Ada Quill.*",
        "*Tarn, maker of “Oil for Every House”, poured oil into the river.*",
        f"*Our results suggest that {OIL}.*",
        f"METHODS: We asked.\n*RESULTS: {OIL}.*\nMETHODS: Ed.\nRESULTS: No.",
    ],
)
def test_what_a_document_states_has_no_speaker(text: str) -> None:
    assert speaker(text) == ""
