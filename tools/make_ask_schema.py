"""Write src/pincite/verbs/ask/ask.schema.json from the shape that `verbs.ask.data` gives."""

import json

from make_check_schema import USAGE
from make_schema import NUMBER, PROBABILITY, SPAN, TEXT, TEXTS, WHOLE, listed, maybe, obj

from pincite.answers import Retraction, Standing, Support
from pincite.verbs.ask import data

FLAG = {"type": "boolean"}
PLACES = listed(WHOLE) | {"description": "numbers of sentences, from 1"}
SETTING = {"anyOf": [{"type": ["string", "number", "integer", "boolean", "null"]}, TEXTS]}
SENTENCE = {"$ref": "#/$defs/sentence"}
IN_DOCUMENT = {"description": "half-open character offsets in the document's text"}
EVIDENCE = obj(
    url=TEXT,
    title=TEXT,
    doc_id=TEXT,
    about=TEXT | {"description": "what the verifier was told of the document"},
    span=SPAN | IN_DOCUMENT,
    passage=TEXT,
    quote=maybe(TEXT | {"description": "the closest sentence, verbatim"}),
    quote_span=maybe(SPAN | IN_DOCUMENT),
    prob_supported=PROBABILITY,
    prob_refuted=PROBABILITY,
    prob_neutral=PROBABILITY,
    score=NUMBER
    | {"description": "log-odds of support; of a copied sentence, that it answers the question"},
    reasons=TEXTS,
)
VERDICT = obj(
    written=TEXT | {"description": "the reference as the sentence has it"},
    number=maybe(WHOLE | {"description": "of the reference; null: there is no such"}),
    support={"enum": [str(support) for support in Support]},
    why=TEXT,
    evidence=maybe(EVIDENCE),
)
CHECKED = obj(
    text=TEXT | {"description": "without its marks"},
    span=SPAN | {"description": "in the answer, marks included"},
    marks=listed(obj(span=SPAN, ids=TEXTS)),
    standing={"enum": [str(standing) for standing in Standing]},
    inherited=FLAG | {"description": "its references are those of the sentence beside it"},
    notes=TEXTS,
    verdicts=listed(VERDICT),
)
REFERENCE = obj(
    number=WHOLE | {"description": "0: left out, so that no sentence names it"},
    ref_id=TEXT,
    relevance=NUMBER | {"description": "log-odds that it bears on the question"},
    verbatim=PLACES,
    retraction={"enum": [str(retraction) for retraction in Retraction]},
    supports=PLACES,
    contradicts=PLACES,
    doc_id=TEXT,
    url=TEXT,
    title=TEXT,
    text=TEXT,
    kind=TEXT,
    published=maybe(TEXT),
    fetched=maybe(TEXT),
    language=maybe(TEXT),
    meta={"type": "object", "additionalProperties": TEXT},
)
SEARCHED = obj(
    corpus=TEXT | {"description": "digest of what it held"},
    n_documents=WHOLE,
    mode=TEXT,
    filters=TEXT,
    found=TEXTS | {"description": "ids of the documents that were read, best first"},
    best=maybe(NUMBER | {"description": "relevance of the best of them"}),
    absent=TEXTS | {"description": "words of the question that none of them has"},
    only_abstracts=FLAG,
)
ANSWER = obj(
    question=TEXT,
    answer=TEXT,
    written_by=TEXT,
    is_extractive=FLAG | {"description": "its sentences are copied, not written by a model"},
    abstained=maybe(TEXT | {"description": "why there is no answer"}),
    complete=FLAG,
    cut=FLAG | {"description": "the writer was stopped before it ended"},
    failure=maybe(TEXT),
    sentences=listed(SENTENCE),
    references=listed(REFERENCE),
    dropped=listed(SENTENCE) | {"description": "by verification: no longer in the answer"},
    changes=listed(obj(before=SENTENCE, after=TEXT, why=TEXT)),
    left_out=listed(REFERENCE) | {"description": "retracted ones; without their texts"},
    searched=SEARCHED,
)
REPORT = obj(
    schema_version={"const": data.SCHEMA_VERSION},
    complete=FLAG,
    n_questions=WHOLE | {"description": "more than answers if the run was stopped"},
    answers=listed(ANSWER),
    usage=USAGE,
    warnings=TEXTS,
    settings={"type": "object", "additionalProperties": SETTING},
    versions={"type": "object", "additionalProperties": TEXT},
    created=TEXT,
)


def schema() -> str:
    """The file's content."""
    head = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "Pincite answer report",
        "description": "What `pincite ask --json` writes.",
    }
    return json.dumps({**head, **REPORT, "$defs": {"sentence": CHECKED}}, indent=1) + "\n"


if __name__ == "__main__":
    data.SCHEMA.write_text(schema(), encoding="utf-8")
