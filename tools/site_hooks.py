"""Pages of the site that are made of other files; MkDocs calls this when it builds (mkdocs.yml)."""

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]
OUTSIDE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "changelog.md": "CHANGELOG.md",
}
_SOURCE = re.compile(r"\]\(\.\./(src/[^)#]+)\)")
COMMANDS = """# Commands

::: mkdocs-click
    :module: pincite.cli
    :command: cli
    :prog_name: pincite
    :depth: 1
    :list_subcommands: true
"""
API = "# Python, name by name\n\n::: pincite.api\n\n::: pincite.protocols\n\n::: pincite.types\n"


def on_files(files: Any, config: Any) -> Any:
    """Add the pages that no file of docs/ holds, and the sources that pages link to."""
    from mkdocs.structure.files import File

    made = {name: _outside(path) for name, path in OUTSIDE.items()}
    made |= {"commands.md": COMMANDS, "api.md": API, "http.md": _http()}
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for name in sorted(set(_linked())):
        files.append(File.generated(config, f"{name}.txt", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Sources are shown as text."""
    return _SOURCE.sub(r"](\1.txt)", markdown)


def _linked() -> Iterator[str]:
    for page in (ROOT / "docs").glob("*.md"):
        yield from _SOURCE.findall(page.read_text(encoding="utf-8"))


def _outside(name: str) -> str:
    """A page of the root, with its links as from docs/."""
    text = (ROOT / name).read_text(encoding="utf-8")
    for page, path in OUTSIDE.items():
        text = text.replace(f"]({path})", f"]({page})")
    text = re.sub(r"\]\(docs/([^)]+)\)", r"](\1)", text)
    return re.sub(r'(src|href)="docs/', r'\1="', text)


def _http() -> str:
    """The HTTP API: each operation with what it is for."""
    from pincite.server.app import create_app
    from pincite.server.settings import ServerSettings
    from pincite.server.site import opened
    from pincite.settings import Settings

    with tempfile.TemporaryDirectory() as folder:
        site = opened(ServerSettings(data=folder), Settings())
        described = create_app(site).openapi()
        site.database.close()
    rows = [
        f"| `{method.upper()}` | `{path}` | {operation.get('summary', '')} |"
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    head = "# HTTP\n\nA server describes itself at `/api/v1/openapi.json` (OpenAPI 3.1).\n\n"
    return head + "| | path | |\n|---|---|---|\n" + "\n".join(rows) + "\n"
