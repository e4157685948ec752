"""`pincite demo`: the real pipeline on a shipped article, its sources and a small web."""

import json
import shutil
import tempfile
from pathlib import Path

import click

from pincite.cli import options, verify
from pincite.settings import Settings

DEMO = Path(__file__).parents[2] / "demo"
DEMO_CHECK = Path(__file__).parents[2] / "demo_check"
DEMO_ASK = Path(__file__).parents[2] / "demo_ask"


@click.command("demo", short_help="see it work on a shipped article, offline")
@click.option("--out", type=options.FilePath, default=Path("pincite-demo"), show_default=True)
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
        from pincite.cli.demo import ask, check

        {"check": check.run, "ask": ask.run}[what](out, quiet)
        return
    from pincite.verbs.verify import build
    from pincite.wiki.article import read_articles

    settings = options.settings_of({"online": False})
    title = json.loads((DEMO / "expected.json").read_text(encoding="utf-8"))["title"]
    page = next(iter(read_articles(DEMO / "article.wiki", title=title)))
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say("1/2 indexing the demo's web pages …", quiet)
        index(folder, settings, quiet)
        options.say("2/2 checking the article's citations …", quiet)
        with build.verifying(settings, folder, DEMO / "sources", keep=False) as run:
            with options.progress(quiet) as shown:
                findings, interrupted = verify.judged(run, page, shown)
            report = build.report_of(page, findings, settings, run)
    outputs: dict[str, Path | None] = {"json": out / "report.json", "html": out / "report.html"}
    verify.deliver(report, outputs, limit=None, quiet=quiet)
    shutil.copy(DEMO / "article.wiki", out)
    if interrupted:
        raise click.exceptions.Exit(130)


def index(folder: Path, settings: Settings, quiet: bool, documents: Path = DEMO / "corpus") -> None:
    """A demo's documents as a corpus; the encoder's memory is free again afterwards."""
    from pincite import runtime
    from pincite.corpus.embedded import EmbeddedCorpus
    from pincite.library.ingest import Intake, ingest

    with (
        EmbeddedCorpus.create(folder, runtime.encoder(settings.models)) as corpus,
        options.progress(quiet) as shown,
    ):
        task = shown.add_task("adding documents", total=None)

        def tell(intake: Intake) -> None:
            shown.update(task, completed=intake.n_read)

        ingest(corpus, [documents], tell)
