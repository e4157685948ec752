"""Does a converted configuration ask what EvidenceSeeker itself asks?

    python research/scripts/compare_seed_prompts.py --python OTHER_VENV/bin/python

OTHER_VENV has EvidenceSeeker 0.1.3. Both sides get the same three YAML files (those that
`evse init` writes, or those of --config, where http://one.example and http://two.example are the
servers), the same documents and statements, and talk to two scripted servers, which keep every
message. `pincite config import` converts the files. Which server was asked, for which model, and
with which parameters is compared, and the messages character by character after `plain`, which
undoes what is different on purpose:

* ours stand between marks that a text cannot forge (`text.fences`), theirs between tags alone;
* ours end with the rule that says what the marks mean;
* white space at the beginning and end of a message is dropped, and several blanks are one (between
  the sentences of a text EvidenceSeeker puts one more);
* a question that is asked again word for word (for windows that are equal) is compared once;
* options stand in random order on both sides: they are sorted, and their labels taken off.

Exit code 1: a question was asked by one side only.
"""

import argparse
import json
import re
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import yaml
from compare_seed import THEIRS, Server, finished, serving

from pincite import runtime
from pincite.corpus import engines
from pincite.corpus.update import ingest
from pincite.settings import load
from pincite.llm.templates import DATA_RULE
from pincite.verbs.check import build as build_check

# A configuration reads three sentences to each side: of these documents always the whole.
DOCUMENTS = {
    "bridge.txt": "The bridge at Varde is built of stone. It was opened in 1911. It has two lanes.",
    "mill.txt": "The mill by the river burned down in 1902. It was never rebuilt.",
    "port.txt": "The port was dredged to eight metres. Ships of the coast land there.",
}
STATEMENTS = ("The bridge at Varde opened in 1911.", "The mill should be rebuilt.")
KINDS = ("preprocessing", "confirmation_analysis", "retrieval")
OPTIONS = re.compile(r"(?:^[A-Z]\W? .+\n?){2,}", re.MULTILINE)
LABEL = re.compile(r"^[A-Z]\W? ", re.MULTILINE)
SENT = ("model", "temperature", "max_tokens", "logprobs", "top_logprobs")  # compared too
FENCE = re.compile(r"<data ([0-9a-f]{16})>\n(.*?)\n</data \1>", re.DOTALL)


def main() -> None:
    """Run both sides, compare, and print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--python", type=Path, required=True)
    parser.add_argument("--config", type=Path, help="folder of the YAML files; else the shipped")
    parser.add_argument("--language", default="EN", help="of the shipped files")
    parser.add_argument("--no-prompts", action="store_true", help="compare all but the messages")
    given = parser.parse_args()
    options = argparse.Namespace(
        latency=0.0, upstream="", compact=False, layout="legacy", unreadable=0, cap=0, mend=False
    )
    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Server(options, STATEMENTS)) as one,
        serving(Server(options, STATEMENTS)) as two,
    ):
        documents = Path(folder) / "documents"
        documents.mkdir()
        for name, text in DOCUMENTS.items():
            (documents / name).write_text(text, encoding="utf-8")
        files = prepared(given, Path(folder), documents, (one, two))
        asked = []
        for run, options.layout in ((theirs, "legacy"), (ours, "chat")):  # which each can read
            for server in (one, two):
                server.requests.clear()
            run(given, Path(folder), documents, files)
            kept = [(n, r) for n, server in enumerate((one, two), 1) for r in server.requests]
            asked.append([messages(n, request, given.no_prompts) for n, request in kept])
    raise SystemExit(compared(*asked))


def prepared(
    given: argparse.Namespace, folder: Path, documents: Path, servers: tuple[Server, Server]
) -> dict[str, Path]:
    """The YAML files with the comparison's servers as theirs."""
    server = servers[0]
    shipped = (
        given.config
        or given.python.absolute()
        .parent.parent.glob("lib/python*/site-packages/evidence_seeker/package_data/config")
        .__next__()
    )
    model = {"model": "scripted", "base_url": f"{server.url}/v1", "backend_type": "openai"}
    own = {
        "embed_backend_type": "tei",
        "embed_base_url": server.url,
        "embed_model_name": "all-MiniLM-L6-v2",
        "api_key_name": None,
        "document_input_dir": str(documents),
        "meta_data_file": None,
        "index_persist_path": str(folder / "index"),
        "top_k": 7,  # all sentences
    }
    files = {}
    for kind in KINDS:
        text = (shipped / f"{kind}_config.yaml").read_text(encoding="utf-8")
        for name, each in zip(("one", "two"), servers, strict=True):
            text = text.replace(f"http://{name}.example", each.url)
        values = yaml.safe_load(text)
        values["env_file"] = None
        if kind == "retrieval":
            values |= own
        elif not given.config:
            values["models"] = {values["used_model_key"]: {**model, "max_tokens": 300}}
        if kind == "preprocessing" and not given.config:
            values["language"] = given.language
        files[kind] = folder / f"{kind}_config.yaml"
        files[kind].write_text(yaml.safe_dump(values, allow_unicode=True), encoding="utf-8")
    return files


def theirs(
    given: argparse.Namespace, folder: Path, documents: Path, files: dict[str, Path]
) -> None:
    """EvidenceSeeker in its own environment."""
    told = {"files": {kind: str(path) for kind, path in files.items()}, "statements": STATEMENTS}
    out, err = finished([given.python, THEIRS], json.dumps(told), 600)
    results = [json.loads(line[8:]) for line in out.splitlines() if line.startswith("RESULT: ")]
    if len(results) <= len(STATEMENTS):
        raise SystemExit(err[-2000:])
    print("EvidenceSeeker", results[0]["version"], *(r["error"] for r in results[1:]))


def ours(given: argparse.Namespace, folder: Path, documents: Path, files: dict[str, Path]) -> None:
    """`pincite config import`, then the parts of `pincite check`."""
    made, prompts = folder / "pincite.toml", folder / "prompts"
    command = ["pincite", "config", "import", *map(str, files.values()), "-o", str(made)]
    subprocess.run([*command, "--prompts", str(prompts)], check=True)
    settings = load({"encoder": "all-MiniLM-L6-v2"}, made)
    place = next(iter(settings.library.corpora), str(folder / "kb"))
    with engines.create(place, runtime.encoder(settings)) as corpus:
        ingest(corpus, [documents])
    with build_check.checking(settings, place, keep=False) as run:
        for statement in STATEMENTS:
            run.pipeline.check(statement)


def messages(server: int, request: dict[str, Any], no_prompts: bool) -> tuple[tuple[str, str], ...]:
    """Role and text of each message, and what else is sent, without what differs on purpose."""
    sent = [("server", str(server))]
    sent += [(name, str(request[name])) for name in SENT if request.get(name) is not None]
    said = [(each["role"], plain(each["content"])) for each in request["messages"]]
    return (*(said if not no_prompts else ()), *sent)


def plain(text: str) -> str:
    """A message as both sides would word it."""
    text = FENCE.sub(lambda fence: fence[2], text.removesuffix(DATA_RULE))
    text = OPTIONS.sub(lambda found: "\n".join(sorted(LABEL.sub("", found[0]).splitlines())), text)
    return re.sub(r" +(?=\n)", "", re.sub(" +", " ", text)).strip()


def compared(theirs: list[Any], ours: list[Any]) -> int:
    """Print how many questions are the same, and those that only one side asked; an exit code."""
    here, there = set(theirs), set(ours)
    same = len(here & there)
    print(f"{len(here)} questions of theirs, {len(there)} of ours, {same} the same")
    for sent in sorted(
        {tuple(part for part in each if part[0] in ("server", *SENT)) for each in here}
    ):
        n = sum(all(part in each for part in sent) for each in here)
        print(n, *(f"{name} {value}" for name, value in sent))
    for name, only in (("theirs", here - there), ("ours", there - here)):
        for question in list(only)[:3]:
            print(f"--- only {name}:")
            print(*(f"[{role}]\n{text!r}" for role, text in question), sep="\n")
    return int(here != there)


if __name__ == "__main__":
    main()
