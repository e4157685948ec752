"""The API does what its OpenAPI document says, whatever is sent to it."""

import json
from typing import Any

import ask_samples
import check_samples
import jsonschema
import pytest
import samples
import schemathesis
from hypothesis import HealthCheck, given, settings
from schemathesis.checks import load_all_checks
from schemathesis.core.failures import Failure, FailureGroup
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance
from server.corpora_of_tests import finished, ingested
from server.people_of_tests import MakeSite

from pincite.codec import to_json
from pincite.verbs.check.report import Interpretation
from pincite_server.app import create_app
from pincite_server.site import Site

URL = "/api/v1/openapi.json"
# What is well-formed may still be refused (a corpus that is not there, a title while offline), and
# a number that comes as text is understood.
LEFT_OUT = [positive_data_acceptance, negative_data_rejection]
ROOMY: dict[str, Any] = {"queue": 1_000_000, "hosts": ("testserver",)}
QUIET = settings(suppress_health_check=list(HealthCheck), derandomize=True, database=None)


def failures(site: Site, n_examples: int) -> dict[str, str]:
    """What goes wrong, by operation."""
    job_id = finished(site, result=samples.report().to_json(), files={"article": {"a": 1}})
    site.jobs.submit("local", "verify", "t", {"example": "article"})  # waits
    load_all_checks()
    api = schemathesis.openapi.from_asgi(URL, create_app(site))
    found: dict[str, str] = {}
    for each in api.get_all_operations():
        assert isinstance(each, Ok), each
        operation = each.ok()
        if operation.path.endswith("/readyz"):
            continue  # 503 on a slow machine, where the job has waited

        @settings(QUIET, max_examples=n_examples)
        @given(case=operation.as_strategy())
        def sent(case: Any) -> None:
            case.call_and_validate(excluded_checks=LEFT_OUT)
            if "job_id" in (case.path_parameters or {}):  # and to one that is there
                case.path_parameters["job_id"] = job_id
                case.call_and_validate(excluded_checks=LEFT_OUT)

        try:
            sent()
        except (FailureGroup, Failure) as error:
            found[operation.label] = str(error)
    return found


REPORTS = (samples.report(), check_samples.check_report(), ask_samples.everything())
RESULTS = [each.to_json() for each in REPORTS]
RESULTS += [to_json(Interpretation((), "rules")), to_json(ingested())]


@pytest.mark.parametrize("result", RESULTS, ids="verify check ask readings ingest".split())
def test_results_are_described(make_site: MakeSite, result: str) -> None:
    document = create_app(make_site(**ROOMY)).openapi()
    responses = document["paths"]["/api/v1/jobs/{job_id}/result"]["get"]["responses"]
    (found,) = responses["200"]["content"].values()
    schema = {**found["schema"], "components": document["components"]}
    jsonschema.Draft202012Validator(schema).validate(json.loads(result))


@pytest.mark.parametrize("n_examples", [5, pytest.param(200, marks=pytest.mark.slow)])
def test_every_answer_is_as_described(
    make_site: MakeSite, database_url: str, n_examples: int
) -> None:
    database = "" if database_url.startswith("sqlite") else database_url
    assert failures(make_site(database=database, **ROOMY), n_examples) == {}
