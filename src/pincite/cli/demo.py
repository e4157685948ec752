"""`pincite demo`: run the real pipelines on shipped documents."""

import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.settings import Settings

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
@click.option("--check", "verb", flag_value="check", help="Check five statements instead.")
@click.option("--ask", "verb", flag_value="ask", help="Ask three questions instead.")
@options.quiet_option
def command(out: Path, verb: str | None, quiet: bool) -> None:
    """Check a bundled article against bundled sources; needs no network, key or server.

    With --check: five statements against a bundled knowledge base of 30 documents. With --ask:
    three questions, answered from 60 bundled abstracts, some of them retracted or contradictory.

    Everything in the demo is invented: places, people, newspapers, journals, supplements, diseases.
    """
    out.mkdir(parents=True, exist_ok=True)
    settings = options.load_settings({"online": False})
    {"check": _check, "ask": _ask}.get(verb or "", _verify)(out, settings, quiet)


def _verify(out: Path, settings: Settings, quiet: bool) -> None:
    from pincite.cli.verify import claim_printer, deliver
    from pincite.verbs.verify import build
    from pincite.wiki.article import read_articles

    page = next(iter(read_articles(DEMO / "article.wiki", title=_read_expected(DEMO)["title"])))
    with _index(DEMO / "corpus", "the demo's web pages", settings, quiet) as folder:
        options.say("2/2 checking the article's citations …", quiet)
        with (
            build.verifying(settings, folder, [DEMO / "sources"]) as run,
            options.progress(quiet) as display,
        ):
            report = run.verify(page, display, claim_printer(display))
    deliver(report, _outputs(out, "report"), quiet=quiet)
    shutil.copy(DEMO / "article.wiki", out)
    if report.stopped:
        raise click.exceptions.Exit(options.STOPPED)


def _check(out: Path, settings: Settings, quiet: bool) -> None:
    from pincite.cli.check import deliver
    from pincite.verbs.check import build

    statements = [one["statement"] for one in _read_expected(DEMO_CHECK)["statements"]]
    with _index(DEMO_CHECK / "documents", "the knowledge base", settings, quiet) as folder:
        options.say("2/2 checking five statements …", quiet)
        with build.checking(settings, folder) as ready:
            report = ready.check(statements)
    deliver(report, _outputs(out, "check"), template=None, limit=3, quiet=quiet)


def _ask(out: Path, settings: Settings, quiet: bool) -> None:
    from pincite.cli.ask import deliver
    from pincite.verbs.ask import build

    with _index(DEMO_ASK / "abstracts.xml", "sixty abstracts", settings, quiet) as folder:
        options.say("2/2 answering three questions …", quiet)
        with build.asking(settings, folder) as ready:
            report = ready.ask([one["question"] for one in _read_expected(DEMO_ASK)["questions"]])
    deliver(report, _outputs(out, "ask"), template=None, quiet=quiet)


def _outputs(out: Path, name: str) -> dict[str, Path | None]:
    return {kind: out / f"{name}.{kind}" for kind in ("json", "html")}


def _read_expected(demo: Path) -> Any:
    return json.loads((demo / "expected.json").read_text(encoding="utf-8"))


@contextmanager
def _index(documents: Path, name: str, settings: Settings, quiet: bool) -> Iterator[Path]:
    from pincite import runtime
    from pincite.corpus.engines import EmbeddedCorpus
    from pincite.corpus.update import ingest

    with tempfile.TemporaryDirectory(prefix="pincite-demo-") as scratch:
        folder = Path(scratch) / "corpus"
        options.say(f"1/2 indexing {name} …", quiet)
        with (
            EmbeddedCorpus.create(folder, runtime.encoder(settings)) as corpus,
            options.progress(quiet) as display,
        ):
            ingest(corpus, [documents], lambda i: display("adding documents", i.n_found, None))
        yield folder
