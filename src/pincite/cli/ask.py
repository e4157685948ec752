"""`pincite ask`: answer questions from a corpus, with every sentence verified."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.text import pasted
from pincite.verbs.ask.report import AnswerReport, Checked


@click.command(
    "ask",
    cls=options.GroupedCommand,
    first="corpus file html_path json_path bibtex_path llm chat_url chat_model repair documents",
)
@options.one_or_more("question")
@options.corpus_option("Corpus to answer from.")
@click.option("--llm", is_flag=True, help="Have a model write the answer; needs --chat-url.")
@options.output_options(
    json="Write JSON (- for stdout).",
    html="Write one HTML page.",
    csv="Write CSV, one row per sentence.",
    markdown="Write Markdown.",
    bibtex="Write the references as BibTeX.",
    ris="Write the references as RIS.",
    csl="Write the references as CSL-JSON.",
)
@click.option("--template", type=options.FilePath, help="Jinja2 template for --markdown.")
@options.quiet_option
@options.setting_options(
    *("chat.url", "chat.model", "ask.repair", "ask.documents", "ask.sentences"),
    *("ask.include_retracted", "retrieval.fusion", "language"),
    *("models", "judge", "budget", "filters"),
)
def command(
    question: str | None,
    corpus: tuple[Path | str, ...],
    file: Path | None,
    template: Path | None,
    quiet: bool,
    **given: Any,
) -> None:
    """Answer QUESTION, or each question in a file, from the documents of a corpus.

    \b
    pincite ask "Does sleep loss impair memory?" --corpus papers/
    pincite ask "…" --corpus papers/ --llm --chat-url http://localhost:8080/v1 \\
        --chat-model qwen3 --repair --html answer.html --bibtex references.bib

    Every sentence gets a label that says whether its references support it. If nothing relevant is
    found, there is no answer. QUESTION may contain several, one per line. Exit code 5: something
    could not be written or checked.
    """
    from pincite.verbs.ask import build, terminal

    outputs = options.pop_outputs(given)
    options.check_template(template, outputs["markdown"])
    if given.pop("llm"):
        given["answer"] = "model"
    settings = options.load_settings(given)
    questions = pasted.items(options.text_or_file(question, file, "QUESTION"))
    corpora = [*corpus] or settings.library.places
    if not corpora:
        raise click.UsageError("Expected --corpus FOLDER, or library.corpora in the settings.")
    # Extracts appear at once anyway, and a repaired answer replaces the sentences shown so far.
    is_slow = settings.ask.answer == "model" and not (quiet or settings.ask.repair)
    with options.progress(quiet) as display, build.asking(settings, corpora) as run:

        def show(checked: Checked) -> None:
            display.bars.console.print(terminal.sentence_line(checked))

        report = run.ask(questions, display, show if is_slow and sys.stderr.isatty() else None)
    deliver(report, outputs, template, quiet)
    if report.stopped:
        options.stop(f"Stopped after {len(report.answers)} of {len(questions)} questions.")
    if not report.complete:
        options.say("Something could not be written or checked; see the result.")
        raise click.exceptions.Exit(options.PARTIAL)


def deliver(
    report: AnswerReport, outputs: Mapping[str, Path | None], template: Path | None, quiet: bool
) -> None:
    from rich.console import Console

    from pincite.report import bibliography
    from pincite.verbs.ask import render, terminal

    used = report.cited_references
    writers = {
        "json": report.to_json,
        "html": lambda: render.to_html(report),
        "csv": lambda: render.to_csv(report),
        "markdown": lambda: render.to_markdown(report, template),
        "bibtex": lambda: bibliography.to_bibtex(used),
        "ris": lambda: bibliography.to_ris(used),
        "csl": lambda: bibliography.to_csl(used),
    }
    options.deliver(writers, outputs, lambda: terminal.print_report(report, Console()), quiet)
