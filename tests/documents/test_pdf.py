from collections.abc import Callable
from dataclasses import replace

import pytest
from documents.conftest import pdf

from pincite.documents.body import DEFAULT_LIMITS, Limits
from pincite.documents.read import read_bytes
from pincite.text.page_numbers import LABELS, page_of
from pincite.types import Document, Reason, Unchecked

URL = "https://archive.example/report.pdf"
PAGE_ONE = [
    [
        "The council decided in the spring of 1931 that the infor-",
        "mation office moves into the town",
    ],
    ["A second paragraph begins here and", "goes on below."],
]
PAGE_TWO = [["Costs were borne by the harbour board."]]


def read(data: bytes, limits: Limits = DEFAULT_LIMITS) -> Document | Unchecked:
    return read_bytes(data, url=URL, limits=limits)


def reason(found: Document | Unchecked) -> Reason:
    assert isinstance(found, Unchecked), found
    assert found.detail
    return found.reason


def test_text_title_pages_and_paragraphs(make_pdf: Callable[..., bytes]) -> None:
    info = "/Title (Report on the office) /Author (Ada Holm) /CreationDate (D:19990203120000Z)"
    found = read(make_pdf([PAGE_ONE, PAGE_TWO], info))
    assert isinstance(found, Document)
    assert found.text == (
        "The council decided in the spring of 1931 that the information office moves into the town"
        "\n\nA second paragraph begins here and goes on below."
        "\n\nCosts were borne by the harbour board."
    )
    assert (found.title, found.kind, found.language) == ("Report on the office", "pdf", "en")
    assert found.meta["author"] == "Ada Holm"
    assert found.meta["created"] == "1999-02-03"
    assert found.published is None
    assert page_of(found, 0) == 1
    assert page_of(found, found.text.index("Costs") - 1) == 1
    assert page_of(found, found.text.index("Costs")) == 2


@pytest.mark.parametrize(
    ("labels", "known"),
    [
        ("[0 << /S /r >> 1 << /S /D /St 120 >>]", '["i", "120"]'),
        ("[0 << /S /D >> 1 << /S /D >>]", None),  # two pages 1: the file does not know
        ("[0 << /S /D >>]", None),  # 1, 2: as they are counted
    ],
)
def test_printed_page_numbers(labels: str, known: str | None) -> None:
    page = [(72.0, 700.0, "The tram runs to the harbour.")]
    found = read(pdf([page, page], catalog=f"/PageLabels << /Nums {labels} >>"))
    assert isinstance(found, Document)
    assert found.meta.get(LABELS) == known


def test_page_of_a_document_without_pages() -> None:
    assert page_of(Document(URL, "", "text"), 2) is None


@pytest.mark.parametrize("title", ["Microsoft Word - draft7.doc", "Untitled", "report.indd", " - "])
def test_titles_of_word_processors_are_none(make_pdf: Callable[..., bytes], title: str) -> None:
    found = read(make_pdf([PAGE_TWO], f"/Title ({title})"))
    assert isinstance(found, Document)
    assert found.title == ""


def test_reasons(make_pdf: Callable[..., bytes], locked: bytes) -> None:
    whole = make_pdf([PAGE_ONE, PAGE_TWO])
    assert reason(read(locked)) is Reason.ENCRYPTED
    assert reason(read(make_pdf([[], []]))) is Reason.EMPTY
    assert reason(read(b"%PDF-1.7 but no more")) is Reason.UNDECODABLE
    assert reason(read(whole, Limits(pdf_pages=1))) is Reason.TOO_LARGE
    assert reason(read(whole, Limits(max_chars=20))) is Reason.TOO_LARGE


def test_many_short_lines_end_at_the_limit_of_processor_time(
    make_pdf: Callable[..., bytes],
) -> None:
    many = pdf([[(72.0, 700.0, f"a{n}") for n in range(20_000)]])
    assert reason(read(many, Limits(seconds=0.05))) is Reason.TIMED_OUT
    assert isinstance(read(make_pdf([PAGE_TWO])), Document)


def test_a_worker_that_dies_is_a_result(make_pdf: Callable[..., bytes]) -> None:
    too_little = replace(DEFAULT_LIMITS, memory=1_000_000)
    found = read(make_pdf([PAGE_ONE]), too_little)
    assert isinstance(found, Document) or reason(found) in (Reason.UNDECODABLE, Reason.TOO_LARGE)


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8, 0.95])
def test_truncated_files(make_pdf: Callable[..., bytes], share: float) -> None:
    whole = make_pdf([PAGE_ONE, PAGE_TWO])
    found = read(whole[: int(len(whole) * share)])
    assert isinstance(found, Document) or reason(found) in (Reason.UNDECODABLE, Reason.EMPTY)
