"""Fakes for tests, and the laws that every implementation of a protocol must keep.

Ships with the package, so that who writes a backend can check it: each `check_…` function calls
the thing it is given and raises an `AssertionError` that names the broken law. The fakes need no
weights, no network and no library but numpy.
"""

import copy
import math
import re
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Literal

import numpy as np

from pincite.checks import Failed, Judged, Reading
from pincite.completions import Completion, Prompt
from pincite.errors import ServerError
from pincite.judgement.confirmation import degree
from pincite.protocols import (
    Corpus,
    Encoder,
    Floats,
    Generator,
    Interpreter,
    Judge,
    Retriever,
    TitleWriter,
    Verifier,
)
from pincite.types import Claim, Document, Evidence, Hit, Passage

_WORD = re.compile(r"\w+")


class FakeEncoder:
    """Hashed bags of words as unit vectors: texts that share words are near each other."""

    def __init__(self, dim: int = 32) -> None:
        self._dim = dim

    @property
    def dim(self) -> int:
        """The number of dimensions."""
        return self._dim

    @property
    def fingerprint(self) -> str:
        """`fake-32` for 32 dimensions."""
        return f"fake-{self._dim}"

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Unit vectors (n_texts, dim); the role makes no difference, no words give one axis.

        >>> FakeEncoder(4).encode(["Rome", "rome!"], "query").round(2).tolist()
        [[0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, -1.0]]
        """
        vectors = np.zeros((len(texts), self._dim), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                digest = blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
                number = int.from_bytes(digest, "little")
                vector[(number >> 1) % self._dim] += 1.0 if number & 1 else -1.0
            if not vector.any():
                vector[0] = 1.0
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / norms, dtype=np.float32)


class FakeGenerator:
    """A language model that replies with the last line that it was shown, fences left out."""

    fingerprint = "fake"

    def generate(self, prompts: Sequence[Prompt]) -> list[Completion | ServerError]:
        """The last line of each prompt that is no mark of a fence."""
        lines = [
            [line for line in prompt.user.splitlines() if not line.startswith(("<data", "</data"))]
            for prompt in prompts
        ]
        return [Completion(of_prompt[-1] if of_prompt else "nothing") for of_prompt in lines]


class FakeJudge:
    """A judge for whom a passage supports a reading by the share of its words that it holds."""

    fingerprint = "fake"

    def judge(self, pairs: Sequence[tuple[Reading, Passage]]) -> list[Judged | Failed]:
        """The share for the reading and none for its negation; a reading without words fails.

        >>> from pincite.checks import StatementType
        >>> from pincite.types import Span
        >>> reading = Reading("r1", "A mill stands", StatementType.DESCRIPTIVE)
        >>> FakeJudge().judge([(reading, Passage("d", "u", "", "A mill fell", Span(0, 11)))])
        [Judged(prob_reading=0.67, prob_negation=0.0, quote=None, reasons_coded=(), analysis='')]
        """
        return [self._one(reading, passage) for reading, passage in pairs]

    def _one(self, reading: Reading, passage: Passage) -> Judged | Failed:
        words = set(_WORD.findall(reading.text.lower()))
        if not words:
            return Failed("reply", "the reading has no words")
        shared = words & set(_WORD.findall(passage.text.lower()))
        return Judged(round(len(shared) / len(words), 2), 0.0)


class FakeTitleWriter:
    """A writer whose title is the context's last words; none where there are no words."""

    fingerprint = "fake"
    warnings: tuple[str, ...] = ()

    def titles(self, contexts: Sequence[str]) -> list[list[str]]:
        """One title each, of at most four words.

        >>> FakeTitleWriter().titles(["Varde [SEP] The bridge of Varde opened.", ""])
        [['bridge of Varde opened'], []]
        """
        words = [_WORD.findall(context)[-4:] for context in contexts]
        return [[" ".join(found)] if found else [] for found in words]


def check_encoder(
    encoder: Encoder, texts: Sequence[str] = ("Rome", "", "a longer text. " * 50)
) -> None:
    """One float32 unit vector a text, in order; nothing for nothing; the same again; no changes."""
    assert encoder.dim > 0, f"dim should be positive, is {encoder.dim}"
    assert encoder.fingerprint, "the fingerprint is empty"
    for role in ("query", "passage"):
        _check_encoding(encoder, texts, "query" if role == "query" else "passage")


def check_retriever(
    retriever: Retriever, queries: Sequence[str], ks: Sequence[int] = (1, 10)
) -> None:
    """At most k hits a query, ranked 1, 2, …, best first, each passage once, ties by passage id."""
    assert retriever.retrieve([], 10) == [], "no queries should give no results"
    assert retriever.retrieve(queries, 0) == [[] for _ in queries], "k=0 should give empty lists"
    for k in ks:
        given = list(queries)
        results = retriever.retrieve(given, k)
        assert given == list(queries), "retrieve changed its queries"
        assert len(results) == len(queries), f"{len(results)} results for {len(queries)} queries"
        for query, hits in zip(queries, results, strict=True):
            _check_hits(query, hits, k)
        assert retriever.retrieve(queries, k) == results, "the same call gave another result"


def check_verifier(verifier: Verifier, pairs: Sequence[tuple[Claim, Passage]]) -> None:
    """One evidence a pair, in order, about that passage; probabilities sum to one; quotes exist."""
    assert verifier.fingerprint, "the fingerprint is empty"
    assert verifier.verify([]) == [], "no pairs should give no evidence"
    before = copy.deepcopy(list(pairs))
    evidence = verifier.verify(pairs)
    assert list(pairs) == before, "verify changed its pairs"
    assert len(evidence) == len(pairs), f"{len(evidence)} pieces of evidence, {len(pairs)} pairs"
    for (_, passage), piece in zip(pairs, evidence, strict=True):
        _check_evidence(passage, piece)
    assert verifier.verify(pairs) == evidence, "the same call gave another result"


def check_interpreter(interpreter: Interpreter, statements: Sequence[str]) -> None:
    """One interpretation a statement, in order; readings have ids r1, r2, … and a text each."""
    assert interpreter.fingerprint, "the fingerprint is empty"
    assert interpreter.interpret([]) == [], "no statements should give no interpretations"
    given = list(statements)
    found = interpreter.interpret(given)
    assert given == list(statements), "interpret changed its statements"
    assert len(found) == len(statements), f"{len(found)} results for {len(statements)} statements"
    for interpretation in found:
        ids = [reading.reading_id for reading in interpretation.readings]
        assert ids == [f"r{n}" for n in range(1, len(ids) + 1)], f"ids should be r1, …, are {ids}"
        assert interpretation.by, "it is not said who found the readings"
        for reading in interpretation.readings:
            assert reading.text.strip(), "a reading without text"
            assert reading.negation != reading.text, "a reading is its own negation"


def check_judge(judge: Judge, pairs: Sequence[tuple[Reading, Passage]]) -> None:
    """A judgement or a failure a pair, in order; probabilities in 0 … 1; quotes exist."""
    assert judge.fingerprint, "the fingerprint is empty"
    assert judge.judge([]) == [], "no pairs should give no judgements"
    before = copy.deepcopy(list(pairs))
    outcomes = judge.judge(pairs)
    assert list(pairs) == before, "judge changed its pairs"
    assert len(outcomes) == len(pairs), f"{len(outcomes)} judgements for {len(pairs)} pairs"
    for (_, passage), outcome in zip(pairs, outcomes, strict=True):
        if isinstance(outcome, Failed):
            assert outcome.detail, "a failure without a reason"
            continue
        probs = (outcome.prob_reading, outcome.prob_negation)
        assert all(0.0 <= prob <= 1.0 for prob in probs), f"probabilities out of range: {probs}"
        assert -1.0 <= degree(*probs) <= 1.0, f"a degree out of range: {probs}"
        if outcome.quote is not None:
            start, end = outcome.quote
            assert 0 <= start < end <= len(passage.text), f"the quote {outcome.quote} is outside"


def check_generator(generator: Generator, prompts: Sequence[Prompt]) -> None:
    """A reply or an error a prompt, in order; nothing for nothing; no changes.

    That a model replies the same again is not asked: servers promise no such thing.
    """
    assert generator.fingerprint, "the fingerprint is empty"
    assert generator.generate([]) == [], "no prompts should give no replies"
    before = copy.deepcopy(list(prompts))
    replies = generator.generate(prompts)
    assert list(prompts) == before, "generate changed its prompts"
    assert len(replies) == len(prompts), f"{len(replies)} replies for {len(prompts)} prompts"
    for reply in replies:
        if isinstance(reply, Completion):
            assert reply.text.strip(), "a completion without text should be an error"
        else:
            assert str(reply), "an error without a message"


def check_title_writer(
    writer: TitleWriter, contexts: Sequence[str], *, repeats: bool = True
) -> None:
    """Titles of one line, each once; in the contexts' order and number; nothing for nothing.

    `repeats`: whether the same call must give the same titles, and a context the same in whatever
    company. A server's model may promise neither.
    """
    assert writer.fingerprint, "the fingerprint is empty"
    assert writer.titles([]) == [], "no contexts should give no titles"
    given = list(contexts)
    found = writer.titles(given)
    assert given == list(contexts), "titles changed its contexts"
    assert len(found) == len(contexts), f"{len(found)} lists for {len(contexts)} contexts"
    for titles in found:
        assert len(set(titles)) == len(titles), f"a title came twice: {titles}"
        for title in titles:
            assert title.strip() == title, f"a title with white space around it: {title!r}"
            assert len(title.splitlines()) == 1, f"a title should be one line: {title!r}"
    if repeats:
        assert writer.titles(contexts) == found, "the same call gave other titles"
        turned = writer.titles(list(reversed(contexts)))[::-1]
        assert turned == found, "titles do not follow the order of the contexts"


def check_corpus(
    make: Callable[[], Corpus], reopen: Callable[[Corpus], Corpus] = lambda corpus: corpus
) -> None:
    """Everything a corpus promises, from adding to deleting; `make` gives an empty one.

    `reopen` closes a corpus and opens it again; what was committed must still be there.
    """
    corpus = make()
    _check_empty(corpus)
    documents = [_document(i) for i in range(12)]
    before = copy.deepcopy(documents)
    assert corpus.add(documents) == len(documents), "add should count the new documents"
    assert documents == before, "add changed its documents"
    _check_adding(corpus, documents)
    corpus = reopen(corpus)
    _check_replacing(corpus, documents)
    _check_deleting(corpus, documents)
    corpus = reopen(corpus)
    assert corpus.get([documents[0].url]) == [None], "a deleted document came back"
    assert documents[0].url not in _found(corpus, "topic0"), "a deleted passage came back"


def _check_encoding(
    encoder: Encoder, texts: Sequence[str], role: Literal["query", "passage"]
) -> None:
    assert encoder.encode([], role).shape == (0, encoder.dim), "no texts should give (0, dim)"
    given = list(texts)
    vectors = encoder.encode(given, role)
    assert given == list(texts), "encode changed its texts"
    assert vectors.shape == (len(texts), encoder.dim), f"shape {vectors.shape} for {len(texts)}"
    assert vectors.dtype == np.float32, f"dtype should be float32, is {vectors.dtype}"
    norms = np.linalg.norm(vectors, axis=1)
    assert np.allclose(norms, 1.0, atol=1e-3), f"vectors should have length 1, have {norms}"
    assert (encoder.encode(texts, role) == vectors).all(), "the same call gave other vectors"
    # Quantised models may differ a little with the company a text is in, but never by much.
    turned = encoder.encode(list(reversed(texts)), role)[::-1]
    nearness = (turned * vectors).sum(axis=1)
    assert (nearness > 0.98).all(), f"vectors do not follow the order of the texts: {nearness}"


def _check_hits(query: str, hits: Sequence[Hit], k: int) -> None:
    assert len(hits) <= k, f"{len(hits)} hits for k={k} and {query!r}"
    ranks = [hit.rank for hit in hits]
    assert ranks == list(range(1, len(hits) + 1)), f"ranks should be 1, 2, …, are {ranks}"
    assert all(math.isfinite(hit.score) for hit in hits), f"a score for {query!r} is not finite"
    order = [(-hit.score, hit.passage.passage_id) for hit in hits]
    assert order == sorted(order), f"hits for {query!r} are not by score, then passage id"
    assert len({i for _, i in order}) == len(order), f"a passage came twice for {query!r}"


def _check_evidence(passage: Passage, evidence: Evidence) -> None:
    assert evidence.passage == passage, f"evidence about another passage than {passage.passage_id}"
    probs = (evidence.prob_supported, evidence.prob_refuted, evidence.prob_neutral)
    assert all(0.0 <= prob <= 1.0 for prob in probs), f"probabilities out of range: {probs}"
    assert math.isclose(sum(probs), 1.0, abs_tol=1e-4), f"probabilities do not sum to 1: {probs}"
    assert math.isfinite(evidence.score), f"the score is not finite: {evidence.score}"
    if evidence.quote is not None:
        start, end = evidence.quote
        assert 0 <= start < end <= len(passage.text), f"the quote {evidence.quote} is outside"


def _document(number: int, text: str = "") -> Document:
    shared = "All of these sentences speak about corpora and their laws. "
    url = f"https://example.org/laws/{number}"
    own = text or f"This page is about topic{number}. " * 3
    meta = {"section": str(number)}
    return Document(url, f"Page {number}", own + shared * 30, "html", "2020-01-02", meta=meta)


def _found(corpus: Corpus, query: str, k: int = 5) -> set[str]:
    """The addresses that a search by words finds."""
    return {hit.passage.url for hit in corpus.lexical().retrieve([query], k)[0]}


def _check_empty(corpus: Corpus) -> None:
    assert corpus.add([]) == 0, "adding nothing should count nothing"
    assert corpus.get([]) == [], "no addresses should give no documents"
    assert corpus.get(["https://example.org/none"]) == [None], "an unknown address should give None"
    assert corpus.delete(["https://example.org/none"]) == 0, "deleting nothing should count nothing"
    for retriever in (corpus.lexical(), corpus.dense()):
        assert retriever.retrieve(["anything"], 3) == [[]], "an empty corpus should find nothing"


def _check_adding(corpus: Corpus, documents: Sequence[Document]) -> None:
    queries = ["topic3", "topic7 corpora", "laws of sentences", ""]
    check_retriever(corpus.lexical(), queries)
    check_retriever(corpus.dense(), queries)
    found = corpus.dense().retrieve(queries, 100)
    assert corpus.add(documents) == 0, "adding the same again should count nothing"
    assert corpus.dense().retrieve(queries, 100) == found, "adding the same again changed a search"
    urls = [document.url for document in reversed(documents)]
    stored = corpus.get(urls)
    assert stored == list(reversed(documents)), "get should give equal documents, in order"
    assert documents[3].url in _found(corpus, "topic3"), "an added document is not found"
    for hits in corpus.lexical().retrieve(queries, 20):
        for hit in hits:
            source = next(d for d in documents if d.url == hit.passage.url)
            assert hit.passage.span.of(source.text) == hit.passage.text, "a span is not its text"


def _check_replacing(corpus: Corpus, documents: Sequence[Document]) -> None:
    new = _document(1, "Now it says something about zebras. ")
    assert corpus.add([new]) == 1, "a changed document should count"
    assert corpus.get([new.url]) == [new], "the new version should take the old one's place"
    assert new.url in _found(corpus, "zebras"), "the new version is not found"
    assert new.url not in _found(corpus, "topic1"), "the old version is still found"
    dense = corpus.dense().retrieve([documents[1].text], 1000)[0]
    old_id = documents[1].doc_id
    assert all(hit.passage.doc_id != old_id for hit in dense), "the old version is still found"


def _check_deleting(corpus: Corpus, documents: Sequence[Document]) -> None:
    url = documents[0].url
    assert corpus.delete([url, url, "https://example.org/none"]) == 1, (
        "delete should count what was"
    )
    assert corpus.get([url]) == [None], "a deleted document is still there"
    for retriever in (corpus.lexical(), corpus.dense()):
        hits = retriever.retrieve([documents[0].text], 1000)[0]
        assert all(hit.passage.url != url for hit in hits), "a deleted passage is still found"
