"""What `pincite eval check` measured, as one self-contained HTML page with its plot."""

from collections.abc import Mapping
from typing import Any

from pincite.report import templates

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
    return templates.page("check_measures.html.j2").render(
        result=result,
        groups={"all": result, **result["by_type"]},
        said=list(next(iter(result["confusion"].values()))),
        points=points,
        side=SIDE,
        css=templates.style(),
    )
