import gzip

import pytest
from support.rows import each_row

from pincite.documents.body import Format, decompress, format_of, type_of_ending


@each_row("documents/body/format")
def test_the_format_is_that_of_the_bytes_before_the_label_and_the_ending(
    format: str, url: str, data: bytes, content_type: str | None
) -> None:
    assert format_of(data, url, content_type)[0] is Format[format]


@pytest.mark.parametrize("kind", [kind for kind in Format if kind.is_text])
def test_a_text_is_of_the_format_of_its_ending_or_media_type(kind: Format) -> None:
    for ending in kind.endings:
        named = type_of_ending(ending)
        assert named == kind.media_types[0]
        for label in (named, "text/plain; charset=utf-8", None):
            assert format_of(b"words", f"https://e.org/a{ending}", label)[0] is kind
        assert format_of(b"words", "https://e.org/download?id=7", named)[0] is kind


@pytest.mark.parametrize("kind", [kind for kind in Format if kind.reader and not kind.is_text])
def test_other_bytes_are_not_of_the_format_that_is_stated(kind: Format) -> None:
    assert format_of(b"words", "https://e.org/a", kind.media_types[0])[0] is Format.MISLABELLED


def test_formats_share_no_ending_and_no_media_type() -> None:
    labels = [label for kind in Format for label in (*kind.endings, *kind.media_types)]
    assert len(labels) == len(set(labels))


def test_an_unsupported_format_has_a_name() -> None:
    assert format_of(b"GIF89a", "u", None)[1] == "a GIF image"


def test_gzip_data_may_have_several_members() -> None:
    members = [gzip.compress(letter * 100_000) for letter in (b"a", b"b")]
    assert decompress(b"".join(members), 10**6) == b"a" * 100_000 + b"b" * 100_000
    assert len(decompress(b"".join(members), 150_000)) == 150_001
    assert decompress(members[0] + b"no member", 10**6) == b"a" * 100_000
