"""What is measured of `ask` as tables for a terminal."""

from collections.abc import Mapping, Sequence
from typing import Any

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
