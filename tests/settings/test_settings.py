"""What may be set, in which places, which place wins, and what is said of what cannot be."""

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, ValidationError
from support.rows import each_row

from pincite.errors import ConfigError
from pincite.settings import PRIVATE, SHORT, Settings, load, public_settings, schema
from pincite.settings.schema import Range
from pincite_server.settings import ServerSettings

DECLARED = schema.settings_of(Settings)
RANGES = {name: each.limits for name, each in DECLARED.items() if each.limits}


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def in_file(text: str) -> Settings:
    Path("pincite.toml").write_text(text)
    return load({})


def test_option_wins_over_variable_wins_over_project_wins_over_user(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    user = tmp_path / "config" / "pincite"
    user.mkdir(parents=True)
    (user / "config.toml").write_text(
        "language = 'de'\nretrieval.depth = 10\nverify.k = 1\n[models]\nthreads = 1"
    )
    (tmp_path / "pincite.toml").write_text(
        "[retrieval]\ndepth = 20\n[verify]\nk = 2\n[models]\nthreads = 2"
    )
    monkeypatch.setenv("PINCITE_RETRIEVAL_DEPTH", "30")
    monkeypatch.setenv("PINCITE_VERIFY_K", "3")
    found = load({"depth": 40, "threshold": None})
    assert found == Settings.of(depth=40, k=3, threads=2, language="de")


def test_a_named_file_replaces_the_usual_ones(tmp_path: Path) -> None:
    (tmp_path / "pincite.toml").write_text("retrieval.depth = 20")
    other = tmp_path / "other.toml"
    other.write_text('[filters]\nexclude_hosts = ["a.example", "b.example"]')
    found = load({}, other)
    assert found.retrieval.depth == 100
    assert found.filters.exclude_hosts == ("a.example", "b.example")


@each_row("settings/settings/bad_settings_say_what_was_expected")
def test_bad_settings_say_what_was_expected(text: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        in_file(text)


def test_a_value_out_of_its_range_names_setting_value_range_and_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def refusal(given: dict[str, object]) -> str:
        with pytest.raises(ConfigError) as caught:
            load(given)
        return str(caught.value)

    for name, wanted in RANGES.items():
        bad, variable = wanted.low - 1, "PINCITE_" + name.upper().replace(".", "_")
        expected = f"{name} is {bad}; expected {wanted}."
        assert refusal({name: bad}) == f"command line: {expected}"
        Path("pincite.toml").write_text(f"{name} = {bad}")
        assert refusal({}) == f"pincite.toml: {expected}"
        Path("pincite.toml").unlink()
        monkeypatch.setenv(variable, str(bad))
        assert (
            refusal({}) == f"variable {variable}: {expected.replace(str(bad), repr(str(bad)), 1)}"
        )
        monkeypatch.delenv(variable)


@given(
    low=st.integers(-5, 5), width=st.integers(1, 5), ends=st.sampled_from(["[]", "[)", "(]", "()"])
)
def test_a_range_holds_what_lies_between_its_ends(low: int, width: int, ends: Any) -> None:
    found = Range(low, low + width, ends)
    assert low + 0.5 in found
    assert (low in found, low + width in found) == (ends[0] == "[", ends[1] == "]")
    assert low - 0.5 not in found
    assert low + width + 0.5 not in found
    assert float("nan") not in Range(low)
    assert float("inf") not in Range(low)


def test_records_are_checked_however_they_are_made() -> None:
    with pytest.raises(ConfigError, match=r"web\.pause is -1"):
        Settings(web=dataclasses.replace(Settings().web, pause=-1))
    with pytest.raises(ConfigError, match=r"verify\.suggest is 'few'"):
        Settings.of(suggest="few")
    with pytest.raises(ConfigError, match=r"server\.port is -1; expected 0 to 65535"):
        ServerSettings(port=-1)


def test_by_short_name_as_by_full_name() -> None:
    found = Settings.of(depth=7, web_pause=2, retrieval="words")
    assert found == Settings.of(
        **{"retrieval.depth": 7, "web.pause": 2.0, "check": {"retrieval": "words"}}
    )
    assert found.replace(depth=8) == dataclasses.replace(
        found, retrieval=dataclasses.replace(found.retrieval, depth=8)
    )
    for full_name_wins in ({"depth": 9, "retrieval.depth": 8}, {"retrieval.depth": 8, "depth": 9}):
        assert Settings.of(**full_name_wins).retrieval.depth == 8
    with pytest.raises(ConfigError, match=r"unknown setting 'dephth'.* 'retrieval.depth'"):
        Settings.of(dephth=7)


def test_each_setting_has_one_short_name_and_one_variable() -> None:
    assert len(SHORT) == len({name.replace(".", "_") for name in DECLARED}) == len(DECLARED)
    assert set(SHORT.values()) == set(DECLARED)


@pytest.mark.parametrize("variable", ["PINCITE_DEPTH", "PINCITE_DEPHT", "PINCITE_RETRIEVAL_DEPHT"])
def test_an_unknown_variable_is_an_error(variable: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """So is a short name, in a variable and in a file."""
    monkeypatch.setenv(variable, "3")
    with pytest.raises(ConfigError, match=rf"{variable}.*Did you mean 'retrieval\.depth'"):
        load({})
    monkeypatch.delenv(variable)
    with pytest.raises(ConfigError):
        in_file("depth = 7")


def test_reports_record_no_private_settings() -> None:
    settings = Settings.of(depth=7, kinds=("html", "pdf"), contact="me@example.org")
    values = public_settings(settings)
    assert PRIVATE.isdisjoint(values)
    assert values["filters.kinds"] == "html, pdf"
    assert Settings.of(**values) == settings.replace(contact="")


def test_filters_from_a_file_and_a_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_FILTERS_UNDATED", "true")
    monkeypatch.setenv("PINCITE_SERVER_PORT", "8080")  # of the server's own settings
    monkeypatch.setenv("PINCITE_FILTERS_DOMAINS", "a.example, b.example")
    filters = in_file(
        '[filters]\npublished_from = "2019-05"\nkinds = ["html"]\n'
        'where = ["pages < 90", "a in b, c"]'
    ).filters.chosen
    assert (filters.published_from, filters.undated, filters.kinds) == ("2019-05", True, ("html",))
    assert filters.domains == ("a.example", "b.example")
    assert [c.values for c in filters.where] == [("90",), ("b", "c")]
    assert not Settings().filters.chosen


@each_row("settings/settings/a_setting_is_put_into_a_file_and_taken_out")
def test_a_setting_is_put_into_a_file_and_taken_out(tmp_path: Path, text: str) -> None:
    path = tmp_path / "folder" / "settings.toml"
    path.parent.mkdir()
    path.write_text(text)
    before = schema.flat(load({}, path)) | {"models.verifier": ""}
    for value in ('a "b" \\ ü', "c"):
        schema.put(path, "models.verifier", value)
        assert load({}, path).models.verifier == value
        assert schema.flat(load({}, path)) | {"models.verifier": ""} == before
    assert set(re.findall(r"#.*", text)) <= set(re.findall(r"#.*", path.read_text()))
    schema.put(path, "models.verifier", None)
    assert load({}, path).models == dataclasses.replace(
        load({}, path).models, verifier=Settings().models.verifier
    )


def test_a_file_that_cannot_be_changed_says_what_to_do(tmp_path: Path) -> None:
    path = tmp_path / "settings.toml"
    path.write_text("models = 3\n[verify\n")
    with pytest.raises(ConfigError, match=r'set models\.verifier to "new"'):
        schema.put(path, "models.verifier", "new")
    assert path.read_text() == "models = 3\n[verify\n"


def test_a_request_body_is_made_from_the_declarations() -> None:
    wanted = {name: DECLARED[SHORT[name]] for name in ("depth", "fusion", "where", "contact")}
    model = schema.request_model("Some", wanted, BaseModel, most={"depth": 50})
    assert model(depth=5, where=["a == b"]).model_dump(exclude_none=True) == {
        "depth": 5,
        "where": ("a == b",),
    }
    for wrong in ({"depth": 0}, {"depth": 51}, {"fusion": "none"}, {"where": "a"}, {"contact": 1}):
        with pytest.raises(ValidationError):
            model(**wrong)


def test_a_path_in_a_file_is_relative_to_that_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = tmp_path / "elsewhere"
    place.mkdir()
    file = place / "pincite.toml"
    corpora = '["kb", "Papers=kb 2", "Own=/kb", "~/kb", "postgresql://h/db/kb"]'
    file.write_text(f'results.folder = "log"\ncheck.template = ""\nlibrary.corpora = {corpora}')
    found = load({}, Path("elsewhere/pincite.toml"))
    assert found.results.folder == str(place / "log")
    assert found.check.template == ""
    assert found.library.corpora == (
        *(str(place / "kb"), f"Papers={place / 'kb 2'}", "Own=/kb", "~/kb", "postgresql://h/db/kb"),
    )
    monkeypatch.setenv("PINCITE_CHECK_TEMPLATE", "t.md")
    other = load({"results_folder": "log"}, file)
    assert (other.results.folder, other.check.template) == ("log", "t.md")
