"""`pincite check --llm` with llama.cpp's server: it ends, and says of each passage what came of it.

The model is far too small to judge anything, so nothing is asked of what it says.
"""

import json
from pathlib import Path

import jsonschema
import pytest
from cli.check_runs import CHECK, Run
from click.testing import CliRunner
from models.llamacpp_server import KEY, NAME, RealServer
from support.check_values import readings

from pincite import codec
from pincite.cli import cli
from pincite.llm.templates import VARIABLES
from pincite.verbs.check.report import CheckReport

pytestmark = [pytest.mark.train, pytest.mark.xdist_group("real_server")]
SHORT = {
    "list": 'List what “{claim}” says as {"claims": ["…"]}.',
    "freetext": "Say something about {subject}.",
    "negate": "Deny: {statement}",
    "multiple": "{statement} {evidence_item}\n{options}\nOne of: {labels}.",
}
COMMON = "check.top_logprobs = 20\nchat.dialect = 'llamacpp'\nchat.at_once = 4\ncheck.top_k = 1\n"


def write_short_prompts(folder: Path) -> None:
    """A prompt of 300 tokens is read for seconds on one core."""
    folder.mkdir()
    for step in (name for name in VARIABLES if name.split("_")[0] in SHORT):
        subject = "{evidence_item}" if "confirmation" in step else "{claim}"
        text = SHORT[step.split("_")[0]].replace("{subject}", subject)
        (folder / f"{step}.txt").write_text(f"[system]\nBe short.\n\n[user]\n{text}\n")
    (folder / "options.txt").write_text("It says so.\nIt denies it.\nNeither.\n")


@pytest.mark.parametrize(
    ("prompts", "probabilities"),
    [("short", "estimate"), pytest.param("shipped", "logprobs", marks=pytest.mark.slow)],
)
def test_every_passage_is_judged_or_has_a_reason(
    run: Run,
    real_server: RealServer,
    monkeypatch: pytest.MonkeyPatch,
    prompts: str,
    probabilities: str,
) -> None:
    monkeypatch.setenv("PINCITE_CHAT_KEY", KEY)
    steps = [f"{step}={40 if 'list' in step else 20}" for step in VARIABLES]
    with Path("pincite.toml").open("a") as file:
        file.write(f"{COMMON}check.probabilities = '{probabilities}'\nchat.step_tokens = {steps}\n")
        if prompts == "short":
            write_short_prompts(Path("prompts"))
            file.write("chat.prompts = 'prompts'\n")
    names = "json html csv markdown yaml claimreview trace".split()
    outputs = [word for name in names for word in (f"--{name}", f"out.{name}")]
    server = ("--llm", "--chat-url", real_server.url, "--chat-model", NAME, "--max-calls", "24")
    result = CliRunner().invoke(cli, [*CHECK, *server, *outputs], catch_exceptions=False)
    report = json.loads(Path("out.json").read_text())
    assert result.exit_code == (0 if report["complete"] else 5), result.output
    jsonschema.validate(report, codec.schema(CheckReport, "Pincite check report"))
    assert 7 <= report["usage"]["n_calls"] <= 24
    assert report["usage"]["n_prompt_tokens"] > 0
    for item in (item for reading in readings(report) for item in reading["evidence"]):
        assert (item["doc"] is None) == bool(item["failed"] and item["failed"]["detail"])
    assert all(KEY not in Path(f"out.{name}").read_text() for name in names)
    assert KEY not in result.output
