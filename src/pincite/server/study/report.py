"""The report of a study, counted anew from its ratings each time: as JSON, page and figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pincite.errors import InputError
from pincite.evaluation import plots, preferences
from pincite.report.wording import one_line
from pincite.server.api.jobs import iso
from pincite.server.pages import rendering
from pincite.server.study.studies import Study, StudyStore

# What figures call the answers; the pages have the same in other languages.
PREFERENCES = {
    "suggested": "suggested citation",
    "existing": "existing citation",
    "neither": "neither",
    "both": "both alike",
    "unsure": "cannot tell",
    preferences.NO_MAJORITY: "no majority",
}
EVIDENCE = {
    "enough": "enough",
    "partial": "partial",
    "none": "none",
    preferences.NO_MAJORITY: "no majority",
}
FIGURES = ("preferences-by-score.png", "preferences-by-difference.png", "preferences.png")


def report_of(store: StudyStore, study: Study) -> dict[str, Any]:
    """Everything as JSON values, see `evaluation.preferences.summary`.

    Raises:
        MissingExtra: the libraries of agreement are not installed.
    """
    items = store.items(study.study_id)
    compared = [item.compared(number) for number, item in items.items()]
    ratings = [given.rating for given in store.ratings(study.study_id)]
    about = {
        "study_id": study.study_id,
        "name": study.name,
        "sample": study.sample,
        "seed": study.seed,
        "created": iso(study.created),
        "closed": iso(study.closed) if study.closed else None,
    }
    return {"study": about, **preferences.summary(compared, ratings, study.per_item)}


def as_text(report: Mapping[str, Any]) -> str:
    """The report in a few lines, for a terminal."""
    counts, tests, agreed = report["counts"], report["sign_test"], report["agreement"]
    lines = [
        f"{one_line(report['study']['name'])}: {counts['ratings']} ratings by "
        f"{counts['raters']} raters; {counts['items_with_enough_ratings']} of {counts['items']} "
        f"statements have at least {report['per_item']}",
        "",
        f"{'':20}{'answers':>8}  {'share (95 %)':18}{'majorities':>10}  share (95 %)",
    ]
    for answer, name in PREFERENCES.items():
        given, decided = report["preferences"].get(answer), report["majorities"][answer]
        shown = f"{given['n']:>8}  {_share(given):18}" if given else " " * 28
        lines.append(f"{name:20}{shown}{decided['n']:>10}  {_share(decided)}")
    test, single = tests["majorities"], tests["ratings"]
    kappa, alpha = (agreed["preference"][name] for name in ("fleiss_kappa", "krippendorff_alpha"))
    lines += [
        "",
        f"suggested against existing: {test['suggested']} to {test['existing']} majorities, "
        f"sign test p = {_number(test['p'])}; {single['suggested']} to {single['existing']} "
        f"answers, p = {_number(single['p'])}",
        f"agreement: Fleiss' kappa {_number(kappa)}, Krippendorff's alpha {_number(alpha)}",
        f"median time: {_number(report['seconds']['median'])} s",
    ]
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
    return rendering.rendered(
        "study_alone.html", "en", report=report, preferences=PREFERENCES, evidence=EVIDENCE
    )


def drawn(report: Mapping[str, Any], folder: Path) -> list[Path]:
    """Three figures in a folder: preferences and evidence by score, by difference, and over all.

    Raises:
        MissingExtra: matplotlib is not installed.
        InputError: the folder cannot be written.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made: {error.strerror}.") from error
    by_score, by_difference, over_all = (folder / name for name in FIGURES)
    names = (PREFERENCES, EVIDENCE)
    buckets = report["buckets"]
    scores = ("verifier's score of the existing citation", "suggestion's score above it")
    plots.preferences(by_score, buckets["existing_score"], names, scores[0])
    plots.preferences(by_difference, buckets["difference"], names, scores[1])
    plots.verdicts(over_all, report["majorities"], PREFERENCES)
    return [by_score, by_difference, over_all]
