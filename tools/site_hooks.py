"""Pages of the site that are made of other files; MkDocs calls this when it builds (mkdocs.yml)."""

import json
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
_SOURCE = re.compile(r"\]\((?:\.\./)?((?:src|plugins|research|deploy)/[^)#]+)(?:#[^)]+)?\)")
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
    made["configuration.md"] = _settings()
    for name, text in made.items():
        files.append(File.generated(config, name, content=text))
    for name in sorted(set(_linked())):
        files.append(File.generated(config, f"{name}.txt", abs_src_path=str(ROOT / name)))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Files outside of docs/ are shown as text."""
    return _SOURCE.sub(r"](\1.txt)", markdown).replace("](../CONTRIBUTING.md", "](contributing.md")


def _linked() -> Iterator[str]:
    for page in (*(ROOT / "docs").glob("*.md"), *map(ROOT.joinpath, OUTSIDE.values())):
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
    from pincite.settings import Settings
    from pincite_server.app import create_app
    from pincite_server.settings import ServerSettings
    from pincite_server.site import open_site

    with tempfile.TemporaryDirectory() as folder:
        site = open_site(ServerSettings(data=folder), Settings())
        described = create_app(site).openapi()
        site.database.close()
    rows = [
        f"| `{method.upper()}` | `{path}` | {operation.get('summary', '')} |"
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    head = "# HTTP\n\nA server describes itself at `/api/v1/openapi.json` (OpenAPI 3.1).\n\n"
    return head + "| | path | |\n|---|---|---|\n" + "\n".join(rows) + "\n"


SETTINGS = """# Configuration

    pincite config show     # every setting, its value, and where it was set
    pincite doctor          # the files that are read, and more

A setting is an option of a command, or a variable (`PINCITE_RETRIEVAL_DEPTH`), or stands in
`pincite.toml` in the working folder or in the user's file (`retrieval.depth = 50`, or `depth = 50`
below `[retrieval]`). The first of these that sets it wins.
"""


def _settings() -> str:
    """All settings: name, default, range and help, as they are declared."""
    from pincite.settings import Settings
    from pincite.settings.schema import settings_of
    from pincite_server.settings import ServerSettings

    rows = [(each.name, each) for each in settings_of(Settings).values()]
    rows += [(f"server.{each.name}", each) for each in settings_of(ServerSettings).values()]
    text, table = SETTINGS, None
    for name, setting in rows:
        if (at := name.rpartition(".")[0]) != table:
            heading = f"`[{at}]`" if at else "Outside of all tables"
            text += f"\n## {heading}\n\n| | default | allowed | |\n|---|---|---|---|\n"
            table = at
        allowed = ", ".join(map(str, filter(None, setting.choices))) or str(setting.limits or "")
        default = json.dumps(setting.default, ensure_ascii=False)
        text += f"| `{name.rpartition('.')[2]}` | `{default}` | {allowed} | {setting.help} |\n"
    return text
