"""Style sheet, scripts and icon, at addresses that name their content: a browser keeps them."""

import hashlib
import re
from functools import cache
from pathlib import Path

from fastapi import Response

from pincite.report import templates
from pincite.server.people.identity import PUBLIC
from pincite.server.problems import not_found
from pincite.server.routing import Router

FOLDER = Path(__file__).parents[1] / "static"
KEPT = "public, max-age=31536000, immutable"
# Our files by the name that templates use; the style sheet is made, see `_style`.
SCRIPTS = {
    "pages.js": FOLDER / "pages.js",
    "rating.js": FOLDER / "rating.js",
    "htmx.js": FOLDER / "htmx" / "htmx.min.js",
}
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

router = Router(include_in_schema=False)


def address(name: str) -> str:
    """Where a file is served; another content has another address."""
    return f"/static/{_digest(name)}/{name}"


@router.get("/static/{digest}/{name}", dependencies=[PUBLIC])
def static(digest: str, name: str) -> Response:
    """A file."""
    if name not in NAMES or digest != _digest(name):
        raise not_found()
    media_type = TYPES[name.rpartition(".")[2]]
    return Response(_content(name), media_type=media_type, headers={"Cache-Control": KEPT})


@cache
def _content(name: str) -> bytes:
    if name == "pincite.css":
        return _style().encode()
    return SCRIPTS.get(name, FOLDER / name).read_bytes()


@cache
def _digest(name: str) -> str:
    return hashlib.sha256(_content(name)).hexdigest()[:12]


def _style() -> str:
    """The reports' style sheet and the pages' own behind it.

    The two palettes are the reports'; here a person may choose one against their system.
    """
    reports = str(templates.style())
    light, dark = re.findall(r":root \{([^}]*)\}", reports)
    chosen = (
        f":root[data-theme=light] {{{light}; color-scheme: light }}\n"
        f":root[data-theme=dark] {{{dark}; color-scheme: dark }}\n"
    )
    sheets = ("pages.css", "corpora.css", "people.css")
    pages = "".join((FOLDER / name).read_text(encoding="utf-8") for name in sheets)
    # What only the reports of `check` and `ask` have stays on their pages.
    theirs = "".join(
        f".view-{name} {{\n{templates.own_style(f'{name}.css')}}}\n" for name in ("check", "ask")
    )
    return reports + chosen + theirs + pages


NAMES = frozenset({"pincite.css", "icon.svg", *SCRIPTS})
