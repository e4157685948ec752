"""Do the work of one job in a worker process: take a request, return the result as JSON.

Events report progress to the user. `KeyboardInterrupt` stops the work early and keeps the partial
result.
"""

import dataclasses
import logging
from collections.abc import Mapping, Sequence
from typing import Any

from pincite import codec
from pincite.corpus.protocol import Address
from pincite.errors import ConfigError, InputError, MissingExtra
from pincite.protocols import Progress
from pincite.report import cells
from pincite.settings import Settings
from pincite.types import StatementType
from pincite.verbs.check import readings
from pincite.verbs.check.report import Interpretation
from pincite.verbs.check.spoken import Occasion
from pincite_server import verifying
from pincite_server.jobs import Done, Emit
from pincite_server.requests import KINDS, AskRequest, CheckRequest, VerifyRequest
from pincite_server.tables import Kind
from pincite_server.uploads import Sources
from pincite_server.verifying import SHOWN_CHARS, report_fetching

LOG = logging.getLogger("pincite.server.work")


def run(
    kind: Kind,
    request: Mapping[str, Any],
    corpus: Mapping[str, Address] | None,
    settings: Settings,
    emit: Emit,
    sent: Sources | None = None,
) -> Done:
    """Run a job of "verify", "check" or "ask".

    `corpus` has the addresses of the request's corpora, by name. `settings` are the server's, with
    the private copies of the job's owner; the request's settings override them. `sent` has the
    folders of the files that were uploaded with the request.

    Raises PinciteError: the job cannot be done; the message is for the user.
    """
    body = KINDS[kind].model_validate(request)
    settings = settings.replace(**body.settings.overrides())
    if isinstance(body, VerifyRequest):
        return verifying.verify(body, corpus, settings, emit, sent)
    if corpus is None:
        raise InputError("The corpus of the request no longer exists.")
    if isinstance(body, CheckRequest):
        return _check(body, corpus, settings, emit)
    return _ask(body, corpus, settings, emit)


def _check(
    body: CheckRequest, corpus: Mapping[str, Address], settings: Settings, emit: Emit
) -> Done:
    from pincite.verbs.check import build, render

    def judging(n_done: int, total: int) -> None:
        emit("asking", {"done": n_done, "total": total})

    with build.checking(settings, corpus, on_calls=judging, fetching=report_fetching(emit)) as run:
        occasion = Occasion(body.speaker, body.date, body.place)

        def interpret(statement: str, occasion: Occasion = occasion) -> Interpretation:
            meaning = _readings(body, settings) or run.pipeline.interpretation(statement, occasion)
            emit("readings", {"readings": codec.values_of(meaning.readings), "by": meaning.by})
            return meaning

        if body.only_readings:
            return Done(codec.to_json(interpret(body.statement[0])), complete=True)
        report = run.check(
            body.statement, _report_item(body.statement, emit), interpret, [occasion]
        )
    try:
        if not body.unlogged:
            render.log_checks(report, settings)
    except (ConfigError, MissingExtra) as error:  # the user gets the result anyway
        LOG.warning("not logged: %s", error)
    return Done(report.to_json(), report.complete)


def _report_item(texts: Sequence[str], emit: Emit) -> Progress:
    """Report which of several statements or questions is being worked on."""

    def progress(_step: str, n_done: int, total: int | None) -> None:
        if len(texts) > 1:
            text = cells.shorten(texts[n_done], SHOWN_CHARS)
            emit("item", {"done": n_done, "total": total, "number": n_done + 1, "text": text})

    return progress


def _readings(body: CheckRequest, settings: Settings) -> Interpretation | None:
    """The readings that the user chose or wrote; None if there are none."""
    if body.readings is None:
        return None
    parsed = []
    for choice in body.readings:
        kind = StatementType(choice.kind) if choice.kind else None
        reading = readings.user_reading(choice.text, settings.language, kind)
        if choice.negation:
            reading = dataclasses.replace(reading, negation=choice.negation)
        parsed.append(reading)
    return Interpretation(tuple(readings.with_ids(parsed)), "user")


def _ask(body: AskRequest, corpus: Mapping[str, Address], settings: Settings, emit: Emit) -> Done:
    from pincite.verbs.ask import build

    if body.repair is not None:
        settings = settings.replace(repair=body.repair)
    with build.asking(settings, corpus) as run:
        report = run.ask(
            body.question,
            _report_item(body.question, emit),
            on_sentence=lambda checked: emit("sentence", codec.values_of(checked, 4)),
            on_draft=lambda n_verified, waiting: emit(
                "draft", {"after": n_verified, "texts": [*waiting]}
            ),
        )
    return Done(report.to_json(), report.complete)
