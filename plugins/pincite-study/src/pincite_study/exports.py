"""A study's ratings for other programs: a table, JSON lines, Label Studio.

Sources stand in them as passage, quote and address; whole texts only in the export that a study is
made again from (`StudyStore.exported`).
"""

import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, get_args

from pincite.report.cells import csv_text
from pincite_study.blind import Side, shown
from pincite_study.items import Item
from pincite_study.preferences import PAIRS, Comparison
from pincite_study.studies import Given, Study, StudyStore

Format = Literal["json", "csv", "jsonl", "label-studio"]
FORMATS: tuple[Format, ...] = get_args(Format)
MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json",
    "csv": "text/csv; charset=utf-8",
    "jsonl": "application/jsonl",
    "label-studio": "application/json",
}
# What Label Studio shows; tasks name the same fields. Pairwise knows two answers only, so that
# "neither", "both" and "can't tell" are a choice beside it.
LABEL_STUDIO_CONFIG = """<View>
  <Header value="Which of the two supports the statement better?"/>
  <Text name="statement" value="$statement"/>
  <Pairwise name="better" toName="a,b"/>
  <View style="display: grid; grid-template-columns: 1fr 1fr; gap: 1em">
    <Text name="a" value="$a"/>
    <Text name="b" value="$b"/>
  </View>
  <Choices name="otherwise" toName="statement" choice="single">
    <Choice value="neither"/><Choice value="both"/><Choice value="unsure"/>
  </Choices>
  <Header value="Evidence in A"/>
  <Choices name="evidence_a" toName="a" choice="single">
    <Choice value="enough"/><Choice value="partial"/><Choice value="none"/>
  </Choices>
  <Header value="Evidence in B"/>
  <Choices name="evidence_b" toName="b" choice="single">
    <Choice value="enough"/><Choice value="partial"/><Choice value="none"/>
  </Choices>
</View>
"""


def exported(store: StudyStore, study: Study, form: Format, *, texts: bool = False) -> str:
    """A study as a file of this format; `texts`: JSON with the sources' whole texts."""
    if form == "json":
        values = store.exported(study, texts=texts)
        return f"{json.dumps(values, ensure_ascii=False, indent=1)}\n"
    items, ratings = store.items(study.study_id), store.ratings(study.study_id)
    if form == "label-studio":
        tasks = label_studio(items, ratings)
        return f"{json.dumps(tasks, ensure_ascii=False, indent=1)}\n"
    listed = rows(study, items, ratings)
    return as_csv(listed, study.compare) if form == "csv" else as_jsonl(listed)


def rows(study: Study, items: Mapping[int, Item], ratings: Sequence[Given]) -> list[dict[str, Any]]:
    """A flat row for each rating, in the order in which they were given."""
    baseline, tested = PAIRS[study.compare].sides
    found = []
    for given in ratings:
        item, rating = items[given.item], given.rating
        found.append(
            {
                "study": study.study_id,
                "item": given.item,
                "claim_id": item.claim_id,
                "article": item.article,
                "claim": item.claim,
                f"{baseline}_url": item.baseline.url,
                f"{tested}_url": item.tested.url,
                f"{baseline}_score": _rounded(item.baseline.score),
                f"{tested}_score": _rounded(item.tested.score),
                "rater": given.rater,
                "position": given.position,
                f"{baseline}_side": "a" if given.baseline_first else "b",
                "answer": given.answer,
                "choice": given.choice,
                f"evidence_{baseline}": rating.evidence.get(baseline),
                f"evidence_{tested}": rating.evidence.get(tested),
                "seconds": round(given.seconds, 1),
                "n_answers": given.n_answers,
                "answered": _iso(given.answered),
            }
        )
    return found


def as_csv(listed: Sequence[Mapping[str, Any]], compare: Comparison) -> str:
    """Rows with a header; no text can become a formula."""
    columns = _columns(compare)
    return csv_text(columns, ([row[name] for name in columns] for row in listed))


def as_jsonl(listed: Sequence[Mapping[str, Any]]) -> str:
    """Rows as JSON lines."""
    return "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in listed)


def label_studio(items: Mapping[int, Item], ratings: Sequence[Given]) -> list[dict[str, Any]]:
    """Tasks with their annotations, as Label Studio imports and exports them.

    A task is an item with its sides in one order: one that raters saw in both orders is two tasks.
    """
    found: dict[tuple[int, bool], list[Given]] = defaultdict(list)
    for given in ratings:
        found[given.item, given.baseline_first].append(given)
    for number in items:
        if (number, True) not in found and (number, False) not in found:
            found[number, True] = []  # not rated yet
    return [
        _task(number, items[number], first, each) for (number, first), each in sorted(found.items())
    ]


def _task(number: int, item: Item, first: bool, ratings: Sequence[Given]) -> dict[str, Any]:
    seen = shown(item, first)
    baseline, tested = PAIRS[item.compare].sides
    section = " › ".join((seen.article, *seen.section))
    return {
        "id": 2 * number - first,
        "data": {
            "item": number,
            "statement": f"{section}\n\n{seen.before} {seen.claim}".strip(),
            "a": _text(seen.a),
            "b": _text(seen.b),
            f"{baseline}_side": "a" if first else "b",
            f"{baseline}_score": item.baseline.score,
            f"{tested}_score": item.tested.score,
        },
        "annotations": [
            {
                "id": 1000 * (2 * number - first) + given.rater,
                "completed_by": given.rater,
                "created_at": _iso(given.answered),
                "lead_time": round(given.seconds, 1),
                "was_cancelled": False,
                "ground_truth": False,
                "result": list(_result(given)),
            }
            for given in ratings
        ],
    }


def _result(given: Given) -> Iterator[dict[str, Any]]:
    if given.answer in ("a", "b"):
        value = {"selected": "left" if given.answer == "a" else "right"}
        yield _one("better", "a,b", "pairwise", value)
    else:
        yield _one("otherwise", "statement", "choices", {"choices": [given.answer]})
    for side, amount in (("a", given.evidence_a), ("b", given.evidence_b)):
        if amount:
            yield _one(f"evidence_{side}", side, "choices", {"choices": [amount]})


def _one(name: str, to: str, kind: str, value: Mapping[str, Any]) -> dict[str, Any]:
    return {"id": name, "from_name": name, "to_name": to, "type": kind, "value": dict(value)}


def _text(side: Side) -> str:
    passage = side.passage
    return passage.head + passage.mark + passage.tail


def _iso(at: float) -> str:
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="seconds")


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 4)


def _columns(compare: Comparison) -> list[str]:
    """The names of a row's values, also where there is no row."""
    baseline, tested = PAIRS[compare].sides
    return (
        f"study item claim_id article claim {baseline}_url {tested}_url {baseline}_score "
        f"{tested}_score rater position {baseline}_side answer choice evidence_{baseline} "
        f"evidence_{tested} seconds n_answers answered"
    ).split()
