"""`pincite config import`: EvidenceSeeker's files as ours."""

import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from support.rows import each_row, text_of

from pincite import settings
from pincite.cli import cli
from pincite.errors import ConfigError
from pincite.llm.templates import Templates
from pincite_evidenceseeker.configuration import import_files
from pincite_server.settings import load as load_server

PLANTED = "sk-planted-1234567890abcdef"


def run(*arguments: str) -> Result:
    result = CliRunner().invoke(cli, ["config", *arguments], catch_exceptions=False)
    assert result.exit_code == 0, result.stderr
    return result


KINDS = ("descriptive", "ascriptive", "normative")
PREPROCESSING_STEPS = [
    *(f"freetext_{kind}_analysis" for kind in KINDS),
    *(f"list_{kind}_statements" for kind in KINDS),
    "negate_claim",
]
PREPROCESSING, CONFIRMATION, RETRIEVAL = (
    text_of(f"evidenceseeker/{name}.yaml").replace("PLANTED", PLANTED)
    for name in ("preprocessing", "confirmation", "retrieval")
)


@each_row("evidenceseeker/an_encoder_on_a_server_stays_there")
def test_an_encoder_on_a_server_stays_there(tmp_path: Path, server: str, encoder: str) -> None:
    (tmp_path / "r.yaml").write_text(f"embed_model_name: org/m\n{server}\n")
    run("import", "r.yaml", "-o", "pincite.toml")
    assert settings.load({}).models.encoder == encoder


@each_row("evidenceseeker/database_of_evidence_seeker_becomes_an_address")
def test_database_of_evidence_seeker_becomes_an_address(
    tmp_path: Path, given: str, corpora: tuple[str, ...]
) -> None:
    text = f"embed_model_name: org/m\npostgres_password: {PLANTED}\n{given}"
    (tmp_path / "r.yaml").write_text(text)
    result = run("import", "r.yaml", "-o", "pincite.toml")
    assert PLANTED not in result.output + (tmp_path / "pincite.toml").read_text()
    assert settings.load({}).library.corpora == corpora


@each_row("evidenceseeker/each_guidance_type_is_converted_or_refused")
def test_each_guidance_type_is_converted_or_refused(
    tmp_path: Path, step: str, given: str, guidance: str | None
) -> None:
    (tmp_path / "c.yaml").write_text(
        "used_model_key: m\nmodels: {m: {base_url: 'http://h/v1', model: m}}\n"
        f"{step}: {{llm_specific_configs: {{default: {{guidance_type: {given}}}}}}}\n"
    )
    if guidance is None:
        with pytest.raises(ConfigError, match=rf"{step}\.guidance_type is '{given}'"):
            import_files([tmp_path / "c.yaml"])
    else:
        run("import", "c.yaml", "-o", "pincite.toml")
        found = settings.load({}).check
        assert (found.guidance, found.schema_for_lists) == (guidance, guidance == "prompted")


def test_evidence_seeker_s_files_become_one_of_ours(tmp_path: Path) -> None:
    for name, text in (("p", PREPROCESSING), ("c", CONFIRMATION), ("r", RETRIEVAL)):
        (tmp_path / f"{name}.yaml").write_text(text)
    files = ("p.yaml", "c.yaml", "r.yaml")
    result = run("import", *files, "-o", "pincite.toml", "--prompts", "prompts")
    written = (tmp_path / "pincite.toml").read_text()
    assert PLANTED not in result.output + written
    for said in (
        "models.small.api_key: is a secret and was not copied; set PINCITE_CHAT_KEY",
        "models.large.api_key_name: the server's key is read from PINCITE_CHAT_KEY",
        "postgres_password: is a secret",
        "document_input_dir: pass it to: pincite corpus update",
        "models.small.extra_thing: is not sent to any server",
        "multiple_choice_confirmation_analysis.odd: unknown",
        "'nobody' is not among the models",
        "embed_model_name: get it with: pincite models fetch",
    ):
        assert said in result.stderr
    found = settings.load({})
    check, chat = found.check, found.chat
    assert found.models.encoder == "sentence-transformers/all-MiniLM-L6-v2"
    # Its prompts are in English whatever the language, and say "German".
    assert (found.language, found.chat.prompt_language) == ("de", "en")
    assert not found.check.passage_source
    assert (check.top_k, check.window_size, check.retrieval) == (6, 2, "windows")
    assert check.ignore_statement_types == ("normative", "ascriptive")
    assert (check.interpretation, check.confirmation) == ("model", "model")
    assert (check.threshold, check.probabilities) == (0.3, "estimate")
    assert (check.repetitions, check.guidance, chat.dialect) == (30, "json", "openai")
    assert (chat.url, chat.model) == ("http://localhost:8080/v1", "large")
    assert chat.models_of_steps == dict.fromkeys(PREPROCESSING_STEPS, "small-instruct")
    choice = "multiple_choice_confirmation_analysis"
    assert chat.tokens_of_steps == {
        **dict.fromkeys(PREPROCESSING_STEPS, 512),
        **dict.fromkeys(("freetext_confirmation_analysis", choice), 1024),
    }
    assert (chat.seconds, chat.temperature) == (99.0, 0.3)
    assert chat.temperatures_of_steps["freetext_descriptive_analysis"] == 0.1
    assert chat.temperatures_of_steps[choice] == 0.3
    templates = Templates.load("en", "de", Path(chat.prompts))
    assert templates.language == "German"
    assert templates.own == {"freetext_descriptive_analysis", "freetext_confirmation_analysis"}
    assert templates.texts["freetext_descriptive_analysis"] == (
        "You are helpful.",
        "Look: {claim} {{ 1 }}",
    )
    assert "{evidence_item}" in templates.texts["freetext_confirmation_analysis"][1]

    refused = CliRunner().invoke(cli, ["config", "import", "r.yaml", "-o", "pincite.toml"])
    assert refused.exit_code == 2
    run("import", "r.yaml", "-o", "pincite.toml", "--force")
    assert "chat" not in tomllib.loads((tmp_path / "pincite.toml").read_text())


def test_steps_that_a_file_leaves_out_use_its_model(tmp_path: Path) -> None:
    model = "used_model_key: m\nmodels: {m: {base_url: 'http://localhost:%d/v1', model: m%d}}\n"
    (tmp_path / "preprocessing_config.yaml").write_text(model % (1, 1))
    (tmp_path / "confirmation_analysis_config.yaml").write_text(model % (2, 2))
    result = import_files(sorted(tmp_path.glob("*.yaml")))
    chat = result.values
    assert (chat["chat.url"], chat["chat.model"]) == ("http://localhost:2/v1", "m2")
    assert chat["language"] == "de"  # EvidenceSeeker's default
    own = [f"{step}=m1@http://localhost:1/v1" for step in PREPROCESSING_STEPS]
    assert sorted(chat["chat.step_models"]) == sorted(own)
    assert not [note for note in result.notes if "not used" in note.message]
    assert len([note for note in result.notes if note.option == "prompt_template"]) == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- a\n- b\n", "not an EvidenceSeeker configuration"),
        ("colour: red\n", "not an EvidenceSeeker configuration"),
        (f"models: [{PLANTED}\n", "cannot be read as YAML"),
        ("top_k: !!python/object/apply:os.system ['true']", "cannot be read as YAML"),
        ("top_k: many", "expected an integer"),
        (
            "used_model_key: m\nmodels: {m: {base_url: your_base_url, model: x}}\nnegate_claim: {}",
            r"x\.yaml: models\.m\.base_url is 'your_base_url'",
        ),
        ("a: &a [1]\nb: [" + "*a," * 31 + "]", "31 aliases"),
        ("top_k: 3 #" + "x" * 1_000_000, "at most"),
        (
            "models: {m: {}}\nmultiple_choice_confirmation_analysis: "
            "{llm_specific_configs: {default: {guidance_type: hope}}}",
            "guidance_type is 'hope'",
        ),
    ],
)
def test_other_files_are_refused_without_their_keys(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "x.yaml").write_text(text)
    with pytest.raises(ConfigError, match=said) as caught:
        import_files([tmp_path / "x.yaml"])
    assert PLANTED not in str(caught.value)


def test_options_of_the_demo_application_are_named_or_imported(tmp_path: Path) -> None:
    (tmp_path / "app.yaml").write_text(text_of("evidenceseeker/application.yaml"))
    result = import_files([tmp_path / "app.yaml"])
    assert result.server == {
        "examples": "examples.txt", "texts": "texts.toml", "mode": "server",
        "shared_account": "visitors", "consent": "consent.md",
    }  # fmt: skip
    assert result.page_texts == {"en.title": "Facts", "en.check.introduction": "Enter one."}
    assert result.files == {
        "examples.txt": "The mill is old.\n",
        "consent.md": "Irrtum möglich.\n\nWir speichern.\n",
    }
    assert result.values == {
        "language": "fr", "chat.prompt_language": "en",
        "results.by": "weekly", "results.markdown": False,
    }  # fmt: skip
    assert {note.option for note in result.notes} >= {
        *("preprocessing_config_file", "result_dir", "write_on_github", "password_protection"),
        *("force_agreement", "example_inputs", "markdown_template", "translations", "ui_texts"),
    }
    assert not any("unknown" in note.message for note in result.notes)


def test_the_imported_application_can_be_served_from_another_folder(tmp_path: Path) -> None:
    app = tmp_path / "app.yaml"
    texts = "{en: {title: 'A \"B\"', disclaimer_text: Read.}}"
    app.write_text(f"force_agreement: true\nui_texts: {texts}")
    run("import", str(app), "-o", "made/pincite.toml")
    moved = (tmp_path / "made").rename(tmp_path / "moved")
    found = load_server({}, moved / "pincite.toml")
    assert found.consent == str(moved / "consent.md")
    assert tomllib.loads(Path(found.texts).read_text()) == {"en": {"title": 'A "B"'}}
