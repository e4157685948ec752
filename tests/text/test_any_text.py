"""Every public function of `pincite.text`, and the witness, accept any text."""

import importlib
import inspect
import pkgutil
import typing
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from types import NoneType
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from support.rows import each_row

import pincite.text
from pincite.judgement import atoms, contradictions
from pincite.text import figures, quantities, tables, words
from pincite.text.citation_marks import Mark, Sentence, cited_sentences
from pincite.text.words import sentences_of
from pincite.types import Claim, Document, Passage, Span

SENTENCES = (
    "The ship sailed on Christmas Eve 1741 with six hundred men and sixty-six horses.",
    "On 5 Sept 1700 nine out of ten houses in Skive were lost; half past six in the morning.",
    "Zero out of twelve mills made 3.5 million kilos in the twenty-first century, about 12 %.",
    "The canal is 5 km long, cost $6 m and opened in the spring of 1912, not in the 1880s.",
    "In Kiel it snowed on 31 February, at minus 6 degrees Celsius, 300 feet 9 inches high.",
    "King Isak VI was the first of six kings and died at the age of 77, 66 years after 1790.",
    "Sales rose from 201 of 300 to two thirds, more than six times as many as in 1998/99.",
    "Skov did not win; however, it is unclear whether Kirsten Holm lost [3] (PUBMED:12).",
    "It was not built until 1991, in a fifth of the time, on pp. 12–15 of the sixth volume.",
)
# What `re.IGNORECASE` takes for ASCII, ligatures, and what is a digit or a number elsewhere.
TRAPS = str.maketrans({"s": "ſ", "i": "ı", "I": "İ", "k": "\u212a", "K": "\u212a", "f": "ﬁ"})
SCRIPTS = [
    str.maketrans("0123456789", "".join(chr(first + n) for n in range(10)))
    for first in (0x660, 0x966, 0xFF10, 0x1D7CE)
] + [str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")]
CHANGES: tuple[Callable[[str], str], ...] = (
    lambda word: word.translate(TRAPS),
    str.upper,
    str.title,
    *(lambda word, digits=digits: word.translate(digits) for digits in SCRIPTS),
    lambda word: word + "9" * 330,
    lambda _: "9" * 5000,
    lambda _: "1" + "0" * 400,
    lambda word: f"{word}½ km²",
    lambda word: f"{word}\ud83d",
    lambda word: f"\u202e{word}\u0000\u0307",
    lambda _: "zero",
    lambda _: "0000-00-00",
    lambda _: "–66 °C",
)


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """An ordinary sentence, a few of its words changed."""
    words = draw(st.sampled_from(SENTENCES)).split(" ")
    places = st.integers(0, len(words) - 1)
    for place, change in draw(
        st.lists(st.tuples(places, st.sampled_from(CHANGES) | st.none()), max_size=4)
    ):
        words[place] = change(words[place]) if change else draw(st.text(max_size=4))
    return " ".join(words)


def public_functions() -> list[Callable[..., Any]]:
    """Each public function of `pincite.text`, of all modules there are."""
    found: list[Callable[..., Any]] = []
    for info in pkgutil.walk_packages(pincite.text.__path__, "pincite.text."):
        module = importlib.import_module(info.name)
        found += [
            function
            for name, function in inspect.getmembers(module, inspect.isroutine)
            if not name.startswith("_") and function.__module__ == info.name
        ]
    return found


def argument(hint: Any, name: str, one: str, other: str) -> Any:
    """A value for a parameter, made of two texts."""
    spans = sentences_of(one) or (Span(0, len(one)),)
    document = Document("u", "https://a.example/", one, meta={"page_starts": "[0]"})
    row = tables.Row(other, {"": other, one: "43"}, one)
    numbers = quantities.values(one) or quantities.values("66")
    made: dict[Any, Any] = {
        str: other if name in ("source", "passage", "quote", "evidence", "text") else one,
        int: 1,
        float: 1.0,
        Span: spans[0],
        Document: document,
        figures.Figure: next(iter(figures.figures(one)), figures.figures("66")[0]),
        quantities.Value: numbers[0],
        Sequence[float]: [1.0, 2.0],
        tables.Lookup: tables.Lookup(one, [row], [row], [""], [one]),
        Sequence[str]: [one, other],
        Collection[str]: [one, other],
        Iterable[words.Term]: [one[: words.STEM], ("", 1.0)],
        Iterable[str]: [one, other],
        frozenset[str]: tables.terms_of(one),
        Iterable[Span]: spans,
        Sequence[int]: [0, len(one) // 2],
        Sequence[Mark]: [],
        Sequence[Sentence]: cited_sentences(one),
        Mapping[str, int]: {one: 1, "12": 2},
        Mapping[Span, str]: dict.fromkeys(spans, other),
        Sequence[tuple[str, int]]: [(one, 1)],
        Sequence[tuple[frozenset[str], str]]: [(frozenset({"2"}), other)],
        Callable[[Span, Span], bool]: lambda left, right: left.end > right.end,
        Callable[[Sentence, Sentence], float]: lambda left, right: 0.5,
        Claim: Claim.alone(one),
        Passage: Passage.alone(other),
        Sequence[Passage]: [Passage("d", "", one, other, Span(0, len(other)), one)],
    }
    kinds = [each for each in (typing.get_args(hint) or (hint,)) if each is not NoneType]
    fitting = hint if hint in made else kinds[0]
    assert fitting in made, f"this test does not know how to make a {hint} for {name}"
    return made[fitting]


def call(function: Callable[..., Any], one: str, other: str) -> None:
    """Call a function with arguments made of two texts."""
    hints = typing.get_type_hints(function)
    required = [
        p
        for p in inspect.signature(function).parameters.values()
        if p.default is p.empty and p.kind is not p.KEYWORD_ONLY
    ]
    function(*(argument(hints[p.name], p.name, one, other) for p in required))


FUNCTIONS: list[Callable[..., Any]] = [
    *public_functions(),
    contradictions.contradiction,
    atoms.atoms,
    atoms.unstated_atoms,
]


@settings(
    derandomize=True,
    max_examples=80,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
@given(mutated(), mutated())
def test_every_function_accepts_any_text(one: str, other: str) -> None:
    for function in FUNCTIONS:
        call(function, one, other)


@pytest.mark.parametrize(
    "text",
    [
        *("", " ", "\ud800", "\x00", "½", "İ", "ſ", "'s"),
        *(pytest.param(digit * 5000, id=digit) for digit in "09"),
    ],
)
def test_every_function_accepts_the_smallest_texts(text: str) -> None:
    for function in FUNCTIONS:
        call(function, text, SENTENCES[0])
        call(function, SENTENCES[0], text)


@each_row("text/any_text/other_forms_of_letters_and_digits_are_read_as_the_usual_ones")
def test_other_forms_of_letters_and_digits_are_read_as_the_usual_ones(
    written: str, plain: str
) -> None:
    assert [v for v in quantities.values(written) if not v.weak]
    assert quantities.unstated_values(written, plain) == ()
    assert quantities.unstated_values(plain, written) == ()


@pytest.mark.parametrize(
    ("claim", "source"),
    [
        pytest.param("300 feet 9 inches", "9" * 310 + " feet 9 inches", id="feet"),
        pytest.param("In 1856.", "9" * 320 + " years after the mill of 1790", id="years"),
        ("Ten of them burnt.", "Zero out of twelve burnt."),
        ("It closed on 31 February 1790.", "It closed in the year 0."),
    ],
)
def test_huge_values_state_nothing(claim: str, source: str) -> None:
    assert quantities.unstated_values(claim, source)
    assert contradictions.contradiction(Claim.alone(claim), Passage.alone(source)) is None


def test_a_span_counts_in_the_text_as_it_was_given() -> None:
    text = "ſixty men, İ say, and １２ horses"
    assert [figure.span.of(text) for figure in figures.figures(text)] == ["ſixty", "１２"]
    assert [value.span.of(text) for value in quantities.values(text)] == ["ſixty", "１２"]
