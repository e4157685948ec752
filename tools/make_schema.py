"""Write src/pincite/verbs/verify/report.schema.json from the shape that `verbs.verify.data` gives.

The schema is written by hand below in a short form and expanded here; a test checks that the file
is current, and that reports are valid by it.
"""

import json
from typing import Any, get_args

from pincite.types import Bar, CopyKind, Label, PartKind, Reason, Reliability, Stage
from pincite.verbs.verify import data

TEXT, NUMBER, WHOLE = {"type": "string"}, {"type": "number"}, {"type": "integer", "minimum": 0}
PROBABILITY = {"type": "number", "minimum": 0, "maximum": 1}
TEXTS = {"type": "array", "items": TEXT}
SPAN = {
    "description": "half-open character offsets",
    "type": "array",
    "items": WHOLE,
    "minItems": 2,
    "maxItems": 2,
}
LABEL = {"enum": [str(label) for label in Label]}
REASON = {"enum": [str(reason) for reason in Reason]}
SCALARS = {"additionalProperties": {"type": ["string", "number", "integer", "boolean", "null"]}}


def obj(**properties: Any) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def maybe(schema: dict[str, Any]) -> dict[str, Any]:
    return {"anyOf": [schema, {"type": "null"}]}


def listed(schema: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": schema}


EVIDENCE = obj(
    url=TEXT,
    title=TEXT,
    doc_id=TEXT,
    span=SPAN | {"description": "of the passage in the document's text"},
    passage=TEXT,
    quote=maybe(TEXT),
    quote_span=maybe(SPAN | {"description": "of the quote in the document's text"}),
    prob_supported=PROBABILITY,
    prob_refuted=PROBABILITY,
    prob_neutral=PROBABILITY,
    score=NUMBER | {"description": "log-odds of support; ranks evidence"},
    reasons=TEXTS,
)
PART = obj(
    kind={"enum": list(get_args(PartKind))},
    span=SPAN | {"description": "in the claim's text"},
    words=TEXT | {"description": "what the span covers"},
    text=TEXT | {"description": "what was judged: of a clause, with its subject"},
    supported={"type": "boolean"},
    prob_supported=maybe(PROBABILITY),
    prob_refuted=maybe(PROBABILITY),
    url=maybe(TEXT),
    quote=maybe(TEXT),
)
LISTING = maybe(
    obj(
        label={"enum": [str(label) for label in Reliability]},
        name=TEXT | {"description": "of the source, as the list calls it"},
        place=TEXT | {"description": "domain, or domain and path, that matched"},
        scope=TEXT | {"description": "what the judgement is limited to"},
        link=maybe(TEXT | {"description": "to the discussion"}),
        others=TEXTS | {"description": "what else the list says of this place"},
    )
    | {"description": "what a community's list says of the site; null if none was asked"}
)
PLACE = maybe(
    obj(
        page=maybe(TEXT) | {"description": "on which the quote stands; null without pages"},
        printed={"type": "boolean"}
        | {"description": "whether the page bears that number; else it is counted in the file"},
        cited=maybe(TEXT) | {"description": "where the citation points: p. 12, section History"},
        elsewhere={"type": "boolean"} | {"description": "the quote does not stand there"},
    )
    | {"description": "where in its source the quote stands; null if nothing is known of it"}
)
EXCLUSION = obj(url=TEXT, title=TEXT, reason={"enum": [str(bar) for bar in Bar]}, detail=TEXT)
PARTS = listed({"$ref": "#/$defs/part"})
COPY = obj(
    kind={"enum": [str(kind) for kind in CopyKind]},
    url=TEXT | {"description": "where a person finds it"},
    date=maybe(TEXT | {"description": "ISO; an archived copy's own, else when it was fetched"}),
)
WHY = obj(reason=REASON, detail=TEXT)
CITATION = obj(
    citation_id=TEXT,
    span=SPAN | {"description": "of this use in the article's source"},
    template=maybe(TEXT),
    title=maybe(TEXT),
    authors=TEXTS,
    publisher=maybe(TEXT),
    pages=maybe(TEXT),
    url=maybe(TEXT),
    doi=maybe(TEXT),
    pmid=maybe(TEXT),
    isbn=maybe(TEXT),
    archive_url=maybe(TEXT),
    url_status=maybe(TEXT | {"description": "of the citation's template"}),
    tags=TEXTS,
    reliability=LISTING,
    label=LABEL,
    clauses=PARTS | {"description": "all that were judged; none if the claim is one clause"},
    missing=PARTS | {"description": "of a claim supported wholly or in part"},
    copy=maybe(COPY) | {"description": "what was read; null if nothing was"},
    not_live=maybe(WHY)
    | {"description": "why an archived copy was read in place of the page itself"},
    changed=maybe(obj(copy=COPY, label=LABEL, evidence={"$ref": "#/$defs/evidence"}))
    | {"description": "today's page, where the archived copy bears more of the claim out"},
    unchecked=maybe(WHY),
    place=PLACE,
    evidence=maybe({"$ref": "#/$defs/evidence"}),
)
SUGGESTION = obj(
    url=TEXT,
    title=TEXT,
    published=maybe(TEXT),
    gain=NUMBER,
    reliability=LISTING,
    place=PLACE,
    evidence={"$ref": "#/$defs/evidence"},
)
FINDING = obj(
    rank={"type": "integer", "minimum": 1},
    claim_id=TEXT,
    claim=TEXT,
    sentence=TEXT | {"description": "the whole sentence that the claim is a part of"},
    part=maybe(SPAN | {"description": "of the sentence: what is judged of it"}),
    before=TEXT,
    section=TEXTS,
    span=maybe(SPAN | {"description": "of the claim in the article's source"}),
    tags=TEXTS,
    label=LABEL,
    score=maybe(NUMBER | {"description": "log-odds; ranks the findings of one verdict"}),
    prob_supported=maybe(PROBABILITY | {"description": "of the whole claim"}),
    source_changed={"type": "boolean", "description": "a citation has `changed`"},
    missing=PARTS | {"description": "parts that no source of the group bears out"},
    citations=listed(CITATION),
    together=maybe({"$ref": "#/$defs/evidence"}),
    suggestions=listed(SUGGESTION),
    n_candidates=WHOLE,
    excluded=listed(EXCLUSION)
    | {"description": "pages that were found and must not be suggested; at most ten"},
)
COUNTS = obj(
    references=WHOLE,
    claims=WHOLE,
    judged=WHOLE,
    labels=obj(**{str(label): WHOLE for label in Label}),
    citations_checked=WHOLE,
    citations_unchecked={
        "type": "object",
        "propertyNames": REASON,
        "additionalProperties": WHOLE,
    },
    with_suggestion=WHOLE,
)
TALLY = obj(
    uses=WHOLE | {"description": "of references"},
    sources=WHOLE | {"description": "distinct ones"},
)
FUNNEL = obj(
    references=WHOLE | {"description": "uses in the article, those at no claim included"},
    stages=obj(**{str(stage): TALLY for stage in Stage})
    | {"description": "how many citations came so far"},
    waiting=WHOLE | {"description": "uses whose claims were not come to: the run was stopped"},
    reasons={"type": "object", "propertyNames": REASON, "additionalProperties": TALLY}
    | {"description": "why citations were not judged, the most frequent first"},
    copies={
        "type": "object",
        "propertyNames": {"enum": [str(kind) for kind in CopyKind]},
        "additionalProperties": TALLY,
    }
    | {"description": "which copies were judged, the most frequent first"},
)
REPORT = obj(
    schema_version={"const": data.SCHEMA_VERSION},
    article=obj(title=TEXT, language=TEXT, revision_id=maybe(TEXT), url=maybe(TEXT)),
    complete={"type": "boolean"},
    counts=COUNTS,
    funnel=FUNNEL,
    flag_precision=listed(obj(base_rate=PROBABILITY, precision=PROBABILITY))
    | {"description": "share of flags that were right in tests, by share of citations that fail"},
    advice=maybe(TEXT),
    findings=listed(FINDING),
    warnings=TEXTS,
    settings={"type": "object", **SCALARS},
    versions={"type": "object", "additionalProperties": TEXT},
    created=TEXT,
)


def schema() -> str:
    """The file's content."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pincite report",
        "description": "What `pincite verify --json` writes.",
    }
    return (
        json.dumps({**head, **REPORT, "$defs": {"evidence": EVIDENCE, "part": PART}}, indent=1)
        + "\n"
    )


if __name__ == "__main__":
    data.SCHEMA.write_text(schema(), encoding="utf-8")
