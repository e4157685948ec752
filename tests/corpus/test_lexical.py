"""BM25 agrees with Lucene's formula, computed here from scratch."""

import errno
import math
import random
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.laws import FakeEncoder
from support.rows import each_row

from pincite.corpora import Corpora
from pincite.corpus import lexical
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import verify
from pincite.durable import WriterLock
from pincite.types import Document

K1, B = 1.2, 0.75  # Lucene's and tantivy's
_WORDS = "ape bear cat dog eel fox gnu hen ibex jay".split()  # no endings to cut


def lucene(texts: dict[str, str], query: str) -> dict[str, float]:
    """Score by name. Lengths below 40 words are exact in Lucene's one byte."""
    counts = {name: Counter(text.split()) for name, text in texts.items()}
    average = sum(c.total() for c in counts.values()) / len(counts)
    scores = dict.fromkeys(texts, 0.0)
    for word, n_in_query in Counter(query.split()).items():
        n_with = sum(word in c for c in counts.values())
        idf = math.log(1 + (len(counts) - n_with + 0.5) / (n_with + 0.5))
        for name, c in counts.items():
            norm = K1 * (1 - B + B * c.total() / average)
            scores[name] += n_in_query * idf * c[word] / (c[word] + norm)
    return {name: score for name, score in scores.items() if score}


@pytest.fixture
def texts() -> dict[str, str]:
    chance = random.Random(7)
    weights = [1 / (i + 1) for i in range(len(_WORDS))]
    return {
        f"t{i}": " ".join(chance.choices(_WORDS, weights, k=chance.randrange(1, 39)))
        for i in range(60)
    }


@pytest.fixture
def corpus(tmp_path: Path) -> Iterator[EmbeddedCorpus]:
    with EmbeddedCorpus.create(tmp_path / "c", None) as corpus:
        yield corpus


def add(
    corpus: EmbeddedCorpus, texts: dict[str, str], titles: dict[str, str] | None = None
) -> None:
    titles = titles or {}
    corpus.add([Document(f"u:{n}", titles.get(n, n), text) for n, text in texts.items()])


@pytest.mark.parametrize(
    "query", ["ape", "jay cat", "ape ape ape jay ibex ibex", "hen hen fox eel"]
)
def test_scores_equal_lucenes(corpus: EmbeddedCorpus, texts: dict[str, str], query: str) -> None:
    expected = lucene(texts, query)
    halves = list(texts.items())
    for part in (halves[:20], halves[20:23], halves[23:]):  # several segments, one statistic
        add(corpus, dict(part))
    hits = corpus.lexical().retrieve([query], 100)[0]
    scores = {hit.passage.url[2:]: hit.score for hit in hits}
    assert scores.keys() == expected.keys()
    for name, score in scores.items():
        assert score == pytest.approx((K1 + 1) * expected[name], abs=2e-4)
    best = sorted(expected, key=lambda name: -round(expected[name], 3))
    assert [round(expected[h.passage.url[2:]], 3) for h in hits] == [
        round(expected[name], 3) for name in best
    ]


def test_words_are_folded_and_cut(corpus: EmbeddedCorpus) -> None:
    add(corpus, {"a": "Zürich's RUNNERS run, in 1999!", "b": "x" * 101 + " Αθήνα 北京"})
    search = corpus.lexical()
    found = search.retrieve(["zurich", "running", "(1999)", "ΑΘΉΝΑ", "北京", "x" * 101], 5)
    assert [[h.passage.title for h in hits] for hits in found] == [*[["a"]] * 3, ["b"], ["b"], []]


def test_queries_need_no_escaping(corpus: EmbeddedCorpus) -> None:
    add(corpus, {"a": "AND or not"})
    odd = ['title:"and', "AND", "+-&&||!(){}[]^~*?:\\/", "\ud800 or", "\0", ""]
    found = corpus.lexical().retrieve(odd, 5)
    assert [len(hits) for hits in found] == [1, 1, 0, 1, 0, 0]


def test_titles_count_when_they_are_given_weight(
    corpus: EmbeddedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    add(corpus, {"a": "some words", "b": "other words"}, {"a": "Rome", "b": "Athens words"})
    monkeypatch.setattr(lexical, "TITLE_BOOST", 0.0)
    assert corpus.lexical().retrieve(["rome"], 5) == [[]]
    [a, b] = corpus.lexical().retrieve(["words"], 5)[0]
    assert a.score == b.score
    monkeypatch.undo()
    assert [h.passage.url for h in corpus.lexical().retrieve(["rome"], 5)[0]] == ["u:a"]
    assert [h.passage.url for h in corpus.lexical().retrieve(["words"], 5)[0]] == ["u:b", "u:a"]


def test_a_word_counts_by_its_weight(corpus: EmbeddedCorpus) -> None:
    add(corpus, {"a": "ape ibex", "b": "bear ibex"})
    words = corpus.lexical()

    def found(*parts: tuple[str, float]) -> dict[str, float]:
        (hits,) = words.retrieve([parts], 10)
        return {hit.passage.url[2:]: hit.score for hit in hits}

    alone = found(("ape", 1.0))["a"]
    half = pytest.approx(alone / 2, abs=1e-3)
    assert found(("ape", 1.0), ("bear", 0.5)) == {"a": alone, "b": half}
    assert found(("ape", 0.5), ("ape", 0.5)) == {"a": alone}
    assert found(("ape", 0.0), ("", 1.0)) == {}
    assert words.retrieve(["ape bear bear"], 10) == words.retrieve(
        [(("bear", 2.0), ("ape", 1.0))], 10
    )


@pytest.fixture
def large(corpus: EmbeddedCorpus, monkeypatch: pytest.MonkeyPatch) -> EmbeddedCorpus:
    """A corpus in which "the" stands in all but one passage, and counts as common."""
    places = "mill bridge inn end quay lane moor fen ford".split()
    monkeypatch.setattr(lexical, "LARGE", 5)
    add(corpus, {f"{i}": f"the {place}" for i, place in enumerate(places)} | {"x": "wood"})
    return corpus


def found(corpus: EmbeddedCorpus, query: str, k: int) -> list[tuple[str, float]]:
    hits = corpus.lexical().retrieve([query], k)[0]
    return [(hit.passage.text, round(hit.score, 3)) for hit in hits]


def test_in_a_large_index_common_words_are_left_out(
    large: EmbeddedCorpus, monkeypatch: pytest.MonkeyPatch
) -> None:
    search = large._generation.lexical.search
    assert search(["the the bridge"], 1) == search(["bridge"], 1)
    monkeypatch.setattr(lexical, "LARGE", 1_000)
    assert search(["the the bridge"], 1) != search(["bridge"], 1)


def test_common_words_count_where_the_others_bring_too_few(large: EmbeddedCorpus) -> None:
    assert len(found(large, "the bridge", 8)) == 8
    assert found(large, "the bridge", 8)[0][0] == "the bridge"
    assert len(found(large, "the", 8)) == 8


@each_row("corpus/lexical/case_is_folded_as_unicode_does")
def test_case_is_folded_as_unicode_does(corpus: EmbeddedCorpus, written: str, asked: str) -> None:
    add(corpus, {"a": f"Old {written} here.", "b": "Another place."})
    search = corpus.lexical()
    found = search.retrieve([asked, written], 5)
    assert [[hit.passage.title for hit in hits] for hits in found] == [["a"], ["a"]]


@given(st.text(max_size=40))
def test_a_text_has_the_words_of_its_folded_forms(text: str) -> None:
    assert lexical.words_of(text.casefold()) == lexical.words_of(text)


@pytest.mark.parametrize("query", ["", " ", "?!", "…", "“”", "\u0301", "🙂"])
def test_a_query_without_a_letter_or_digit_finds_nothing(tmp_path: Path, query: str) -> None:
    with EmbeddedCorpus.create(tmp_path / "c", FakeEncoder(16)) as corpus:
        add(corpus, {"a": "The bridge opened.", "b": "!?"})
        for way in ("lexical", "dense", "hybrid"):
            search = corpus.by(way)
            found = search.retrieve([query, "bridge"], 5)
            assert found[0] == search.retrieve([query], 5)[0] == []
            assert found[1][0].passage.title == "a"


def test_scores_do_not_depend_on_what_was_deleted(tmp_path: Path, texts: dict[str, str]) -> None:
    gone = {f"gone{i}": text + " ape jay" for i, text in enumerate(texts.values()) if i % 2}
    queries = ["ape", "jay cat", "hen hen fox eel"]

    def found(corpus: EmbeddedCorpus) -> list[list[tuple[str, float]]]:
        runs = corpus.lexical().retrieve(queries, 100)
        return [[(hit.passage.url, hit.score) for hit in hits] for hits in runs]

    with EmbeddedCorpus.create(tmp_path / "fresh", None) as corpus:
        add(corpus, texts)
        expected, counted = found(corpus), corpus.count_words(["ape", "jay"])
    with EmbeddedCorpus.create(tmp_path / "worn", None) as corpus:
        with corpus.indexing_behind():
            add(corpus, gone)
            add(corpus, texts | {"t3": "ape jay ape"})
        corpus.delete([f"u:{name}" for name in gone])
        add(corpus, texts)  # t3 changes
        assert (found(corpus), corpus.count_words(["ape", "jay"])) == (expected, counted)
    with EmbeddedCorpus.open(tmp_path / "worn", None) as corpus:
        assert found(corpus) == expected
    assert verify(tmp_path / "worn") == []


LANGUAGES = {
    "de": "Die alten Brücken der Stadt wurden im Jahr 1911 mit einem Fest eröffnet.",
    "pl": "Stare mosty w Warszawie zostały otwarte w 1911 roku, jak się mówi.",
    "ru": "Старые мосты города были открыты для движения и праздника в начале века.",
    "ja": "東京大学の古い橋は1911年に開通し、今も使われている。",
    "th": "สะพานเก่าของเมืองนี้เปิดใช้เมื่อนานมาแล้ว",
    "ar": "افتتحت الجسور القديمة في المدينة قبل قرن من الزمان.",
    "en": "The old bridges of Tokyo's university (東京大学) were opened by the mayor.",
}


@each_row("corpus/lexical/a_query_in_any_language_finds_its_passage")
def test_a_query_in_any_language_finds_its_passage(
    corpus: EmbeddedCorpus, query: str, first: str
) -> None:
    add(corpus, LANGUAGES)
    hits = corpus.lexical().retrieve([query], 9)[0]
    assert hits[0].passage.title == first
    assert hits[0].passage.language == first


def test_common_words_of_another_language_are_not_rare(corpus: EmbeddedCorpus) -> None:
    english = {f"e{n}": f"It is a table in the town of Varde{n}, on a road." for n in range(20)}
    french = "La table est dans une ville et on a de la place, in situ, pour un port."
    add(corpus, english)
    [alone] = corpus.lexical().retrieve(["It is a table in Varde3 on a road"], 1)
    add(corpus, {"fr": french})
    [mixed] = corpus.lexical().retrieve(["It is a table in Varde3 on a road"], 30)
    assert mixed[0].passage == alone[0].passage
    assert mixed[-1].passage.title == "fr"


def test_a_lost_file_of_a_segment_is_found_and_repaired(tmp_path: Path) -> None:
    folder = tmp_path / "corpus"
    with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
        corpus.add([Document("u:1", "", "an ape and a bear")])
    for suffix in (".pos", ".fieldnorm"):
        (lost,) = (folder / "g1").rglob(f"*{suffix}")
        lost.unlink()
        assert [found.place for found in verify(folder)] == [str(lost)]
        assert [found.repaired for found in verify(folder, repair=True)] == [True]


@pytest.fixture
def behind(tmp_path: Path) -> Path:
    """As after a full disk: changes are committed, and the word index has none of them."""
    folder, before = tmp_path / "corpus", tmp_path / "before"
    with EmbeddedCorpus.create(folder, FakeEncoder()) as corpus:
        corpus.add([Document("u:1", "", "an ape and a bear"), Document("u:2", "", "an ape")])
        shutil.copytree(folder / "g1", before)
        corpus.add([Document("u:3", "", "an ape and a cat"), Document("u:1", "", "a cat")])
        corpus.delete(["u:2"])
        assert Corpora({"kb": corpus}).notes == ()
    for path in (folder / "g1").glob("lexical*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    for path in before.glob("lexical*"):
        (shutil.copytree if path.is_dir() else shutil.copy)(path, folder / "g1" / path.name)
    return folder


def urls(corpus: EmbeddedCorpus, query: str) -> set[str]:
    return {hit.passage.url for hit in corpus.lexical().retrieve([query], 5)[0]}


@pytest.mark.parametrize("index", ["behind", "missing", "of another rule"])
def test_a_reader_that_may_not_write_indexes_for_itself(
    behind: Path, index: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if index == "missing":
        (behind / "g1" / "lexical.json").unlink()
    elif index == "of another rule":
        monkeypatch.setattr(lexical, "LEXICAL_RULE", "another")
    files = sorted(behind.glob("g1/lexical*/*"))
    with WriterLock(behind), EmbeddedCorpus.open(behind, FakeEncoder()) as corpus:
        assert corpus.is_complete
        assert Corpora({"kb": corpus}).notes == ()
        assert (urls(corpus, "ape"), urls(corpus, "cat")) == ({"u:3"}, {"u:1", "u:3"})
        assert corpus.count_words(["cat", "bear"]) == (2, [("cat", 2), ("bear", 0)])
    assert files == sorted(behind.glob("g1/lexical*/*"))
    with EmbeddedCorpus.open(behind, FakeEncoder()) as corpus:  # which may write
        assert (urls(corpus, "ape"), urls(corpus, "cat")) == ({"u:3"}, {"u:1", "u:3"})
    (folder,) = behind.glob("g1/lexical-*")
    assert (files[0].parent != folder) == (index != "behind"), "it is made anew, or goes on"


def test_an_index_in_memory_gives_way_to_one_that_has_more(behind: Path) -> None:
    with WriterLock(behind) as lock:
        reader = EmbeddedCorpus.open(behind, FakeEncoder())
        lock.release()
        with EmbeddedCorpus.open(behind, FakeEncoder(), write=True) as writer:
            writer.add([Document("u:4", "", "an ape")])
            with reader:
                assert urls(reader, "ape") == {"u:3", "u:4"}
                assert reader.is_complete


def test_a_search_of_a_part_says_so(behind: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "SMALL", 1)
    with WriterLock(behind), EmbeddedCorpus.open(behind, None) as corpus:  # none may write
        assert not corpus.is_complete
        assert [note.code for note in Corpora({"kb": corpus}).notes] == ["corpus_behind"]
        assert urls(corpus, "bear") == set()
        assert urls(corpus, "ape") == set()
    with EmbeddedCorpus.open(behind, None) as corpus:
        assert corpus.is_complete
        assert urls(corpus, "ape") == {"u:3"}


def test_an_index_that_cannot_be_written_leaves_nothing(
    behind: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, content: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    (behind / "g1" / "lexical.json").unlink()
    monkeypatch.setattr(lexical, "write_stamp", refuse)
    for _ in range(3):
        with EmbeddedCorpus.open(behind, FakeEncoder()) as corpus:
            assert urls(corpus, "ape") == {"u:3"}
    assert list((behind / "g1").glob("lexical*")) == []
