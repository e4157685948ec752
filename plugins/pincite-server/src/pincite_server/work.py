"""Do the work of one job in a worker process: take a request, return the result as JSON.

Events report progress to the user. `KeyboardInterrupt` stops the work early and keeps the partial
result.
"""

import dataclasses
import logging
from collections.abc import Mapping
from typing import Any

from pincite import codec
from pincite.corpus.protocol import Address
from pincite.errors import ConfigError, InputError, MissingExtra
from pincite.settings import Settings
from pincite.types import StatementType
from pincite.verbs.check import readings
from pincite.verbs.check.report import Interpretation
from pincite.verbs.check.spoken import Occasion
from pincite_server import verifying
from pincite_server.job_output import Done, Emit, report_fetching, report_item
from pincite_server.requests import KINDS, AskRequest, CheckRequest, VerifyRequest
from pincite_server.tables import Kind
from pincite_server.uploads import Sources

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
    settings = settings.replace(**body.settings.given())
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

        def interpretation(statement: str, occasion: Occasion = occasion) -> Interpretation:
            found = _readings(body, settings) or run.pipeline.interpretation(statement, occasion)
            emit("readings", {"readings": codec.values_of(found.readings), "by": found.by})
            return found

        if body.only_readings:
            return Done(codec.to_json(interpretation(body.statement[0])), complete=True)
        report = run.check(
            body.statement, report_item(body.statement, emit), interpretation, [occasion]
        )
    try:
        if not body.unlogged:
            render.log_checks(report, settings)
    except (ConfigError, MissingExtra) as error:  # the user gets the result anyway
        LOG.warning("not logged: %s", error)
    return Done(report.to_json(), report.complete)


def _readings(body: CheckRequest, settings: Settings) -> Interpretation | None:
    """The readings that the user chose or wrote; None if there are none."""
    if body.readings is None:
        return None
    parsed = []
    for each in body.readings:
        kind = StatementType(each.kind) if each.kind else None
        reading = readings.user_reading(each.text, settings.language, kind)
        if each.negation:
            reading = dataclasses.replace(reading, negation=each.negation)
        parsed.append(reading)
    return Interpretation(tuple(readings.with_ids(parsed)), "user")


def _ask(body: AskRequest, corpus: Mapping[str, Address], settings: Settings, emit: Emit) -> Done:
    from pincite.verbs.ask import build

    if body.repair is not None:
        settings = settings.replace(repair=body.repair)
    with build.asking(settings, corpus) as run:
        report = run.ask(
            body.question,
            report_item(body.question, emit),
            on_sentence=lambda checked: emit("sentence", codec.values_of(checked, 4)),
            on_draft=lambda n_verified, waiting: emit(
                "draft", {"after": n_verified, "texts": [*waiting]}
            ),
        )
    return Done(report.to_json(), report.complete)
