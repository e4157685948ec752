"""Results as tables for a terminal: one line a system, "n/a" where a measure means nothing."""

from collections.abc import Mapping, Sequence
from typing import Any

from pincite.library.judges import MeasuredJudge

_CLAIMS = {
    "w/o partial": "auroc_without_partial",
    "mixed": "auroc_mixed",
    "avg. prec.": "average_precision",
    "bal. acc.": "balanced_accuracy",
    "macro-F1": "macro_f1",
    "weighted F1": "weighted_f1",
    "accuracy": "accuracy",
    "ECE": "ece",
}
_Z = 1.96  # of a 95 % interval, in standard errors
_LEVELS = {
    "page": ("P@1", "SR@1", "SR@10", "SR@100", "SR@200", "RR", "R-Prec"),
    "evidence": ("P@1", "SR@1", "SR@10", "SR@100", "SR@200", "RR"),
    "answer_in_context": ("AiC@1", "AiC@10", "AiC@100", "AiC@200"),
}
_TABLE_4 = ("P@1", "SR@100", "SR@200", "R-Prec")
_BEIR = ("nDCG@10", "MAP@10", "R@100", "RR@10")
_NOTE = (
    "95 % bootstrap intervals; ECE over 15 bins. Without partial: WiCE's unanimous rows. Mixed: "
    "supported\nagainst partial rows, whose label is projected from sub-claims that disagree."
)


def claims_table(results: Sequence[Mapping[str, Any]]) -> str:
    """One table a file: systems by measures."""
    head = f"{'n':>5} {'AUROC':>22}" + "".join(f"{name:>12}" for name in _CLAIMS)
    lines = []
    for result in results:
        lines += [f"{result['file']} ({_counted(result['labels'])})", f"  {'':24}{head}"]
        lines += [f"  {one['system'][:23]:24}{_values(one)}" for one in result["systems"]]
        lines.append("")
    return "\n".join([*lines, _NOTE])


def judge_table(judge: MeasuredJudge) -> str:
    """How often a model gave each verdict, and what that adds to our log-odds, with intervals."""
    lines = [f"{judge.model}: {judge.rows} rows"]
    lines.append(f"{'verdict':18}{'supported':>10}{'others':>8}{'adds':>8}{'95 % interval':>18}")
    for verdict, (supported, others) in judge.counts.items():
        adds, error = judge.log_ratios[verdict], judge.errors[verdict]
        interval = f"{adds - _Z * error:+.2f} to {adds + _Z * error:+.2f}"
        lines.append(f"{verdict:18}{supported:10}{others:8}{adds:+8.2f}{interval:>18}")
    if judge.rates:
        caught, false_alarms = (f"{100 * rate:.0f} %" for rate in judge.rates)
        lines.append(
            f"Both together flag {caught} of the others and {false_alarms} of the supported rows."
        )
    return "\n".join(lines)


def opinions_table(results: Sequence[Mapping[str, Any]]) -> str:
    """Our own, the model's and both opinions' figures, the latter by the share of rows asked."""
    lines = []
    for result in results:
        labels = list(result["own"]["flagged"])
        lines.append(f"{result['file']}: {result['asked']} of {result['n']} rows have a verdict")
        flagged = "".join(f"{f'flags {label}':>18}" for label in labels)
        lines.append(f"  {'':22}{'AUROC':>8}{'accuracy':>10}{flagged}")
        systems = {"own": result["own"], "model alone": result["model"]}
        for share, found in result["both"].items():
            systems[f"both, {100 * float(share):g} % asked"] = found
        systems["both, fitted"] = result["fitted"]
        for name, one in systems.items():
            shares = "".join(f"{one['flagged'][label]:>18.3f}" for label in labels)
            lines.append(f"  {name:22}{_number(one['auroc']):>8}{one['accuracy']:>10.3f}{shares}")
        lines.append("")
    return "\n".join(lines)


def check_table(result: Mapping[str, Any]) -> str:
    """Measures of `check` on labelled statements, by type, and what was said for each label."""
    columns = ("n", "accuracy", "macro_f1", "sign_accuracy", "ece")
    lines = [f"{result['file'][:14]:14}" + "".join(f"{column:>15}" for column in columns)]
    for name, one in {"all": result, **result["by_type"]}.items():
        shown = ("n/a" if one[column] is None else f"{one[column]:g}" for column in columns)
        lines.append(f"{name:14}" + "".join(f"{value:>15}" for value in shown))
    low, high = result["accuracy_interval"]
    lines.append(f"accuracy: 95 % interval {low:g} to {high:g}")
    said = list(next(iter(result["confusion"].values())))
    lines += ["", f"{'label':14}" + "".join(f"{name:>15}" for name in said)]
    for label, counts in result["confusion"].items():
        lines.append(f"{label:14}" + "".join(f"{counts[name]:>15}" for name in said))
    wrong = [row for row in result["rows"] if row["said"] != row["label"]]
    lines += [""] * bool(wrong)
    lines += [f"{row['label']} ≠ {row['outcome']}: {row['statement']}" for row in wrong]
    return "\n".join(lines)


def beir_table(result: Mapping[str, Any]) -> str:
    """Systems by measures with intervals; then what the corpus lacks."""
    corpus = result["corpus"]
    lines = [
        f"{result['collection']} {result['split']}: {result['n']} queries, {corpus['documents']} "
        f"documents in {corpus['passages']} passages",
        f"{'':10}" + "".join(f"{name:>24}" for name in _BEIR),
    ]
    for name, values in result["systems"].items():
        intervals = {f"{key}_interval": value for key, value in values["intervals"].items()}
        shown = (_with_interval({**values, **intervals}, key) for key in _BEIR)
        lines.append(f"{name:10}" + "".join(f"{text:>24}" for text in shown))
    if missing := result["n_relevant_not_in_corpus"]:
        lines.append(
            f"{missing} of {result['n_relevant']} relevant documents are not in the corpus."
        )
    return "\n".join([*lines, "95 % bootstrap intervals over the queries."])


def wafer_table(result: Mapping[str, Any]) -> str:
    """SIDE's table 4 and figures 2c and 7 as text, as far as the collection has what they need."""
    lines = _levels_table(result) if "page" in result else []
    if "by_featured" in result:
        lines += _table_4(result)
    if failed := result["failed_verification"]:
        lines += _failed_table(failed)
    depths = sorted({int(d) for one in result["url_depth"].values() for d in one["depths"]})
    lines.append(f"{'path elements':20}{'n':>7}{'mean':>8}" + "".join(f"{d:>7}" for d in depths))
    for group, one in result["url_depth"].items():
        shares = (one["depths"].get(str(d), 0) / one["n"] for d in depths)
        row = "".join(f"{share:7.3f}" for share in shares)
        lines.append(f"{group:20}{one['n']:7}{one['mean']:8.2f}{row}")
    return "\n".join(lines)


def _levels_table(result: Mapping[str, Any]) -> list[str]:
    width = max(10, *(len(system) + 1 for system in result["page"]))
    lines = []
    for level, columns in _LEVELS.items():
        lines.append(f"{level:{width}}" + "".join(f"{column:>9}" for column in columns))
        for system in result["page"]:
            if row := result[level].get(system):
                shown = "".join(f"{row[column]:9.3f}" for column in columns)
                lines.append(f"{system:{width}}{shown}")
    left_out = result["evidence"]["n_without_marks"]
    return [*lines, f"{left_out} claims without marked evidence are left out below page level.", ""]


def _table_4(result: Mapping[str, Any]) -> list[str]:
    """P@1, SR@100, SR@200 and R-precision of pages for featured articles, others and all."""
    parts = {**result["by_featured"], "all": result}
    heads = [f"{f'{name} (n = {_n_of(one)})':>36}" for name, one in parts.items()]
    lines = [f"{'':20}" + "".join(heads), f"{'':20}" + "".join(f"{c:>9}" for c in _TABLE_4) * 3]
    for system in result["page"]:
        cells = (one["page"][system][column] for one in parts.values() for column in _TABLE_4)
        lines.append(f"{system:20}" + "".join(f"{100 * value:9.2f}" for value in cells))
    return [*lines, ""]


def _n_of(level: Mapping[str, Any]) -> int:
    """How many claims a result is over."""
    return int(next(iter(level["page"].values()))["n"])


def _failed_table(failed: Mapping[str, Any]) -> list[str]:
    counted = ", ".join(f"{n} {label}" for label, n in failed["labels"].items())
    lines = [
        f"failing citations against {failed['against']} ({counted}; "
        f"{failed['n_without_page']} without a stored page left out)",
        f"{'':20}{'n':>7}{'AUROC':>24}{'avg. prec.':>12}{'precision at recall 0.15':>26}",
    ]
    for name, one in failed["systems"].items():
        lines.append(
            f"{name:20}{one['n']:7}{_with_interval(one, 'auroc'):>24}"
            f"{_number(one['average_precision']):>12}{_number(one['precision_at_recall']):>26}"
        )
    return [*lines, ""]


def _values(system: Mapping[str, Any]) -> str:
    if "unavailable" in system:
        return f" {system['unavailable']}"
    projection = system["by_projection"]
    values = {**system, "auroc_mixed": projection["mixed"]["auroc"] if projection else None}
    rest = "".join(f"{_number(values[key]):>12}" for key in _CLAIMS.values())
    return f"{system['n']:5} {_with_interval(system, 'auroc'):>22}{rest}"


def _counted(labels: Mapping[str, int]) -> str:
    return ", ".join(f"{n} {label}" for label, n in labels.items() if n)


def _with_interval(values: Mapping[str, Any], key: str) -> str:
    interval = values[f"{key}_interval"]
    if values[key] is None or interval is None:
        return _number(values[key])
    return f"{values[key]:.3f} [{interval[0]:.3f}, {interval[1]:.3f}]"


def _number(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.3f}"


# What is measured of `ask` as tables for a terminal.

_MEASURES = ("precision", "recall", "f1")


def scifact_table(result: Mapping[str, Any]) -> str:
    """Measures by class beside Verif.ai's Table I; then F1 by the thresholds."""
    thresholds = result["thresholds"]
    lines = [f"SciFact, protocol {result['protocol']}: {result['n']} rows ({_mix(result['mix'])})"]
    if result["protocol"] == "verifai":
        lines.append(f"Verif.ai's own: {_mix(result['verifai']['mix'])}")
    parts = {"unseen": "rows that Pincite's verifier was not trained on"}
    parts["all_dev"] = "all rows of dev, cleaned alike"
    for part, title in parts.items():
        if result[part]:
            lines += ["", f"{title}: {result[part]['n']} ({_mix(result[part]['mix'])})"]
            lines += _by_class(result[part], thresholds)
    lines += ["", *_beside(result["side_by_side"])]
    if n_seen := result["n_seen_in_training"]:
        lines += ["", f"The other {n_seen} rows were seen in training: no result."]
    part = result["all_dev"] or result["unseen"]
    lines += ["", *(_grid(part["grid"]) if part else [])]
    return "\n".join([*lines, "95 % bootstrap intervals over the rows."])


def qa_table(result: Mapping[str, Any]) -> str:
    """What was measured of the questions, a part after another."""
    lines = [f"{result['file']}: {result['n']} questions"]
    shown = {"retrieval": _retrieved, "decisions": _given, "found": _found, "citations": _cited}
    for part, table in shown.items():
        if result.get(part):
            lines += ["", *table(result[part])]
    return "\n".join([*lines, "", "95 % bootstrap intervals over the questions."])


def _retrieved(retrieval: Mapping[str, Any]) -> list[str]:
    systems = retrieval["systems"]
    names = ("MAP@10", "P@10", "R@10", "RR@10")
    lines = [f"{'retrieval':12}" + "".join(f"{name:>24}" for name in names)]
    for system, values in systems.items():
        intervals = {f"{name}_interval": each for name, each in values["intervals"].items()}
        shown = (_interval({**values, **intervals}, name) for name in names)
        lines.append(f"{system:12}" + "".join(shown))
    if missing := retrieval["n_relevant_not_in_corpus"]:
        lines.append(f"{missing} of {retrieval['n_relevant']} papers are not in the corpus.")
    return lines


def _given(found: Mapping[str, Any]) -> list[str]:
    return _decided("papers given", found)


def _found(found: Mapping[str, Any]) -> list[str]:
    return _decided("papers found", found)


def _decided(title: str, found: Mapping[str, Any]) -> list[str]:
    head = "".join(f"{name:>24}" for name in ("accuracy", "macro-F1"))
    titled = f"{title}, n = {found['n']}"
    lines = [f"{titled:26}{head}  F1 by word"]
    rows = {f"always {found['majority']['word']}": found["majority"], **found["ways"]}
    for way, values in rows.items():
        words = ", ".join(f"{word} {of['f1']:.3f}" for word, of in values["classes"].items())
        shown = _interval(values, "accuracy") + _interval(values["macro"], "f1")
        lines.append(f"  {way:24}{shown}  {words}")
    return lines


def _cited(citations: Mapping[str, Any]) -> list[str]:
    lines = [
        f"citations of {citations['n']} answers by {citations['by']} "
        f"({citations['n_sentences']} sentences; {citations['n_abstained']} abstentions)"
    ]
    if citations["n"]:
        lines += [
            f"  {name:24}{_interval(citations, f'citation_{name}')}"
            for name in ("recall", "precision")
        ]
    return lines


def _by_class(part: Mapping[str, Any], thresholds: Mapping[str, float]) -> list[str]:
    titles = {
        "by_thresholds": f"supported from {thresholds['supported_from']:g}, contradicted from "
        f"{thresholds['contradicted_from']:g}",
        "by_likeliest": "the likeliest label",
    }
    lines = []
    for way, title in titles.items():
        found = part[way]
        lines.append(f"  {title:44}" + "".join(f"{name:>24}" for name in _MEASURES))
        rows = {**found["classes"], "weighted": found["weighted"], "macro": found["macro"]}
        lines += [
            f"    {name:13}{_count(values):>29}" + "".join(_interval(values, m) for m in _MEASURES)
            for name, values in rows.items()
        ]
        lines.append(f"    {'accuracy':42}{_interval(found, 'accuracy')}")
    return lines


def _grid(cells: Sequence[Mapping[str, float]]) -> list[str]:
    """Weighted F1 and macro-F1, supported_from down and contradicted_from across."""
    across = sorted({cell["contradicted_from"] for cell in cells})
    lines = ["weighted F1 (macro-F1) by supported_from, down, and contradicted_from, across"]
    lines.append(f"{'':6}" + "".join(f"{value:>16g}" for value in across))
    for down in sorted({cell["supported_from"] for cell in cells}):
        row = [cell for cell in cells if cell["supported_from"] == down]
        shown = (f"{cell['weighted_f1']:.3f} ({cell['macro_f1']:.3f})" for cell in row)
        lines.append(f"{down:<6g}" + "".join(f"{text:>16}" for text in shown))
    return lines


def _interval(values: Mapping[str, Any], measure: str) -> str:
    low, high = values[f"{measure}_interval"] or (float("nan"), float("nan"))
    return f"{values[measure]:.3f} [{low:.3f}, {high:.3f}]".rjust(24)


def _beside(found: Mapping[str, Any]) -> list[str]:
    """A row for each class and mean, and for each system its precision, recall and F1."""
    systems = found["figures"]
    wide = max(map(len, systems)) + 2
    lines = ["precision, recall, F1 as in Verif.ai's Table I", " " * 13]
    lines[1] += "".join(f"{name:>{max(wide, 19)}}" for name in systems)
    for place in dict.fromkeys(place for figures in systems.values() for place in figures):
        cells = ("".join(f"{v:6.2f}" for v in of.get(place, ())) for of in systems.values())
        lines.append(f"{place:13}" + "".join(f"{cell:>{max(wide, 19)}}" for cell in cells))
    return [*lines, found["note"]]


def _count(values: Mapping[str, Any]) -> str:
    return str(values.get("n", ""))


def _mix(mix: Mapping[str, float]) -> str:
    return ", ".join(f"{label} {share:.0%}" for label, share in mix.items())
