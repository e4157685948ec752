"""Write src/pincite/verbs/check/check.schema.json from the shape that `verbs.check.data` gives."""

import json
from typing import Any, get_args

from make_schema import NUMBER, PROBABILITY, SCALARS, SPAN, TEXT, TEXTS, WHOLE, listed, maybe, obj

from pincite.checks import FailedStep, Outcome, ReadingOrigin, StatementType
from pincite.verbs.check import data, wording

DEGREE = {"type": "number", "minimum": -1, "maximum": 1}
FAILED = obj(step={"enum": list(get_args(FailedStep))}, detail=TEXT)
FAILURE = {"$ref": "#/$defs/failed"}
INTERVAL = {"type": "array", "items": DEGREE, "minItems": 2, "maxItems": 2}
WEIGHT: dict[str, Any] = {
    "outcome": {"enum": [str(outcome) for outcome in Outcome]},
    "doc": maybe(DEGREE | {"description": "mean degree of confirmation; null without evidence"}),
    "n_texts": WHOLE | {"description": "that speak for or against; copies count once"},
    "n_silent": WHOLE,
    "n_failed": WHOLE | {"description": "passages that could not be judged"},
    "variance": maybe(NUMBER),
    "spread": maybe(NUMBER | {"description": "standard deviation"}),
    "interval": maybe(INTERVAL | {"description": "95 % of doc, by bootstrap"}),
    "contradictions": listed(WHOLE) | {"description": "places in the evidence"},
}
EVIDENCE = obj(
    side={"enum": ["for", "against", "silent", "failed"]},
    doc=maybe(DEGREE),
    prob_reading=maybe(PROBABILITY | {"description": "P(first option | I, D)"}),
    prob_negation=maybe(PROBABILITY | {"description": "P(first option | non-I, D), or refuted"}),
    strong_contradiction={"type": "boolean"},
    text_id=WHOLE | {"description": "equal for overlapping windows of one text"},
    url=TEXT,
    title=TEXT,
    published=maybe(TEXT),
    meta={"type": "object", "additionalProperties": TEXT},
    copies=TEXTS | {"description": "addresses of pages that say the same words"},
    doc_id=TEXT,
    span=SPAN | {"description": "of the passage in the document's text"},
    passage=TEXT,
    quote=maybe(TEXT),
    quote_span=maybe(SPAN | {"description": "of the quote in the document's text"}),
    reasons=TEXTS,
    analysis=TEXT | {"description": "what a model wrote before it chose"},
    failed=maybe(FAILURE),
)
LEVELS = {"enum": [*sorted({v for v in wording.SEED_LEVELS.values() if v}), None]}
READING = obj(
    reading_id=TEXT,
    text=TEXT,
    kind={"enum": [str(kind) for kind in StatementType]},
    negation=TEXT,
    origin={"enum": list(get_args(ReadingOrigin))},
    **WEIGHT,
    level=LEVELS | {"description": "EvidenceSeeker's word for the outcome"},
    summary=TEXT,
    warning=maybe(TEXT),
    as_of=listed(obj(year=TEXT, **WEIGHT)),
    evidence=listed({"$ref": "#/$defs/evidence"}),
)
CHECK = obj(
    statement=TEXT,
    complete={"type": "boolean"},
    interpreted_by=TEXT,
    failures=listed(FAILURE),
    readings=listed(READING),
)
USAGE = obj(
    n_calls=WHOLE,
    n_failed=WHOLE,
    n_unreadable=WHOLE,
    n_reused=WHOLE,
    n_prompt_tokens=WHOLE,
    n_reply_tokens=WHOLE,
    cost=NUMBER,
    seconds=NUMBER,
)
REPORT = obj(
    schema_version={"const": data.SCHEMA_VERSION},
    complete={"type": "boolean"},
    n_statements=WHOLE | {"description": "more than checks if the run was stopped"},
    checks=listed(CHECK),
    usage=USAGE,
    warnings=TEXTS,
    settings={"type": "object", **SCALARS},
    versions={"type": "object", "additionalProperties": TEXT},
    created=TEXT,
)


def schema() -> str:
    """The file's content."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pincite check report",
        "description": "What `pincite check --json` writes.",
    }
    parts = {"evidence": EVIDENCE, "failed": FAILED}
    return json.dumps({**head, **REPORT, "$defs": parts}, indent=1) + "\n"


if __name__ == "__main__":
    data.SCHEMA.write_text(schema(), encoding="utf-8")
