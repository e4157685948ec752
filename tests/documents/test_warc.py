import gzip
import logging
import random
import zlib
from pathlib import Path

import cramjam
import pytest
from documents.builders import warc_record
from support.found import document, refusal

from pincite.documents import archives
from pincite.documents.archives import MAX_FAULTS, Record, records
from pincite.documents.body import Limits
from pincite.documents.read import read_path
from pincite.types import Document, Reason, Unchecked

JUNK = random.Random(1).randbytes(5_000)
PAGE = b"<html><head><title>A bridge</title></head><body><p>Opened in 1931.</p></body></html>"


GOOD = warc_record("https://e.org/a", PAGE)


def written(folder: Path, *data: bytes, name: str = "crawl.warc.gz") -> Path:
    (folder / name).write_bytes(b"".join(data))
    return folder / name


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    chunks, of_text = b"4\r\nOpen\r\n5\r\ned it\r\n0\r\n\r\n", {"Content_Type": "text/plain"}
    return written(
        tmp_path,
        warc_record("https://e.org/a", PAGE, Content_Type="text/html"),
        warc_record("https://e.org/a", b"", kind="request"),
        warc_record("https://e.org/gone", b"Sorry", http="404 Not Found"),
        warc_record("https://e.org/old", b"", http="301 Moved", Location="/a"),
        warc_record("dns:e.org", b"1.2.3.4", Content_Type="text/dns"),
        warc_record("https://e.org/a.gif", b"GIF89a....", Content_Type="image/gif"),
        warc_record("https://e.org/z", gzip.compress(PAGE), Content_Encoding="gzip"),
        warc_record("https://e.org/chunked", chunks, Transfer_Encoding="chunked", **of_text),
    )


def test_pages_of_an_archive(archive: Path) -> None:
    found = list(read_path(archive))
    reasons = [f.reason if isinstance(f, Unchecked) else f.text for f in found]
    assert reasons == [
        "Opened in 1931.",
        Reason.DEAD,
        Reason.NOT_SUPPLIED,
        Reason.UNSUPPORTED_TYPE,
        "Opened in 1931.",
        "Opened it",
    ]
    first = document(found[0])
    assert (first.url, first.title) == ("https://e.org/a", "A bridge")
    assert first.fetched == "2020-05-06T07:08:09Z"


def test_a_record_is_found_again_by_its_offset(archive: Path) -> None:
    plain = archive.with_suffix("")
    plain.write_bytes(gzip.decompress(archive.read_bytes()))
    for path in (archive, plain):
        for record in records(path):
            assert isinstance(record, Record)
            assert archives.record_at(path, record.offset) == record


def test_reading_adds_no_handler_of_log_messages(archive: Path) -> None:
    before = list(logging.getLogger("warcio").handlers)
    assert [*records(archive), archives.record_at(archive, 0)]
    assert logging.getLogger("warcio").handlers == before


def test_a_truncated_archive_gives_what_is_whole(archive: Path) -> None:
    whole = archive.read_bytes()
    last = warc_record("https://e.org/last", JUNK)
    archive.write_bytes(whole + last[:-2_000])
    *good, broken = records(archive)
    assert len(good) == 6
    assert refusal(broken).reason is Reason.UNDECODABLE
    assert f"record 9 at byte {len(whole)}" in refusal(broken).detail


@pytest.mark.parametrize(
    "junk", [b"no archive at all", b"\x1f\x8b\x08 broken", b"\nXM\xfe" * 700, JUNK]
)
def test_files_that_are_not_archives(tmp_path: Path, junk: bytes) -> None:
    assert refusal(*read_path(written(tmp_path, junk))).reason is Reason.UNDECODABLE


def test_damage_in_the_middle(archive: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = bytearray(archive.read_bytes())
    data[len(data) // 2 : len(data) // 2 + 40] = b"\xff" * 40
    archive.write_bytes(bytes(data))
    found = list(read_path(archive))
    assert isinstance(found[0], Document)
    assert [type(each) for each in found].count(Unchecked) > 0
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("encoding", ["", "deflate"])
def test_a_bomb_costs_itself(tmp_path: Path, encoding: str) -> None:
    headers = {"Content_Encoding": encoding} if encoding else {}
    body = zlib.compress(bytes(30_000_000)) if encoding else bytes(30_000_000)
    path = written(tmp_path, GOOD, warc_record("https://e.org/bomb", body, **headers), GOOD)
    first, bomb, last = read_path(path, limits=Limits(max_bytes=1_000_000))
    assert first == document(last)
    assert refusal(bomb).reason is Reason.TOO_LARGE


PACK = {"br": cramjam.brotli.compress, "zstd": cramjam.zstd.compress}


@pytest.mark.parametrize("encoding", PACK)
@pytest.mark.parametrize("chunked", [False, True])
def test_bodies_in_brotli_and_zstd_are_read(tmp_path: Path, encoding: str, chunked: bool) -> None:
    body = bytes(PACK[encoding](PAGE))
    headers = {"Content_Encoding": encoding.upper(), "Content_Type": "text/html"}
    if chunked:
        body = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
        headers["Transfer_Encoding"] = "chunked"
    path = written(tmp_path, warc_record("https://e.org/a", body, **headers))
    assert document(*read_path(path)).text == "Opened in 1931."


@pytest.mark.parametrize("encoding", PACK)
def test_damaged_packed_bodies_cost_themselves(tmp_path: Path, encoding: str) -> None:
    whole = bytes(PACK[encoding](JUNK))
    bodies = whole[:-40], b"junk" + whole
    damaged = (warc_record("https://e.org/a", b, Content_Encoding=encoding) for b in bodies)
    found = read_path(written(tmp_path, *damaged))
    assert [refusal(each).reason for each in found] == [Reason.UNDECODABLE] * 2


@pytest.mark.parametrize("encoding", PACK)
def test_a_body_that_the_crawler_unpacked_is_read_as_it_is(tmp_path: Path, encoding: str) -> None:
    path = written(tmp_path, warc_record("https://e.org/a", PAGE, Content_Encoding=encoding))
    assert document(*read_path(path)).text == "Opened in 1931."


@pytest.mark.parametrize("packed", [True, False])
def test_a_record_with_an_endless_address_costs_itself(tmp_path: Path, packed: bool) -> None:
    endless = warc_record("https://e.org/" + "a" * LONG, PAGE)
    data = [GOOD, endless, GOOD, endless * 2, GOOD]
    path = written(tmp_path, *(data if packed else map(gzip.decompress, data)))
    kinds = [type(found) for found in read_path(path)]
    assert kinds == [Document, Unchecked, Document, Unchecked, Document]


def test_an_archive_with_too_many_faults_is_given_up(tmp_path: Path) -> None:
    path = written(tmp_path, (GOOD + GOOD[:-30]) * 200)
    assert sum(isinstance(found, Unchecked) for found in records(path)) == MAX_FAULTS


WARC = b"WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: https://e.org/x\r\n"
EMPTY = WARC + b"Content-Length: 0\r\n\r\n\r\n\r\n"
HTTP = WARC + b"Content-Length: 9000000\r\n\r\nHTTP/1.1 200 OK\r\n"
LONG, MANY = 2 * archives.MAX_HEADER_BYTES, 2 * archives.MAX_HEADER_LINES
ENDLESS = {
    "first line": b"a" * LONG,
    "header": WARC + b"X: " + b"a" * LONG,
    "headers": WARC + b"X: a\r\n" * MANY,
    "continued": WARC + b"X: a\r\n" + b" a\r\n" * MANY,
    "header of HTTP": HTTP + b"X: " + b"a" * LONG,
    "headers of HTTP": HTTP + b"X: a\r\n" * MANY,
}


@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("endless", ENDLESS.values(), ids=ENDLESS)
def test_headers_without_end_end_the_archive(tmp_path: Path, endless: bytes, packed: bool) -> None:
    data = (GOOD, gzip.compress(endless)) if packed else (gzip.decompress(GOOD), endless)
    first, last = records(written(tmp_path, *data))
    assert isinstance(first, Record)
    assert refusal(last).reason is Reason.TOO_LARGE


def test_endless_blank_lines_cost_themselves(tmp_path: Path) -> None:
    good = gzip.decompress(GOOD)
    blank_lines = b"\r\n" * 2 * archives.MAX_HEADER_LINES
    _, blank, last = records(written(tmp_path, good, blank_lines, good, name="blank.warc"))
    assert refusal(blank).reason is Reason.TOO_LARGE
    assert isinstance(last, Record)


def test_records_without_end_end_the_archive(tmp_path: Path) -> None:
    path = written(tmp_path, gzip.compress(EMPTY * 5_000))
    *_, last = records(path, Limits(max_bytes=100_000))
    assert refusal(last).reason is Reason.TOO_LARGE


def test_lines_in_bodies_and_headers_of_other_records_do_not_count(tmp_path: Path) -> None:
    n_chunks = archives.MAX_HEADER_LINES
    chunks = b"1\r\na\r\n" * n_chunks + b"0\r\n\r\n"
    empty = gzip.compress(EMPTY) * (n_chunks // 4)
    chunked = warc_record("https://e.org/a", chunks, Transfer_Encoding="chunked")
    *_, last = records(written(tmp_path, empty, chunked))
    assert isinstance(last, Record)
    assert last.data == b"a" * n_chunks
