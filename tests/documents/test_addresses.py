import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.documents.collection import exact_key, loose_key


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://example.org/a", "https://example.org/a"),
        ("HTTPS://EXAMPLE.org/a", "https://example.org/a"),
        ("https://example.org/a#part", "https://example.org/a"),
        ("https://example.org/a/", "https://example.org/a"),
        ("https://example.org", "https://example.org/"),
        ("https://example.org:443/a", "https://example.org/a"),
        ("https://example.org./a", "https://example.org/a"),
        ("https://example.org/%7Ea%2fb%c3%a9", "https://example.org/~a%2Fb%C3%A9"),
        ("https://example.org/é", "https://example.org/%C3%A9"),
        ("https://bücher.example/", "https://xn--bcher-kva.example/"),
        ("https://example.org/a?utm_source=x&b=1&fbclid=2", "https://example.org/a?b=1"),
        ("https://example.org/a?", "https://example.org/a"),
    ],
)
def test_equal_addresses(one: str, other: str) -> None:
    assert exact_key(one) == exact_key(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("https://example.org/a", "https://example.org/A"),
        ("https://example.org/a?b=1", "https://example.org/a?b=2"),
        ("https://example.org/a", "https://www.example.org/a"),
        ("https://example.org:8080/a", "https://example.org/a"),
        ("https://example.org/a%2Fb", "https://example.org/a/b"),
    ],
)
def test_different_addresses(one: str, other: str) -> None:
    assert exact_key(one) != exact_key(other)


@pytest.mark.parametrize(
    "url",
    [
        "https://www.example.org/a",
        "https://web.archive.org/web/20130105/http://www.example.org/a",
        "http://web.archive.org/web/20130105id_/http:/example.org/a",
        "https://web.archive.org/web/2013/example.org/a",
        "https://archive.today/20130105120000/http://example.org/a",
        "https://archive.is/2013.01.05-120000/http://example.org/a",
        "https://web.archive.org/web/2014/https://web.archive.org/web/2013/http://example.org/a",
    ],
)
def test_loose_key(url: str) -> None:
    assert loose_key(url) == "example.org/a"


@given(st.one_of(st.text(), st.from_regex(r"https?://\S*")))
def test_any_string_has_keys(url: str) -> None:
    assert isinstance(exact_key(url), str)
    assert isinstance(loose_key(url), str)
