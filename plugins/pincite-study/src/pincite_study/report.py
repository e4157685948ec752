"""The report of a study, counted anew from its ratings each time: as JSON, page and figures."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pincite.errors import InputError
from pincite.report.cells import one_line
from pincite.server import rendering
from pincite.server.tables import iso
from pincite_study import plots, preferences, wording
from pincite_study.preferences import PAIRS, Pair
from pincite_study.studies import Study, StudyStore

BY_SCORE, BY_DIFFERENCE = "preferences-by-score.png", "preferences-by-difference.png"
OVER_ALL = "preferences.png"


def report_of(store: StudyStore, study: Study) -> dict[str, Any]:
    """Everything as JSON values, see `preferences.summary`."""
    items = store.items(study.study_id)
    compared = [item.compared(number) for number, item in items.items()]
    ratings = [given.rating for given in store.ratings(study.study_id)]
    about = {
        "study_id": study.study_id,
        "name": study.name,
        "sample": study.sample,
        "seed": study.seed,
        "compare": study.compare,
        "n_without_text": study.n_without_text,
        "n_one_passage": study.n_one_passage,
        "created": iso(study.created),
        "closed": iso(study.closed) if study.closed else None,
    }
    counted = preferences.summary(compared, ratings, study.per_item, study.compare)
    return {"study": about, **counted}


def as_text(report: Mapping[str, Any]) -> str:
    """The report in a few lines, for a terminal."""
    counts, tests, agreed = report["counts"], report["sign_test"], report["agreement"]
    pair, names = _pair(report), wording.preferences(report["study"]["compare"])
    baseline, tested = pair.sides
    lines = [
        f"{one_line(report['study']['name'])}: {counts['ratings']} ratings by "
        f"{counts['raters']} raters; {counts['items_with_enough_ratings']} of {counts['items']} "
        f"statements have at least {report['per_item']}",
        "",
        f"{'':20}{'answers':>8}  {'share (95 %)':18}{'majorities':>10}  share (95 %)",
    ]
    for answer, name in names.items():
        given, decided = report["preferences"].get(answer), report["majorities"][answer]
        shown = f"{given['n']:>8}  {_share(given):18}" if given else " " * 28
        lines.append(f"{name:20}{shown}{decided['n']:>10}  {_share(decided)}")
    test, single = tests["majorities"], tests["ratings"]
    kappa, alpha = (agreed["preference"][name] for name in ("fleiss_kappa", "krippendorff_alpha"))
    lines += [
        "",
        f"{names[tested]} against {names[baseline]}: {test[tested]} to {test[baseline]} "
        f"majorities, sign test p = {_number(test['p'])}; {single[tested]} to {single[baseline]} "
        f"answers, p = {_number(single['p'])}",
        f"agreement: Fleiss' kappa {_number(kappa)}, Krippendorff's alpha {_number(alpha)}",
        f"median time: {_number(report['seconds']['median'])} s",
    ]
    for name, test in report["systems"].items():
        lines.append(
            f"{one_line(name)} against the first: {test[tested]} to {test[baseline]} majorities, "
            f"sign test p = {_number(test['p'])}"
        )
    study = report["study"]
    if left_out := wording.left_out(
        study["n_without_text"], study["n_one_passage"], study["compare"]
    ):
        lines.append(left_out)
    return "\n".join(lines) + "\n"


def _share(one: Mapping[str, Any]) -> str:
    if one["share"] is None:
        return "–"
    low, high = one["interval"]
    return f"{one['share']:.0%} ({low:.0%}–{high:.0%})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def as_page(report: Mapping[str, Any]) -> str:
    """The report as one HTML file that asks for no other, in English."""
    return rendering.rendered("study_alone.html", "en", report=report, **named(report))


def named(report: Mapping[str, Any], translated: Callable[[str], str] = str) -> dict[str, Any]:
    """What `study_tables.html` calls the parts of a report."""
    return {
        "pair": _pair(report),
        "preferences": wording.preferences(report["study"]["compare"], translated),
        "evidence": wording.evidence(translated),
    }


def _pair(report: Mapping[str, Any]) -> Pair:
    return PAIRS[report["study"]["compare"]]


def drawn(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Figures in a folder: preferences and evidence by score, by difference, and over all.

    By difference only where something was suggested.

    Raises:
        InputError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be created: {error.strerror}.") from error
    pair, names = _pair(report), wording.preferences(report["study"]["compare"])
    scores = {
        BY_SCORE: (f"{pair.cited}_score", f"verifier's score of the {names[pair.cited]}"),
        BY_DIFFERENCE: ("difference", "suggestion's score above it"),
    }
    drawn_to = []
    for file, (key, score) in scores.items():
        if buckets := report["buckets"].get(key):
            drawn_to.append(folder / file)
            both = (names, wording.evidence())
            plots.preferences(drawn_to[-1], buckets, both, score=score, cited=pair.cited)
    plots.verdicts(folder / OVER_ALL, report["majorities"], names)
    return [*drawn_to, folder / OVER_ALL]
