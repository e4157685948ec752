"""`pincite demo --ask`: three questions to shipped abstracts, one of which they do not answer."""

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from pincite.cli import demo, options
from pincite.judgement.references import Standing
from pincite.verbs.ask.records import Answer, Reference


def run(out: Path, quiet: bool) -> None:
    """The abstracts, the three questions, and whether their answers are what they should be."""
    from pincite.verbs.ask import build

    settings = options.settings_of({})
    expected = (demo.DEMO_ASK / "expected.json").read_text(encoding="utf-8")
    wanted = json.loads(expected)["questions"]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say("1/2 indexing sixty abstracts …", quiet)
        demo.index(folder, settings, quiet, demo.DEMO_ASK / "abstracts.xml")
        options.say("2/2 answering three questions …", quiet)
        with build.asking(settings, folder, keep=False) as ready:
            answers = [ready.pipeline.ask(one["question"]) for one in wanted]
            report = build.report_of(answers, len(answers), settings, ready)
    _deliver(report, out, quiet)
    others = [
        f"{one['case']}: {line}"
        for one, answer in zip(wanted, answers, strict=True)
        for line in differences(answer, one)
    ]
    for line in others:
        options.say(line)
    if others:
        raise click.exceptions.Exit(1)
    options.say("All three answers are as expected.", quiet)


def differences(answer: Answer, wanted: dict[str, Any]) -> Iterator[str]:
    """What is otherwise than its writer expects, a line each."""
    if bool(answer.abstained) != wanted.get("abstains", False):
        yield f"expected {'an answer' if answer.abstained else 'none'}"
    for checked in answer.sentences:
        if checked.standing not in (Standing.VERBATIM, Standing.SUPPORTED):
            yield f"{checked.standing}: {checked.sentence.text}"
    by_id = {reference.ref_id: reference for reference in answer.references}
    for pmid, ways in wanted.get("says", {}).items():
        said = _said_of(answer, by_id.get(pmid))
        if not any(way in text for way in ways for text in said):
            yield f"no sentence says “{ways[0]} …” and refers to PMID {pmid}"
    for pmid in wanted.get("retracted", ()):
        if pmid not in {reference.ref_id for reference in answer.left_out}:
            yield f"PMID {pmid} is not named as left out since it was retracted"


def _said_of(answer: Answer, reference: Reference | None) -> list[str]:
    """The sentences that refer to a paper."""
    return [
        checked.sentence.text
        for checked in answer.sentences
        if reference and any(v.number == reference.number for v in checked.verdicts)
    ]


def _deliver(report: Any, out: Path, quiet: bool) -> None:
    from rich.console import Console

    from pincite.verbs.ask import data, html, terminal

    paths = {"json": out / "ask.json", "html": out / "ask.html"}
    options.write(data.to_json(report), paths["json"])
    options.write(html.to_html(report), paths["html"])
    if not quiet:
        terminal.print_report(report, Console())
    for name, path in paths.items():
        options.say(f"{name}: {path.resolve()}", quiet)
