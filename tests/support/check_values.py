"""The JSON of a check, flattened for tests that look at a few of its values."""

from typing import Any


def readings(report: Any) -> list[dict[str, Any]]:
    """Of the first statement: each reading with its weight, and its `evidence` flat."""
    return [
        {
            **result,
            **result["reading"],
            **result["weight"],
            "evidence": [_flat(item) for item in result["items"]],
        }
        for result in report["checks"][0]["results"]
    ]


def _flat(item: dict[str, Any]) -> dict[str, Any]:
    outcome, passage = item["outcome"], item["outcome"]["passage"]
    failed = {key: outcome[key] for key in ("step", "detail")} if "step" in outcome else None
    found = {**passage, **item, **outcome, "passage": passage["text"], "failed": failed}
    return found | {"quote": outcome.get("quoted") or None}
