"""A configuration of EvidenceSeeker's, converted, asks what it asked there."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from check_replies import STEPS, Model, fenced_in, unfenced
from cli.check_runs import CHECK, written
from click.testing import Result
from models.chat_server import Server, good
from support.check_values import readings

from pincite.llm.templates import DATA_RULE, VARIABLES

ANSWERS = ["Yes: the TEXT says so.", "No: the TEXT says otherwise.", "Neither of the two."]
ITS_NAMES = {"options": "answer_options", "analysis": "freetext_confirmation_analysis"}
CHOICE = "multiple_choice_confirmation_analysis"


def its_names(step: str) -> list[str]:
    """The values that its prompts of a step may name, besides the language."""
    return [ITS_NAMES.get(name, name) for name in sorted(VARIABLES[step] - {"language", "labels"})]


# The word that tells our model the step, a name, braces that stay, and each value on its line.
ITS_PROMPTS = {
    step: "\n".join([f"{words} {{language}} {{{{ 1 }}}}", *(f"{{{n}}}" for n in its_names(step))])
    for words, step in STEPS.items()
}


def its_file(url: str) -> str:
    """YAML, of which JSON is a part."""
    options = {"answer_options": [ANSWERS[1], ANSWERS[2], ANSWERS[0]], "claim_option": ANSWERS[0]}
    choice = {**options, "delim_str": ":", "logprobs_type": "estimate"}
    prompts = {
        step: {"prompt_template": text, "system_prompt": f"Be {step}."}
        | (choice if step == CHOICE else {})
        for step, text in ITS_PROMPTS.items()
    }
    steps = {step: {"llm_specific_configs": {"default": each}} for step, each in prompts.items()}
    models = {"one": {"base_url": url, "model": "tiny"}}
    return json.dumps({"language": "DE", "used_model_key": "one", "models": models, **steps})


def its_message(template: str, values: dict[str, str]) -> str:
    """As llama-index-core 0.14 fills it in: doubled braces stay."""
    return re.sub(r"\{([^{}]+)\}", lambda name: values.get(name[1], name[0]), template)


def test_a_migrated_configuration_asks_the_same_questions(
    run: Callable[..., Result], server: Server
) -> None:
    model = Model()
    model.instead[CHOICE] = lambda _: good('{"answer": "B"}')
    server.by_request = model
    Path("seed.yaml").write_text(its_file(server.url))
    run("config", "import", "seed.yaml", "-o", "seed.toml", "--prompts", "prompts")
    own = Path("pincite.toml")
    own.write_text(own.read_text() + Path("seed.toml").read_text())
    report = written(run(*CHECK, "--json", "-"))
    items = [item for reading in readings(report) for item in reading["evidence"]]
    assert set(model.seen) == set(STEPS.values())
    for step, request in zip(model.seen, server.asked, strict=True):
        system, user = (message["content"] for message in request["messages"])
        assert system == f"Be {step}.\n{DATA_RULE}"
        values = {"language": "German", **dict(zip(its_names(step), fenced_in(user), strict=False))}
        if step == CHOICE:
            names = [name for name in its_names(step) if name != "answer_options"]
            values |= dict(zip(names, fenced_in(user), strict=True))
            options = re.findall(r"^[ABC]: (.+)$", user, re.MULTILINE)
            assert sorted(options) == sorted(ANSWERS)
            values["answer_options"] = "\n".join(re.findall(r"^[ABC]: .+$", user, re.MULTILINE))
        assert unfenced(user) == its_message(ITS_PROMPTS[step], values)
        assert values.get("evidence_item", items[0]["passage"]) in {i["passage"] for i in items}
        assert (request["temperature"], request["max_tokens"]) == (0.1, 1024)
        assert ("response_format" in request) == (step == CHOICE or step.startswith("list_"))
