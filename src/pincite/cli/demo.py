"""`pincite demo`: the real pipelines on shipped documents, and what they should find."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.verify import deliver, in_passing
from pincite.judgement.references import Standing
from pincite.settings import Settings
from pincite.verbs.ask.records import Answer, Reference

DEMO = Path(__file__).parents[1] / "demo" / "verify"
DEMO_CHECK = DEMO.parent / "check"
DEMO_ASK = DEMO.parent / "ask"


@click.command("demo", short_help="see it work on a shipped article, offline")
@click.option(
    "--out",
    type=options.OutFolder,
    default=Path("pincite-demo"),
    show_default=True,
    help="Where the reports go.",
)
@click.option(
    "--check", "what", flag_value="check", help="Five statements against a knowledge base instead."
)
@click.option("--ask", "what", flag_value="ask", help="Three questions to sixty abstracts instead.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no table.")
def command(out: Path, what: str | None, quiet: bool) -> None:
    """Check a shipped article against shipped sources; needs no network, key or server.

    With --check: five statements against a shipped knowledge base of 30 documents; exit code 1 if
    one has another result than its writer expects.

    With --ask: three questions to 60 shipped abstracts, with retracted papers and papers that
    contradict each other among them; exit code 1 as with --check.

    Everything in the demo is invented: places, people, newspapers, journals, supplements, diseases.
    """
    if what:
        {"check": _check, "ask": _ask}[what](out, quiet)
        return
    from pincite.verbs.verify import build
    from pincite.wiki.article import read_articles

    settings = options.settings_of({"online": False})
    title = json.loads((DEMO / "expected.json").read_text(encoding="utf-8"))["title"]
    page = next(iter(read_articles(DEMO / "article.wiki", title=title)))
    out.mkdir(parents=True, exist_ok=True)
    with _indexed(DEMO / "corpus", "the demo's web pages", settings, quiet) as folder:
        options.say("2/2 checking the article's citations …", quiet)
        with (
            build.verifying(settings, folder, DEMO / "sources") as run,
            options.progress(quiet) as shown,
        ):
            report = run.verify(page, options.teller(shown), in_passing(shown))
    outputs: dict[str, Path | None] = {"json": out / "report.json", "html": out / "report.html"}
    deliver(report, outputs, limit=None, quiet=quiet)
    shutil.copy(DEMO / "article.wiki", out)
    if report.stopped:
        raise click.exceptions.Exit(130)


@contextmanager
def _indexed(documents: Path, what: str, settings: Settings, quiet: bool) -> Iterator[Path]:
    """The folder of a corpus of a demo's documents, which lasts as long as the demo."""
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say(f"1/2 indexing {what} …", quiet)
        _index(folder, documents, settings, quiet)
        yield folder


def _wanted(demo: Path, key: str) -> list[dict[str, Any]]:
    """What is asked in a demo, each with what its writer expects."""
    expected = json.loads((demo / "expected.json").read_text(encoding="utf-8"))
    found: list[dict[str, Any]] = expected[key]
    return found


def _index(folder: Path, documents: Path, settings: Settings, quiet: bool) -> None:
    """A demo's documents as a corpus; the encoder's memory is free again afterwards."""
    from pincite import runtime
    from pincite.corpus.embedded import EmbeddedCorpus
    from pincite.library.update import Intake, ingest

    with (
        EmbeddedCorpus.create(folder, runtime.encoder(settings)) as corpus,
        options.progress(quiet) as shown,
    ):
        task = shown.add_task("adding documents", total=None)

        def tell(intake: Intake) -> None:
            shown.update(task, completed=intake.n_read)

        ingest(corpus, [documents], tell)


def _check(out: Path, quiet: bool) -> None:
    """The knowledge base, the five statements, and whether they have the results they should."""
    from pincite.cli import check as cli_check
    from pincite.verbs.check import build

    settings = options.settings_of({"online": False})
    wanted = _wanted(DEMO_CHECK, "statements")
    out.mkdir(parents=True, exist_ok=True)
    with _indexed(DEMO_CHECK / "documents", "the knowledge base", settings, quiet) as folder:
        options.say("2/2 checking five statements …", quiet)
        with build.checking(settings, folder) as ready:
            report = ready.check([one["statement"] for one in wanted])
    outputs: dict[str, Path | None] = dict.fromkeys(cli_check.OUTPUTS)
    outputs |= {"json": out / "check.json", "html": out / "check.html"}
    cli_check.deliver(report, outputs, template=None, limit=3, quiet=quiet)
    found = [{str(r.weight.outcome) for r in check.results} for check in report.checks]
    others = [
        f"{one['case']}: expected {' or '.join(one['outcome'])}, found {', '.join(sorted(said))}"
        for one, said in zip(wanted, found, strict=True)
        if not said <= set(one["outcome"])
    ]
    _as_expected(others, "All five have the results that were expected.", quiet)


def _ask(out: Path, quiet: bool) -> None:
    """The abstracts, the three questions, and whether their answers are what they should be."""
    from pincite.cli import ask as cli_ask
    from pincite.verbs.ask import build

    settings = options.settings_of({})
    wanted = _wanted(DEMO_ASK, "questions")
    out.mkdir(parents=True, exist_ok=True)
    with _indexed(DEMO_ASK / "abstracts.xml", "sixty abstracts", settings, quiet) as folder:
        options.say("2/2 answering three questions …", quiet)
        with build.asking(settings, folder) as ready:
            report = ready.ask([one["question"] for one in wanted])
    outputs: dict[str, Path | None] = {"json": out / "ask.json", "html": out / "ask.html"}
    cli_ask.deliver(report, outputs, template=None, quiet=quiet)
    others = [
        f"{one['case']}: {line}"
        for one, answer in zip(wanted, report.answers, strict=True)
        for line in differences(answer, one)
    ]
    _as_expected(others, "All three answers are as expected.", quiet)


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


def _as_expected(others: Sequence[str], what: str, quiet: bool) -> None:
    """Print what is otherwise than expected, and exit with 1; if nothing is, `what`."""
    for line in others:
        options.say(line)
    if others:
        raise click.exceptions.Exit(1)
    options.say(what, quiet)
