"""What a run records beside its findings."""

from pathlib import Path

import pytest

from pincite.corpus.embedded import EmbeddedCorpus
from pincite.corpus.multi_corpus import Corpora
from pincite.judgement.aggregation import precisions
from pincite.models.calibration import Calibration
from pincite.types import Citation, Document, Span
from pincite.verbs.verify import build

MEASURED = Calibration(support=(), refute=(), flags=((0.3, 0.8, 0.1),))


def test_precision_of_flags_by_base_rate() -> None:
    found = precisions(MEASURED.rates_at(0.55))
    assert [base_rate for base_rate, _ in found] == [0.02, 0.05, 0.20]
    assert [value for _, value in found] == pytest.approx([0.1404, 0.2963, 0.6667], abs=1e-4)


TITLE = "Rope ferries of the upper Holm"
PAPER = Document(
    "https://pubmed.ncbi.nlm.nih.gov/77/",
    TITLE,
    "The ferry of Holm carried 40 carts a day in 1911.",
    meta={"doi": "10.1000/Holm.1", "pmid": "77"},
)
OTHER = Document("https://holm.example/b", TITLE, "A ferry.", meta={"doi": "10.1000/holm.2"})


@pytest.mark.parametrize(
    ("known", "found"),
    [
        ({"doi": "10.1000/holm.1", "title": TITLE}, PAPER.url),
        ({"doi": "10.1000/HOLM.2", "text": f"Berg A. {TITLE}. 1999."}, OTHER.url),
        ({"pmid": "77"}, PAPER.url),
        ({"url": "http://www.holm.example/b"}, OTHER.url),
        ({"doi": "10.1000/holm.3", "title": TITLE}, None),
        ({"title": TITLE}, None),
    ],
)
def test_a_cited_work_is_found_in_the_corpus(
    tmp_path: Path, known: dict[str, str], found: str | None
) -> None:
    citation = Citation("r1", Span(0, 1), Span(0, 1), **known)  # type: ignore[arg-type]
    with EmbeddedCorpus.create(tmp_path / "c", None) as corpus:
        corpus.add([OTHER, PAPER])
        copy = build.corpus_copies(Corpora({"c": corpus}))(citation)
    assert (copy and copy.url) == found
