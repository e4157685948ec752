"""Results as tables for a terminal: one line per system, "n/a" if a measure is undefined."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from pincite.llm.judge import Measured
from pincite_lab.evaluation.measures import MEASURES

_CLAIMS = {
    "w/o partial": "auroc_without_partial",
    "avg. prec.": "average_precision",
    "bal. acc.": "balanced_accuracy",
    "macro-F1": "macro_f1",
    "weighted F1": "weighted_f1",
    "accuracy": "accuracy",
    "ECE": "ece",
}
_LEVELS = {
    "page": ("P@1", "SR@1", "SR@10", "SR@100", "SR@200", "RR", "R-Prec"),
    "evidence": ("P@1", "SR@1", "SR@10", "SR@100", "SR@200", "RR"),
    "answer_in_context": ("AiC@1", "AiC@10", "AiC@100", "AiC@200"),
}
_TABLE_4 = ("P@1", "SR@100", "SR@200", "R-Prec")
_NOTE = "95 % bootstrap intervals; ECE over 15 bins; w/o partial: AUROC without partial rows."


def _grid(rows: Iterable[Sequence[str]]) -> list[str]:
    rows = list(rows)
    widths = [max(len(row[i]) if i < len(row) else 0 for row in rows)
              for i in range(max(map(len, rows), default=0))]  # fmt: skip
    return [
        "  ".join(
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=False))
        ).rstrip()
        for row in rows
    ]


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


def _with_interval(values: Mapping[str, Any], key: str) -> str:
    interval = values.get(f"{key}_interval") or values.get("intervals", {}).get(key)
    if values[key] is None or interval is None:
        return _number(values[key])
    return f"{values[key]:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def claims_table(results: Sequence[Mapping[str, Any]]) -> str:
    lines = []
    for result in results:
        counted = ", ".join(f"{n} {label}" for label, n in result["labels"].items() if n)
        rows = [["", "n", "AUROC", *_CLAIMS]]
        for one in result["systems"]:
            cells = [_number(one[key]) for key in _CLAIMS.values()]
            rows.append([f"  {one['system']}", str(one["n"]), _with_interval(one, "auroc"), *cells])
        lines += [f"{result['file']} ({counted})", *_grid(rows), ""]
        for one in result["systems"]:
            if of_pairs := one.get("languages"):
                lines += [*_languages(one["system"], of_pairs), ""]
        lines += [line for pair in result.get("side_by_side", ()) for line in _side_by_side(pair)]
    return "\n".join([*lines, _NOTE])


def _languages(system: str, of_pairs: Mapping[str, Mapping[str, Any]]) -> list[str]:
    rows = [[f"{system}, claim-passage", "n", "AUROC", "accused"]]
    for name, one in of_pairs.items():
        rows.append([f"  {name}", str(one["n"]), _number(one["auroc"]), _number(one["accused"])])
    return _grid(rows)


def _side_by_side(pair: Mapping[str, Any]) -> list[str]:
    called = {"both": "by both", "first_only": "only by the first"}
    called |= {"second_only": "only by the second"}
    rows = [["  called supported", "n", "right", "precision"]]
    for key, name in called.items():
        one = pair[key]
        interval = "" if one["n"] == 0 else " [{:.3f}, {:.3f}]".format(*one["interval"])
        cells = [str(one["n"]), str(one["right"]), _number(one["precision"]) + interval]
        rows.append([f"  {name}", *cells])
    agreed = f"agreement {_number(pair['agreement'])}, Cohen's kappa {_number(pair['kappa'])}"
    return [f"{pair['first']} and {pair['second']}, {pair['n']} rows: {agreed}", *_grid(rows), ""]


def judge_table(model: str, measured: Measured) -> str:
    rows = [["verdict", "supported", "others"]]
    for verdict, (supported, others) in measured.counts.items():
        rows.append([verdict, str(supported), str(others)])
    ours, alone, both = (f"{100 * share:.0f} %" for share in measured.right)
    right, said = measured.confirmed
    use = "it will count" if measured.confirms else "it will be shown as disputed"
    lines = [
        f"{model}: {measured.rows} rows",
        *_grid(rows),
        f"Right: Pincite alone {ours}, the model alone {alone}, supported by both {both}.",
        f"Where only the model finds support, {right} of {said} are supported: {use}.",
    ]
    if measured.rates:
        caught, false_alarms = (f"{100 * rate:.0f} %" for rate in measured.rates)
        lines.append(
            f"Both together flag {caught} of the others and {false_alarms} of the supported rows."
        )
    return "\n".join(lines)


def wafer_table(result: Mapping[str, Any]) -> str:
    """SIDE's table 4 and figure 2c as text, as far as the collection allows."""
    lines: list[str] = []
    if "page" in result:
        for level, columns in _LEVELS.items():
            rows = [[level, *columns]]
            rows += [
                [system, *(_number(result[level][system][column]) for column in columns)]
                for system in result["page"]
                if system in result[level]
            ]
            lines += _grid(rows)
        left_out = result["evidence"]["n_without_marks"]
        lines += [f"{left_out} claims without marked evidence are left out below page level.", ""]
    if "by_featured" in result:
        parts = {**result["by_featured"], "all": result}
        rows = [["", *(f"{column} {name}" for name in parts for column in _TABLE_4)]]
        for system in result["page"]:
            cells = [one["page"][system][column] for one in parts.values() for column in _TABLE_4]
            rows.append([system, *("n/a" if x is None else f"{100 * x:.2f}" for x in cells)])
        counts = {name: next(iter(one["page"].values()))["n"] for name, one in parts.items()}
        lines += [*_grid(rows), ", ".join(f"n = {n} {name}" for name, n in counts.items()), ""]
    if failed := result["failed_verification"]:
        counted = ", ".join(f"{n} {label}" for label, n in failed["labels"].items())
        rows = [["", "n", "AUROC", "avg. prec.", "precision at recall 0.15"]]
        for name, one in failed["systems"].items():
            precisions = _number(one["average_precision"]), _number(one["precision_at_recall"])
            rows.append([name, str(one["n"]), _with_interval(one, "auroc"), *precisions])
        head = (
            f"failing citations against {failed['against']} ({counted}; "
            f"{failed['n_without_page']} without a stored page left out)"
        )
        lines += [head, *_grid(rows), ""]
    return "\n".join(lines)


def scifact_table(result: Mapping[str, Any]) -> str:
    head = f"SciFact dev: {result['n']} rows; supported from {result['supported_from']:g}"
    rows: list[list[str]] = [["", "n", *MEASURES]]
    for name in (*result["classes"], "weighted", "macro"):
        values = result["classes"].get(name) or result[name]
        cells = [_with_interval(values, measure) for measure in MEASURES]
        rows.append([f"  {name}", str(values.get("n", "")), *cells])
    rows.append(["  accuracy", "", _with_interval(result, "accuracy")])
    return "\n".join([head, *_grid(rows), "95 % bootstrap intervals over the rows."])
