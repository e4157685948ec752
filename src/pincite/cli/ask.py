"""`pincite ask`: questions answered from a corpus, every sentence verified."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.check import PARTIAL
from pincite.settings import Settings, schema
from pincite.verbs.ask.records import Answer, AnswerReport, Checked

OUTPUTS = ("json", "html", "markdown", "bibtex", "ris", "csl")
# What belongs to a machine and not to the question.
_NOT_THE_QUESTION = ("models.threads", "web.", "library.")


def output_options(command: Any) -> Any:
    """An option for each format."""
    return options.added(
        command,
        [
            click.option("--json", "json_path", type=options.OutFile, help="JSON (- stdout)."),
            click.option("--html", "html_path", type=options.OutFile, help="One HTML page."),
            click.option("--markdown", "markdown_path", type=options.OutFile, help="Markdown."),
            click.option("--template", type=options.FilePath, help="Jinja2 for --markdown."),
            click.option("--bibtex", "bibtex_path", type=options.OutFile, help="References."),
            click.option("--ris", "ris_path", type=options.OutFile, help="References."),
            click.option("--csl", "csl_path", type=options.OutFile, help="References, CSL-JSON."),
            click.option("-q", "--quiet", is_flag=True, help="No progress, no answer shown."),
        ],
    )


@click.command("ask", short_help="answer a question, every sentence verified")
@click.argument("question", required=False)
@options.corpus_option("Where to look")
@click.option("--file", "file", type=options.FilePath, help="Questions, one a line (- stdin).")
@click.option("--llm", is_flag=True, help="A model writes: --chat-url. Else sentences are quoted.")
@click.option("--chat-url", help="An OpenAI-compatible server, up to /v1: it gets the abstracts.")
@click.option("--chat-model", help="As that server calls it.")
@click.option("--repair", is_flag=True, default=None, help="Mend or strike what is not supported.")
@click.option("--summaries", is_flag=True, default=None, help="With --llm: of each passage first.")
@click.option("--again", type=options.FilePath, help="A result: its questions and settings.")
@click.option("--documents", type=int, help="Papers to answer from. [10]")
@click.option("--sentences", type=int, help="Of an answer without a model. [5]")
@click.option("--fusion", help="How both searches become one; verifai: 0.7 and 0.3. [weighted]")
@click.option(
    "--include-retracted/--not-retracted",
    default=None,
    help="Read retracted papers too, and mark them. [left out, and listed]",
)
@click.option("--pmids", type=options.FilePath, help="Only these papers: a PMID a line.")
@options.judge_options
@options.budget_options
@click.option("--language", help="Of the questions: en, de, … [en]")
@output_options
@options.model_options
@options.filter_options
def command(
    question: str | None,
    corpus: tuple[Path | str, ...],
    file: Path | None,
    again: Path | None,
    **given: Any,
) -> None:
    """Answer QUESTION, or each of a file, from the documents of a corpus.

    \b
    pincite ask "Does sleep loss impair memory?" --corpus papers/
    pincite ask "…" --corpus papers/ --llm --chat-url http://localhost:8080/v1 \\
        --chat-model qwen3 --repair --html answer.html --bibtex references.bib
    pincite ask --again answer.json --corpus papers/

    Every sentence is labelled by what its references say of it. Where nothing relevant is found
    there is no answer. Exit codes: 5 something could not be written or checked; 1 --again gave
    another answer.
    """
    from pincite.verbs.ask import build

    outputs = {name: given.pop(f"{name}_path") for name in OUTPUTS}
    template, quiet = given.pop("template"), given.pop("quiet")
    if given.pop("llm"):
        given["answer"] = "model"
    given["where"] = (*given["where"], *_conditions(given.pop("pmids")))
    earlier = _earlier(again) if again else None
    if earlier:
        given = {**earlier.settings, **{k: v for k, v in given.items() if v not in (None, ())}}
    settings = options.settings_of(given)
    if given.get("summaries") and settings.ask.answer != "model":
        raise click.UsageError("--summaries are a model's: give --llm too.")
    asked = earlier.questions if earlier else _questions(question, file)
    # An extract is there at once; a repaired answer is another than was written.
    waits = settings.ask.answer == "model" and not (quiet or settings.ask.repair)
    with build.asking(settings, options.corpora_of(corpus, settings)) as run:
        report = run.ask(asked, on_sentence=_shower() if waits else None)
    deliver(report, outputs, template, quiet)
    if report.stopped:
        options.say(f"Stopped after {len(report.answers)} of {len(asked)} questions.")
        raise click.exceptions.Exit(130)
    if not report.complete:
        options.say("Something could not be written or checked; the result says what.")
        raise click.exceptions.Exit(PARTIAL)
    if earlier and not earlier.same(report):
        raise click.exceptions.Exit(1)


def _conditions(pmids: Path | None) -> list[str]:
    """The filters that have an option of their own, as conditions on metadata."""
    found = []
    if pmids:
        listed = options.lines_of(pmids)
        wrong = [pmid for pmid in listed if not pmid.isdigit()]
        if wrong or not listed:
            raise click.UsageError(
                f"{pmids} has {wrong[0] if wrong else 'no line'}; expected PMIDs."
            )
        found.append(f"pmid in {', '.join(listed)}")
    return found


def _questions(question: str | None, file: Path | None) -> list[str]:
    if (question is None) == (file is None):
        raise click.UsageError("Give a QUESTION, --file or --again, one of them.")
    asked = options.lines_of(file) if file else [" ".join((question or "").split())]
    if not any(asked):
        raise click.UsageError("There is no question to answer.")
    return asked


def _shower() -> Any:
    """Shows each sentence on stderr as soon as it is verified, where a person looks on."""
    if not sys.stderr.isatty():
        return None
    from rich.console import Console

    from pincite.verbs.ask.terminal import sentence_line

    console = Console(stderr=True)

    def tell(checked: Checked) -> None:
        console.print(sentence_line(checked))

    return tell


def deliver(
    report: AnswerReport, outputs: dict[str, Path | None], template: Path | None, quiet: bool
) -> None:
    """As `options.deliver`."""
    from rich.console import Console

    from pincite.verbs.ask import bibliography, data, html, markdown, terminal

    used = bibliography.used(report)
    writers = {
        "json": lambda: data.to_json(report),
        "html": lambda: html.to_html(report),
        "markdown": lambda: markdown.to_markdown(report, template),
        "bibtex": lambda: bibliography.to_bibtex(used),
        "ris": lambda: bibliography.to_ris(used),
        "csl": lambda: bibliography.to_csl(used),
    }
    options.deliver(writers, outputs, lambda: terminal.print_report(report, Console()), quiet)


@dataclass(frozen=True, slots=True)
class Earlier:
    """A result to be made again."""

    report: AnswerReport
    settings: Mapping[str, Any]

    @property
    def questions(self) -> list[str]:
        """Those that were asked."""
        return [answer.question for answer in self.report.answers]

    def same(self, now: AnswerReport) -> bool:
        """Whether each answer has the same words, references and standings; tells which has not."""
        if now.versions.get("corpus") != self.report.versions.get("corpus"):
            options.say("The corpus has changed since; the answers may differ for that.")
        pairs = zip(self.report.answers, now.answers, strict=False)
        others = [then.question for then, found in pairs if _said(then) != _said(found)]
        for question in others:
            options.say(f"Another answer than before: {question}")
        return not others and len(now.answers) == len(self.report.answers)


def _earlier(path: Path) -> Earlier:
    """The result in a JSON file of `ask`.

    Raises:
        InputError: it is none. ConfigError: its settings are none of this version.
    """
    from pincite.verbs.ask.data import read_answers

    report = read_answers(path)
    kept = {
        name: v for name, v in report.settings.items() if not name.startswith(_NOT_THE_QUESTION)
    }
    return Earlier(report, schema.checked(Settings, kept, str(path)))


def _said(answer: Answer) -> tuple[object, ...]:
    return (
        answer.text,
        answer.abstained,
        tuple((each.sentence.ids, each.standing) for each in answer.sentences),
        tuple(reference.ref_id for reference in answer.references),
    )
