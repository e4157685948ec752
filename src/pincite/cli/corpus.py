"""`pincite corpus`: make, fill, search and mend a corpus of sources."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from pincite.cli import options
from pincite.errors import ConfigError
from pincite.types import Hit

if TYPE_CHECKING:
    from pincite.corpus.protocol import Way

Address: TypeAlias = Path | str
# What people are asked → what the corpus calls it.
WAYS: Mapping[str, "Way"] = {"both": "hybrid", "words": "lexical", "meaning": "dense"}
encoder_option = click.option(
    "--encoder", help="Name, folder or Hugging Face id, or NAME@URL of one that a server runs."
)
index_option = click.option(
    "--index",
    type=click.Choice(["ivf", "hnsw"]),
    help="Kind of the vector index of more than 20,000 passages. [as it is; ivf at first]",
)
words_option = click.option(
    "--no-vectors", is_flag=True, help="Index words only; `corpus rebuild` makes vectors later."
)


@click.group("corpus", short_help="make and search a corpus of sources")
def command() -> None:
    """A corpus: documents, a word index and a vector index.

    It is one FOLDER, or stands in a Milvus (`pip install 'pincite[milvus]'`): then its address,
    milvus://HOST:PORT/NAME, takes the folder's place. TLS: milvuss://; the token comes from
    PINCITE_MILVUS_TOKEN.
    """


@command.command("add")
@click.argument("folder", type=options.Address)
@click.argument("paths", type=options.Address, nargs=-1, required=True)
@encoder_option
@words_option
@options.parallel_options
@options.json_option
@options.quiet_option
def add(
    folder: Address, paths: tuple[Address, ...], as_json: bool, quiet: bool, **given: Any
) -> None:
    """Add PATHS (pages, archives, collections; folders too) to the corpus FOLDER.

    Read are HTML, PDF, Word (.docx), text, Markdown, WARC, JSON lines (url, title, text), full text
    in JATS, and the collections PubMed, Sphere, BEIR, KILT and psgs_w100.tsv, told by what is in
    them, packed with gzip or not. A CSV file or manifest.jsonl says more of other files: columns
    file, url, title, date, language and any others, which are kept as metadata. So does a JSON
    file with an object for each file's name, as EvidenceSeeker has.

    The corpus is made if it does not exist. Adding twice changes nothing, so a run that was
    stopped is simply started again; `corpus update` then skips the files that were done.

    PATHS may be addresses that fsspec opens: s3://bucket/pages/ (with s3fs installed), gs:// (with
    gcsfs), http:// (with aiohttp). They are copied into the cache first, and only what changed.

    With --on ray workers read the files and encode the passages. The corpus is the same.
    """
    from pincite.library.update import How

    outcome = _updated(folder, paths, How(reread=True), quiet, **given)
    _tell_outcome(outcome, as_json, quiet)


@command.command("update")
@click.argument("folder", type=options.Address)
@click.argument("paths", type=options.Address, nargs=-1, required=True)
@click.option("--prune", is_flag=True, help="Delete what is no longer there under PATHS.")
@click.option("--dry-run", is_flag=True, help="Say what would be done, and do nothing.")
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

    Adds what is new and replaces what changed. What is no longer there is listed, and deleted with
    --prune: documents of files that are gone, and those that a file holds no more. A file that
    cannot be read now keeps its documents. What `corpus delete` removed comes back when its file
    changes, or with `corpus add`.
    """
    from pincite.library.update import How

    outcome = _updated(folder, paths, How(prune=prune, dry=dry_run), quiet, **given)
    _tell_outcome(outcome, as_json, quiet, dry_run)


def _updated(
    folder: Address,
    paths: tuple[Address, ...],
    how: Any,
    quiet: bool,
    *,
    on: str,
    workers: int | None,
    encoder: str | None,
    no_vectors: bool,
) -> Any:
    """The outcome of an update; where it is only asked what it would do, nothing is written."""
    from dataclasses import replace

    from pincite.corpus import engines
    from pincite.corpus.origins import Origins
    from pincite.library import download
    from pincite.library.update import update
    from pincite.models import weights

    kept = weights.cache_folder().parent
    with options.progress(quiet) as shown, ExitStack() as stack:
        inputs = download.local(paths, kept / "spool", options.teller(shown))
        how = replace(how, named=inputs.named)
        parallel = stack.enter_context(options.parallel(on, workers))
        corpus: Any
        if how.dry:
            there = engines.exists(folder)
            corpus = stack.enter_context(engines.open(folder, None)) if there else None
        else:
            model = None if no_vectors else _encoder(encoder, parallel)
            corpus = stack.enter_context(_writing(folder, model))
        notes = engines.notes_of(folder, kept / "origins")
        origins = stack.enter_context(Origins(notes, write=not how.dry))
        before = 0 if how.dry else corpus.status().n_documents
        try:
            return update(corpus, origins, inputs.paths, how, _teller(shown), parallel)
        except Exception:
            if not how.dry:
                with suppress(Exception):  # what stopped it is reported below
                    n = corpus.status().n_documents
                    options.say(f"{folder} has {_documents(n)}; it had {before}.")
                options.say("The same command goes on from there.", quiet)
            raise


def _teller(shown: Any) -> Callable[[Any], None]:
    """Progress of an update: files done, documents read, and how fast."""
    task, began = shown.add_task("reading files", total=None), time.monotonic()

    def tell(outcome: Any) -> None:
        n = len(outcome.added) + len(outcome.changed) + outcome.n_unchanged
        rate = n / (time.monotonic() - began)
        said = f"reading files; {_documents(n)}, {rate:,.0f} a second"
        said += f", {outcome.n_unread:,} unread" if outcome.n_unread else ""
        shown.update(task, completed=outcome.n_files_done, total=outcome.n_files, description=said)

    return tell


_PASSED_OVER = {"title_only": "records without an abstract or a text"}


def _tell_outcome(outcome: Any, as_json: bool, quiet: bool, dry_run: bool = False) -> None:
    import dataclasses

    if as_json:
        values = dataclasses.asdict(outcome) | {"dry_run": dry_run}
        options.print_json(values)
    for unread in outcome.unread:
        options.say(f"not added: {unread.url}: {unread.reason} {unread.detail}", quiet or as_json)
    if more := outcome.n_unread - len(outcome.unread):
        options.say(f"not added: {more:,} more", quiet or as_json)
    for reason, n in outcome.passed_over.items():
        options.say(f"{n:,} {_PASSED_OVER.get(reason, reason)} passed over.", quiet or as_json)
    for url in () if as_json else outcome.gone:
        options.say(f"no longer there: {url}", quiet)
    for url in () if as_json else outcome.removed:
        options.say(f"{'would be ' if dry_run else ''}removed: {url}", quiet)
    n_written = len(outcome.added) + len(outcome.changed)
    removed = f" {len(outcome.removed)} removed." if outcome.removed else ""
    superseded = f" {outcome.n_superseded} older states left out." if outcome.n_superseded else ""
    would = "Nothing was written; it would be: " if dry_run else ""
    options.say(
        f"{would}{_documents(n_written)} added or changed, "
        f"{outcome.n_unchanged} known, {outcome.n_unread} unread.{removed}{superseded}",
        quiet,
    )
    if outcome.gone:
        options.say(f"{len(outcome.gone)} no longer there: --prune deletes them.", quiet)


@command.command("status")
@click.argument("folder", type=options.Address)
@options.json_option
def status(folder: Address, as_json: bool) -> None:
    """What is in the corpus FOLDER, how large it is, and which encoder made it."""
    import dataclasses

    from pincite.corpus import engines

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
@click.argument("folder", type=options.Address)
@click.argument("query")
@click.option("-k", "--k", default=10, show_default=True, help="How many passages.")
@click.option("--by", type=click.Choice(list(WAYS)), default="both")
@encoder_option
@options.json_option
@options.filter_options
def search(folder: Address, query: str, k: int, by: str, as_json: bool, **given: Any) -> None:
    """Passages of FOLDER for QUERY, best first, from the pages that all filters let through."""
    from pincite import runtime

    settings = options.settings_of(given)
    encoder = None if by == "words" else runtime.encoder(settings)
    hits = _found(folder, query, (k, by), encoder, settings)
    if settings.filters.chosen.leaves_out_undated:
        options.say("Pages without a known date are left out; --undated lets them in.", as_json)
    for hit in hits:
        _print_hit(hit, as_json)
    if not hits:
        among = " among the pages that the filters let through" if settings.filters.chosen else ""
        options.say(f"Nothing was found{among}.", as_json)


def _found(
    folder: Address, query: str, how: tuple[int, str], encoder: Any, settings: Any
) -> list[Hit]:
    """The `how[0]` best hits by "words", by "meaning" or by "both"."""
    from pincite.corpus import engines

    (k, by), chosen = how, (settings.filters.exclude_hosts, settings.filters.chosen)
    with engines.open(folder, encoder) as corpus:
        search = corpus.by(WAYS[by], *chosen, settings.retrieval.fusion)
        (hits,) = search.retrieve([query], k)
    return hits


def _print_hit(hit: Hit, as_json: bool) -> None:
    from pincite.report.cells import one_line, shortened

    passage = hit.passage
    if as_json:
        row: dict[str, Any] = {"rank": hit.rank, "score": hit.score, "url": passage.url}
        row |= {"title": passage.title, "span": passage.span, "text": passage.text}
        options.print_json(row, line=True)
    else:
        click.echo(f"{hit.rank:3} {hit.score:8.4f}  {one_line(passage.title or passage.url)}")
        click.secho(f"              {one_line(passage.url)}", dim=True)
        click.echo(f"              {shortened(passage.text, 240)}")


@command.command("delete")
@click.argument("folder", type=options.Address)
@click.argument("urls", nargs=-1, required=True)
@options.quiet_option
def delete(folder: Address, urls: tuple[str, ...], quiet: bool) -> None:
    """Remove the documents at URLS from the corpus FOLDER, at once and for good."""
    from pincite.corpus import engines

    with engines.open(folder, None, write=True) as corpus:
        absent = [url for url, known in zip(urls, corpus.get(urls), strict=True) if known is None]
        n_deleted = corpus.delete(urls)
    for url in absent:
        options.say(f"not in the corpus: {url}", quiet)
    options.say(f"{n_deleted} of {_documents(len(urls))} deleted.", quiet)


def _documents(n: int) -> str:
    return "1 document" if n == 1 else f"{n} documents"


@command.command("rebuild")
@click.argument("folder", type=options.Address)
@encoder_option
@index_option
@options.quiet_option
def rebuild(folder: Address, encoder: str | None, index: Any, quiet: bool) -> None:
    """Rebuild indexes and vectors from the stored documents, with the current encoder and rules."""
    from pincite.corpus import engines
    from pincite.corpus.protocol import Rebuilds

    instead = f"Copy it with the other encoder: pincite corpus copy {folder} NEW --encoder NAME"
    engine = engines.able(folder, Rebuilds, "rebuild", instead)  # type: ignore[type-abstract]
    with options.progress(quiet) as shown:
        task = shown.add_task("rebuilding", total=None)
        engine.rebuild(
            folder,
            _encoder(encoder),
            lambda n, total: shown.update(task, completed=n, total=total),
            index,
        )
    options.say(f"{folder} is rebuilt.", quiet)


@command.command("verify")
@click.argument("folder", type=options.Address)
@click.option("--repair", is_flag=True, help="Rebuild what is derived; remove leftovers.")
@options.json_option
@options.quiet_option
@click.pass_context
def verify(ctx: click.Context, folder: Address, repair: bool, as_json: bool, quiet: bool) -> None:
    """Is the corpus FOLDER whole? Checks every checksum and cross-reference in it.

    Exit code 0: sound, or repaired; 1: something is wrong and says what to do. Leftovers of killed
    processes are named, and leave a corpus sound.
    """
    from pincite.corpus import engines
    from pincite.corpus.protocol import Verifies

    instead = "Its own tools check it."
    engine = engines.able(folder, Verifies, "verify", instead)  # type: ignore[type-abstract]
    with options.progress(quiet) as shown:
        findings = engine.verify(folder, repair=repair, tell=options.teller(shown))
    n_wrong = sum(finding.counts for finding in findings)
    if as_json:
        options.print_json({"sound": not n_wrong, "findings": findings})
    for finding in () if as_json else findings:
        done = " [repaired]" if finding.repaired else ""
        click.echo(f"{finding.kind}: {finding.place}: {finding.problem}{done}")
        if not finding.repaired:
            click.echo(f"    {finding.remedy}")
    n_faults = "1 fault" if n_wrong == 1 else f"{n_wrong} faults"
    options.say(f"{folder} has {n_faults}." if n_wrong else f"{folder} is sound.", quiet)
    ctx.exit(1 if n_wrong else 0)


@command.command("optimize")
@click.argument("folder", type=options.Address)
@index_option
@options.quiet_option
def optimize(folder: Address, index: Any, quiet: bool) -> None:
    """Make the corpus FOLDER compact; takes its space once more meanwhile, and readers go on."""
    from pincite.corpus import engines
    from pincite.corpus.protocol import Optimizes

    instead = "Its own tools compact it."
    engine = engines.able(folder, Optimizes, "optimize", instead)  # type: ignore[type-abstract]
    with options.progress(quiet) as shown:
        gained = engine.optimize(folder, options.teller(shown), index)
    options.say(gained, quiet)


@command.command("copy")
@click.argument("source", metavar="FROM", type=options.Address)
@click.argument("target", metavar="TO", type=options.Address)
@encoder_option
@options.json_option
@options.quiet_option
@click.pass_context
def copy(
    ctx: click.Context,
    source: Address,
    target: Address,
    encoder: str | None,
    as_json: bool,
    quiet: bool,
) -> None:
    """Copy the corpus FROM into the corpus TO, which is made if it does not exist.

    \b
    pincite corpus copy kb/ milvus://localhost:19530/kb
    pincite corpus copy milvus://localhost:19530/kb other/

    Vectors are taken over, so nothing is encoded again, unless --encoder names another encoder. A
    copy that was stopped is started again and goes on. At the end both are compared; exit code 1:
    TO lacks something.
    """
    import dataclasses

    from pincite import runtime
    from pincite.corpus import engines
    from pincite.library.package import copy as copy_corpus

    model = runtime.encoder_for(options.settings_of({"encoder": encoder}), source, bool(encoder))
    with ExitStack() as stack:
        one = stack.enter_context(engines.open(source, None))
        other = stack.enter_context(engines.open_or_create(target, model))
        shown = stack.enter_context(options.progress(quiet))
        task = shown.add_task("copying documents", total=None)
        stack.enter_context(other.indexing_behind())
        done = copy_corpus(one, other, lambda n, of: shown.update(task, completed=n, total=of))
    if as_json:
        options.print_json(dataclasses.asdict(done) | {"complete": done.is_complete})
    options.say(
        f"{_documents(done.n_copied)} copied, {done.n_vectors:,} vectors taken over; "
        f"{done.n_known:,} were there. Passages: {done.n_passages[0]:,}, {done.n_passages[1]:,}.",
        quiet,
    )
    if done.n_besides:
        options.say(f"{target} has {_documents(done.n_besides)} besides.", quiet)
    if not done.is_complete:
        options.say(f"{_documents(done.n_different)} differ still: copy again.", quiet)
    ctx.exit(0 if done.is_complete else 1)


@command.command("pack")
@click.argument("folder", type=options.FilePath)
@click.argument("file", type=options.OutFile)
@options.json_option
@options.quiet_option
def pack(folder: Path, file: Path, as_json: bool, quiet: bool) -> None:
    """Write the corpus FOLDER to one FILE, documents and vectors, with checksums.

    The documents' addresses are in it: of local files without another address, where they lay.
    """
    from pincite.library import package

    with options.progress(quiet) as shown:
        about = package.pack(folder, file, options.teller(shown))
    if as_json:
        options.print_json(about)
    options.say(f"{file}: {_documents(about.n_documents)}, {file.stat().st_size:,} bytes.", quiet)


@command.command("unpack")
@click.argument("file")
@click.argument("folder", type=options.FilePath)
@click.option("--online/--offline", default=None, help="Whether FILE may be an address. [offline]")
@options.json_option
@options.quiet_option
def unpack(file: str, folder: Path, online: bool | None, as_json: bool, quiet: bool) -> None:
    """Make the corpus of a package in FOLDER, which is new or empty.

    FILE comes from `corpus pack`; with --online it may be an http address. All checksums are
    looked at before anything stands in FOLDER, and the indexes are rebuilt.
    """
    from tempfile import TemporaryDirectory

    from pincite.library import package
    from pincite.web.fetch import WebClient

    settings = options.settings_of({"online": online})
    with options.progress(quiet) as shown, TemporaryDirectory() as scratch:
        source = Path(file)
        if file.startswith(("http://", "https://")):
            source = Path(scratch) / "package"
            with WebClient(settings.web.rules) as client:
                package.download(client, file, source)
        about = package.unpack(source, folder, options.teller(shown))
    if as_json:
        options.print_json(about)
    made = f"built with the encoder {about.encoder}"
    options.say(f"{folder}: {_documents(about.n_documents)}, {made}.", quiet)


def _encoder(name: str | None, parallel: Any = None) -> Any:
    """The encoder; Ray's workers encode with it, unless a server does."""
    from pincite import runtime
    from pincite.library.parallel import Local, SpreadEncoder

    settings = options.settings_of({"encoder": name})
    encoder = runtime.encoder(settings)
    if parallel is None or isinstance(parallel, Local) or getattr(encoder, "is_served", False):
        return encoder
    load = partial(runtime.encoder, settings.replace(threads=1))
    return SpreadEncoder(encoder, load, parallel)


@contextmanager
def _writing(folder: Address, model: Any) -> Iterator[Any]:
    """The corpus, made if need be, without vectors if there is no model; indexes follow."""
    from pincite.corpus import engines

    with engines.open_or_create(folder, model) as corpus:
        if model is None and corpus.has_vectors:
            raise ConfigError(f"{folder} has vectors. Add to it without --no-vectors.")
        with corpus.indexing_behind():
            yield corpus
