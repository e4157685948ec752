"""Expanders of queries: what they add, and that a failing one ends nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from pincite import runtime
from pincite.completions import Completion, Prompt
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.errors import BadReply, ConfigError, MissingModel, ServerBusy, ServerError
from pincite.errors import ServerRefused as Refused
from pincite.protocols import Query
from pincite.retrieval.expansion import GIVE_UP, AskedTitles, WithFeedback, WithTitles
from pincite.retrieval.queries import lexical_query
from pincite.settings import Settings, load
from pincite.testing import FakeGenerator, FakeTitleWriter, check_title_writer
from pincite.types import Claim, Document

CLAIM = Claim("c", "The bridge opened in 1911.", "Varde")


def pairs(query: Query) -> tuple[tuple[str, float], ...]:
    assert not isinstance(query, str)
    return query


@dataclass
class Replies:
    """A generator that replies as told, the last one again and again."""

    replies: list[Completion | ServerError]
    fingerprint: str = "told"
    asked: list[Prompt] = field(default_factory=list)

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
        self.asked += prompts
        return [self.replies.pop(0) if len(self.replies) > 1 else self.replies[0] for _ in prompts]


def test_a_title_stands_in_the_query() -> None:
    expander = WithTitles(FakeTitleWriter())
    empty = Claim("e", "")
    assert expander.expand([CLAIM, empty]) == [
        lexical_query(CLAIM, "bridge opened in 1911"),
        lexical_query(empty),
    ]
    assert expander.expand([]) == []
    assert expander.warnings == ()


def test_the_laws_of_writers() -> None:
    contexts = ["Varde [SEP] A bridge opened.", "", "Holm", "Varde [SEP] A bridge opened."]
    check_title_writer(FakeTitleWriter(), contexts)
    check_title_writer(AskedTitles(FakeGenerator()), contexts)


def test_a_failed_title_is_counted_and_said_once() -> None:
    replies: list[Completion | ServerError] = [
        Completion("A mill"),
        ServerBusy("it was busy."),
        Completion("404"),
        Completion("A bay"),
    ]
    writer = AskedTitles(Replies(replies))
    assert writer.titles(["a", "b", "c", "d"]) == [["A mill"], [], [], ["A bay"]]
    assert writer.warnings == ("2 claims were searched without a guessed title: it was busy.",)
    assert WithTitles(writer).warnings == writer.warnings


def test_it_gives_up_after_a_refusal_that_lasts() -> None:
    generator = Replies([Refused("no such key.", 401)])
    expander = WithTitles(AskedTitles(generator))
    for _ in range(3):
        assert expander.expand([CLAIM]) == [lexical_query(CLAIM)]
    assert len(generator.asked) == 1
    (warning,) = expander.warnings
    assert warning.startswith("3 claims were searched without a guessed title: no such key.")
    assert warning.endswith("asked no more.")


@pytest.mark.parametrize("error", [ServerBusy("busy"), BadReply("bad"), Refused("long", 400)])
def test_it_gives_up_after_many_failures_in_a_row(error: ServerError) -> None:
    replies: list[Completion | ServerError] = [Completion("A mill"), error]
    generator = Replies([*([error] * (GIVE_UP - 1)), *replies])
    writer = AskedTitles(generator)
    for _ in range(3 * GIVE_UP):
        writer.titles(["a"])
    assert len(generator.asked) == 2 * GIVE_UP, "the good one began the count anew"


@pytest.fixture
def corpus(tmp_path: Path) -> EmbeddedCorpus:
    found = EmbeddedCorpus.create(tmp_path / "corpus", None)
    found.add(
        [
            Document("http://a/1", "A", "The bridge of Varde was built by Gudena Works."),
            Document("http://a/2", "B", "Gudena Works made bridges and a mill for the town."),
            Document("http://a/3", "C", "Trams rolled through distant suburbs."),
        ]
    )
    return found


def test_feedback_adds_words_of_the_index(corpus: EmbeddedCorpus) -> None:
    with corpus:
        assert [form for form, _ in corpus.terms(["Bridges", "bridge", "Ærø", "—"])] == [
            *("bridg", "bridg", "aero", "")
        ]
        idf = [round(value, 3) for _, value in corpus.terms(["bridges", "trams", "none", ""])]
        assert idf == [0.47, 0.981, 2.079, 0.0], "ln(1 + (3 - n + 0.5) / (n + 0.5)) for 2, 1, 0"
        expander = runtime.expander(Settings.of(expansion="rm3"), corpus)
        assert isinstance(expander, WithFeedback)
        first, nothing = expander.expand([CLAIM, Claim("x", "Zzz qqq.")])
        assert first[:2] == lexical_query(CLAIM)
        assert {"gudena", "works"} <= dict(pairs(first)).keys()
        assert nothing == lexical_query(Claim("x", "Zzz qqq."))
        (hits,) = corpus.lexical().retrieve([first], 3)
        assert [hit.passage.url for hit in hits] == ["http://a/1", "http://a/2"]


def test_built_from_settings(corpus: EmbeddedCorpus, monkeypatch: pytest.MonkeyPatch) -> None:
    with corpus:
        assert runtime.expander(Settings(), corpus) is None
        monkeypatch.setenv("PINCITE_CHAT_KEY", "sk-secret")
        settings = load(
            {"expansion": "server", "chat_url": "http://localhost:1/v1", "chat_model": "tiny"}
        )
        expander = runtime.expander(settings, corpus)
        assert expander is not None
        assert expander.fingerprint == "titles by tiny@localhost:1"
        assert "sk-secret" not in repr(settings) + repr(expander)
        with pytest.raises(MissingModel, match="holds no model that writes titles"):
            runtime.expander(Settings.of(expansion="titles", titles="nowhere"), corpus)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"expansion": "all"}, "expansion is 'all'; expected 'none' or 'rm3' or 'titles'"),
        ({"expansion": "titles"}, "titles is empty; expected the folder of a model"),
        ({"expansion": "server", "chat_model": "m"}, r"expected chat\.url"),
        ({"expansion": "server", "chat_url": "http://a/v1"}, r"chat\.model too"),
        ({"chat_url": "a"}, r"chat\.url is 'a'"),
        ({"title_decoding": "greedy"}, "expected 'beam' or 'sample'"),
    ],
)
def test_settings_that_mean_nothing(given: dict[str, object], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load(given)
