"""Fakes for tests, and the laws that every implementation of a protocol must keep.

Each `check_…` function calls the thing it is given and raises an `AssertionError` that names the
broken law. The fakes need no weights, no network and no library but numpy.
"""

import copy
import math
import re
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from hashlib import blake2b
from typing import Literal

import numpy as np

from pincite.corpus.protocol import Corpus
from pincite.protocols import Completion, Encoder, Floats, Generator, Prompt, Retriever, Verifier
from pincite.retrieval.filters import Facts, Filters, condition
from pincite.types import Claim, Document, Evidence, Hit, Passage

_WORD = re.compile(r"\w+")


class FakeEncoder:
    """Hashed bags of words as unit vectors: texts that share words are near each other."""

    def __init__(self, dim: int = 32) -> None:
        self.dim = dim
        self.fingerprint = f"fake-{dim}"

    def encode(self, texts: Sequence[str], role: Literal["query", "passage"]) -> Floats:
        """Unit vectors (n_texts, dim); the role makes no difference, no words give one axis.

        >>> FakeEncoder(4).encode(["Rome", "rome!"], "query").round(2).tolist()
        [[0.0, 0.0, 0.0, -1.0], [0.0, 0.0, 0.0, -1.0]]
        """
        vectors = np.zeros((len(texts), self.dim), dtype=np.float32)
        for vector, text in zip(vectors, texts, strict=True):
            for word in _WORD.findall(text.lower()):
                digest = blake2b(word.encode("utf-8", "replace"), digest_size=8).digest()
                number = int.from_bytes(digest, "little")
                vector[(number >> 1) % self.dim] += 1.0 if number & 1 else -1.0
            if not vector.any():
                vector[0] = 1.0
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        return np.asarray(vectors / norms, dtype=np.float32)


def check_encoder(
    encoder: Encoder, texts: Sequence[str] = ("Rome", "", "a longer text. " * 50)
) -> None:
    """One float32 unit vector a text, in order; nothing for nothing; the same again; no changes."""
    assert encoder.dim > 0, f"dim should be positive, is {encoder.dim}"
    assert encoder.fingerprint, "the fingerprint is empty"
    roles: tuple[Literal["query", "passage"], ...] = ("query", "passage")
    for role in roles:
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
        check_evidence(passage, piece)
    assert verifier.verify(pairs) == evidence, "the same call gave another result"


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


def check_corpus(
    make: Callable[[], Corpus], reopen: Callable[[Corpus], Corpus] = lambda corpus: corpus
) -> None:
    """Everything a corpus promises, from adding to deleting; `make` gives an empty one.

    Adding, changing, deleting; texts of any kind; ties; filters before ranking; looking up; readers
    while it is written. `reopen` closes a corpus and opens it again; what was committed must still
    be there. What a kill leaves is for a test of its own: see plugins/pincite-cluster.
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
    _check_odd(corpus)
    _check_ties(corpus)
    some = [filtered(number) for number in range(60)]
    corpus.add(some)
    check_filters(corpus, some)
    assert corpus.delete([one.url for one in some]) == 60, "delete should count what was"
    _check_looking_up(corpus, documents[2:])
    _check_readers(corpus)


def _check_hits(query: str, hits: Sequence[Hit], k: int) -> None:
    assert len(hits) <= k, f"{len(hits)} hits for k={k} and {query!r}"
    ranks = [hit.rank for hit in hits]
    assert ranks == list(range(1, len(hits) + 1)), f"ranks should be 1, 2, …, are {ranks}"
    assert all(math.isfinite(hit.score) for hit in hits), f"a score for {query!r} is not finite"
    order = [(-hit.score, hit.passage.passage_id) for hit in hits]
    assert order == sorted(order), f"hits for {query!r} are not by score, then passage id"
    assert len({i for _, i in order}) == len(order), f"a passage came twice for {query!r}"


def check_evidence(passage: Passage, evidence: Evidence) -> None:
    """About that passage; probabilities in 0 … 1 that sum to one; the quote is in the passage."""
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


def _check_odd(corpus: Corpus) -> None:
    """Empty texts, any characters, long words, and one address several times in one call."""
    base = "https://example.org/odd/"
    text = (
        "A nul \0, half a pair \ud800, a ligature ﬁ, and 𝄞. “Nothing” about quokkas' sizes. " * 90
    )
    meta = {"ü": "\ud800", 'a"b\\': "' or 1 == 1"}
    odd = Document(
        f"{base}ä b/\udcff?x='1'", "Half \ud800", text, "html", "1999", "now", "de", meta
    )
    empty = Document(f"{base}empty", "", " \n ")
    long = Document(f"{base}long", "", f"Wombats. {'x' * 70_000} and {'ü.' * 40_000} end. Wombats.")
    assert corpus.add([odd, empty, long]) == 3, "odd documents should be kept"
    assert corpus.get([odd.url, empty.url, long.url]) == [odd, empty, long], (
        "they came back changed"
    )
    for query, source in (("quokkas", odd), ("wombats", long)):
        hits = corpus.lexical().retrieve([query], 1_000)[0]
        assert hits, f"{query!r} is not found"
        for hit in hits:
            assert hit.passage.span.of(source.text) == hit.passage.text, "a span is not its text"
    first, last = (Document(f"{base}twice", "", f"About {word}.") for word in ("emus", "newts"))
    assert corpus.add([first, empty, last]) == 1, "of one address twice the later document counts"
    assert corpus.get([last.url]) == [last], "of one address twice the later document counts"
    assert not _found(corpus, "emus"), "a document that was never committed is found"
    assert corpus.delete([odd.url, empty.url, long.url, last.url]) == 4, "odd addresses stay"


def _check_ties(corpus: Corpus) -> None:
    """Equal passages are in the order of their ids, however many are asked for."""
    urls = [f"https://example.org/equal/{n}" for n in range(40)]
    for at in range(0, 40, 10):
        corpus.add([Document(url, "Same", "The very same zebus.") for url in urls[at : at + 10]])
    for retriever in (corpus.lexical(), corpus.dense()):
        every = retriever.retrieve(["same zebus"], 40)[0]
        ids = [hit.passage.passage_id for hit in every]
        assert len(ids) == 40, f"{len(ids)} of 40 equal passages are found"
        assert ids == sorted(ids), "equal passages are not by passage id"
        assert retriever.retrieve(["same zebus"], 7)[0] == every[:7], "the cut moves equal passages"
    assert corpus.delete(urls) == 40, "delete should count what was"


_GANNETS = "gannets here"
_FILTERS = (
    Filters(published_from="2015", published_to="2016-06"),
    Filters(published_from="2019", undated=True),
    Filters(published_to="2014"),
    Filters(domains=("a.example",)),
    Filters(not_domains=("a.example",), kinds=("HTML",)),
    Filters(languages=("de",)),
    Filters(where=(condition("pages >= 30"),)),
    Filters(where=(condition("pages == 7.0"), condition("name != n7"))),
    Filters(where=(condition("name > n4"),)),
    Filters(where=(condition("subjects in Bridges, 'quoted \\'"),)),
    Filters(where=(condition("subjects not in Bridges"),)),
    Filters(where=(condition("date < 2016"),)),
    Filters(where=(condition("no-such-field == 1"),)),
    Filters(kinds=('"] or 1 == 1 or kind in ["',)),
)


def filtered(number: int) -> Document:
    """A document with every field that filters ask for."""
    host = ("a.example", "sub.a.example", "b.example", "nota.example")[number % 4]
    dates = ("2014", "2015-07-01", "2016-06", "2019-12-31", None, "soon")
    meta = {"pages": str(number), "name": f"n{number}", "subjects": "Bridges; Rivers"}
    if number % 3 == 0:
        meta = {"pages": "many", "subjects": "quoted \\"}
    text = f"Gannets are number{number} of {'gannets ' * (number % 5)}here."
    kind, language = ("html", "pdf")[number % 2], ("de", "en-GB", None)[number % 3]
    date = dates[number % 6]
    return Document(f"https://{host}/{number}", "", text, kind, date, None, language, meta)


def check_filters(corpus: Corpus, given: Sequence[Document], *, scores: bool = False) -> None:
    """A filtered search gives what a search of everything gives, without what is left out.

    Not its scores, unless asked: an engine may count words in what is left.
    """
    documents = {one.url: one for one in given}
    for filters in _FILTERS:
        for way in (corpus.lexical, corpus.dense):
            every = _kept(way(), documents)
            left = [hit for hit in every if filters.accepts(_facts(documents, hit))]
            found = _kept(way((), filters), documents)
            assert {h.passage for h in found} == {h.passage for h in left}, f"{way}: {filters}"
            assert len(found) == len(left), f"a passage came twice: {filters}"
            if scores:
                pairs = [[(h.passage, h.score) for h in hits] for hits in (found, left)]
                assert pairs[0] == pairs[1], f"{way}: {filters}"
            for k in (1, 3, 20) if scores else (3,):
                first = _kept(way((), filters), documents, k)
                assert first == found[:k], f"the cut moves hits: {filters}"
    hits = _kept(corpus.lexical(("a.example",)), documents)
    hosts = {hit.passage.url.split("/")[2] for hit in hits}
    assert hosts == {"b.example", "nota.example"}, f"a site that was excluded is found: {hosts}"


def _kept(retriever: Retriever, documents: Mapping[str, Document], k: int = 1_000) -> list[Hit]:
    (hits,) = retriever.retrieve([_GANNETS], k)
    return [hit for hit in hits if hit.passage.url in documents]


def _facts(documents: Mapping[str, Document], hit: Hit) -> Facts:
    found = documents[hit.passage.url]
    named = found.url, found.title, found.kind, found.published, found.language
    return Facts(*named, found.meta)


def _check_looking_up(corpus: Corpus, documents: Sequence[Document]) -> None:
    """What is asked by address: ids, what `add` would do, and the passages nearest to a text."""
    known, none = documents[0], "https://example.org/none"
    assert corpus.ids([none, known.url]) == [None, known.doc_id], "ids should be in order"
    other = replace(known, text="Something else.")
    new = replace(known, url=none)
    assert corpus.compare([new, other, known]) == ["new", "changed", "same"], "compare is wrong"
    nothing, some = corpus.nearest(known.text[:40], [none, known.url], 2)
    assert nothing == [], "of a document that is not there nothing is near"
    assert len(some) == 2, "two passages of the document should be near"
    assert all(p.doc_id == known.doc_id for p in some), "of another document"
    n_all, [(form, n), (_, n_none)] = corpus.count_words(["corpora", "topicnone"])
    assert 0 < n <= n_all, "words should be counted in passages"
    assert form, "a word has a form in the index"
    assert n_none == 0, "a word that stands nowhere is counted"
    assert {"encoder", "digest", "versions"} <= corpus.manifest().keys(), "the manifest lacks a key"
    status = corpus.status()
    assert 0 < status.n_documents <= status.n_passages, "the status is off"


def _check_readers(corpus: Corpus) -> None:
    """Searches of several threads, while it is written, give whole passages of some state."""
    page = "https://example.org/readers"
    texts = [f"Ibises live in state{n}. " * 40 for n in range(4)]

    def read(_: int) -> None:
        for hits in corpus.lexical().retrieve(["ibises"], 50):
            for hit in hits:
                assert any(hit.passage.span.of(t) == hit.passage.text for t in texts), "torn"

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read, n) for n in range(9)]
        for text in texts:
            corpus.add([Document(page, "", text)])
        for reader in readers:
            reader.result()
    hits = corpus.lexical().retrieve(["ibises"], 50)[0]
    assert hits, "what was written last is not found"
    assert all("state3" in hit.passage.text for hit in hits), "an older state is found"
    assert corpus.delete([page]) == 1, "delete should count what was"
