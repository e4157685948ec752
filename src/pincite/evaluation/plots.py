"""Curves and bars as PNG files, by matplotlib without a display."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pincite.corpus import durable
from pincite.errors import InputError

_WIDTH, _HEIGHT, _DPI = 5.6, 4.8, 120  # inches per panel; dots per inch
_GREY = "#777777"


def failed_verification(
    path: Path, failed: Mapping[str, Any] | None, depths: Mapping[str, Mapping[str, Any]]
) -> None:
    """Plot SIDE's figures 2c and 7: precision over recall of failing citations, and URL depths.

    `failed` and `depths` come from `wafer.measured` and `wafer.depths`; None leaves the first panel
    empty.
    """
    figure, ((curves, bars),) = new_figure(1, 2)
    if failed:
        for number, (name, points) in enumerate(failed["curves"].items()):
            recalls, precisions = ([p[key] for p in points] for key in ("recall", "precision"))
            style = {"linewidth": 1.3 if number else 2.2, "zorder": 2 if number else 3}
            # A point's precision holds for all recalls down to the point before it.
            recalls, precisions = [0, *recalls], [precisions[0], *precisions]
            curves.step(recalls, precisions, where="pre", label=name, **style)
            # The last point flags every row, so its precision is the share that fails.
            curves.axhline(points[-1]["precision"], linestyle="--", color=_GREY, linewidth=1)
        curves.set(xlabel="recall of failing citations", ylabel="precision")
        curves.set_title(f"failing citations against {failed['against']}", fontsize=9)
        curves.grid(alpha=0.25)
        curves.legend(fontsize=8, loc="best")
    else:
        curves.set_axis_off()
    ticks = sorted({int(depth) for one in depths.values() for depth in one["depths"]})
    for number, (group, one) in enumerate(depths.items()):
        shares = [one["depths"].get(str(depth), 0) / one["n"] for depth in ticks]
        places = [depth + (number - 1) * 0.28 for depth in ticks]
        bars.bar(places, shares, width=0.26, label=f"{group} (n = {one['n']})")
    bars.set(xlabel="path elements of the address", ylabel="share of citations", xticks=ticks)
    bars.legend(fontsize=8)
    save(figure, path)


def new_figure(n_rows: int, n_columns: int) -> tuple[Any, Any]:
    """Return a figure and its axes, (n_rows, n_columns); needs the extra `eval`."""
    from matplotlib.figure import Figure

    size = (_WIDTH * n_columns, _HEIGHT * n_rows)
    figure = Figure(figsize=size, dpi=_DPI, layout="constrained")
    return figure, figure.subplots(n_rows, n_columns, squeeze=False)


def save(figure: Any, path: Path) -> None:
    """Write a figure as PNG.

    Raises:
        InputError: `path` cannot be written.
    """
    try:
        with durable.replacing(path) as part:
            figure.savefig(part, format="png")
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}") from error
