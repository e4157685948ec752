"""The user's own copies of sources: storing, naming, choosing and reading them."""

import hashlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
from documents.builders import locked_pdf, paragraph_lines, pdf
from support.found import document as found_document
from support.found import refusal
from support.rows import each_row
from verify.test_verify import WordVerifier

from pincite.documents.body import Limits
from pincite.documents.read import read_bytes
from pincite.errors import ConfigError, InputError
from pincite.library import private_copies
from pincite.library.private_copies import (
    FILES,
    INDEX,
    Attached,
    OwnCopies,
    OwnCopy,
    OwnSources,
    attach,
)
from pincite.text.identifiers import isbn13, pmid_of, work_key
from pincite.text.page_numbers import number_at, page_labels
from pincite.types import (
    Citation,
    CitationResult,
    Claim,
    Document,
    Evidence,
    Label,
    Reason,
    Span,
    Unchecked,
    own_digest,
)
from pincite.verbs.verify.cited_copies import CitedCopies, SourceOf
from pincite.verbs.verify.pipeline import VerifyPipeline

DATA = b"The bridge opened in 1911."
# Attaches copies without end, each to a source of its own, and says so once it is done.
ATTACH = """
import hashlib, sys
from pathlib import Path
from pincite.library.private_copies import OwnCopies, OwnCopy
store, name, most = OwnCopies(Path(sys.argv[1])), sys.argv[2], int(sys.argv[3])
for n in range(most):
    data = f"{name} {n} ".encode() * 20_000
    digest = hashlib.sha256(data).hexdigest()
    copy = OwnCopy("r", (f"url:{name}/{n}",), "f.txt", digest, len(data), None, 0, 1, "en", "")
    store.attach(copy, data)
    print(n, flush=True)
"""


def copy(data: bytes = DATA, *keys: str, name: str = "book.txt") -> OwnCopy:
    digest = hashlib.sha256(data).hexdigest()
    return OwnCopy("REF", keys or ("isbn:1",), name, digest, len(data), None, 0, 5, "en", "")


def files(folder: Path) -> set[str]:
    return {path.name for path in (folder / FILES).iterdir()}


def writer(folder: Path, name: str, most: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", ATTACH, str(folder), name, str(most)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)


def test_attached_found_and_removed(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path / "own")
    assert (store.all(), store.of(["isbn:1"]), store.fingerprint()) == ([], [], "")
    assert not (tmp_path / "own").exists()  # asking makes nothing
    kept = store.attach(copy(DATA, "isbn:1", "doi:10.1/x"), DATA)
    assert store.of(["doi:10.1/x", "isbn:1"]) == [kept] == store.all()
    assert store.of(["isbn:2"]) == store.of([]) == []
    assert store.read(kept) == DATA
    first = store.fingerprint()
    store.attach(copy(b"Another."), b"Another.")
    assert store.fingerprint() not in ("", first)
    store.remove(store.of(["isbn:1"]))
    assert (store.all(), files(store.folder)) == ([], set())


def test_a_file_of_two_sources_stays_until_both_are_gone(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path)
    one = store.attach(copy(DATA, "isbn:1"), DATA)
    two = store.attach(copy(DATA, "isbn:2"), DATA)
    store.remove([one])
    assert store.read(two) == DATA
    store.remove([two])
    assert files(tmp_path) == set()


def test_attaching_again_replaces(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path)
    store.attach(copy(), DATA)
    again = store.attach(replace(copy(), pages=(120, 135)), DATA)
    assert store.all() == [again]
    assert store.all()[0].pages == (120, 135)


def test_only_the_owner_reads(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store = OwnCopies(tmp_path / "own")
        kept = store.attach(copy(), DATA)
    finally:
        os.umask(before)
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "own").rglob("*")}
    assert modes == {FILES: 0o700, INDEX: 0o600, kept.sha256: 0o600}
    assert (tmp_path / "own").stat().st_mode & 0o777 == 0o700


def test_names_are_never_paths(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path / "own")
    odd = ("../../etc/passwd", "/etc/passwd", "a\0b", "\x1b[2J", "ü" * 300)
    for number, name in enumerate(odd):
        data = str(number).encode()
        kept = store.attach(copy(data, f"k{number}", name=name), data)
        assert store.read(kept) == data
        assert store.all()[-1].name == name
    stored = {path.name for path in tmp_path.rglob("*") if path.is_file()}
    assert stored == {INDEX, *(kept.sha256 for kept in store.all())}


def test_damage_and_links_are_not_read(tmp_path: Path) -> None:
    store = OwnCopies(tmp_path / "own")
    kept = store.attach(copy(), DATA)
    path = store.path_of(kept)
    path.write_bytes(DATA + b" ")
    assert store.read(kept) is None
    path.unlink()
    assert store.read(kept) is None
    (tmp_path / "elsewhere").write_bytes(DATA)
    path.symlink_to(tmp_path / "elsewhere")
    assert store.read(kept) is None
    store.attach(copy(), DATA)  # takes the place of the link, not of what it leads to
    assert not path.is_symlink()
    assert store.read(kept) == DATA
    path.unlink()
    os.mkfifo(path)
    assert store.read(kept) is None


def test_files_of_others_stay(tmp_path: Path) -> None:
    (tmp_path / FILES).mkdir()
    (tmp_path / FILES / "thesis.pdf").write_text("mine")
    left_behind = tmp_path / FILES / ("0" * 64)
    left_behind.write_text("of a killed run")
    store = OwnCopies(tmp_path)
    kept = store.attach(copy(), DATA)
    store.remove([kept])
    assert files(tmp_path) == {"thesis.pdf"}


@pytest.mark.parametrize("content", [b"no database at all, but long enough for a header" * 9, b""])
def test_a_broken_index(tmp_path: Path, content: bytes) -> None:
    (tmp_path / INDEX).write_bytes(content)
    store = OwnCopies(tmp_path)
    if content:
        with pytest.raises(ConfigError, match="own_copies"):
            store.all()
    else:  # killed before its first transaction
        assert store.all() == []


def test_a_folder_that_cannot_be_made(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match="own_copies"):
        OwnCopies(tmp_path / "file" / "own").attach(copy(), DATA)


def test_processes_that_attach_at_once_lose_nothing(tmp_path: Path) -> None:
    most = 25
    started = [writer(tmp_path, name, most) for name in "abc"]
    store = OwnCopies(tmp_path)
    while any(process.poll() is None for process in started):
        for kept in store.all():  # a reader sees whole copies at every moment
            assert store.read(kept) is not None
    assert [process.wait() for process in started] == [0, 0, 0]
    assert len(store.all()) == 3 * most == len(files(tmp_path))
    for process in started:
        process.communicate()


def test_kill_at_any_moment(tmp_path: Path) -> None:
    chance = random.Random(11)
    for round_number in range(6):
        process = writer(tmp_path, f"round{round_number}", 1000)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.15))
        process.send_signal(signal.SIGKILL)
        said = process.communicate()[0].split()
        store = OwnCopies(tmp_path)
        for done in ["0", *said]:
            (kept,) = store.of([f"url:round{round_number}/{done}"])
            assert store.read(kept) is not None
        assert all(store.read(kept) for kept in store.all())
    last = store.attach(copy(), DATA)
    assert files(tmp_path) == {kept.sha256 for kept in store.all()} >= {last.sha256}


ISBN = "978-0-306-40615-7"
PAGES = [
    ["The ferry of Varde was slow.", "Passengers waited for hours at the quay."],
    ["The bridge of Varde opened in 1911.", "It was painted green in that summer."],
    ["The harbour was dredged again.", "Ships came from Norway and Holland."],
    ["The tram reached the harbour in 1922.", "It ran until the war."],
]


def book(pages: list[list[str]] = PAGES) -> bytes:
    return pdf([paragraph_lines([page]) for page in pages])


def citation(**known: str) -> Citation:
    return Citation("r1", Span(0, 1), Span(0, 1), **known)  # type: ignore[arg-type]


def attached(folder: Path, ref: str, data: bytes, pages: str = "", name: str = "b.pdf") -> OwnCopy:
    path = folder / name
    path.write_bytes(data)
    printed = private_copies.parse_pages(pages) if pages else None
    kept = attach(OwnCopies(folder / "own"), private_copies.named_source(ref), path, printed)
    assert isinstance(kept, Attached), kept
    return kept.copy


def held(folder: Path, **known: str) -> Document:
    return found_document(OwnSources(OwnCopies(folder / "own"))(citation(**known)))


def found(
    folder: Path, cited: Citation, text: str = "The bridge opened in 1911."
) -> CitationResult:
    dead = copies(folder, lambda url: Unchecked(url, Reason.DEAD, "HTTP 404"))
    pipeline = VerifyPipeline(WordVerifier(), dead, threshold=0.55)
    return pipeline.finding(Claim("c", text, citations=(cited,))).citations[0]


def copies(folder: Path, source_of: SourceOf) -> CitedCopies:
    own = OwnSources(OwnCopies(folder / "own"))
    return CitedCopies(source_of, given=[own])


def digest(result: CitationResult) -> str | None:
    """The SHA-256 of the own copy that was read."""
    return own_digest(result.copy.url) if result.copy else None


@each_row("library/private_copies/a_source_is_known_by_any_of_its_names")
def test_a_source_is_known_by_any_of_its_names(
    tmp_path: Path, ref: str, known: dict[str, str]
) -> None:
    kept = attached(tmp_path, ref, book())
    assert held(tmp_path, **known).url == f"own:{kept.sha256}"
    other = citation(url="https://other.example/", doi="10.1000/abcd", isbn="1")
    assert OwnSources(OwnCopies(tmp_path / "own"))(other) is None


MISTYPED = ["978-0-306-40615-8", "ISBN 12", "0306406153"]
NAMELESS = ["", "The Harbour", "r7", "7", "ftp://a.example/", "10.1/x y z"]


@pytest.mark.parametrize(
    ("ref", "message"),
    [
        *((ref, "check digit") for ref in MISTYPED),
        *((ref, "does not identify a source") for ref in NAMELESS),
    ],
)
def test_invalid_names_of_sources(ref: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        private_copies.named_source(ref)


def test_numbers_of_a_work_are_normalised_or_none() -> None:
    assert isbn13("080442957X") == "9780804429573"
    assert isbn13("0-306-40615-2, 978-0-306-40615-7") == "9780306406157"
    assert isbn13("4006381333931") is None  # a good check digit, of a felt-tip pen
    assert pmid_of("1234567890") is None
    assert work_key("The Harbour!", ["Ito M"]) == work_key("the harbour", ["Mei Ito"])
    assert work_key("The Harbour", []) is None
    assert work_key("", ["Ito"]) is None


def test_refusals_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(private_copies, "DEFAULT_LIMITS", Limits(max_bytes=2_000))
    store, source = OwnCopies(tmp_path / "own"), private_copies.named_source(ISBN)
    for name, data, reason in (
        ("locked.pdf", locked_pdf(), Reason.ENCRYPTED),
        ("scan.pdf", pdf([[], []]), Reason.EMPTY),
        ("empty.txt", b"", Reason.EMPTY),
        ("picture.gif", b"GIF89a", Reason.UNSUPPORTED_TYPE),
        ("large.txt", b"word " * 500, Reason.TOO_LARGE),
    ):
        (tmp_path / name).write_bytes(data)
        refused = refusal(attach(store, source, tmp_path / name))
        assert refused.reason is reason
        assert str(tmp_path) not in refused.detail
    assert store.all() == []
    for path in (tmp_path, tmp_path / "missing.pdf"):
        with pytest.raises(InputError):
            attach(store, source, path)


def test_attaching_parses_a_file_once_and_doubts_what_names_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed: list[str] = []

    def counted(data: bytes, *, url: str) -> Document | Unchecked:
        parsed.append(url)
        return read_bytes(data, url=url)

    monkeypatch.setattr(private_copies, "read_bytes", counted)
    (tmp_path / "a.txt").write_text("The bridge over the Varde opened in 1911.")
    for names, is_doubted in ((("Moths of the mill",), True), (("The Varde bridge",), False)):
        source = private_copies.Named(ISBN, (f"isbn:{ISBN}",), names)
        kept = attach(OwnCopies(tmp_path / "own"), source, tmp_path / "a.txt")
        assert isinstance(kept, Attached)
        assert ("does not mention" in kept.doubt) is is_doubted
    assert len(parsed) == 2


def test_the_wrong_number_of_pages(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"are 16 pages, but b\.pdf has 4"):
        attached(tmp_path, ISBN, book(), "120-135")
    for text in ("", "135-120", "x", "1-2-3"):
        with pytest.raises(InputError, match="expected a range"):
            private_copies.parse_pages(text)


def test_a_typed_copy_has_the_pages_that_it_marks(tmp_path: Path) -> None:
    text = "Harbours\n\n[p. 212] The pier is long and built of oak.\n\n[p. 213] It burnt in May."
    attached(tmp_path, "ISBN 978-0-306-40615-7", text.encode(), "212-214", "b.txt")
    document = held(tmp_path, isbn="978-0-306-40615-7", pages="212–214")
    assert page_labels(document) == ["212", "213"]
    number = number_at(document, document.text.index("burnt"))
    assert number
    assert (number.label, number.printed) == ("213", True)


def test_a_citation_chooses_chapters_by_their_printed_pages(tmp_path: Path) -> None:
    attached(tmp_path, ISBN, book(PAGES[:2]), "10-11", "one.pdf")
    attached(tmp_path, ISBN, book(PAGES[2:]), "50-51", "two.pdf")
    first, both = held(tmp_path, isbn=ISBN, pages="11"), held(tmp_path, isbn=ISBN)
    assert "tram" not in first.text
    assert json.loads(both.meta["page_labels"]) == ["10", "11", "50", "51"]
    assert both.text.index("harbour was dredged") >= json.loads(both.meta["page_starts"])[2]
    cited = citation(isbn=ISBN, pages="10, 51")
    result = found(tmp_path, cited, "The tram reached the harbour in 1922.")
    assert (result.label, result.place and result.place.page) == (Label.SUPPORTED, "51")
    assert len(digest(result) or "") == 129
    missed = refusal(OwnSources(OwnCopies(tmp_path / "own"))(citation(isbn=ISBN, pages="12")))
    assert missed.reason is Reason.NOT_SUPPLIED
    assert "10–11, 50–51" in missed.detail


def test_own_copies_come_first_and_never_hide_the_web(tmp_path: Path) -> None:
    page = Document("https://a.example/", "Web", "The bridge opened in 1911.")
    pipeline = VerifyPipeline(WordVerifier(), copies(tmp_path, lambda _: page), threshold=0.55)
    claim = Claim("c", "The bridge opened in 1911.", citations=(citation(url=page.url),))
    assert digest(pipeline.finding(claim).citations[0]) is None
    kept = attached(tmp_path, page.url, book())
    assert digest(pipeline.finding(claim).citations[0]) == kept.sha256
    OwnCopies(tmp_path / "own").path_of(kept).unlink()
    fresh = VerifyPipeline(WordVerifier(), copies(tmp_path, lambda _: page), threshold=0.55)
    (result,) = fresh.finding(claim).citations
    assert isinstance(result.outcome, Evidence)
    assert digest(result) is None
    alone = found(tmp_path, citation(url=page.url))
    assert "attach it again" in refusal(alone.outcome).detail
