"""`pincite eval`: how good is it, on what, with which command."""

import hashlib
import json
import time
from pathlib import Path
from typing import Any

import click

from pincite.cli import calibrate, extras, options
from pincite.cli.eval import ask
from pincite.cli.options import json_option, keep_option, quiet_option


@click.group("eval", short_help="measure retrieval and verification on a collection")
def command() -> None:
    """Measures with bootstrap intervals; needs the extra: pip install 'pincite[eval]'."""


command.add_command(ask.scifact)
command.add_command(ask.qa)


@command.command("wafer")
@click.argument("folder", type=options.FilePath)
@click.option("--split", default="dev", show_default=True, help="Part of the collection.")
@click.option("--corpus", type=options.Address, help="Keep the corpus here, not in the cache.")
@click.option("--plot", type=options.OutFile, help="PNG of SIDE's figures 2c and 7.")
@json_option
@quiet_option
@options.settings_options
def wafer(
    folder: Path,
    split: str,
    corpus: Path | str | None,
    plot: Path | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Retrieval and failed citations on a WAFER-like collection, as `claims --out` makes it.

    Reads FOLDER/SPLIT.jsonl, fail-SPLIT.jsonl and corpus-SPLIT.jsonl or corpus.jsonl, plain or .gz.
    Prints P@1, success rates and R-precision (SIDE's table 4), whether an answer is in what was
    found, failed verification against featured articles (figure 2c) and the depth of addresses
    (figure 7); without pages, what can be said of the addresses alone.

    The corpus is indexed once and kept; judged pairs are kept too, so a stopped run goes on.
    """
    extras.require("eval")
    from pincite.evaluation import plots, tables
    from pincite.evaluation import wafer as wafer_

    settings = options.settings_of(given)
    collection = wafer_.open_collection(folder, split)
    every = [*collection.records, *collection.failed]
    result: dict[str, Any] = {"split": split, "n": len(collection.records)}
    result |= {"n_failed": len(collection.failed)}
    with options.progress(quiet) as shown:
        tell = options.teller(shown)
        if corpus or collection.corpus_file:
            result |= _searched(collection, corpus, settings, tell)
        else:
            found = wafer_.measured(every, None, None, settings.verify.threshold, tell)
            result["failed_verification"] = found
    result["url_depth"] = wafer_.depths(every)
    for warning in result.get("warnings", ()):
        options.say(warning)
    if plot:
        plots.failed_verification(plot, result["failed_verification"], result["url_depth"])
    click.echo(json.dumps(result, indent=1) if as_json else tables.wafer_table(result))


def _searched(
    collection: Any, corpus: Path | str | None, settings: Any, tell: Any
) -> dict[str, Any]:
    """What needs pages: retrieval at all levels, and the verifier on citations that fail."""
    from pincite import runtime
    from pincite.corpus import engines
    from pincite.evaluation import wafer as wafer_
    from pincite.verbs.verify import build

    encoder = runtime.encoder(settings)
    file, seconds = collection.corpus_file, 0.0
    where = corpus or _kept(file, encoder.fingerprint)
    if file:
        seconds = _index(where, file, encoder, tell)[0]
    with (
        engines.open(where, encoder) as opened,
        build.verifying(settings, None, None) as run,
    ):
        pipeline = run.pipeline
        result = (
            wafer_.evaluate(collection, opened, pipeline, tell, settings.retrieval.fusion)
            if collection.records
            else {}
        )
        every, threshold = [*collection.records, *collection.failed], settings.verify.threshold
        result["failed_verification"] = wafer_.measured(
            every, opened.get, pipeline.verifier, threshold, tell
        )
        status = opened.status()
    result |= {
        "corpus": {"documents": status.n_documents, "passages": status.n_passages},
        "indexing_seconds": seconds,
        "versions": dict(run.versions) | {"encoder": encoder.fingerprint},
    }
    warnings = list(pipeline.warnings)
    return result | ({"warnings": warnings} if warnings else {})


@command.command("beir")
@click.argument("folder", type=options.FilePath)
@click.option("--split", default="test", show_default=True, help="Part of the collection.")
@click.option("--system", "names", multiple=True, help="Only this one; may be repeated.  [all]")
@click.option("--corpus", type=options.Address, help="Keep the corpus here, not in the cache.")
@click.option("--run-out", type=options.OutFolder, help="Folder for TREC runs and qrels.")
@json_option
@quiet_option
@click.option("--config", type=options.FilePath, help="A TOML file with settings.")
@click.option("--encoder", help="Name, folder or Hugging Face id of the encoder.")
@click.option("--threads", type=int, help="Threads of the models; 0: all cores. [0]")
def beir(
    folder: Path,
    split: str,
    names: tuple[str, ...],
    corpus: Path | str | None,
    run_out: Path | None,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """nDCG@10, R@100 and RR@10 on a BEIR collection: FOLDER/corpus.jsonl, queries.jsonl, qrels/.

    Systems: lexical (BM25), dense (the encoder), hybrid (both, their scores' weighted sum), and
    both by learnt weights, by reciprocal rank (rrf) and as Verif.ai does. A document has the rank
    of its best passage. The corpus is indexed once and kept; for lexical alone without an encoder.
    """
    extras.require("eval")
    from pincite import runtime
    from pincite.corpus import engines
    from pincite.evaluation import beir as beir_
    from pincite.evaluation import tables

    settings = options.settings_of(given)
    chosen = beir_.chosen(names)
    collection = beir_.open_collection(folder, split)
    encoder = runtime.encoder(settings) if any(s.by_meaning for s in chosen.values()) else None
    made_by = f"beir {encoder.fingerprint if encoder else 'words'}"
    where = corpus or _kept(collection.corpus_file, made_by)
    with options.progress(quiet) as shown:
        tell = options.teller(shown)
        seconds, intake = _index(where, collection.corpus_file, encoder, tell, read=beir_.documents)
        with engines.open(where, encoder) as opened:
            result, runs = beir_.evaluate(collection, opened, chosen, tell)
            status, manifest = opened.status(), opened.manifest()
    for one in intake.unread:
        options.say(f"not indexed: {one.url}: {one.reason} {one.detail}", quiet)
    if run_out:
        _write_runs(run_out, split, runs, collection.qrels)
    result |= {
        "collection": folder.resolve().name,
        "split": split,
        "corpus": {"documents": status.n_documents, "passages": status.n_passages},
        "n_unread": intake.n_unread,
        "indexing_seconds": seconds,
        "versions": {key: manifest[key] for key in ("encoder", "digest", "versions")},
    }
    click.echo(json.dumps(result, indent=1) if as_json else tables.beir_table(result))


@command.command("claims")
@click.argument("files", type=options.FilePath, nargs=-1, required=True)
@click.option("--baselines/--no-baselines", default=True, help="Measure them too.  [default: yes]")
@click.option("--plot", type=options.OutFile, help="PNG of precision over recall, and its data.")
@click.option("--reliability", type=options.OutFile, help="PNG of calibration, and its data.")
@click.option("--scores", type=options.OutFile, help="Pincite's scores of each row, JSON lines.")
@click.option(
    "--judge-verdicts",
    "recorded",
    type=options.FilePath,
    help="A second opinion that was recorded: JSON lines with id and verdict.",
)
@keep_option
@json_option
@quiet_option
@options.judge_options
@options.budget_options
@options.settings_options
def claims(
    files: tuple[Path, ...],
    baselines: bool,
    plot: Path | None,
    reliability: Path | None,
    scores: Path | None,
    recorded: Path | None,
    keep: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Verification on FILES of claims with evidence and labels (JSON lines, plain or .gz).

    Pincite's verifier beside baselines: URL depth, BM25, the encoder's cosine, the ms-marco
    cross-encoder, and Pincite reading the first three passages only.
    """
    extras.require("eval")
    from pincite import runtime
    from pincite.evaluation import claims as claims_
    from pincite.evaluation import judges, plots, tables
    from pincite.evaluation.scorers import ByVerifier, Scorer, Unavailable, all_of
    from pincite.library import judges as kept
    from pincite.verbs.verify import build

    settings = options.settings_of(given)
    opinions = recorded is not None or bool(settings.judge.url)
    known = calibrate.read_or_asked(settings, recorded, files, quiet) if opinions else {}
    # Unless told so judgements are not kept: pairs/s would measure the file, not the model.
    with build.verifying(settings, None, None, keep=keep) as run, options.progress(quiet) as shown:
        tell, verifier = options.teller(shown), run.pipeline.verifier
        systems: list[Scorer | Unavailable] = [ByVerifier(verifier)]
        if baselines:
            systems += all_of(verifier, lambda: runtime.encoder(settings), settings.models.threads)
        predicted = [
            claims_.predict(file, systems, lambda name, *n, f=file.name: tell(f"{f} {name}", *n))
            for file in files
        ]
    results = [claims_.measured(one, settings.verify.threshold) for one in predicted]
    names = [one.file for one in predicted]
    if len(set(names)) < len(names):  # files of one name in several folders
        names = [str(file) for file in files]
    if plot:
        found = {name: claims_.curves(one) for name, one in zip(names, predicted, strict=True)}
        plots.precision_recall(plot, found)
        options.write(json.dumps(found) + "\n", plot.with_suffix(".json"))
    if reliability:
        found_bins = [result["systems"][0]["reliability"] or [] for result in results]
        bins = dict(zip(names, found_bins, strict=True))
        plots.reliability(reliability, bins)
        options.write(json.dumps(bins, indent=1) + "\n", reliability.with_suffix(".json"))
    if scores:
        rows = [row for one in predicted for row in claims_.lines(one, systems[0].name)]
        options.write("".join(json.dumps(row) + "\n" for row in rows), scores)
    second = []
    if opinions:
        adds = kept.log_ratios(kept.file_of(settings.library.judges), settings.judge.model)
        second = [
            {"file": name, **judges.measured(one, known, adds, settings.verify.threshold)}
            for name, one in zip(names, predicted, strict=True)
        ]
    if as_json:
        told = {"results": results, "versions": dict(run.versions)}
        click.echo(json.dumps({**told, "second_opinion": second} if second else told, indent=1))
        return
    click.echo(tables.claims_table(results))
    if second:
        click.echo(f"\n{tables.opinions_table(second)}")


@command.command("check")
@click.argument("corpus", type=options.FilePath)
@click.argument("labelled", type=options.FilePath)
@click.option("--html", "page", type=options.OutFile, help="One page with the plots.")
@keep_option
@json_option
@quiet_option
@options.model_options
@options.filter_options
def check(
    corpus: Path,
    labelled: Path,
    page: Path | None,
    keep: bool,
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """How often `pincite check` is right on CORPUS, by the statements of LABELLED.

    LABELLED has a JSON object a line: statement, label (confirmed, disconfirmed, inconclusive,
    not_judged), and if known type (descriptive, ascriptive, normative) and date. The first reading
    of the type that was judged answers for a statement.
    """
    from pincite.evaluation import labelled_statements, tables
    from pincite.verbs.check import build as build_check

    settings = options.settings_of({**given, "online": False})  # the web changes, CORPUS does not
    rows = labelled_statements.read_statements(labelled)
    threshold, predictions = settings.check.threshold, []
    with (
        build_check.checking(settings, corpus, keep=keep) as run,
        options.progress(quiet) as shown,
    ):
        tell = options.teller(shown)
        for number, row in enumerate(rows, start=1):
            found = run.pipeline.check(row.statement)
            predictions.append(labelled_statements.prediction(found, row, threshold))
            tell("statements", number, len(rows))
        versions = dict(run.versions)
    result = {
        "file": labelled.name,
        **labelled_statements.measured(rows, predictions),
        "rows": labelled_statements.lines(rows, predictions),
        "versions": versions,
    }
    if page:
        from pincite.verbs.check.html import measures_to_html as to_html

        options.write(to_html(result), page)
        options.say(f"html: {page.resolve()}", quiet or str(page) == "-")
    if str(page) != "-":
        click.echo(json.dumps(result, indent=1) if as_json else tables.check_table(result))


def _kept(corpus_file: Path, fingerprint: str) -> Path:
    """A folder in the cache for this very file, encoder and passage rule."""
    from pincite.models import weights
    from pincite.text.passages import PASSAGE_RULE

    stat = corpus_file.stat()
    name = f"{corpus_file.resolve()} {stat.st_size} {stat.st_mtime_ns} {fingerprint} {PASSAGE_RULE}"
    digest = hashlib.sha256(name.encode()).hexdigest()[:16]
    return weights.cache_folder().parent / "eval" / digest


def _index(
    where: Path | str, corpus_file: Path, encoder: Any, tell: Any, **how: Any
) -> tuple[float, Any]:
    """Fill the corpus with what it lacks; returns the seconds that took, and the intake."""
    from pincite.corpus import engines
    from pincite.library.update import ingest

    started = time.perf_counter()
    with engines.open_or_create(where, encoder) as corpus:
        intake = ingest(corpus, [corpus_file], lambda i: tell("indexing", i.n_read, None), **how)
    return round(time.perf_counter() - started, 1), intake


def _write_runs(folder: Path, split: str, runs: Any, qrels: Any) -> None:
    """`SYSTEM.run` and `SPLIT.qrels` in TREC's formats, for other tools."""
    from pincite.evaluation import trec

    folder.mkdir(parents=True, exist_ok=True)
    trec.write_qrels(folder / f"{split}.qrels", qrels)
    for name, run in runs.items():
        trec.write_run(folder / f"{name}.run", run, f"pincite-{name}")
