from pathlib import Path

import pytest

from pincite.errors import ConfigError
from pincite.pipeline.check_settings import CheckSettings, ModelSettings, load
from pincite.pipeline.settings import load as load_all

FILE = """
k = 2
[check]
top_k = 4
model = "big"
probability = "logprobs"
ignore_statement_types = []
steps = {negation = "small"}
[check.models.big]
url = "http://localhost:8080/v1"
model = "m"
temperature = 0
[check.models.small]
url = "http://localhost:8081/v1"
model = "s"
key_variable = "SMALL_KEY"
"""


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))


def test_defaults_are_the_seed_s() -> None:
    found = load({})
    assert found == CheckSettings()
    assert (found.top_k, found.window, found.threshold) == (8, 3, 0.2)
    assert (found.weak, found.confirmed, found.strong) == (0.2, 0.4, 0.6)
    assert found.ignore_statement_types == ("normative",)
    assert found.model_of("negation") is None
    assert not found.filters


def test_a_table_of_the_file_variables_and_options(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pincite.toml").write_text(FILE)
    monkeypatch.setenv("PINCITE_CHECK_WINDOW", "5")
    monkeypatch.setenv("PINCITE_CHECK_TYPES", "descriptive, normative")
    monkeypatch.setenv("PINCITE_SMALL_KEY", "not a setting, and nobody's business")
    found = load({"top_k": 6, "as_of": None})
    assert (found.top_k, found.window, found.types) == (6, 5, ("descriptive", "normative"))
    assert found.ignore_statement_types == ()
    big, small = found.model_of("confirmation_choice"), found.model_of("negation")
    assert big == ModelSettings("http://localhost:8080/v1", "m", temperature=0.0)
    assert small
    assert small.key_variable == "SMALL_KEY"
    assert load_all({}).k == 2  # the other settings neither see nor refuse the table


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[chekc]\ntop_k = 3", "Did you mean 'check'|unknown setting 'chekc'"),
        ("[check]\ntop_q = 3", "Did you mean 'top_k'"),
        ("check = 3", "expected a table"),
        ("[check]\ntop_k = 0", "1 or more"),
        ("[check]\nmax_cost = -1.0", "0 or more"),
        ("[check]\nsearch = 'sparse'", "'hybrid' or 'window'"),
        ("[check]\ntypes = ['factual']", "'descriptive'"),
        ("[check]\nweak = 0.5", "to rise"),
        ("[check]\nthreshold = 1.5", "0 to 1"),
        ("[check]\nas_of = 'May'", "2019-05"),
        ("[check]\ntimeout = 0.0", "at most a day"),
        ("[check]\nmodel = 'm'", "describes: none"),
        ("[check]\nprobability = 'logprobs'", "asks a language model"),
        ("[check.steps]\nnegate = 'm'", "'negation'"),
        ("[check.steps]\nnegation = 'm'", "describes: none"),
        ("[check]\nmodels = 3", "expected a table"),
        ("[check.models]\nm = 3", "expected a table"),
        ("[check.models.m]\nmodle = 'x'", "Did you mean 'model'"),
        ("[check.models.m]\nurl = 'localhost'", "models.m.*http"),
        ("[check.models.m]\nmax_tokens = 0", "1 or more"),
        ("[check.models.m]\ntemperature = 3.0", "0 to 2"),
        ("[check.models.m]\ntimeout = 0.0", "at most a day"),
    ],
)
def test_bad_settings_say_what_was_expected(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "pincite.toml").write_text(text)
    with pytest.raises(ConfigError, match=said):
        _ = load_all({}), load({})


@pytest.mark.parametrize("key", ["sk-abcdefghijklmnopqrst", "hf_abcdefghijklmnopqrst", "a b", ""])
def test_a_key_in_the_place_of_its_variable_is_refused_and_not_repeated(key: str) -> None:
    with pytest.raises(ConfigError, match="no name of a variable") as caught:
        ModelSettings(key_variable=key)
    assert not key or key not in str(caught.value)


def test_an_unknown_variable_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PINCITE_CHECK_TOPK", "3")
    assert load_all({})
    with pytest.raises(ConfigError, match="PINCITE_CHECK_TOPK"):
        load({})
