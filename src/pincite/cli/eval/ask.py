"""`pincite eval scifact` and `qa`: how good are the verdicts and the answers of `pincite ask`?"""

import json
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.cli.options import json_option, quiet_option

PARTS = ("retrieval", "decisions", "found", "citations")


def settings_options(command: Any) -> Any:
    """The settings that decide a verdict."""
    return options.added(
        command,
        [
            options.config_option,
            click.option("--verifier", help="Name, folder or Hugging Face id of the verifier."),
            click.option("--supported-from", type=float, help="Probability that supports. [0.5]"),
            click.option(
                "--contradicted-from", type=float, help="Probability that contradicts. [0.5]"
            ),
            click.option("--threads", type=int, help="Threads of the models; 0: all cores. [0]"),
        ],
    )


@click.command("scifact")
@click.argument("folder", type=options.FilePath)
@click.option(
    "--protocol",
    type=click.Choice(["official-dev", "verifai"]),
    default="official-dev",
    show_default=True,
)
@json_option
@quiet_option
@settings_options
def scifact(folder: Path, protocol: str, as_json: bool, quiet: bool, **given: Any) -> None:
    """Precision, recall and F1 of SUPPORT, CONTRADICT, NO_EVIDENCE on SciFact, abstracts given.

    FOLDER holds corpus, claims_train and claims_dev (.jsonl, plain or .gz). official-dev judges
    each claim of the dev split with each abstract that it cites. verifai does it on a tenth of
    train and dev, as Verif.ai's Table I; only those of its rows that Pincite's verifier was not
    trained on count. Judged pairs are kept, so a stopped run goes on.
    """
    from pincite.evaluation import scifact as scifact_
    from pincite.evaluation import tables
    from pincite.verbs.ask import build as build_ask
    from pincite.verbs.verify import build

    settings = options.settings_of(given)
    rows = scifact_.rows_of(folder, protocol)
    with build.verifying(settings, None, None) as run, options.progress(quiet) as shown:
        tell = options.teller(shown)
        checker = build_ask.checker(settings, run.pipeline.verifier)
        judged = scifact_.judge(rows, checker, lambda *n: tell("pairs", *n))
        thresholds = (settings.ask.supported_from, settings.ask.contradicted_from)
        result = scifact_.measured(judged, protocol, *thresholds)
        result["versions"] = dict(run.versions)
    click.echo(json.dumps(result, indent=1) if as_json else tables.scifact_table(result))


@click.command("qa")
@click.argument("file", type=options.FilePath)
@click.option("--corpus", type=options.Address, required=True, help="Where the papers are.")
@click.option("--limit", type=click.IntRange(min=1), help="Only so many questions.  [all]")
@click.option("--part", "parts", multiple=True, type=click.Choice(PARTS), help="[all]")
@click.option("--system", "systems", multiple=True, help="Only this one; may be repeated.  [all]")
@json_option
@quiet_option
@settings_options
def qa(
    file: Path,
    corpus: Path | str,
    limit: int | None,
    parts: tuple[str, ...],
    systems: tuple[str, ...],
    as_json: bool,
    quiet: bool,
    **given: Any,
) -> None:
    """Retrieval, yes or no, and citations on PubMedQA's or BioASQ's questions (JSON, plain or .gz).

    \b
    retrieval   MAP@10, P@10, R@10 and RR@10 of each way to search
    decisions   yes, no or maybe by what the papers that answer the question say of it
    found       the same by what the first papers that `ask` finds say of it
    citations   of the answers that `ask` gives: do their references support them?

    The corpus has to hold the papers; tools/pubmedqa_documents.py makes documents of PubMedQA.
    --limit takes a random part, the same each time. Judged pairs are kept: a stopped run goes on.
    """
    from pincite.evaluation import qa as qa_
    from pincite.evaluation import tables
    from pincite.evaluation.questions import read_questions, sample
    from pincite.verbs.ask import build as build_ask

    settings = options.settings_of(given)
    questions = sample(read_questions(file), limit)
    with build_ask.asking(settings, corpus) as run, options.progress(quiet) as shown:
        tell = options.teller(shown)
        result = {
            "file": file.name,
            "n": len(questions),
            **qa_.measured(questions, run.pipeline, parts or PARTS, systems, tell),
            "versions": dict(run.versions),
        }
    click.echo(json.dumps(result, indent=1) if as_json else tables.qa_table(result))
