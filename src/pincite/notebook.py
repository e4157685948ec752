"""Reports and progress in notebooks."""

import html
import sys
from typing import Any

_HEIGHT = "40rem"  # height of a report: a screen, less the cell above it
# In a frame, in-page links would load the notebook, and most sites refuse to be framed. Only our
# templates contain these attributes: quotation marks in article text are escaped.
_LINKS = (
    ('href="#', 'href="about:srcdoc#'),
    ('rel="noreferrer nofollow noopener"', 'rel="noreferrer nofollow noopener" target="_blank"'),
)
_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"  # no scripts, no forms, no same origin


def framed(page: str) -> str:
    """Put the page into a sandboxed frame, which isolates its style and blocks scripts."""
    for on_a_page, in_a_frame in _LINKS:
        page = page.replace(on_a_page, in_a_frame)
    whole = html.escape(page.encode("utf-8", "replace").decode("utf-8"))
    style = f"width: 100%; height: {_HEIGHT}; border: 0"
    frame = f'<iframe title="Report" sandbox="{_SANDBOX}" style="{style}"'
    return f'{frame} srcdoc="{whole}"></iframe>'


def progress() -> "Bars | None":
    """Return progress bars below the running cell; None outside a notebook."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython else None
    return Bars() if hasattr(shell, "kernel") else None


class Bars:
    """A `Progress` that draws a bar per task and removes them all at the end.

    Rich's bars need ipywidgets in a notebook; the browser's own `<progress>` needs nothing.
    """

    def __init__(self) -> None:
        self._shown: dict[str, tuple[int, int | None]] = {}
        self._handle: Any = None

    def __call__(self, what: str, done: int, total: int | None) -> None:
        self._shown[what] = (done, total)
        self._draw("<br>".join(_bar(name, *at) for name, at in self._shown.items()))

    def close(self) -> None:
        if self._handle:
            self._draw("")

    def _draw(self, markup: str) -> None:
        from IPython.display import display

        shown = {"text/html": markup, "text/plain": ""}
        if self._handle:
            self._handle.update(shown, raw=True)
        else:
            self._handle = display(shown, raw=True, display_id=True)


def _bar(what: str, done: int, total: int | None) -> str:
    name = html.escape(what)
    if not total:
        return f'<progress aria-label="{name}"></progress> {name} {done or ""}'.rstrip()
    bar = f'<progress aria-label="{name}" max="{total}" value="{done}"></progress>'
    return f"{bar} {name} {done}/{total}"
