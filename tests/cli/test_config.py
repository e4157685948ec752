"""`pincite config`: what it shows, what it never shows, and EvidenceSeeker's files as ours."""

import json
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from pincite.cli import cli
from pincite.errors import ConfigError
from pincite.pipeline import check_settings, seed_options, settings
from pincite.pipeline.seed_config import imported

PLANTED = "sk-planted-1234567890abcdef"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.delenv("PINCITE_CHAT_KEY", raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, ["config", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


def test_each_setting_with_its_origin(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    user = tmp_path / "config" / "pincite"
    user.mkdir(parents=True)
    (user / "config.toml").write_text("depth = 7\nk = 9")
    (tmp_path / "pincite.toml").write_text("k = 2\n[check]\ntop_k = 4")
    monkeypatch.setenv("PINCITE_CHECK_WINDOW", "5")
    found = json.loads(run("show", "--json").stdout)
    assert found["depth"] == {"value": 7, "origin": str(user / "config.toml")}
    assert found["k"] == {"value": 2, "origin": "pincite.toml"}
    assert found["check.top_k"] == {"value": 4, "origin": "pincite.toml"}
    assert found["check.window"] == {"value": 5, "origin": "variable PINCITE_CHECK_WINDOW"}
    assert found["threshold"]["origin"] == "default"
    text = run("show", "--origin").stdout
    assert "# variable PINCITE_CHECK_WINDOW" in text
    assert "#" not in run("show").stdout
    paths = run("path").stdout.splitlines()
    assert paths == [str(user / "config.toml"), str(tmp_path / "pincite.toml")]


def test_of_a_secret_only_whether_it_is_set(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pincite.toml").write_text("[check.models.m]\nkey_variable = 'OTHER'")
    monkeypatch.setenv("OTHER", PLANTED)
    for arguments in (["show"], ["show", "--json"], ["show", "--origin"]):
        result = run(*arguments)
        assert PLANTED not in result.output
    found = json.loads(run("show", "--json").stdout)
    assert found["OTHER"]["value"] == "set"
    assert found["PINCITE_CHAT_KEY"]["value"] == "not set"


PREPROCESSING = f"""
config_version: v0.2
description: Of a test.
system_prompt: You are helpful.
language: DE
timeout: 600
env_file: .env
used_model_key: small
models:
  small:
    name: Small
    backend_type: openai
    base_url: http://localhost:8080/v1
    model: small-instruct
    api_key: {PLANTED}
    max_tokens: 512
    temperature: 0.1
    is_chat_model: true
    extra_thing: 3
freetext_descriptive_analysis:
  name: x
  llm_specific_configs:
    default: {{prompt_template: "Look: {{claim}}"}}
negate_claim:
  used_model_key: small
  llm_specific_configs: {{default: {{guidance_type: pydantic}}}}
"""
CONFIRMATION = """
used_model_key: large
confirmation_threshold: 0.3
models:
  large: {base_url: "https://llm.example/v1", model: large, api_key_name: hf_factcheck}
freetext_confirmation_analysis:
  llm_specific_configs: {default: {prompt_template: "{statement} {evidence_item}"}}
multiple_choice_confirmation_analysis:
  llm_specific_configs:
    default: {n_repetitions_mcq: 1, guidance_type: json, answer_labels: [A, B, C]}
    large: {n_repetitions_mcq: 30, guidance_type: regex, logprobs_type: estimate, odd: 1}
negate_claim: {used_model_key: nobody}
"""
RETRIEVAL = f"""
embed_backend_type: huggingface
embed_model_name: sentence-transformers/all-MiniLM-L6-v2
document_input_dir: ./docs
index_persist_path: ./index
window_size: 2
top_k: 6
ignore_statement_types: [NORMATIVE, ascriptive]
use_postgres: true
postgres_password: {PLANTED}
"""


def test_evidence_seeker_s_files_become_one_of_ours(tmp_path: Path) -> None:
    for name, text in (("p", PREPROCESSING), ("c", CONFIRMATION), ("r", RETRIEVAL)):
        (tmp_path / f"{name}.yaml").write_text(text)
    result = run("import", "p.yaml", "c.yaml", "r.yaml", "-o", "pincite.toml")
    written = (tmp_path / "pincite.toml").read_text()
    assert PLANTED not in result.output + written
    for said in (
        "models.small.api_key: is a secret and was not copied; set PINCITE_CHAT_KEY",
        "postgres_password: is a secret",
        "document_input_dir: give it to: pincite corpus update",
        "models.small.extra_thing: is sent to no server",
        "freetext_descriptive_analysis.prompt_template: its prompt is not copied",
        "multiple_choice_confirmation_analysis.odd: unknown",
        "its model 'nobody' is described in none",
        "embed_model_name: get it with: pincite models fetch",
    ):
        assert said in result.stderr
    assert settings.load({}).encoder == "sentence-transformers/all-MiniLM-L6-v2"
    found = check_settings.load({})
    assert (found.language, found.timeout, found.threshold) == ("de", 600.0, 0.3)
    assert (found.top_k, found.window, found.search) == (6, 2, "window")
    assert found.ignore_statement_types == ("normative", "ascriptive")
    assert (found.probability, found.repetitions, found.guidance) == ("estimate", 30, "regex")
    large, small = found.model_of("confirmation_choice"), found.model_of("descriptive_analysis")
    assert large
    assert (large.url, large.key_variable) == ("https://llm.example/v1", "hf_factcheck")
    assert small
    assert (small.model, small.max_tokens, small.temperature) == ("small-instruct", 512, 0.1)

    refused = CliRunner().invoke(cli, ["config", "import", "r.yaml", "-o", "pincite.toml"])
    assert refused.exit_code == 2
    run("import", "r.yaml", "-o", "pincite.toml", "--force")
    assert "models" not in tomllib.loads((tmp_path / "pincite.toml").read_text())["check"]


def test_two_models_of_one_name_stay_two(tmp_path: Path) -> None:
    text = "used_model_key: m\nmodels: {m: {model: %s}}\n%s: {}\n"
    (tmp_path / "a.yaml").write_text(text % ("one", "negate_claim"))
    (tmp_path / "b.yaml").write_text(text % ("two", "freetext_confirmation_analysis"))
    check = tomllib.loads(imported([tmp_path / "a.yaml", tmp_path / "b.yaml"]).toml)["check"]
    assert {name: model["model"] for name, model in check["models"].items()} == {
        "m": "one",
        "m_2": "two",
    }
    assert check["steps"] == {"confirmation_analysis": "m_2"}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "no configuration of EvidenceSeeker"),
        ("colour: red\n", "no configuration of EvidenceSeeker"),
        (f"models: [{PLANTED}\n", "cannot be read as YAML"),
        ("top_k: !!python/object/apply:os.system ['true']", "cannot be read as YAML"),
        ("top_k: many", "expected int"),
        ("a: &a [1]\nb: [" + "*a," * 31 + "]", "31 aliases"),
        ("top_k: 3 #" + "x" * 1_000_000, "at most"),
        (
            "models: {m: {}}\nmultiple_choice_confirmation_analysis: "
            "{llm_specific_configs: {default: {guidance_type: hope}}}",
            "guidance_type is 'hope'",
        ),
        (f"models: {{m: {{api_key_name: {PLANTED}}}}}", "no name of a variable"),
    ],
)
def test_other_files_are_refused_without_quoting_a_key(
    tmp_path: Path, text: str, said: str
) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        imported([tmp_path / "x.yaml"])
    assert PLANTED not in str(caught.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read"):
        imported([tmp_path / "none.yaml"])


def test_every_option_has_one_place() -> None:
    """Of those that a user of EvidenceSeeker can set, none is forgotten and none stands twice."""
    top = [*seed_options.VALUES, *seed_options.NO_PLACE, *seed_options.SECRET]
    doubled = {name for name in top if top.count(name) > 1}
    assert doubled == set()
    fields = check_settings.CheckSettings.__dataclass_fields__
    for table, name, _ in seed_options.VALUES.values():
        assert name in (fields if table else settings.Settings.__dataclass_fields__)
    for name in seed_options.MODEL_OPTIONS.values():
        assert name in check_settings.ModelSettings.__dataclass_fields__
