"""Bars of what raters preferred, as PNG files."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pincite import durable
from pincite.errors import usable

_WIDTH, _HEIGHT, _DPI = 5.6, 4.8, 120  # inches per panel; dots per inch
Names = Mapping[str, str]  # what stands in a figure for an answer, in the order of the bars


def preferences(
    path: Path,
    buckets: Sequence[Mapping[str, Any]],
    names: Sequence[Names],
    *,
    score: str,
    cited: str,
) -> None:
    """Two panels of stacked bars, a bar a bucket with its size on top, as SIDE's figure 3.

    Args:
        path: of the PNG file.
        buckets: as `preferences.summary` has them, lowest score first.
        names: of what is stacked: of the majorities on preference, and on the evidence in `cited`.
        score: what the buckets are of.
        cited: the side of which the second panel is.

    Raises:
        InputError: `path` cannot be written.
    """
    figure, panels = _new_figure(2)
    ticks = [_between(bucket["from"], bucket["to"]) for bucket in buckets]
    keys = ("majorities", f"evidence_{cited}")
    titles = ("a  preference", f"b  evidence in the {names[0][cited]}")
    for axes, key, title, each in zip(panels, keys, titles, names, strict=True):
        below = [0.0] * len(buckets)
        for number, (answer, name) in enumerate(each.items()):
            shares = [bucket[key][answer]["share"] or 0.0 for bucket in buckets]
            axes.bar(ticks, shares, bottom=below, label=name, color=f"C{number}", width=0.75)
            below = [one + other for one, other in zip(below, shares, strict=True)]
        for place, bucket in enumerate(buckets):
            axes.annotate(str(bucket["items"]), (place, 1.02), ha="center", fontsize=8)
        _label_bars(axes, f"{score} (log-odds)", title)
    _save(figure, path)


def verdicts(path: Path, shares: Mapping[str, Mapping[str, Any]], names: Names) -> None:
    """What the majorities preferred, with 95 % intervals, as SIDE's figure 4.

    Raises:
        InputError: `path` cannot be written.
    """
    figure, (axes,) = _new_figure(1)
    for number, (answer, name) in enumerate(names.items()):
        found = shares[answer]
        share, (low, high) = found["share"] or 0.0, found["interval"] or (0.0, 0.0)
        reach = [[max(0.0, share - low)], [max(0.0, high - share)]]
        axes.bar([name], [share], yerr=reach, color=f"C{number}", capsize=4, width=0.7)
        axes.annotate(f"{share:.0%}", (number, min(1.0, high + 0.02)), ha="center", fontsize=9)
    _label_bars(axes, "", "majority of raters")
    axes.tick_params(axis="x", labelsize=8)
    _save(figure, path)


def _new_figure(n_panels: int) -> tuple[Any, Any]:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(_WIDTH * n_panels, _HEIGHT), dpi=_DPI, layout="constrained")
    return figure, figure.subplots(1, n_panels, squeeze=False)[0]


def _save(figure: Any, path: Path) -> None:
    with usable(path, "written"), durable.replacing(path) as part:
        figure.savefig(part, format="png")


def _between(low: float | None, high: float | None) -> str:
    if low is None:
        return f"< {high:g}"
    return f"≥ {low:g}" if high is None else f"{low:g} to {high:g}"


def _label_bars(axes: Any, x: str, title: str) -> None:
    axes.set(xlabel=x, ylabel="share of claims", ylim=(0, 1.1), title=title)
    axes.title.set_fontsize(9)
    axes.grid(axis="y", alpha=0.25)
    axes.set_axisbelow(True)
    if axes.get_legend_handles_labels()[0]:
        axes.legend(fontsize=8, loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=3)
