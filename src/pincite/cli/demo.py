"""`pincite demo`: run the real pipelines on shipped documents, and compare the results."""

import json
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.judgement.references import Standing
from pincite.settings import Settings
from pincite.verbs.ask.report import Answer, Reference

DEMO = Path(__file__).parents[1] / "demo" / "verify"
DEMO_CHECK = DEMO.parent / "check"
DEMO_ASK = DEMO.parent / "ask"


@click.command("demo")
@click.option(
    "--out",
    type=options.OutFolder,
    default=Path("pincite-demo"),
    show_default=True,
    help="Folder for the reports.",
)
@click.option("--check", "what", flag_value="check", help="Check five statements instead.")
@click.option("--ask", "what", flag_value="ask", help="Ask three questions instead.")
@options.quiet_option
def command(out: Path, what: str | None, quiet: bool) -> None:
    """Check a shipped article against shipped sources; needs no network, key or server.

    With --check: five statements against a shipped knowledge base of 30 documents. With --ask:
    three questions to 60 shipped abstracts, some of them retracted or contradicting each other.
    Exit code 1: a result is not the expected one.

    Everything in the demo is invented: places, people, newspapers, journals, supplements, diseases.
    """
    out.mkdir(parents=True, exist_ok=True)
    settings = options.load_settings({"online": False})
    {"check": _check, "ask": _ask}.get(what or "", _verify)(out, settings, quiet)


def _verify(out: Path, settings: Settings, quiet: bool) -> None:
    from pincite.cli.verify import deliver, in_passing
    from pincite.verbs.verify import build
    from pincite.wiki.article import read_articles

    page = next(iter(read_articles(DEMO / "article.wiki", title=_expected(DEMO)["title"])))
    with _indexed(DEMO / "corpus", "the demo's web pages", settings, quiet) as folder:
        options.say("2/2 checking the article's citations …", quiet)
        with (
            build.verifying(settings, folder, DEMO / "sources") as run,
            options.progress(quiet) as display,
        ):
            report = run.verify(page, display, in_passing(display))
    outputs: dict[str, Path | None] = {"json": out / "report.json", "html": out / "report.html"}
    deliver(report, outputs, limit=None, quiet=quiet)
    shutil.copy(DEMO / "article.wiki", out)
    if report.stopped:
        raise click.exceptions.Exit(130)


def _check(out: Path, settings: Settings, quiet: bool) -> None:
    from pincite.cli.check import deliver
    from pincite.verbs.check import build

    wanted = _expected(DEMO_CHECK)["statements"]
    with _indexed(DEMO_CHECK / "documents", "the knowledge base", settings, quiet) as folder:
        options.say("2/2 checking five statements …", quiet)
        with build.checking(settings, folder) as ready:
            report = ready.check([one["statement"] for one in wanted])
    outputs = {"json": out / "check.json", "html": out / "check.html"}
    deliver(report, outputs, template=None, limit=3, quiet=quiet)
    found = [{str(r.weight.outcome) for r in check.results} for check in report.checks]
    others = [
        f"{one['case']}: expected {' or '.join(one['outcome'])}, found {', '.join(sorted(said))}"
        for one, said in zip(wanted, found, strict=True)
        if not said <= set(one["outcome"])
    ]
    _compare(others, "All five results are as expected.", quiet)


def _ask(out: Path, settings: Settings, quiet: bool) -> None:
    from pincite.cli.ask import deliver
    from pincite.verbs.ask import build

    wanted = _expected(DEMO_ASK)["questions"]
    with _indexed(DEMO_ASK / "abstracts.xml", "sixty abstracts", settings, quiet) as folder:
        options.say("2/2 answering three questions …", quiet)
        with build.asking(settings, folder) as ready:
            report = ready.ask([one["question"] for one in wanted])
    outputs = {"json": out / "ask.json", "html": out / "ask.html"}
    deliver(report, outputs, template=None, quiet=quiet)
    others = [
        f"{one['case']}: {line}"
        for one, answer in zip(wanted, report.answers, strict=True)
        for line in differences(answer, one)
    ]
    _compare(others, "All three answers are as expected.", quiet)


def _expected(demo: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((demo / "expected.json").read_text(encoding="utf-8"))
    return found


@contextmanager
def _indexed(documents: Path, what: str, settings: Settings, quiet: bool) -> Iterator[Path]:
    from pincite import runtime
    from pincite.corpus.embedded import EmbeddedCorpus
    from pincite.library.update import ingest

    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say(f"1/2 indexing {what} …", quiet)
        with (
            EmbeddedCorpus.create(folder, runtime.encoder(settings)) as corpus,
            options.progress(quiet) as display,
        ):
            ingest(corpus, [documents], lambda i: display("adding documents", i.n_found, None))
        yield folder


def differences(answer: Answer, wanted: dict[str, Any]) -> Iterator[str]:
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
            yield f"PMID {pmid} is not listed as left out because it was retracted"


def _said_of(answer: Answer, reference: Reference | None) -> list[str]:
    return [
        checked.sentence.text
        for checked in answer.sentences
        if reference and any(v.number == reference.number for v in checked.verdicts)
    ]


def _compare(others: Sequence[str], well: str, quiet: bool) -> None:
    for line in others:
        options.say(line)
    if others:
        raise click.exceptions.Exit(1)
    options.say(well, quiet)
