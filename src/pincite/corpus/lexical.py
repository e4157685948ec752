"""An inverted index of the passages (tantivy), ranked with Lucene's BM25.

English passages are indexed by stems. Those in other languages are indexed by the first five
letters of words, and scripts without spaces by n-grams, so a query needs no language: it has every
form of its words. research/search.md compares this with stemmers.

Queries are built by hand, since tantivy's parser drops repeated words. Only the passages' keys are
stored. The stamp records the last sequence number replayed from the store's log; replaying twice is
harmless. Tantivy counts deleted passages until their segment is merged, and scores must not depend
on a corpus's history. So a small index with deletions is rebuilt at once, a large one when
`DEAD_SHARE` of it is dead. A reader that may not write indexes a small store in memory.
"""

import contextlib
import functools
import json
import math
import os
import shutil
import tempfile
import uuid
from collections import Counter, defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pincite.corpus.dense import KeySet
from pincite.corpus.protocol import idf
from pincite.corpus.protocol import text_of as text_of_query
from pincite.corpus.store import Store, fold_case, miscounts
from pincite.durable import Tell, checksum, read_stamp, silent, sync, write_stamp
from pincite.errors import CorpusError
from pincite.protocols import Query
from pincite.text import languages
from pincite.text.sentences import SPACELESS

if TYPE_CHECKING:
    import tantivy

# The tokenizer's version, recorded in the stamp: an index built with another one is rebuilt.
LEXICAL_RULE = "simple-casefold-english-truncated-v3"
TITLE_BOOST = 0.2  # weight of title words relative to the text's; best on both dev sets
TRUNCATED = 5  # letters of a word in another language (McNamee & Mayfield 2004)
CUT = "ǀ"  # behind it, so that it is no English stem: a letter, which every tokenizer keeps
MAX_WORD_BYTES = 100  # anything longer is not a word: encoded data, a line without spaces
WRITER_BYTES = 64 << 20  # memory for new passages; one thread keeps the segments in order
# Scores are sums of float32 whose order differs between segments: beyond four decimals (of scores
# around 20), equal passages would not tie.
SCORE_DECIMALS = 4
KEYS_AT_ONCE = 1 << 15  # batch size of a check: some MB of tantivy's addresses
MORE = 1.5  # safety factor on the depth that a filter's share implies
# Search time grows with the number of passages that contain the query's words. In an index this
# large, words in more than a tenth of the passages are dropped unless the others find too few. With
# a million passages this takes a quarter of the time and finds the cited pages equally often and
# early (research/search.md). In smaller indexes, scores equal Lucene's.
LARGE = 200_000
COMMON_SHARE = 0.1
# Rebuilding an index of 20,000 passages of 100 words takes 2.7 s of one core.
SMALL, DEAD_SHARE = 20_000, 0.02
STAMP = "lexical.json"
_ANALYZER = "pincite"


@dataclass(frozen=True)
class _Stamp:
    folder: str
    store: str  # the store's id: a stamp from another corpus is ignored
    sequence: int
    rule: str
    files: dict[str, tuple[int, str]]  # size and checksum of the immutable segments
    n_dead: int  # deleted passages that may still be counted


class LexicalIndex:
    """The word index of one store; `open` it to `search`. `catch_up` needs the writer's lock."""

    def __init__(self, folder: Path, store: Store) -> None:
        self._folder = folder
        self._store = store
        self._identity = store.manifest()["identity"]
        self._stamp: _Stamp | None = None
        self._index: tantivy.Index | None = None

    def open(self) -> None:
        """Load what a writer committed; without a sound index, searches fail.

        An index in memory stays until a writer's has as much.
        """
        while (stamp := self._read_stamp()) != self._stamp:
            in_memory = self._stamp and not self._stamp.folder
            if in_memory and (not stamp or stamp.sequence < self.sequence):
                return
            self._index = self._open_sound(stamp) if stamp else None
            self._stamp = stamp if self._index is not None else None
            if self._stamp is None and self._read_stamp() == stamp:
                return  # it is damaged; else a writer replaced it meanwhile

    def close(self) -> None:
        self._stamp, self._index = None, None

    def index_in_memory(self) -> None:
        """Index a small store for this reader, if the index on disk lacks something."""
        self.open()
        if self.sequence == self._store.sequence or self._store.n_passages() > SMALL:
            return
        self.close()
        index = _new_index(None)
        with _report_errors(self._folder):
            sequence = self._replay(index, silent)
            index.reload()
        self._index = index
        self._stamp = _Stamp("", self._identity, sequence, LEXICAL_RULE, {}, 0)

    @property
    def sequence(self) -> int:
        """The store's sequence number up to which passages are indexed; -1 without an index."""
        return self._stamp.sequence if self._stamp else -1

    def catch_up(self, tell: Tell = silent, *, purge: bool = True) -> None:
        """Replay the store's changes; start over if there is no sound index.

        `purge`: rebuild the index if it counts too many deleted passages.
        """
        self.open()
        if self.sequence != self._store.sequence:
            try:
                self._follow(tell)
            except CorpusError:
                if self._stamp is None:
                    raise
                self.close()  # leftovers of a kill can block a replay: start over
                self._follow(tell)
            self.open()
        n_dead, n_all = self._stamp.n_dead if self._stamp else 0, self._store.n_passages()
        if purge and n_dead and (n_all <= SMALL or n_dead > DEAD_SHARE * n_all):
            self.close()
            with contextlib.suppress(CorpusError):  # a full disk: the existing index stays valid
                self._follow(tell)
            self.open()

    def sweep(self) -> None:
        for other in self.leftovers():
            shutil.rmtree(other, ignore_errors=True)

    def leftovers(self) -> list[Path]:
        """Return index folders that the stamp does not name, left by killed or older builds."""
        stamp = self._read_stamp()
        return [p for p in self._folder.glob("lexical-*") if not stamp or p.name != stamp.folder]

    def forget(self) -> None:
        """Invalidate the index; `catch_up` then rebuilds it from the store."""
        (self._folder / STAMP).unlink(missing_ok=True)
        self.close()

    def _follow(self, tell: Tell) -> None:
        """Replay the store's changes into the open index, or all into a new one, and stamp it."""
        name = f"lexical-{uuid.uuid4().hex[:8]}"
        before = self._stamp or _Stamp(name, self._identity, -1, LEXICAL_RULE, {}, 0)
        folder = self._folder / before.folder
        with _report_errors(self._folder):
            deleted = self._store.changes(before.sequence).deleted if self._stamp else []
            sequence = self._replay(self._index or _new_index(folder), tell)
            files = dict[str, tuple[int, str]]()
            for path in sorted(folder.iterdir()):
                if not path.name.startswith(".") and path.stem != "meta":  # a segment's
                    known = before.files.get(path.name)
                    files[path.name] = known or (path.stat().st_size, checksum(path))
            n_dead = before.n_dead + sum(last - first + 1 for first, last in deleted)
            after = replace(before, sequence=sequence, files=files, n_dead=n_dead)
            write_stamp(self._folder / STAMP, asdict(after))

    def search(
        self, queries: Sequence[Query], depth: int, accepted: KeySet | None = None
    ) -> list[list[tuple[int, float]]]:
        """Return (passage key, score) pairs, best first, for each query; fewer than `depth` if all.

        Keys of deleted passages may be included. With `accepted`, only these passages are found.
        Raises CorpusError without a sound index.
        """
        if self._index is None:
            raise CorpusError(
                f"{self._folder} has no usable word index, and none could be built. Try again "
                f"later, or run: pincite corpus verify {self._folder.parent} --repair"
            )
        with _report_errors(self._folder):
            ask = _Searcher(self._index)
            return [ask.best(query, depth, accepted) for query in queries]

    def count_words(self, words: Sequence[str]) -> tuple[int, list[tuple[str, int]]]:
        """Return the number of passages, and each word's indexed form and document frequency."""
        forms = [list(weights(word)) for word in words]
        firsts = [next(iter(of_word), "") for of_word in forms]
        if self._index is None:
            return 0, [(first, 0) for first in firsts]
        with _report_errors(self._folder):
            searcher = self._index.searcher()
            n_all = searcher.num_docs
            # In a large index doc_freq may count deleted passages too.
            counts = [max([0, *(searcher.doc_freq("text", f) for f in of)]) for of in forms]
        return n_all, [(f, min(n_all, n)) for f, n in zip(firsts, counts, strict=True)]

    def _replay(self, index: "tantivy.Index", tell: Tell) -> int:
        """Bring the index to the store's state; returns the sequence number of that state."""
        import tantivy

        with self._store.snapshot():
            sequence, changes = self._store.sequence, self._store.changes(self.sequence)
            writer = index.writer(WRITER_BYTES, 1)
            # A kill between writing a list of deletions and committing it leaves the file, and the
            # next list would have the same name: "FileAlreadyExists".
            writer.garbage_collect_files()
            for first, last in (*changes.deleted, *changes.added) if self._stamp else ():
                writer.delete_documents_by_query(_between(index, first, last))
            n_done, n_all = 0, self._store.n_passages()
            portions = (p for span in changes.added for p in self._store.places_between(*span))
            for places in portions:
                tell("indexing words", n_done, n_all)
                n_done += len(places)
                for place, passage in zip(places, self._store.passages(places), strict=True):
                    document = tantivy.Document()
                    document.add_integer("key", place.key)  # signed: unsigned keys crash the writer
                    _add_words(document, "text", passage.text, passage.language)
                    _add_words(document, "title", place.title, passage.language)
                    writer.add_document(document)
        writer.commit()
        writer.wait_merging_threads()
        return sequence

    def _read_stamp(self) -> _Stamp | None:
        """Read the stamp; None if it is of another store or rule, or ahead of the store."""
        content = read_stamp(self._folder / STAMP)
        try:
            stamp = _Stamp(**content) if content else None
        except TypeError:
            return None
        if stamp is None or (stamp.store, stamp.rule) != (self._identity, LEXICAL_RULE):
            return None
        return stamp if 0 <= stamp.sequence <= self._store.sequence else None

    def _open_sound(self, stamp: _Stamp) -> "tantivy.Index | None":
        """Open the index, unless a file is missing or its size has changed since it was written."""
        folder = self._folder / stamp.folder
        known = [(folder / name, size) for name, (size, _) in stamp.files.items()]
        if any(path.exists() and path.stat().st_size != size for path, size in known):
            return None
        try:
            return None if _missing(folder, stamp.files) else _open_index(folder)
        except (ValueError, OSError):
            return None

    def faults(self, tell: Tell = silent) -> Iterator[tuple[str, str]]:
        """Yield (place, problem): whether it is intact and holds each passage of the store once."""
        stamp = self._read_stamp()
        if stamp is None:
            yield str(self._folder / STAMP), "is missing, damaged, or belongs to another store"
            return
        folder = self._folder / stamp.folder
        damaged = [
            folder / name
            for name, (_, known) in stamp.files.items()
            if (folder / name).exists() and checksum(folder / name) != known
        ]
        lost = _missing(folder, stamp.files)
        if damaged or lost:  # tantivy may fail in any way on them
            yield from ((str(path), "is not what was written") for path in damaged)
            yield from ((str(path), "is missing") for path in lost)
            return
        if stamp.sequence != self._store.sequence:
            missing = self._store.sequence - stamp.sequence
            yield str(self._folder / STAMP), f"misses the last {missing} batches"
        index = self._open_sound(stamp)
        if index is None:
            yield str(folder), "cannot be opened"
            return
        yield from ((str(folder), problem) for problem in self._find_miscounts(index, tell))

    def _find_miscounts(self, index: "tantivy.Index", tell: Tell) -> Iterator[str]:
        searcher = index.searcher()
        if searcher.num_docs != self._store.n_passages():
            yield f"holds {searcher.num_docs} passages, the store {self._store.n_passages()}"
        last = self._store.last_key()
        for first in range(1, last + 1, KEYS_AT_ONCE):
            tell("checking the word index", first, last)
            window = (first, first + KEYS_AT_ONCE - 1)
            hits = searcher.search(_between(index, *window), 2 * KEYS_AT_ONCE, count=False).hits
            keys = searcher.fast_field_values("key", [address for _, address in hits])
            yield from miscounts(Counter(int(k or 0) for k in keys), self._store.keys_in(*window))


def _missing(folder: Path, files: Collection[str]) -> list[Path]:
    """Return the files of current segments that are gone, of those that were written.

    Others may be gone: after a merge whose stamp was never written. Deletions are left to tantivy.
    """
    try:
        segments = json.loads((folder / "meta.json").read_bytes())["segments"]
        current = {segment["segment_id"].replace("-", "") for segment in segments}
    except (OSError, ValueError, LookupError, TypeError):
        return [folder / "meta.json"]
    needed = (folder / name for name in files if name.split(".")[0] in current)
    return [path for path in needed if path.suffix != ".del" and not path.exists()]


class _Searcher:
    """One committed state of an index."""

    def __init__(self, index: "tantivy.Index") -> None:
        self._searcher, self._schema = index.searcher(), index.schema

    def best(self, query: Query, depth: int, accepted: KeySet | None) -> list[tuple[int, float]]:
        """Return the best accepted passages, scored with the statistics of all passages."""
        twins = _twins(query)
        words = {w: x * self._rarity(w, twins[w]) for w, x in weights(query).items()}
        rare = self._rarer(words)
        hits = self._rank(rare, depth, accepted)
        if len(hits) < depth and len(rare) < len(words):
            hits = self._rank(words, depth, accepted)
        return hits

    def _rarity(self, word: str, twins: Collection[str]) -> float:
        """Return the idf of a word's commonest form as a share of its own.

        Among English passages, the "in" and "table" of a few French ones are rare.
        """
        n_all, own = self._searcher.num_docs, self._searcher.doc_freq("text", word)
        others = max((self._searcher.doc_freq("text", twin) for twin in twins), default=0)
        return idf(n_all, min(n_all, others)) / idf(n_all, own) if others > own else 1.0

    def _rarer(self, words: Mapping[str, float]) -> Mapping[str, float]:
        """In a large index, return only the rarer words, if there are any; otherwise all."""
        n_passages = self._searcher.num_docs
        if n_passages < LARGE:
            return words
        most = COMMON_SHARE * n_passages
        rare = {w: x for w, x in words.items() if self._searcher.doc_freq("text", w) <= most}
        return rare or words

    def _rank(
        self, words: Mapping[str, float], depth: int, accepted: KeySet | None
    ) -> list[tuple[int, float]]:
        if not words:
            return []
        query = _query(self._schema, words)
        if accepted is None:
            return self._hits(query, depth)
        if not accepted.is_small:
            # Deep enough if the words are independent of the filter.
            deeper = math.ceil(MORE * depth / accepted.share)
            hits = self._hits(query, deeper)
            held = accepted.holds(np.array([key for key, _ in hits], dtype=np.int64))
            kept = [pair for pair, is_held in zip(hits, held, strict=True) if is_held]
            if len(kept) >= depth or len(hits) < deeper:
                return kept[:depth]
        return self._hits(_among(self._schema, query, accepted), depth)

    def _hits(self, query: "tantivy.Query", depth: int) -> list[tuple[int, float]]:
        limit = min(depth, self._searcher.num_docs)
        if limit < 1:
            return []
        hits = self._searcher.search(query, limit, count=False).hits
        keys = self._searcher.fast_field_values("key", [address for _, address in hits])
        return [
            (int(key or 0), round(float(score), SCORE_DECIMALS))
            for key, (score, _) in zip(keys, hits, strict=True)
        ]


def _new_index(folder: Path | None) -> "tantivy.Index":
    """Create an empty index; None: in memory."""
    import tantivy

    schema = (
        tantivy.SchemaBuilder()
        .add_integer_field("key", indexed=True, fast=True)
        .add_text_field("text", tokenizer_name=_ANALYZER, index_option="freq")
        .add_text_field("title", tokenizer_name=_ANALYZER, index_option="freq")
        .build()
    )
    if folder is None:
        return _prepare(tantivy.Index(schema))
    folder.mkdir(parents=True)
    index = _prepare(tantivy.Index(schema, str(folder)))
    sync(folder.parent)
    return index


def _open_index(folder: Path) -> "tantivy.Index":
    import tantivy

    if os.access(folder, os.W_OK):
        return _prepare(tantivy.Index.open(str(folder)))
    # tantivy makes a lock file even to read. Once open, its files are mapped, so links suffice.
    with tempfile.TemporaryDirectory(prefix="pincite-") as links:
        for path in folder.iterdir():
            if path.suffix != ".lock":
                (Path(links) / path.name).symlink_to(path.resolve())
        return _prepare(tantivy.Index.open(links))


def _prepare(index: "tantivy.Index") -> "tantivy.Index":
    """Register our analyzer, and disable the thread that watches the folder."""
    index.register_tokenizer(_ANALYZER, _analyzer())
    index.config_reader("manual")
    index.reload()
    return index


@functools.cache
def _analyzer() -> "tantivy.TextAnalyzer":
    """Runs of letters and digits, lower case, without accents, English stems; no stop words."""
    from tantivy import Filter, TextAnalyzerBuilder, Tokenizer

    return (
        TextAnalyzerBuilder(Tokenizer.simple())
        .filter(Filter.remove_long(MAX_WORD_BYTES))
        .filter(Filter.lowercase())
        .filter(Filter.ascii_fold())
        .filter(Filter.stemmer("english"))
        .build()
    )


def words_of(text: str, language: str | None = "en") -> list[str]:
    """Return a text's index terms: stems in English, cut words and n-grams in other languages.

    Of a text in an unknown language, stems and n-grams.

    >>> words_of("Opened bridges"), words_of("Eröffnete 東京都", "de")
    (['open', 'bridg'], ['eroffǀ', '東京', '京都'])
    """
    clean = _clean(text)
    if _is_english(clean, language):
        return _analyzer().analyze(clean)
    if language is None:
        grams = filter(SPACELESS.match, languages.terms(clean))
        return [*_analyzer().analyze(SPACELESS.sub(" ", clean)), *grams]
    return [_truncate(term) for term in languages.terms(languages.without_accents(clean))]


def _truncate(term: str) -> str:
    if SPACELESS.match(term):
        return term
    return (term if term.isdigit() else term[:TRUNCATED]) + CUT


def _is_english(text: str, language: str | None) -> bool:
    return language == "en" or (language is None and text.isascii())


def _add_words(document: "tantivy.Document", field: str, text: str, language: str | None) -> None:
    import tantivy

    if _is_english(text, language):  # tantivy itself is faster
        document.add_text(field, _clean(text))
        return
    tokens = [tantivy.Token(word, n, 0, 0) for n, word in enumerate(words_of(text, language))]
    document.add_pre_tokenized_text(field, tantivy.PreTokenizedString("", tokens))


def weights(query: Query) -> dict[str, float]:
    """Return the query's words, in every form, with the positive sums of their weights."""
    sums: dict[str, float] = defaultdict(float)
    for text, weight in ((query, 1.0),) if isinstance(query, str) else query:
        for word, count in (Counter(words_of(text)) | Counter(words_of(text, ""))).items():
            sums[word] += weight * count
    return {word: weight for word, weight in sums.items() if weight > 0}


def _twins(query: Query) -> Mapping[str, set[str]]:
    """Return each indexed word's forms in the other kind of language."""
    twins = defaultdict[str, set[str]](set)
    text = _clean(text_of_query(query))
    for term in languages.terms(languages.without_accents(text)):
        for stem in _analyzer().analyze(term):
            twins[stem].add(_truncate(term))
            twins[_truncate(term)].add(stem)
    return twins


def _query(schema: "tantivy.Schema", counts: Mapping[str, float]) -> "tantivy.Query":
    from tantivy import Occur, Query

    return Query.boolean_query(
        [
            (Occur.Should, Query.boost_query(Query.term_query(schema, field, word), boost * count))
            for field, boost in (("text", 1.0), ("title", TITLE_BOOST))
            if boost > 0
            for word, count in sorted(counts.items())
        ]
    )


def _between(index: "tantivy.Index", first: int, last: int) -> "tantivy.Query":
    import tantivy

    return tantivy.Query.range_query(index.schema, "key", tantivy.FieldType.Integer, first, last)


def _among(schema: "tantivy.Schema", query: "tantivy.Query", accepted: KeySet) -> "tantivy.Query":
    """Restrict the query to these passages, with unchanged scores."""
    import tantivy

    keys = tantivy.Query.term_set_query(schema, "key", accepted.keys().tolist())
    only = tantivy.Query.const_score_query(keys, 0.0)
    must = tantivy.Occur.Must
    return tantivy.Query.boolean_query([(must, only), (must, query)])


def _clean(text: str) -> str:
    """Replace lone surrogates, left by broken pages, with "?": tantivy cannot take them."""
    return fold_case(text).encode("utf-8", "replace").decode("utf-8")


@contextlib.contextmanager
def _report_errors(folder: Path) -> Iterator[None]:
    try:
        yield
    except (ValueError, OSError) as error:  # tantivy raises ValueError for every error
        raise CorpusError(
            f"The word index in {folder} failed: {error}. The documents are safe. Is the disk "
            "full? Open the corpus again to bring the index up to date."
        ) from error
