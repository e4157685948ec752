"""What `pincite eval check` measured, as one self-contained HTML page with its plot."""

from collections.abc import Mapping
from typing import Any

from pincite.judgement.confirmation import Outcome
from pincite.report import templates
from pincite.verbs.check import wording

SIDE = 320  # of the plot's square, in pixels


def to_html(result: Mapping[str, Any]) -> str:
    """The page as text; everything of the statements is escaped."""
    points = [
        {
            "x": round(one["mean_probability"] * SIDE, 1),
            "y": round((1 - one["share_supported"]) * SIDE, 1),
            "r": round(3 + 2 * one["n"] ** 0.5, 1),
            "title": f"{one['mean_probability']:.2f} said, {one['share_supported']:.2f} true, "
            f"{one['n']} statements",
        }
        for one in result["reliability"]
    ]
    said = list(next(iter(result["confusion"].values())))
    return templates.page("check_measures.html.j2").render(
        result=result,
        groups={"all": result, **result["by_type"]},
        names={name: name.replace("_", " ") for name in (*result["confusion"], *said)},
        rows=[_row(row) for row in result["rows"]],
        said=said,
        points=points,
        side=SIDE,
        css=templates.style("check_measures.css"),
    )


def _row(row: Mapping[str, Any]) -> dict[str, Any]:
    """A statement as its line of the table shows it."""
    return {
        **row,
        "right": row["said"] == row["label"],
        "outcome": wording.LABELS[Outcome(row["outcome"])],
        "degree": wording.signed(row["doc"]),
    }
