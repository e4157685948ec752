"""Reading lists of sources: the wiki's own form, ours, and what is neither."""

import gzip
import json
from pathlib import Path

import pytest

from pincite.errors import InputError
from pincite.library.reliability import read_list
from pincite.types import Reliability
from pincite.wiki.addresses import wikipedia

R = Reliability
ROW = {
    "id": "The Daily Example (politics)",
    "name": "The Daily Example",
    "status": "gu",
    "content_qualifier": "(politics)",
    "domain": "daily.example.org",
    "alltext": "| {{WP:RSPSTATUS|gu|b=y}} || {{WP:RSPUSES|www.daily.example.org|daily.example.org/x"
    "|https://other.example.org/}}",
    "rsnl": [
        {"notice_id": "12", "notice_title": "Old", "rfc": True},
        {"notice_id": "300", "notice_title": "RfC: is it?", "rfc": True},
        {"notice_id": "400", "notice_title": "A question"},
    ],
}


def written(folder: Path, *rows: object, name: str = "list.jsonl") -> Path:
    path = folder / name
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_a_row_of_the_wiki(tmp_path: Path) -> None:
    found = read_list(written(tmp_path, ROW, {"id": "Scriptures", "status": "nc"}))
    assert (found.n_rows, found.without_place) == (2, ("Scriptures",))
    places = ["daily.example.org", "daily.example.org/x", "other.example.org"]
    assert sorted(entry.place for entry in found.entries) == places
    entry = found.entries[0]
    assert (entry.reliability, entry.scope) == (R.BLACKLISTED, "politics")
    assert entry.name == "The Daily Example"
    archive = "https://en.wikipedia.org/wiki/Wikipedia:Reliable_sources/Noticeboard/Archive_300"
    assert entry.link == f"{archive}#RfC:_is_it?"


def test_a_row_without_a_discussion_links_to_itself(tmp_path: Path) -> None:
    row = {"id": "C [D]", "status": "gr", "domain": "c.org"}
    (entry,) = read_list(written(tmp_path, row), wikipedia("de")).entries
    page = "https://de.wikipedia.org/wiki/Wikipedia:Reliable_sources/Perennial_sources"
    assert entry.link == f"{page}#C_%5BD%5D"


def test_our_own_form(tmp_path: Path) -> None:
    rows = [
        {"site": "https://www.a.org/x/", "label": "generally_reliable", "name": "A"},
        {"site": "b.org", "label": "No consensus", "link": "https://w.example/b", "scope": "sport"},
        {"site": "c.org", "label": "d"},
    ]
    by_lines = read_list(written(tmp_path, *rows)).entries
    table = "site,label,name,scope,link\nhttps://www.a.org/x/,generally-reliable,A,,\n"
    table += "b.org,no consensus,,sport,https://w.example/b\nc.org,deprecated\n"
    packed = tmp_path / "list.csv.gz"
    packed.write_bytes(gzip.compress(("\ufeff" + table).encode()))
    assert read_list(packed).entries == by_lines
    labels = [(e.place, e.reliability) for e in by_lines]
    assert labels == [("a.org/x", R.RELIABLE), ("b.org", R.NO_CONSENSUS), ("c.org", R.DEPRECATED)]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "begins with"),
        (b"a,b\n1,2\n", "begins with"),
        (b"site,label\n", "is empty"),
        (b"site,label\na.org,wonderful\n", "row 2"),
        (b"site,label\nco.uk,deprecated\n", "'co.uk' is not a site"),
        (b"site,label,link\na.org,d,javascript:alert(1)\n", "not a web address"),
        (b'{"site": "a.org"}', "row 1"),
        (b'{"site": "a.org", "label": "d"}\n{broken', "line 2 is not JSON"),
        (b'{"id": "A", "status": "d", "domain": "a.org", "rsnl": 7}', "row 1"),
        (b"{" * 100_000, "not JSON"),
        (b"\xff\xfe\x00", "not UTF-8"),
        (b"\x1f\x8bbroken", "cannot be read"),
        (gzip.compress(b" " * 60_000_000), "more than 50,000,000"),
    ],
)
def test_invalid_lists_are_refused_with_their_row(
    tmp_path: Path, content: bytes, says: str
) -> None:
    path = tmp_path / "list"
    path.write_bytes(content)
    with pytest.raises(InputError, match=says):
        read_list(path)
