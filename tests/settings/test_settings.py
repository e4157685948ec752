from pathlib import Path

import pytest

from pincite.errors import ConfigError
from pincite.settings import Settings, load


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_defaults() -> None:
    assert load({}) == Settings()


def test_option_wins_over_variable_wins_over_project_wins_over_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "config" / "pincite"
    user.mkdir(parents=True)
    (user / "config.toml").write_text("depth = 10\nk = 1\nthreads = 1\nlanguage = 'de'")
    (tmp_path / "pincite.toml").write_text("depth = 20\nk = 2\nthreads = 2")
    monkeypatch.setenv("PINCITE_DEPTH", "30")
    monkeypatch.setenv("PINCITE_K", "3")
    found = load({"depth": 40, "threshold": None})
    assert (found.depth, found.k, found.threads, found.language) == (40, 3, 2, "de")


def test_a_named_file_replaces_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "pincite.toml").write_text("depth = 20")
    other = tmp_path / "other.toml"
    other.write_text('exclude_hosts = ["a.example", "b.example"]')
    found = load({}, other)
    assert found.depth == 100
    assert found.exclude_hosts == ("a.example", "b.example")
    assert "a.example" in found.excluded
    assert "wikipedia.org" in found.excluded


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("dept = 3", "Did you mean 'depth'"),
        ("depth = 'many'", "expected int"),
        ("depth = 0", "expected 1 to 10000"),
        ("threshold = 2.0", "between 0 and 1"),
        ("readout = 'mean'", "expected 'max' or 'parts'"),
        ("depth = true", "expected int"),
        ("exclude_hosts = 3", "expected"),
        ("depth =", "TOML"),
        ("undated = 'perhaps'", "expected bool"),
        ("undated = 1", "expected bool"),
        ("per_page = -1", "no limit"),
        ("published_from = '19'", "2019-05"),
        ("claimreview_url = 'javascript:alert(1)'", "expected an http"),
        ("claimreview_author_url = 'https://a b'", "expected an http"),
        ("claimreview_url = 'https://'", "expected an http"),
        ("where = ['a b']", "FIELD COMPARISON VALUE"),
    ],
)
def test_bad_settings_say_what_was_expected(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pincite.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        load({})


def test_the_readout_may_be_set_and_is_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_READOUT", "max")
    assert load({}).readout == "max"
    with pytest.raises(ConfigError, match="readout is 'mean'"):
        Settings(readout="mean")  # type: ignore[arg-type]


def test_an_unknown_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_DEPHT", "3")
    with pytest.raises(ConfigError, match="PINCITE_DEPHT"):
        load({})


def test_filters_from_a_file_and_a_variable(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pincite.toml").write_text(
        'published_from = "2019-05"\nkinds = ["html"]\nwhere = ["pages < 90", "a in b, c"]'
    )
    monkeypatch.setenv("PINCITE_UNDATED", "true")
    monkeypatch.setenv("PINCITE_DOMAINS", "a.example, b.example")
    filters = load({}).filters
    assert (filters.published_from, filters.undated, filters.kinds) == ("2019-05", True, ("html",))
    assert filters.domains == ("a.example", "b.example")
    assert [c.values for c in filters.where] == [("90",), ("b", "c")]
    assert not Settings().filters
