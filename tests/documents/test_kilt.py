import gzip
import json
from pathlib import Path
from typing import Any

from pincite.documents.body import Limits
from pincite.documents.read import read_path
from pincite.types import Document, Reason, Unchecked

PAGE: dict[str, Any] = {
    "_id": "77",
    "wikipedia_id": "77",
    "wikipedia_title": "Varde Bridge",
    "text": [
        "Varde Bridge\n",
        "The bridge crosses the river.\n",
        "Section::::History.\n",
        "It opened in 1911.\n",
        "Section::::History.:Repairs.\n",
        "BULLET::::- The first arch\n",
        "BULLET::::- The second arch\n",
        "BULLET::::\n",
        "After that it was sound.\n",
    ],
    "anchors": [{"text": "river", "href": "River", "paragraph_id": 1, "start": 19, "end": 24}],
    "categories": "Bridges,Varde",
    "history": {"timestamp": "2019-08-01T10:00:00Z", "url": "https://en.wikipedia.org/w/?oldid=5"},
}


def read(path: Path, *lines: object, **limits: int) -> list[Document | Unchecked]:
    texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
    data = "\n".join(texts).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return list(read_path(path, limits=Limits(**limits)))


def test_a_page(tmp_path: Path) -> None:
    for name in ("kilt_knowledgesource.json", "kilt.json.gz", "kilt.jsonl"):
        assert read(tmp_path / name, PAGE) == [
            Document(
                url="https://en.wikipedia.org/w/?oldid=5",
                title="Varde Bridge",
                text=(
                    "The bridge crosses the river.\n\nHistory\n\nIt opened in 1911.\n\nRepairs\n\n"
                    "- The first arch\n- The second arch\n\nAfter that it was sound."
                ),
                kind="jsonl",
                fetched="2019-08-01T10:00:00Z",
                language="en",
                meta={"wikipedia_id": "77", "categories": "Bridges,Varde"},
            )
        ]


def test_the_id_stands_in_for_the_address(tmp_path: Path) -> None:
    (found,) = read(tmp_path / "k.json", PAGE | {"history": None, "wikipedia_id": 78})
    assert found.url == "https://en.wikipedia.org/?curid=78"


def test_a_bad_line_costs_only_itself(tmp_path: Path) -> None:
    bad = [
        PAGE | {"text": "one string"},
        PAGE | {"text": ["words", 5]},
        {"wikipedia_title": "A", "text": ["A", "words"]},
        PAGE | {"text": ["Varde Bridge\n", " "]},
        PAGE | {"text": ["x" * 999]},
    ]
    first, *wrong, last = read(tmp_path / "k.json", PAGE, *bad, "{", PAGE, max_chars=500)
    assert isinstance(first, Document)
    assert first == last
    assert [w.reason for w in wrong if isinstance(w, Unchecked)] == [
        *[Reason.UNDECODABLE] * 3,
        Reason.EMPTY,
        Reason.TOO_LARGE,
        Reason.UNDECODABLE,
    ]
    details = [w.detail for w in wrong if isinstance(w, Unchecked)]
    assert details[0] == "k.json line 2: no text, a list of paragraphs"
    assert details[2] == "k.json line 4: no wikipedia_id or history.url"
    assert details[4] == "k.json line 6: 999 characters, the limit is 500"
