"""What a language model is given of short and long documents: never more than the budget."""

from collections.abc import Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from models.chat_server import Server, good, serving
from tokenizers import Tokenizer

from pincite.llm.calls import Calls, tokens_of
from pincite.llm.chat import ChatClient
from pincite.llm.templates import Templates
from pincite.models import weights
from pincite.protocols import Completion
from pincite.text.passages import passages
from pincite.types import Document, Hit
from pincite.verbs.ask.pipeline import LiteratureFinder, ref_id
from pincite.verbs.ask.report import Reference
from pincite.verbs.ask.writers import ModelWriter, within_budget

QUESTION = "Does velorin reduce the number of migraine days?"
SAID = "Velorin reduced the number of migraine days by 3.1 a month [8, 9]."
FILLER = "The harbour of Varde was dredged in spring, and the tram of line 7 went on until dusk."


def document(n: int, text: str, title: str = "Velorin") -> Document:
    return Document(f"https://papers.example/{n}", f"{title} {n}", text, meta={"pmid": str(n)})


def references(*texts: str) -> list[Reference]:
    documents = [document(n, text) for n, text in enumerate(texts, 1)]
    return [Reference(n, ref_id(d), d) for n, d in enumerate(documents, 1)]


@pytest.fixture(scope="module")
def library() -> list[Document]:
    """Two documents of 1 MB, each with its finding in the middle; 38 abstracts."""
    days = [f"{FILLER} Day {n} was like the others." for n in range(4_500)]
    found = (SAID, "In women velorin reduced the number of migraine days by 2.2.")
    long = [document(n, "\n".join([*days, said, *days])) for n, said in enumerate(found, 1)]
    abstracts = [document(n, f"{FILLER} Velorin was given to {n} adults.") for n in range(3, 41)]
    return [*long, *abstracts]


@pytest.fixture
def server() -> Iterator[Server]:
    with serving() as found:
        found.answers = [good("It does [1].")]
        yield found


@pytest.fixture(scope="module")
def count() -> Tokenizer:
    """A tokenizer of another make than our count: words in pieces."""
    found = Tokenizer.from_file(str(weights.locate(weights.ENCODER) / "tokenizer.json"))
    found.no_truncation()
    return found


class Finds:
    """Finds the first passage of each document."""

    def __init__(self, documents: Sequence[Document]) -> None:
        self.documents = documents

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        hits = [Hit(passages(d)[0], 0.0, rank) for rank, d in enumerate(self.documents, 1)]
        return [hits[:k] for _ in queries]


def writer(server: Server, tokens: int) -> ModelWriter:
    calls = Calls({"": ChatClient(server.url, "tiny")})
    return ModelWriter(calls, Templates.load("en", "en"), tokens)


def test_prompts_stay_within_the_token_budget(
    library: list[Document], server: Server, count: Tokenizer
) -> None:
    by_url = {document.url: document for document in library}
    finder = LiteratureFinder(Finds(library), lambda urls: [by_url[u] for u in urls], limit=40)
    found = finder.find(QUESTION)[0]
    for budget in (1_000, 2_500, 6_000, 20_000):
        *_, reply = writer(server, budget).write(QUESTION, found)
        assert isinstance(reply, Completion)
        messages = [message["content"] for message in server.asked[-1]["messages"]]
        n_tokens = sum(len(each.ids) for each in count.encode_batch(messages))
        assert budget / 3 < n_tokens <= budget
        said = messages[-1]
        assert SAID.replace("[8, 9]", "(8, 9)") in " ".join(said.split())
        if budget > 2_500:
            assert "by 2.2." in said
        if budget == 20_000:  # the short ones are whole
            assert all(f"given to {n} adults." in said for n in range(3, 41))


def test_nothing_is_sent_if_no_reference_fits(server: Server) -> None:
    (piece,) = writer(server, 120).write(QUESTION, references(SAID))
    assert "ask.prompt_tokens" in str(piece)
    assert server.asked == []


@settings(max_examples=40)
@given(st.lists(st.integers(0, 90), min_size=1, max_size=6), st.integers(0, 1_500), st.booleans())
def test_excerpts_never_exceed_the_budget(sizes: list[int], tokens: int, in_lines: bool) -> None:
    join = "\n" if in_lines else " "
    texts = [join.join(f"Adult {n} had {k} attacks [3]." for n in range(k)) for k in sizes]
    found = references(*texts)
    shown, whole = within_budget(found, tokens), within_budget(found, 1_000_000)
    assert tokens_of("\n\n".join(shown)) <= max(tokens, 1)
    assert len(whole) == len(texts)
    # The parts are counted one by one, so a little more than all together.
    if sum(tokens_of(text) + 1 for text in whole) <= tokens:
        assert shown == whole


def test_an_excerpt_keeps_text_order_and_shows_gaps() -> None:
    text = "\n".join([SAID, *[FILLER] * 40, "Velorin helped women."])
    (found,) = references(text)
    cut = passages(found.document)
    ranked = (cut[-1], cut[0])
    (shown,) = within_budget([Reference(1, "1", found.document, 0.0, ranked)], 500)
    assert f"{cut[0].text.replace('[8, 9]', '(8, 9)')}\n[…]\n{cut[-1].text}" in shown
