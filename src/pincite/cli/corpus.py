"""`pincite corpus`: make, fill, search and mend a corpus of sources."""

import json
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import click

from pincite.cli import options

quiet_option = click.option("-q", "--quiet", is_flag=True, help="No progress, no messages.")
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
encoder_option = click.option("--encoder", help="Name, folder or Hugging Face id.")


@click.group("corpus", short_help="make and search a corpus of sources")
def command() -> None:
    """A corpus is one folder: documents, a word index and a vector index."""


@command.command("add")
@click.argument("folder", type=options.FilePath)
@click.argument("paths", type=options.FilePath, nargs=-1, required=True)
@encoder_option
@quiet_option
def add(folder: Path, paths: tuple[Path, ...], encoder: str | None, quiet: bool) -> None:
    """Add PATHS (pages, archives, collections; folders too) to the corpus FOLDER.

    Read are HTML, PDF, text, Markdown, WARC and JSON lines (url, title, text), and the collections
    Sphere, BEIR, KILT and psgs_w100.tsv, told by their first lines, packed with gzip or not.

    The corpus is made if it does not exist. Adding twice changes nothing, so a run that was
    stopped is simply started again.
    """
    from pincite.pipeline.ingest import Intake, ingest

    with _writing(folder, encoder) as corpus, options.progress(quiet) as shown:
        task = shown.add_task("adding documents", total=None)

        def tell(intake: Intake) -> None:
            shown.update(task, completed=intake.n_read)

        intake = ingest(corpus, paths, tell)
    for unread in intake.unread:
        options.say(f"not added: {unread.url}: {unread.reason} {unread.detail}", quiet)
    same = intake.n_read - intake.n_added
    options.say(
        f"{intake.n_added} documents added or changed, {same} known, {len(intake.unread)} unread.",
        quiet,
    )


@command.command("status")
@click.argument("folder", type=options.FilePath)
@json_option
def status(folder: Path, as_json: bool) -> None:
    """What is in the corpus FOLDER, how large it is, and which encoder made it."""
    import dataclasses

    from pincite.index.corpus import EmbeddedCorpus

    with EmbeddedCorpus.open(folder, None) as corpus:
        values = dataclasses.asdict(corpus.status()) | {"manifest": dict(corpus.manifest())}
    if as_json:
        click.echo(json.dumps(values, indent=1))
        return
    for key, value in values.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, number in parts:
            click.echo(f"{key + (' ' + part if part else ''):32} {number}")


@command.command("search")
@click.argument("folder", type=options.FilePath)
@click.argument("query")
@click.option("--k", default=10, show_default=True, help="How many passages.")
@click.option("--by", type=click.Choice(["both", "words", "meaning"]), default="both")
@encoder_option
@json_option
def search(folder: Path, query: str, k: int, by: str, encoder: str | None, as_json: bool) -> None:
    """Passages of FOLDER for QUERY, best first."""
    from pincite.core.fusion import fused
    from pincite.index.corpus import EmbeddedCorpus
    from pincite.report.wording import one_line, shortened

    chosen = None if by == "words" else _encoder(encoder)
    with EmbeddedCorpus.open(folder, chosen) as corpus:
        words = [] if by == "meaning" else corpus.lexical().retrieve([query], k)[0]
        meaning = [] if by == "words" else corpus.dense().retrieve([query], k)[0]
    hits = (
        fused(words, meaning, k, options.settings_of({}).fusion)
        if by == "both"
        else words or meaning
    )
    for hit in hits:
        passage = hit.passage
        if as_json:
            row: dict[str, Any] = {"rank": hit.rank, "score": hit.score, "url": passage.url}
            row |= {"title": passage.title, "span": passage.span, "text": passage.text}
            click.echo(json.dumps(row, ensure_ascii=False))
        else:
            click.echo(f"{hit.rank:3} {hit.score:8.4f}  {one_line(passage.title or passage.url)}")
            click.secho(f"              {one_line(passage.url)}", dim=True)
            click.echo(f"              {shortened(passage.text, 240)}")


@command.command("delete")
@click.argument("folder", type=options.FilePath)
@click.argument("urls", nargs=-1, required=True)
@quiet_option
def delete(folder: Path, urls: tuple[str, ...], quiet: bool) -> None:
    """Remove the documents at URLS from the corpus FOLDER, at once and for good."""
    from pincite.index.corpus import EmbeddedCorpus

    with EmbeddedCorpus.open(folder, None, write=True) as corpus:
        n_deleted = corpus.delete(urls)
    options.say(f"{n_deleted} of {len(urls)} documents deleted.", quiet)


@command.command("rebuild")
@click.argument("folder", type=options.FilePath)
@encoder_option
@quiet_option
def rebuild(folder: Path, encoder: str | None, quiet: bool) -> None:
    """Derive everything anew from the stored documents, with today's encoder and rules."""
    from pincite.index.rebuild import rebuild as rebuild_corpus

    with options.progress(quiet) as shown:
        task = shown.add_task("rebuilding", total=None)
        rebuild_corpus(
            folder, _encoder(encoder), lambda n, total: shown.update(task, completed=n, total=total)
        )
    options.say(f"{folder} is rebuilt.", quiet)


def _encoder(name: str | None) -> Any:
    from pincite.pipeline import build

    return build.encoder(options.settings_of({"encoder": name}))


def _writing(folder: Path, encoder: str | None) -> AbstractContextManager[Any]:
    from pincite.index.corpus import EmbeddedCorpus

    return EmbeddedCorpus.open_or_create(folder, _encoder(encoder))
