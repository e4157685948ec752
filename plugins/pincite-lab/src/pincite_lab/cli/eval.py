"""`pincite eval`: measure Pincite on a collection; `pincite calibrate`: measure a judge."""

import hashlib
import json
import time
from contextlib import ExitStack, closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.options import json_option, quiet_option

VERIFY = ("models", "verify.k", "verify.threshold")


@click.group("eval", short_help="measure retrieval and verification on a collection")
def command() -> None:
    """Evaluate, with bootstrap intervals."""


@command.command("wafer")
@click.argument("folder", type=options.FilePath)
@click.option("--split", default="dev", show_default=True, help="Part of the collection.")
@click.option("--corpus", type=options.Address, help="Keep the corpus here. [cache]")
@json_option
@quiet_option
@options.setting_options(*VERIFY)
def wafer(
    folder: Path, split: str, corpus: Path | str | None, as_json: bool, quiet: bool, **given: Any
) -> None:
    """Measure retrieval and failed citations on a WAFER-like collection.

    Reads FOLDER/SPLIT.jsonl, fail-SPLIT.jsonl and corpus-SPLIT.jsonl or corpus.jsonl, plain or .gz.
    Prints P@1, success rates and R-precision (SIDE's table 4), whether an answer was found, and
    failed verification against featured articles (the points of figure 2c, with --json). Without
    pages, only addresses are measured.

    The corpus is indexed once and kept, and so are judged pairs: an interrupted run can be resumed.
    """
    from pincite_lab.evaluation import tables, wafer_measures
    from pincite_lab.evaluation.wafer import open_collection

    settings = options.load_settings(given)
    collection = open_collection(folder, split)
    n, n_failed = len(collection.records), len(collection.failed)
    result: dict[str, Any] = {"split": split, "n": n, "n_failed": n_failed}
    with options.progress(quiet) as display:
        if corpus or collection.corpus_file:
            result |= _search(collection, corpus, settings, display)
        else:
            failures = wafer_measures.measure_failures(collection, None, None, display)
            result["failed_verification"] = failures
    for warning in result.get("warnings", ()):
        options.say(warning)
    click.echo(json.dumps(result, indent=1) if as_json else tables.wafer_table(result))


def _search(collection: Any, corpus: Path | str | None, settings: Any, tell: Any) -> dict[str, Any]:
    from pincite import runtime
    from pincite.corpus import engines
    from pincite.verbs.verify import build
    from pincite_lab.evaluation.wafer_measures import evaluate_retrieval, measure_failures

    encoder = runtime.encoder(settings)
    file, seconds = collection.corpus_file, 0.0
    where = corpus or _cached_corpus(file, encoder.fingerprint)
    if file:
        seconds = _index(where, file, encoder, tell)
    result: dict[str, Any] = {}
    with engines.open(where, encoder) as opened, build.verifying(settings, None, None) as run:
        verifier = run.pipeline.verifier
        if collection.records:
            result = evaluate_retrieval(collection, opened, verifier, settings.retrieval, tell)
        failed = measure_failures(collection, opened.get, verifier, tell)
        status = opened.status()
    result |= {
        "failed_verification": failed,
        "corpus": {"documents": status.n_documents, "passages": status.n_passages},
        "indexing_seconds": seconds,
        "versions": dict(run.versions) | {"encoder": encoder.fingerprint},
    }
    warnings = list(run.pipeline.warnings)
    return result | ({"warnings": warnings} if warnings else {})


@command.command("claims")
@click.argument("files", type=options.FilePath, nargs=-1, required=True)
@click.option("--baselines/--no-baselines", default=True, help="Measure baselines too. [yes]")
@click.option(
    "--verifier",
    "verifiers",
    multiple=True,
    metavar="TEXT",
    help="Verifier: name, folder, Hugging Face id, or NAME@URL. Repeatable: compared side by side.",
)
@json_option
@quiet_option
@options.setting_options("models.encoder", "models.threads", "retrieval.depth", *VERIFY[1:])
def claims(
    files: tuple[Path, ...],
    baselines: bool,
    verifiers: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Measure verification on FILES of claims with evidence and labels (JSON lines, also .gz).

    Baselines: URL depth, BM25, Pincite reading only the first three passages, the encoder's cosine,
    and, if installed, the ms-marco cross-encoder (make reranker, in a clone).
    """
    from pincite import runtime
    from pincite.verbs.verify import build
    from pincite_lab.evaluation import claims as claims_
    from pincite_lab.evaluation import tables

    settings = options.load_settings({**given, "verifier": verifiers[0] if verifiers else None})

    # Cached judgements would make pairs/s measure the cache, not the model.
    with (
        build.verifying(settings, None, None, keep=False) as run,
        options.progress(quiet) as display,
        ExitStack() as stack,
    ):
        verifier = run.pipeline.verifier
        systems: list[Any] = [claims_.by_verifier(verifier, *verifiers[: len(verifiers) > 1])]
        for name in dict.fromkeys(verifiers[1:]):
            other = runtime.verifier(replace(settings.models, verifier=name), keep=False)
            systems.append(claims_.by_verifier(stack.enter_context(closing(other)), name))
        if baselines:
            encoder, threads = runtime.encoder(settings), settings.models.threads
            systems += claims_.baselines(verifier, encoder, threads)
        predicted = [
            claims_.predict(file, systems, lambda name, *n, f=file.name: display(f"{f} {name}", *n))
            for file in files
        ]
    threshold = settings.verify.threshold
    results = [claims_.measure(one, threshold) for one in predicted]
    if len(verifiers) > 1:
        for result, one in zip(results, predicted, strict=True):
            result["side_by_side"] = claims_.side_by_side(one, set(verifiers), threshold)
    report = {"results": results, "versions": dict(run.versions)}
    click.echo(json.dumps(report, indent=1) if as_json else tables.claims_table(results))


@command.command("scifact")
@click.argument("folder", type=options.FilePath)
@json_option
@quiet_option
@options.setting_options("models.verifier", "models.threads", "ask.supported_from")
def scifact(folder: Path, as_json: bool, quiet: bool, **given: Any) -> None:
    """Measure precision, recall and F1 of the verdicts on SciFact, with abstracts given.

    FOLDER contains corpus and claims_dev (.jsonl, plain or .gz): each claim of the dev split is
    judged with each abstract that it cites. Judged pairs are kept: an interrupted run can be
    resumed.
    """
    from pincite.verbs.ask import build as build_ask
    from pincite.verbs.verify import build
    from pincite_lab.evaluation import scifact as scifact_
    from pincite_lab.evaluation import tables

    settings = options.load_settings(given)
    rows = scifact_.read_rows(folder)
    with build.verifying(settings, None, None) as run, options.progress(quiet) as display:
        checker = build_ask.checker(settings, run.pipeline.verifier)
        result = scifact_.measure(rows, checker, lambda *n: display("pairs", *n))
        result["versions"] = dict(run.versions)
    click.echo(json.dumps(result, indent=1) if as_json else tables.scifact_table(result))


@click.command("wafer", short_help="print an article's claims as WAFER's records")
@click.argument("file")
@click.option("--language", help="Language of the articles, if they declare none: en, de, ja, …")
@click.option(
    "--split",
    type=click.Choice(["train", "dev", "test"]),
    help="Only articles of this part: 90, 5 and 5 % of them, by a hash of the title.",
)
def records(file: str, language: str | None, split: str | None) -> None:
    """Print WAFER records of FILE's claims that cite an address.

    FILE is what `pincite claims` reads: wikitext, HTML, a manuscript, a dump, or - for stdin.
    """
    from pincite.wiki.article import read_articles
    from pincite_lab.evaluation.wafer import records_in, split_of, to_line

    for article in read_articles(file, language=language):
        if split not in (None, split_of(article.title)):
            continue
        for record in records_in(article):
            click.echo(to_line(record))


@click.group("calibrate", short_help="measure how far a language model can be trusted")
def calibrate() -> None:
    """Evaluate on labelled rows."""


@calibrate.command("judge")
@click.option(
    "--claims",
    "files",
    type=options.FilePath,
    multiple=True,
    required=True,
    help="JSON lines with id, claim, evidence and label. Repeatable.",
)
@options.json_option
@options.quiet_option
@options.setting_options(*VERIFY, "judge", "budget")
def judge(files: tuple[Path, ...], as_json: bool, quiet: bool, **given: Any) -> None:
    """Test a model on labelled rows of your own, and store what its support is worth.

    If it is right often enough where Pincite finds no support, `verify --judge` counts it. The rows
    can be feedback on your own results: pincite feedback export rows.jsonl

    \b
    pincite calibrate judge --claims rows.jsonl --judge http://localhost:8080/v1 \\
        --judge-model qwen3
    """
    from pincite import runtime
    from pincite.documents.jsonl import read_labelled
    from pincite.llm.judge import judges_file, keep_judge, known_judge
    from pincite.verbs.verify import build
    from pincite_lab.evaluation import claims as claims_
    from pincite_lab.evaluation import judges, tables

    settings = options.load_settings(given)
    if not (settings.judge.model and settings.judge.url):
        raise click.UsageError("Expected --judge URL and --judge-model.")
    labelled = [row for file in files for row in read_labelled(file)]
    with runtime.judge(settings) as model, options.progress(quiet) as display:
        tell = partial(display, "asking")
        verdicts, failed = judges.collect_verdicts(model, labelled, settings.judge.at_once, tell)
        used, name = model.calls.usage, model.model
    reasons = "".join(f"; {n} without: {why}" for why, n in sorted(failed.items()))
    options.say(
        f"{len(verdicts)} verdicts{reasons}. {used.n_calls} calls, {used.n_reused} cached "
        f"replies, {used.n_prompt_tokens + used.n_reply_tokens:,} tokens.",
        quiet,
    )
    with build.verifying(settings, None, None) as run, options.progress(quiet) as display:
        ours, rows = claims_.by_verifier(run.pipeline.verifier), list[Any]()
        for file in files:
            scores = claims_.predict(file, [ours], lambda name, *n, f=file.name: display(f, *n))
            rows += judges.both(scores, verdicts)
    if not rows:
        raise click.ClickException("None of the rows has a verdict: nothing was measured.")
    where = judges_file(settings.library.judges)
    names = tuple(file.name for file in files)
    measured = judges.measure(rows, settings.verify.threshold, names)
    keep_judge(where, name, replace(known_judge(where, name), measured=measured))
    if as_json:
        options.print_json(measured)
        return
    click.echo(tables.judge_table(name, measured))
    options.say(f"kept in {where}", quiet)


def _cached_corpus(corpus_file: Path, fingerprint: str) -> Path:
    from pincite.models import weights
    from pincite.text.passages import PASSAGE_RULE

    stat = corpus_file.stat()
    name = f"{corpus_file.resolve()} {stat.st_size} {stat.st_mtime_ns} {fingerprint} {PASSAGE_RULE}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return weights.cache_folder().parent / "eval" / digest


def _index(where: Path | str, corpus_file: Path, encoder: Any, tell: Any) -> float:
    """Add what the corpus lacks; returns the seconds that took."""
    from pincite.corpus import engines
    from pincite.corpus.update import ingest

    started = time.perf_counter()
    with engines.open_or_create(where, encoder) as corpus:
        ingest(corpus, [corpus_file], lambda intake: tell("indexing", intake.n_found, None))
    return round(time.perf_counter() - started, 1)
