"""`pincite demo`: the real pipeline on a shipped article, its sources and a small web."""

import json
import shutil
import tempfile
from pathlib import Path

import click

from pincite.cli import options, verify
from pincite.pipeline.settings import Settings

DEMO = Path(__file__).parents[1] / "demo"
DEMO_CHECK = Path(__file__).parents[1] / "demo_check"
# The demo's web has some 250 passages: 25 from each retriever are a tenth of it.
DEPTH = 25


@click.command("demo", short_help="see it work on a shipped article, offline")
@click.option("--out", type=options.FilePath, default=Path("pincite-demo"), show_default=True)
@click.option("--check", is_flag=True, help="Five statements against a knowledge base instead.")
@click.option("-q", "--quiet", is_flag=True, help="No progress, no table.")
def command(out: Path, check: bool, quiet: bool) -> None:
    """Check a shipped article against shipped sources; needs no network, key or server.

    With --check: five statements against a shipped knowledge base of 30 documents; exit code 1 if
    one has another result than its writer expects.

    Everything in the demo is invented: the place, the people, the newspapers.
    """
    if check:
        _statements(out, quiet)
        return
    from pincite.pipeline import build
    from pincite.wiki.article import read_articles

    settings = options.settings_of({"depth": DEPTH})
    title = json.loads((DEMO / "expected.json").read_text(encoding="utf-8"))["title"]
    page = next(iter(read_articles(DEMO / "article.wiki", title=title)))
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say("1/2 indexing the demo's web pages …", quiet)
        _index(folder, settings, quiet)
        options.say("2/2 checking the article's citations …", quiet)
        with build.verifying(settings, folder, DEMO / "sources", keep=False) as run:
            findings, interrupted = verify.judged(run, page, quiet)
            report = build.report_of(page, findings, settings, run)
    outputs: dict[str, Path | None] = {"json": out / "report.json", "html": out / "report.html"}
    verify.deliver(report, outputs, limit=None, quiet=quiet)
    shutil.copy(DEMO / "article.wiki", out)
    if interrupted:
        raise click.exceptions.Exit(130)


def _statements(out: Path, quiet: bool) -> None:
    """The knowledge base, the five statements, and whether they have the results they should."""
    from pincite.cli.check import OUTPUTS, deliver
    from pincite.pipeline import build_check

    settings = options.settings_of({})
    wanted = json.loads((DEMO_CHECK / "expected.json").read_text(encoding="utf-8"))["statements"]
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say("1/2 indexing the knowledge base …", quiet)
        _index(folder, settings, quiet, DEMO_CHECK / "documents")
        options.say("2/2 checking five statements …", quiet)
        with build_check.checking(settings, folder, keep=False) as run:
            checks = [run.pipeline.check(one["statement"]) for one in wanted]
            report = build_check.report_of(checks, len(checks), settings, run)
    outputs: dict[str, Path | None] = dict.fromkeys(OUTPUTS)
    outputs |= {"json": out / "check.json", "html": out / "check.html"}
    deliver(report, outputs, template=None, limit=3, quiet=quiet)
    found = [{str(r.weight.outcome) for r in check.results} for check in checks]
    others = [
        f"{one['case']}: expected {' or '.join(one['outcome'])}, found {', '.join(sorted(said))}"
        for one, said in zip(wanted, found, strict=True)
        if not said <= set(one["outcome"])
    ]
    for line in others:
        options.say(line)
    if others:
        raise click.exceptions.Exit(1)
    options.say("All five have the results that were expected.", quiet)


def _index(
    folder: Path, settings: Settings, quiet: bool, documents: Path = DEMO / "corpus"
) -> None:
    """The demo's web as a corpus; the encoder's memory is free again afterwards."""
    from pincite.index.corpus import EmbeddedCorpus
    from pincite.pipeline import build
    from pincite.pipeline.ingest import Intake, ingest

    with (
        EmbeddedCorpus.create(folder, build.encoder(settings)) as corpus,
        options.progress(quiet) as shown,
    ):
        task = shown.add_task("adding documents", total=None)

        def tell(intake: Intake) -> None:
            shown.update(task, completed=intake.n_read)

        ingest(corpus, [documents], tell)
