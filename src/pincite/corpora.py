"""The corpora of a run: opened by name, each with its encoder, and searched as if they were one.

Word frequencies are summed, and vectors of one encoder are compared. Hits of different encoders are
merged by rank. If an address is in several corpora, the first corpus's document is used.
"""

import contextlib
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path

from pincite.corpus import engines
from pincite.corpus.generation import NO_ENCODER
from pincite.corpus.protocol import NO_FILTERS, Address, Corpus, idf
from pincite.errors import ConfigError, MissingModel
from pincite.models import weights
from pincite.notes import Note
from pincite.protocols import Encoder, Query, Retriever, WordRetriever
from pincite.retrieval.filters import Filters
from pincite.retrieval.fusion import merge_by_share, pool_hits
from pincite.runtime import Place, Places, encoder, open_users_catalogue, served_encoder
from pincite.settings import Settings
from pincite.types import Document, Hit, Passage

_NAMED = re.compile(r"([^=/\\]+)=(.+)", re.DOTALL)
_WORD = re.compile(r"[^\W_]+")  # tokenize like the index: runs of letters and digits


@dataclass(frozen=True, slots=True)
class Corpora:
    """One or more open corpora by name; a single one behaves as if used alone."""

    named: Mapping[str, Corpus]
    marked: Callable[[Document], Document] = lambda document: document  # if retracted

    @property
    def encoder(self) -> Encoder | None:
        return next((corpus.encoder for corpus in self.named.values() if corpus.encoder), None)

    @property
    def n_documents(self) -> int:
        return sum(corpus.status().n_documents for corpus in self.named.values())

    @property
    def notes(self) -> tuple[Note, ...]:
        """Warnings about corpora of which a search sees only a part."""
        behind = (name for name, corpus in self.named.items() if not corpus.is_complete)
        return tuple(Note("corpus_behind", {"corpus": name}) for name in behind)

    def versions(self) -> dict[str, str]:
        """Return what results record: encoders and digests, by name if there are several."""
        manifests = {name: corpus.manifest() for name, corpus in self.named.items()}
        if len(manifests) == 1:
            (only,) = manifests.values()
            return {"encoder": only["encoder"], "corpus": only["digest"]}
        encoders = dict.fromkeys(manifest["encoder"] for manifest in manifests.values())
        digests = (f"{name} {manifest['digest']}" for name, manifest in manifests.items())
        return {"encoder": ", ".join(encoders), "corpus": ", ".join(digests)}

    def get(self, urls: Sequence[str]) -> list[Document | None]:
        """Return the documents at `urls`, in order, each from the first corpus that has it."""
        documents, several = dict[str, Document](), len(self.named) > 1
        for name, corpus in self.named.items():
            wanted = [url for url in dict.fromkeys(urls) if url not in documents]
            for url, document in zip(wanted, corpus.get(wanted), strict=True):
                if document:
                    documents[url] = replace(document, corpus=name) if several else document
        return [self.marked(documents[url]) if url in documents else None for url in urls]

    def lexical(
        self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS
    ) -> WordRetriever:
        searches = [corpus.lexical(exclude, filters) for corpus in self.named.values()]
        return _ByWords(list(self.named.values()), searches) if len(searches) > 1 else searches[0]

    def dense(self, exclude: Collection[str] = (), filters: Filters = NO_FILTERS) -> Retriever:
        """Search by meaning, like `Corpus.dense`; each encoder gets the query's text."""
        corpora = list(self.named.values())
        searches = [corpus.dense(exclude, filters) for corpus in corpora]
        return _ByMeaning(corpora, searches) if len(searches) > 1 else searches[0]

    def nearest(self, question: str, urls: Sequence[str], k: int) -> list[list[Passage]]:
        """Like `Corpus.nearest`, each document from the first corpus that has it."""
        passages: dict[str, list[Passage]] = {}
        for corpus in self.named.values():
            known = zip(urls, corpus.ids(urls), strict=True)
            here = [url for url, doc_id in known if doc_id is not None and url not in passages]
            passages |= zip(here, corpus.nearest(question, here, k), strict=True)
        return [passages.get(url, []) for url in urls]


@dataclass(frozen=True, slots=True)
class _ByWords:
    """BM25 over several indexes with a shared idf: query weights replace each index's own."""

    corpora: Sequence[Corpus]
    searches: Sequence[WordRetriever]

    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        split = [list(_words(query)) for query in queries]
        words = list(dict.fromkeys(word for of_query in split for word, _ in of_query))
        counted = [corpus.count_words(words) for corpus in self.corpora]
        n_passages = sum(n_all for n_all, _ in counted)
        forms_of = zip(words, zip(*(forms for _, forms in counted), strict=True), strict=True)
        rare = {
            word: idf(n_passages, sum(n for _, n in forms)) if forms[0][0] else 0.0
            for word, forms in forms_of
        }
        hits = []
        for search, (n_all, having) in zip(self.searches, counted, strict=True):
            here = {w: idf(n_all, n) for w, (_, n) in zip(words, having, strict=True)}
            ratios = {word: rare[word] / here[word] for word in words}
            weighted = [tuple((w, x * ratios[w]) for w, x in of_query) for of_query in split]
            hits.append(search.retrieve(weighted, k))
        own = _of_first(self.corpora, hits)
        return [pool_hits(runs, k) for runs in zip(*own, strict=True)]


@dataclass(frozen=True, slots=True)
class _ByMeaning:
    """Compares scores within an encoder, and merges hits of different encoders by rank."""

    corpora: Sequence[Corpus]
    searches: Sequence[Retriever]

    def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
        hits = _of_first(self.corpora, [search.retrieve(queries, k) for search in self.searches])
        of_encoder: dict[str, list[list[list[Hit]]]] = {}
        for corpus, runs in zip(self.corpora, hits, strict=True):
            of_encoder.setdefault(corpus.manifest()["encoder"], []).append(runs)
        of_each = (zip(*of_one, strict=True) for of_one in of_encoder.values())
        compared = [[pool_hits(runs, k) for runs in of_one] for of_one in of_each]
        if len(compared) == 1:
            return compared[0]
        return [merge_by_share(runs, k) for runs in zip(*compared, strict=True)]


def _words(query: Query) -> Iterator[tuple[str, float]]:
    for text, weight in ((query, 1.0),) if isinstance(query, str) else query:
        yield from ((match[0], weight) for match in _WORD.finditer(text))


def _of_first(corpora: Sequence[Corpus], runs: Sequence[list[list[Hit]]]) -> list[list[list[Hit]]]:
    """Drop each corpus's hits at addresses where an earlier corpus has a different text.

    `Corpora.get` returns the earlier document, which does not contain the passage.
    """
    kept = []
    for number, lists in enumerate(runs):
        ids = {hit.passage.url: hit.passage.doc_id for hits in lists for hit in hits}
        other = {
            url
            for earlier in corpora[:number]
            for url, known in zip(ids, earlier.ids(list(ids)), strict=True)
            if known not in (None, ids[url])
        }
        kept.append([[hit for hit in hits if hit.passage.url not in other] for hits in lists])
    return kept


# ── Opening ───────────────────────────────────────────────────────────────────────────────────────


@contextmanager
def open_corpora(settings: Settings, corpora: Places) -> Iterator[Corpora]:
    """Open these corpora and close them afterwards; those already open stay open.

    Raises CorpusError, StaleCorpus, MissingModel, and ConfigError as `name_corpora`.
    """
    places = name_corpora(corpora)
    load_encoder = cache(partial(encoder, settings))
    with ExitStack() as stack:
        opened: dict[str, Corpus] = {}
        for name, place in places.items():
            if not isinstance(place, Path | str):
                opened[name] = place
                continue
            chosen = encoder_name(settings, place, several=len(places) > 1)
            opened[name] = stack.enter_context(engines.open(place, load_encoder(chosen)))
        works = stack.enter_context(open_users_catalogue())
        if works is None:
            yield Corpora(opened)
            return
        from pincite.references.catalogue import with_notices

        yield Corpora(opened, partial(with_notices, works=works))


def name_corpora(corpora: Places) -> dict[str, Place]:
    """Name each corpus: as given, else after its folder, numbered if two have the same name.

    Raises ConfigError if two were given the same name, if one is given twice, or if there is none.
    """
    if isinstance(corpora, Mapping):
        given: list[tuple[str, Place]] = list(corpora.items())
    elif isinstance(corpora, Sequence) and not isinstance(corpora, str):
        given = [_with_name(place) for place in corpora]
    else:
        given = [_with_name(corpora)]
    if not given:
        raise ConfigError("No corpus was given. Expected at least one folder or address.")
    chosen = [name for name, _ in given if name]
    named: dict[str, Place] = {}
    for name, place in given:
        own = engines.name_of(place) if isinstance(place, Path | str) else place.name
        if any(_is_same(place, other) for other in named.values()):
            raise ConfigError(f"The corpus {own!r} is given twice.")
        if name and chosen.count(name) > 1:
            raise ConfigError(f"Two corpora are called {name!r}. Give each another name.")
        numbered = (own, *(f"{own} ({number})" for number in range(2, len(given) + 2)))
        unused = (candidate for candidate in numbered if candidate not in (*named, *chosen))
        named[name or next(unused)] = place
    return named


def _with_name(place: Place) -> tuple[str, Place]:
    match = _NAMED.fullmatch(str(place)) if isinstance(place, Path | str) else None
    if match is None or Path(match[0]).exists():
        return "", place
    return " ".join(match[1].split()), engines.address(match[2])


def _is_same(first: Place, second: Place) -> bool:
    if not isinstance(first, Path | str) or not isinstance(second, Path | str):
        return first is second
    a, b = engines.address(first), engines.address(second)
    return a.resolve() == b.resolve() if isinstance(a, Path) and isinstance(b, Path) else a == b


def encoder_name(settings: Settings, place: Address, *, several: bool = False) -> str:
    """Name the encoder that built the corpus, if the settings or the package have it.

    Otherwise return the settings' first: opening the corpus with it raises the right error.
    """
    models = settings.models
    names = [models.encoder, *models.encoders, weights.MULTILINGUAL]
    if several:
        names.append(weights.ENCODER)
    wanted = engines.encoder_of(place)
    for name in dict.fromkeys(names):
        with contextlib.suppress(MissingModel):
            if served := weights.server_of(name):
                built_by = served_encoder(settings.embeddings, served).fingerprint
            else:
                built_by = weights.fingerprint(weights.locate(name))
            if built_by == wanted:
                return name
    return models.encoder


def encoder_for(settings: Settings, place: Address, chosen: bool) -> Encoder | None:
    """Load the encoder for a copy of a corpus: the original's, unless another is `chosen`.

    Raises ConfigError if the settings do not have it.
    """
    wanted = engines.encoder_of(place)
    if not chosen and wanted == NO_ENCODER:
        return None
    name = settings.models.encoder if chosen else encoder_name(settings, place, several=True)
    loaded = encoder(settings, name)
    if not chosen and loaded.fingerprint != wanted:
        raise ConfigError(
            f"{place} was built with the encoder {wanted}, which is not among those in the "
            "settings. Give it with --encoder, or rebuild the corpus with another one."
        )
    return loaded
