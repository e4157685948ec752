"""Bytes to characters, characters to text that is stored."""

import time
import unicodedata
import warnings

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pincite.documents.text import MAX_MARKS, cleaned, decoded, one_line
from pincite.text.sentences import n_words


@given(st.text(st.characters(), max_size=200))
def test_cleaned_is_idempotent_and_free_of_what_it_drops(text: str) -> None:
    once = cleaned(text)
    assert cleaned(once) == once
    assert unicodedata.is_normalized("NFC", once)
    assert not any(unicodedata.category(c) in ("Cc", "Cs") for c in once if c != "\n")
    assert once == once.strip()
    assert all(line == line.strip(" ") for line in once.split("\n"))
    assert once.splitlines() == (once.split("\n") if once else [])


@pytest.mark.parametrize(
    ("raw", "expected"),
    [
        ("a\r\nb\rc\u2028d\x0ce", "a\nb\nc\nd\ne"),
        ("a\tb \u00a0 c", "a b c"),
        ("co\u00adop\u200berate\ufeff", "cooperate"),
        ("bad \ud800 half", "bad \ufffd half"),
        ("e\u0301", "é"),
        ("\ufb01re", "fire"),
        ("one\n\n\n\n two", "one\n\ntwo"),
        ("nul\0l", "null"),
        ("x² ½", "x² ½"),
    ],
)
def test_cleaned(raw: str, expected: str) -> None:
    assert cleaned(raw) == expected


def test_marks_without_end_do_not_take_quadratic_time() -> None:
    start = time.process_time()
    text = cleaned("a" + "\u0327\u0301\u0316" * 100_000)
    assert time.process_time() - start < 2
    assert len(text) <= MAX_MARKS + 1


def test_one_line_and_words() -> None:
    assert one_line(None) == ""
    assert one_line(" A\n title ") == "A title"
    assert n_words("") == 0
    assert n_words("東京 is a 都市") == 4


SENTENCE = "Die Brücke über den Fluß wurde im März eröffnet, und die Straße führt hinüber. " * 3


@pytest.mark.parametrize(
    ("encoding", "declared"),
    [
        ("utf-8", None),
        ("utf-8", "iso-8859-1"),  # the label lies, the bytes do not
        ("utf-8-sig", None),
        ("utf-16", None),
        ("utf-16-le", None),
        ("utf-16-be", "utf-8"),
        ("utf-32", None),
        ("cp1252", "windows-1252"),
        ("cp1252", None),
        ("latin-1", "no-such-charset"),
        ("latin-1", "utf-8"),
    ],
)
def test_the_right_characters_come_out(encoding: str, declared: str | None) -> None:
    assert decoded(SENTENCE.encode(encoding), declared) == SENTENCE


def test_declared_latin_1_is_cp1252_as_in_browsers() -> None:
    assert decoded(b"\x93quoted\x94 na\xefve", "iso-8859-1") == "“quoted” naïve"


@pytest.mark.parametrize(
    ("text", "encoding", "label"),
    [
        ("Le café de Zoé fut ouvert à l’été.", "mac-roman", "x-mac-roman"),
        ("Le café de Zoé fut ouvert à l’été.", "mac-roman", "macintosh"),
        ("Мост построен в Твери.", "mac-cyrillic", "x-mac-cyrillic"),
        ("Мост построен в Твери.", "koi8-r", "koi8_r"),
        ("Міст збудовано в Києві, ґанок.", "koi8-u", "KOI8-RU"),
        ("Мост построен в Твери.", "cp1251", "x-cp1251"),
        ("Most zbudował Łukasz Żak.", "iso8859-2", "iso88592"),
        ("Most zbudował Łukasz Żak.", "cp1250", "windows-1250"),
        ("Köprüyü Tuğba Yıldırım açtı.", "cp1254", "iso-8859-9"),
        ("Η γέφυρα άνοιξε.", "iso8859-7", "sun_eu_greek"),
        ("הגשר נפתח בחיפה", "iso8859-8", "iso-8859-8-i"),
        ("الجسر افتتح", "cp1256", "windows-1256"),
        ("Tilts atklāts Rīgā, ļoti šaurs.", "cp1257", "windows-1257"),
        ("สะพานเปิดแล้ว", "cp874", "tis-620"),
        ("髙橋①が橋を開いた", "cp932", "x-sjis"),
        ("髙橋①が橋を開いた", "cp932", "Shift_JIS"),
        ("橋は開かれた", "euc_jp", "x-euc-jp"),
        ("橋は開かれた", "iso2022_jp", "iso-2022-jp"),
        ("桥梁开通，朱镕基", "gbk", "gb2312"),
        ("橋樑啟用", "big5hkscs", "x-x-big5"),
        ("똠방각하 다리", "cp949", "ks_c_5601-1987"),
    ],
)
def test_labels_that_browsers_accept(text: str, encoding: str, label: str) -> None:
    assert decoded(text.encode(encoding), label) == text


def test_a_stray_byte_does_not_turn_utf8_into_something_else() -> None:
    assert decoded(SENTENCE.encode()[:-1] + b"\xc3") == SENTENCE[:-1] + "\ufffd"


@pytest.mark.parametrize("label", ["rot13", "idna", "unicode_escape", "zlib", "\0", "", "x" * 9999])
def test_labels_that_are_no_character_set_are_passed_over(label: str) -> None:
    assert decoded(b"plain \\N{text}", label) == "plain \\N{text}"


def test_bytes_that_are_no_text() -> None:
    assert decoded(bytes(range(256)) * 20) is None
    assert decoded(b"\x00\x01\x02\x03" * 100) is None
    assert decoded(b"") == ""


@given(st.binary(max_size=300), st.sampled_from([None, "utf-16", "shift_jis", "gb18030", "hz"]))
def test_any_bytes(data: bytes, label: str | None) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert decoded(data, label) is None or isinstance(decoded(data, label), str)
