"""`pincite corpus`: make, fill, search and repair a corpus of sources."""

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, TypeAlias
from urllib.parse import urlsplit

import click

from pincite.cli import options
from pincite.corpora import encoder_for, encoder_name
from pincite.corpus import engines, package
from pincite.corpus import update as updates
from pincite.corpus.origins import Origins
from pincite.documents import inputs
from pincite.errors import ConfigError
from pincite.models import weights
from pincite.notes import Note
from pincite.report.cells import n_of, one_line, shorten, why_unchecked
from pincite.types import Hit

if TYPE_CHECKING:
    from pincite.corpus.protocol import Way

Address: TypeAlias = Path | str
WAYS: Mapping[str, "Way"] = {"both": "hybrid", "words": "lexical", "meaning": "dense"}
folder_argument = click.argument("folder", type=options.Address)
paths_argument = click.argument("paths", type=options.Address, nargs=-1, required=True)
encoder_option = click.option("--encoder", help="Encoder: name, folder, Hugging Face id, NAME@URL.")
index_option = click.option(
    "--index",
    type=click.Choice(["ivf", "hnsw"]),
    help="Vector index for more than 20,000 passages. [unchanged; ivf for a new corpus]",
)
words_option = click.option(
    "--no-vectors", is_flag=True, help="Index words only; `corpus rebuild` can add vectors later."
)
_PASSED_OVER = {"title_only": "records without an abstract or a text"}


@click.group("corpus")
def command() -> None:
    """A corpus: documents, a word index and a vector index.

    It is a FOLDER, or an address in a database. pincite-cluster[postgres] has
    postgresql://USER@HOST:PORT/DATABASE/NAME; the password is read from PGPASSFILE.
    """


@command.command("add")
@folder_argument
@paths_argument
@encoder_option
@words_option
@options.parallel_options
@options.json_option
@options.quiet_option
def add(
    folder: Address, paths: tuple[Address, ...], as_json: bool, quiet: bool, **given: Any
) -> None:
    """Add PATHS (files, folders) to the corpus FOLDER, creating it if needed.

    Formats: HTML, PDF, Word (.docx), PowerPoint (.pptx), EPUB, RTF, text, Markdown, wikitext,
    MHTML, subtitles (SRT, WebVTT), spreadsheets (.xlsx, .ods, CSV), WARC, JSON lines (url, title,
    text), JATS, PubMed and BEIR; all of them gzipped too. A CSV file with a column file, url or
    text, or a manifest.jsonl, describes other files:
    columns file, url, title, date, language; other columns become metadata. A JSON file
    with one object per file name, as in EvidenceSeeker, works too.

    Adding the same file again changes nothing, so an interrupted run can simply be repeated;
    `corpus update` skips files that are already done.

    PATHS may be addresses that fsspec opens: s3://bucket/pages/ (needs s3fs), gs:// (gcsfs),
    http:// (aiohttp). They are copied into the cache; later runs copy only what changed.

    With --on ray, workers read the files and encode the passages; the resulting corpus is the same.
    """
    _update(folder, paths, updates.UpdateOptions(reread=True), as_json, quiet, **given)


@command.command("update")
@folder_argument
@paths_argument
@click.option("--prune", is_flag=True, help="Delete documents that are no longer in PATHS.")
@click.option("--dry-run", is_flag=True, help="Only show what would be done.")
@encoder_option
@words_option
@options.parallel_options
@options.json_option
@options.quiet_option
def update(
    folder: Address,
    paths: tuple[Address, ...],
    prune: bool,
    dry_run: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Bring the corpus FOLDER up to date with PATHS, reading only files that changed.

    Adds new documents and replaces changed ones. Documents that are no longer in PATHS are listed,
    and deleted with --prune. A file that has become unreadable keeps its documents. A document
    removed by `corpus delete` comes back when its file changes, or with `corpus add`.
    """
    _update(folder, paths, updates.UpdateOptions(prune=prune, dry=dry_run), as_json, quiet, **given)


def _update(
    folder: Address,
    paths: tuple[Address, ...],
    how: updates.UpdateOptions,
    as_json: bool,
    quiet: bool,
    *,
    on: str,
    workers: int | None,
    encoder: str | None,
    no_vectors: bool,
) -> None:
    """Run an update, and print what it did; a dry one writes nothing."""
    cache = weights.cache_folder().parent
    with options.progress(quiet) as display, ExitStack() as stack:
        local = inputs.local(paths, cache / "downloads", display)
        how = dataclasses.replace(how, named=local.named)
        parallel = stack.enter_context(options.parallel(on, workers))
        corpus: Any = None
        before = 0
        if not how.dry:
            model = None if no_vectors else _encoder(folder, encoder, parallel)
            corpus = stack.enter_context(engines.open_or_create(folder, model))
            if no_vectors and corpus.has_vectors:
                raise ConfigError(f"{folder} already has vectors. Leave out --no-vectors.")
            stack.enter_context(corpus.indexing_behind())
            before = corpus.status().n_documents
        elif engines.exists(folder):
            corpus = stack.enter_context(engines.open(folder, None))
        notes = engines.notes_of(folder, cache / "origins")
        origins = stack.enter_context(Origins(notes, write=not how.dry))
        show = partial(_show_files, display)
        try:
            outcome = updates.update(corpus, origins, local.paths, how, show, parallel)
        except Exception:
            if not how.dry:
                with suppress(Exception):  # the error itself is reported below
                    n = corpus.status().n_documents
                    options.say(f"{folder} has {n_of(n, 'document')}; it had {before}.")
                options.say("Run the same command again to continue.", quiet)
            raise
    if as_json:
        options.print_json(dataclasses.asdict(outcome) | {"dry_run": how.dry})
    else:
        for line in _details(outcome, how.dry):
            options.say(line, quiet)
    options.say(_summary(outcome, how.dry), quiet)
    if outcome.n_unread:
        raise click.exceptions.Exit(options.PARTIAL)


def _show_files(display: options.Display, outcome: updates.Outcome) -> None:
    n = len(outcome.added) + len(outcome.changed) + outcome.n_unchanged
    unread = f", {outcome.n_unread:,} unread" if outcome.n_unread else ""
    text = f"reading files; {n_of(n, 'document')}{unread}"
    display("reading files", outcome.n_files_done, outcome.n_files, text)


def _details(outcome: updates.Outcome, dry: bool) -> Iterator[str]:
    for unread in outcome.unread:
        # A record without an address is named by file and line, with which its detail begins.
        is_address = urlsplit(unread.url).scheme
        why = f"{unread.url}: {why_unchecked(unread)}" if is_address else unread.detail
        yield f"not added: {why}"
    if more := outcome.n_unread - len(outcome.unread):
        yield f"not added: {more:,} more"
    for reason, n in outcome.passed_over.items():
        yield f"{n:,} {_PASSED_OVER.get(reason, reason)} skipped."
    yield from (f"no longer in PATHS: {url}" for url in outcome.gone)
    yield from (f"{'would be ' if dry else ''}removed: {url}" for url in outcome.removed)


def _summary(outcome: updates.Outcome, dry: bool) -> str:
    would = "Nothing was written; it would be: " if dry else ""
    written = n_of(len(outcome.added) + len(outcome.changed), "document")
    text = f"{would}{written} added or updated, {outcome.n_unchanged} unchanged,"
    removed = f" {len(outcome.removed)} removed." if outcome.removed else ""
    older = f" {outcome.n_superseded} older versions left out." if outcome.n_superseded else ""
    n_gone = len(outcome.gone)
    gone = f"\n{n_gone} no longer in PATHS: --prune deletes them." if n_gone else ""
    return f"{text} {outcome.n_unread} unreadable.{removed}{older}{gone}"


@command.command("status")
@folder_argument
@options.json_option
def status(folder: Address, as_json: bool) -> None:
    """Show what is in the corpus FOLDER, its size, and the encoder that made it."""
    with engines.open(folder, None) as corpus:
        values = dataclasses.asdict(corpus.status()) | {"manifest": dict(corpus.manifest())}
    if as_json:
        options.print_json(values)
        return
    for key, value in values.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        for part, number in parts:
            click.echo(f"{key + (' ' + part if part else ''):32} {number}")


@command.command("search")
@folder_argument
@click.argument("query")
@click.option("-k", "--k", default=10, show_default=True, help="Number of passages.")
@click.option(
    "--by", type=click.Choice(list(WAYS)), default="both", show_default=True, help="How to search."
)
@options.json_option
@options.setting_options("models.encoder", "filters")
def search(folder: Address, query: str, k: int, by: str, as_json: bool, **given: Any) -> None:
    """Print the passages of FOLDER that match QUERY, best first."""
    from pincite import runtime

    settings = options.load_settings(given)
    chosen = settings.filters.exclude_hosts, settings.filters.chosen
    encoder = None
    if by != "words":
        encoder = runtime.encoder(settings, encoder_name(settings, folder))
    with engines.open(folder, encoder) as corpus:
        (hits,) = corpus.by(WAYS[by], *chosen, settings.retrieval.fusion).retrieve([query], k)
        complete = corpus.is_complete
    if not complete:
        options.say(str(Note("corpus_behind", {"corpus": str(folder)})))
    if settings.filters.chosen.leaves_out_undated:
        options.say("Pages without a known date are left out; --undated includes them.", as_json)
    for hit in hits:
        _print_hit(hit, by, as_json, complete)
    if not hits:
        among = " among the pages that pass the filters" if settings.filters.chosen else ""
        options.say(f"Nothing was found{among}.", as_json)


def _print_hit(hit: Hit, by: str, as_json: bool, complete: bool) -> None:
    passage = hit.passage
    if as_json:
        row: dict[str, Any] = {"rank": hit.rank, "score": hit.score, "url": passage.url}
        row |= {"title": passage.title, "span": passage.span, "text": passage.text}
        row |= {"found_by": hit.found_by or by, "complete": complete}
        options.print_json(row, line=True)
    else:
        click.echo(f"{hit.rank:3} {hit.score:8.4f}  {one_line(passage.title or passage.url)}")
        click.secho(f"              {one_line(passage.url)}", dim=True)
        click.echo(f"              {shorten(passage.text, 240)}")


@command.command("delete")
@folder_argument
@click.argument("urls", nargs=-1, required=True)
@options.quiet_option
def delete(folder: Address, urls: tuple[str, ...], quiet: bool) -> None:
    """Delete the documents at URLS from the corpus FOLDER, permanently."""
    with engines.open(folder, None, write=True) as corpus:
        absent = [url for url, known in zip(urls, corpus.get(urls), strict=True) if known is None]
        n_deleted = corpus.delete(urls)
    for url in absent:
        options.say(f"not in the corpus: {url}", quiet)
    options.say(f"{n_deleted} of {n_of(len(urls), 'document')} deleted.", quiet)


@command.command("rebuild")
@folder_argument
@encoder_option
@index_option
@options.quiet_option
def rebuild(folder: Address, encoder: str | None, index: Any, quiet: bool) -> None:
    """Rebuild indexes and vectors from the stored documents, with the current encoder and rules."""
    with options.progress(quiet) as display:
        engines.engine(folder).rebuild(
            folder, _encoder(folder, encoder), partial(display, "rebuilding"), index
        )
    options.say(f"{folder} is rebuilt.", quiet)


@command.command("verify")
@folder_argument
@click.option("--repair", is_flag=True, help="Rebuild indexes and remove leftovers.")
@options.json_option
@options.quiet_option
@click.pass_context
def verify(ctx: click.Context, folder: Address, repair: bool, as_json: bool, quiet: bool) -> None:
    """Check the corpus FOLDER for damage: every checksum and cross-reference.

    Exit code 0: sound, or repaired; 1: damaged, with what to do. Leftovers of killed processes are
    listed, but do not count as damage.
    """
    with options.progress(quiet) as display:
        findings = engines.engine(folder).verify(folder, repair=repair, tell=display)
    n_wrong = sum(finding.counts for finding in findings)
    if as_json:
        options.print_json({"sound": not n_wrong, "findings": findings})
    for finding in () if as_json else findings:
        done = " [repaired]" if finding.repaired else ""
        click.echo(f"{finding.kind}: {finding.place}: {finding.problem}{done}")
        if not finding.repaired:
            click.echo(f"    {finding.remedy}")
    state = f"has {n_of(n_wrong, 'fault')}" if n_wrong else "is sound"
    options.say(f"{folder} {state}.", quiet)
    ctx.exit(1 if n_wrong else 0)


@command.command("optimize")
@folder_argument
@index_option
@options.quiet_option
def optimize(folder: Address, index: Any, quiet: bool) -> None:
    """Compact the corpus FOLDER. While it runs, it needs as much disk space again."""
    with options.progress(quiet) as display:
        gained = engines.engine(folder).optimize(folder, display, index)
    options.say(gained, quiet)


@command.command("copy")
@click.argument("source", metavar="FROM", type=options.Address)
@click.argument("target", metavar="TO", type=options.Address)
@encoder_option
@options.quiet_option
def copy(source: Address, target: Address, encoder: str | None, quiet: bool) -> None:
    """Copy the corpus FROM into the corpus TO, which is created if it does not exist.

    \b
    pincite corpus copy kb/ postgresql://localhost/facts/kb
    pincite corpus copy postgresql://localhost/facts/kb other/

    Vectors are copied too, so nothing is encoded again unless --encoder names another encoder. Run
    the same command again to continue an interrupted copy.
    """
    model = encoder_for(options.load_settings({"encoder": encoder}), source, bool(encoder))
    with (
        engines.open(source, None) as one,
        engines.open_or_create(target, model) as other,
        options.progress(quiet) as display,
        other.indexing_behind(),
    ):
        done = package.copy(one, other, partial(display, "copying documents"))
    options.say(
        f"{n_of(done.n_copied, 'document')} copied with {done.n_vectors:,} vectors; "
        f"{done.n_known:,} were there already.",
        quiet,
    )


@command.command("pack")
@folder_argument
@click.argument("file")
@options.json_option
@options.quiet_option
def pack(folder: Address, file: str, as_json: bool, quiet: bool) -> None:
    """Write a corpus to one FILE, documents and vectors, with checksums.

    FILE may be an address: hf://datasets/OWNER/NAME/kb.zip (log in with `hf auth login`), s3://… It
    contains the documents' addresses: for local files, their paths.
    """
    far = inputs.is_address(file)
    with options.progress(quiet) as display, TemporaryDirectory() as aside:
        path = Path(aside) / "corpus.zip" if far else Path(file)
        about = package.pack(folder, path, display)
        n_bytes = path.stat().st_size
        if far:
            inputs.send(path, file)
    if as_json:
        options.print_json(about)
    options.say(f"{file}: {n_of(about.n_documents, 'document')}, {n_bytes:,} bytes.", quiet)


@command.command("unpack")
@click.argument("file")
@click.argument("folder", type=options.FilePath)
@options.json_option
@options.quiet_option
def unpack(file: str, folder: Path, as_json: bool, quiet: bool) -> None:
    """Create a corpus in FOLDER, which is new or empty, from FILE, written by `corpus pack`.

    FILE may be an address. All checksums are verified first; then the indexes are rebuilt.
    """
    with options.progress(quiet) as display, TemporaryDirectory() as aside:
        (path,) = inputs.local([file], Path(aside)).paths
        about = package.unpack(path, folder, display)
    if as_json:
        options.print_json(about)
    documents = n_of(about.n_documents, "document")
    options.say(f"{folder}: {documents}, built with the encoder {about.encoder}.", quiet)


def _encoder(folder: Address, name: str | None, parallel: Any = None) -> Any:
    """Load the encoder, by default the corpus's; workers run it, unless it is on a server."""
    from pincite import runtime

    settings = options.load_settings({"encoder": name})
    is_new = name or not engines.exists(folder)
    chosen = settings.models.encoder if is_new else encoder_name(settings, folder)
    encoder = runtime.encoder(settings, chosen)
    if parallel is None or getattr(encoder, "is_served", False):
        return encoder
    load = partial(runtime.encoder, settings.replace(threads=1), chosen)
    return parallel.encoder(encoder, load)
