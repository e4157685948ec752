"""The list of documents: what a text in it finds, whatever its case."""

from pathlib import Path

from support.rows import each_row

from pincite.corpus.catalogue import Which
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.types import Document

TITLES = ["İstanbul", "STRASSE 100%", "Die Straße", "Σίσυφος", "half \ud800 istanbul"]


@each_row("corpus/catalogue/a_text_is_found_whatever_its_case")
def test_a_text_is_found_whatever_its_case(tmp_path: Path, text: str, found: list[int]) -> None:
    with EmbeddedCorpus.create(tmp_path / "c", None) as corpus:
        corpus.add([Document(f"https://a.example/{n}", t, "A.") for n, t in enumerate(TITLES)])
        listed = corpus.listed(Which(text=text), 10)
        assert sorted(TITLES.index(each.title) for each in listed) == found
        pages = corpus.listed(Which(text=text), 1)
        if len(found) > 1:
            after = (pages[0].sorted_by, pages[0].key)
            assert corpus.listed(Which(text=text), 10, after) == listed[1:]
