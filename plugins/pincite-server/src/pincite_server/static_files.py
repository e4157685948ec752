"""Static files, each under a hash of its content, so that browsers can cache it for good."""

import hashlib
from functools import cache
from pathlib import Path

from fastapi import Response

from pincite.report import templates
from pincite_server import plugins
from pincite_server.identity import PUBLIC
from pincite_server.problems import not_found
from pincite_server.routing import Router

STATIC = Path(__file__).parent / "static"
KEPT = "public, max-age=31536000, immutable"
TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}

router = Router(include_in_schema=False)


@cache
def _files() -> dict[str, bytes]:
    paths = [STATIC / "icon.svg", STATIC / "pages.js"]
    paths += [path for folder in plugins.folders("static") for path in folder.iterdir()]
    found = {path.name: path.read_bytes() for path in paths}
    htmx = (STATIC / "htmx" / "htmx.min.js").read_bytes()
    return found | {"htmx.js": htmx, "pincite.css": _style().encode()}


@cache
def address(name: str) -> str:
    """The URL of a static file, with a hash of its content so that browsers can cache it."""
    return f"/static/{hashlib.sha256(_files()[name]).hexdigest()[:12]}/{name}"


@router.get("/static/{digest}/{name}", dependencies=[PUBLIC])
def static(digest: str, name: str) -> Response:
    """A static file."""
    if name not in _files() or address(name) != f"/static/{digest}/{name}":
        raise not_found()
    media_type = TYPES[name.rpartition(".")[2]]
    return Response(_files()[name], media_type=media_type, headers={"Cache-Control": KEPT})


def _style() -> str:
    """The style sheet of the reports, followed by that of the pages."""
    # Scope the style of each report to its own page.
    scoped = "".join(
        f".view-{name} {{\n{templates.own_style(f'{name}.css')}}}\n" for name in ("check", "ask")
    )
    sheets = ("pages.css", "corpora.css", "people.css")
    pages = "".join((STATIC / name).read_text(encoding="utf-8") for name in sheets)
    return str(templates.style()) + scoped + pages
