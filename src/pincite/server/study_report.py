"""The report of a study, counted anew from its ratings each time: as JSON, page and figures."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pincite.evaluation import plots, preferences
from pincite.server.api_jobs import iso
from pincite.server.pages import rendering
from pincite.server.studies import Study, StudyStore

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
    by_score, by_difference, over_all = (folder / name for name in FIGURES)
    names = (PREFERENCES, EVIDENCE)
    buckets = report["buckets"]
    scores = ("verifier's score of the existing citation", "suggestion's score above it")
    plots.preferences(by_score, buckets["existing_score"], names, scores[0])
    plots.preferences(by_difference, buckets["difference"], names, scores[1])
    plots.verdicts(over_all, report["majorities"], PREFERENCES)
    return [by_score, by_difference, over_all]
