"""Curves and bars as PNG files, by matplotlib without a display."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pincite import durable
from pincite.errors import usable

_WIDTH, _HEIGHT, _DPI = 5.6, 4.8, 120  # inches per panel; dots per inch
_GREY = "#777777"


def failed_verification(path: Path, failed: Mapping[str, Any]) -> None:
    """Plot SIDE's figure 2c: precision over recall of failing citations, from `wafer.measured`."""
    figure, ((axes,),) = new_figure(1, 1)
    for number, (name, points) in enumerate(failed["curves"].items()):
        recalls, precisions = ([p[key] for p in points] for key in ("recall", "precision"))
        style = {"linewidth": 1.3 if number else 2.2, "zorder": 2 if number else 3}
        # A point's precision holds for all recalls down to the point before it.
        axes.step([0, *recalls], [precisions[0], *precisions], where="pre", label=name, **style)
        # The last point flags every row, so its precision is the share that fails.
        axes.axhline(precisions[-1], linestyle="--", color=_GREY, linewidth=1)
    axes.set(xlabel="recall of failing citations", ylabel="precision")
    axes.set_title(f"failing citations against {failed['against']}", fontsize=9)
    axes.grid(alpha=0.25)
    axes.legend(fontsize=8, loc="best")
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
    with usable(path, "written"), durable.replacing(path) as part:
        figure.savefig(part, format="png")
