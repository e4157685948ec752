"""`pincite ask`: answer questions from a corpus, with every sentence verified."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.check import PARTIAL, refuse_lost_work
from pincite.settings import Settings, schema
from pincite.verbs.ask.report import Answer, AnswerReport

# Settings of a machine, which --again does not take from the earlier result.
_OF_THE_MACHINE = ("models.threads", "web.", "library.")


@click.command("ask")
@click.argument("question", required=False)
@options.corpus_option("Corpus to answer from.")
@click.option(
    "--file", type=options.FilePath, help="File of questions, one per line (- for stdin)."
)
@click.option("--llm", is_flag=True, help="Let a model write; needs --chat-url. [quote sentences]")
@click.option("--again", type=options.FilePath, help="Repeat a result: its questions and settings.")
@click.option("--pmids", type=options.FilePath, help="Only papers in this file, a PMID per line.")
@options.output_options(
    json="Write JSON (- for stdout).",
    html="Write one HTML page.",
    markdown="Write Markdown.",
    bibtex="Write the references as BibTeX.",
    ris="Write the references as RIS.",
    csl="Write the references as CSL-JSON.",
)
@click.option("--template", type=options.FilePath, help="Jinja2 template for --markdown.")
@options.quiet_option
@options.of_settings(
    *("chat.url", "chat.model", "ask.repair", "ask.summaries", "ask.documents", "ask.sentences"),
    *("ask.include_retracted", "retrieval.fusion", "language"),
    *("models", "judge", "budget", "filters"),
)
def command(
    question: str | None,
    corpus: tuple[Path | str, ...],
    file: Path | None,
    again: Path | None,
    pmids: Path | None,
    template: Path | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Answer QUESTION, or each of a file, from the documents of a corpus.

    \b
    pincite ask "Does sleep loss impair memory?" --corpus papers/
    pincite ask "…" --corpus papers/ --llm --chat-url http://localhost:8080/v1 \\
        --chat-model qwen3 --repair --html answer.html --bibtex references.bib
    pincite ask --again answer.json --corpus papers/

    Every sentence gets a label that says whether its references support it. If nothing relevant is
    found, there is no answer. Exit codes: 5 something could not be written or checked; 1 --again
    gave another answer.
    """
    from pincite.verbs.ask import build

    outputs = options.outputs_of(given)
    refuse_lost_work(outputs, template)
    if given.pop("llm"):
        given["answer"] = "model"
    if pmids:
        given["where"] = (*given["where"], f"pmid in {', '.join(_pmids_in(pmids))}")
    earlier = AnswerReport.from_file(again) if again else None
    if earlier:
        chosen = {k: v for k, v in given.items() if v not in (None, ())}
        given = {**_settings_in(earlier, str(again)), **chosen}
    settings = options.settings_of(given)
    if given.get("summaries") and settings.ask.answer != "model":
        raise click.UsageError("--summaries needs --llm.")
    if earlier:
        questions = [answer.question for answer in earlier.answers]
    else:
        questions = options.one_or_lines_of(question, file, "QUESTION")
    corpora = [*corpus] or settings.library.places
    if not corpora:
        raise click.UsageError("Expected --corpus FOLDER, or library.corpora in the settings.")
    # Extracts appear at once anyway, and a repaired answer replaces the sentences shown so far.
    waits = settings.ask.answer == "model" and not (quiet or settings.ask.repair)
    with build.asking(settings, corpora) as run:
        report = run.ask(questions, on_sentence=_shower() if waits else None)
    deliver(report, outputs, template, quiet)
    if report.stopped:
        options.stop(f"Stopped after {len(report.answers)} of {len(questions)} questions.")
    if not report.complete:
        options.say("Something could not be written or checked; see the result.")
        raise click.exceptions.Exit(PARTIAL)
    if earlier and not _same(earlier, report):
        raise click.exceptions.Exit(1)


def _pmids_in(path: Path) -> list[str]:
    listed = options.lines_of(path)
    wrong = [pmid for pmid in listed if not pmid.isdigit()]
    if wrong or not listed:
        raise click.UsageError(f"{path} has {wrong[0] if wrong else 'no line'}; expected PMIDs.")
    return listed


def _shower() -> Any:
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    from pincite.verbs.ask.terminal import sentence_line

    console = Console(stderr=True)
    return lambda checked: console.print(sentence_line(checked))


def deliver(
    report: AnswerReport, outputs: Mapping[str, Path | None], template: Path | None, quiet: bool
) -> None:
    from rich.console import Console

    from pincite.verbs.ask import bibliography, render, terminal

    used = bibliography.used(report)
    writers = {
        "json": report.to_json,
        "html": lambda: render.to_html(report),
        "markdown": lambda: render.to_markdown(report, template),
        "bibtex": lambda: bibliography.to_bibtex(used),
        "ris": lambda: bibliography.to_ris(used),
        "csl": lambda: bibliography.to_csl(used),
    }
    options.deliver(writers, outputs, lambda: terminal.print_report(report, Console()), quiet)


def _settings_in(earlier: AnswerReport, place: str) -> dict[str, Any]:
    """Return the settings of an earlier result; raises ConfigError for unknown ones."""
    kept = {name: v for name, v in earlier.settings.items() if not name.startswith(_OF_THE_MACHINE)}
    return schema.checked(Settings, kept, place)


def _same(earlier: AnswerReport, now: AnswerReport) -> bool:
    """Compare words, references and verdicts of each answer; prints those that differ."""
    if now.versions.get("corpus") != earlier.versions.get("corpus"):
        options.say("The corpus has changed since, so answers may differ.")
    pairs = zip(earlier.answers, now.answers, strict=False)
    others = [then.question for then, found in pairs if _content(then) != _content(found)]
    for question in others:
        options.say(f"The answer has changed: {question}")
    return not others and len(now.answers) == len(earlier.answers)


def _content(answer: Answer) -> tuple[object, ...]:
    return (
        answer.text,
        answer.abstained,
        tuple((each.sentence.ids, each.standing) for each in answer.sentences),
        tuple(reference.ref_id for reference in answer.references),
    )
