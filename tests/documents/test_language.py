import pytest

from pincite.documents.text import detect, language_of

GERMAN = (
    "Der Ausschuss hat am Dienstag beschlossen, dass die neue Brücke gebaut wird, und die Stadt "
    "zahlt dafür mehr, als im vergangenen Jahr geplant worden war."
)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (GERMAN, "de"),
        ("The committee met on Tuesday to discuss the plans for a new bridge. " * 3, "en"),
        (
            "委员会星期二开会讨论新桥的计划并投票赞成市政府将支付比去年计划更多的费用居民们对此感到满意。",
            "zh",
        ),
        ("Too short to tell.", None),
        ("1 2 3 4 " * 20, None),
        ("", None),
    ],
)
def test_detect(text: str, code: str | None) -> None:
    assert detect(text) == code


def test_confident_words_outweigh_the_declared_language() -> None:
    assert language_of(GERMAN, "en-US") == "de"
    assert language_of("Too short", "fr-CA") == "fr"
    assert language_of("Too short", None) is None
