"""Curves and bars as PNG files, by matplotlib without a display."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pincite.corpus import durable
from pincite.errors import InputError

_WIDTH, _HEIGHT, _DPI = 5.6, 4.8, 120  # inches per panel; dots per inch
_GREY = "#777777"

Points = Sequence[Mapping[str, float]]
Curves = Mapping[str, Mapping[str, Points]]  # part → system → points


def precision_recall(path: Path, files: Mapping[str, Curves]) -> None:
    """Plot precision over recall: one row of panels per file, one panel per part.

    Each system has a curve. The dashed line is the precision of flagging every row.
    """
    n_columns = max((len(parts) for parts in files.values()), default=1)
    figure, panels = new_figure(max(1, len(files)), n_columns)
    colours = _colours(files)
    for (file, parts), row in zip(files.items(), panels, strict=True):
        for column, axes in enumerate(row):
            if column >= len(parts):
                axes.set_axis_off()
                continue
            part = list(parts)[column]
            _curves(axes, parts[part], colours)
            axes.set_title(file if part == "all" else f"{file}: {part}", fontsize=9)
    save(figure, path)


def reliability(path: Path, files: Mapping[str, Sequence[Mapping[str, Any]]]) -> None:
    """Plot the share supported over mean probability, a panel per file, with rows per bin."""
    figure, panels = new_figure(1, max(1, len(files)))
    for (file, bins), axes in zip(files.items(), panels[0], strict=False):
        axes.plot([0, 1], [0, 1], "--", color=_GREY, linewidth=1, label="calibrated")
        means, shares = ([b[key] for b in bins] for key in ("mean_probability", "share_supported"))
        axes.plot(means, shares, "o-", label="pincite")
        for one, mean, share in zip(bins, means, shares, strict=True):
            axes.annotate(
                str(one["n"]), (mean, share), (0, 6), textcoords="offset points", fontsize=7
            )
        _label(axes, "mean probability of support", "share supported", file)
    save(figure, path)


def failed_verification(
    path: Path, failed: Mapping[str, Any] | None, depths: Mapping[str, Mapping[str, Any]]
) -> None:
    """Plot SIDE's figures 2c and 7: precision over recall of failing citations, and URL depths.

    `failed` and `depths` come from `wafer.measured` and `wafer.depths`; None leaves the first panel
    empty.
    """
    figure, (panels,) = new_figure(1, 2)
    if failed:
        part = next(iter(failed["curves"].values()))
        _curves(panels[0], part, _colours({"": failed["curves"]}))
        panels[0].set_title(f"failing citations against {failed['against']}", fontsize=9)
    else:
        panels[0].set_axis_off()
    ticks = sorted({int(depth) for one in depths.values() for depth in one["depths"]})
    for number, (group, one) in enumerate(depths.items()):
        shares = [one["depths"].get(str(depth), 0) / one["n"] for depth in ticks]
        places = [depth + (number - 1) * 0.28 for depth in ticks]
        panels[1].bar(places, shares, width=0.26, label=f"{group} (n = {one['n']})")
    panels[1].set(xlabel="path elements of the address", ylabel="share of citations", xticks=ticks)
    panels[1].legend(fontsize=8)
    save(figure, path)


def _curves(axes: Any, systems: Mapping[str, Points], colours: Mapping[str, str]) -> None:
    for name, points in systems.items():
        recalls, precisions = ([p[key] for p in points] for key in ("recall", "precision"))
        style: dict[str, Any] = {"color": colours[name], "linewidth": 1.3}
        if colours[name] == "C0":  # the first system is the one being measured: draw it on top
            style |= {"linewidth": 2.2, "zorder": 3}
        # A point's precision holds for all recalls down to the point before it.
        axes.step([0, *recalls], [precisions[0], *precisions], where="pre", label=name, **style)
    # The last point flags every row, so its precision is the share that fails.
    rates = {points[-1]["precision"] for points in systems.values()}
    for rate in rates:
        axes.axhline(rate, linestyle="--", color=_GREY, linewidth=1)
    _label(axes, "recall of failing citations", "precision", "")


def _label(axes: Any, x: str, y: str, title: str) -> None:
    axes.set(xlabel=x, ylabel=y, xlim=(-0.02, 1.02), ylim=(-0.02, 1.04), title=title)
    axes.title.set_fontsize(9)
    axes.grid(alpha=0.25)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="best")


def _colours(files: Mapping[str, Curves]) -> dict[str, str]:
    names = dict.fromkeys(n for parts in files.values() for one in parts.values() for n in one)
    return {name: f"C{number}" for number, name in enumerate(names)}


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
