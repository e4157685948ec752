"""Server plugins: pages, permissions and tables from other distributions.

An entry point in the group `pincite.server` refers to a `Plugin`. Command-line plugins are entry
points in `pincite.commands`, see `pincite.cli`.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from fastapi import APIRouter

GROUP = "pincite.server"


@dataclass(frozen=True, slots=True)
class Plugin:
    """What a plugin adds."""

    name: str  # the table NAME_version stores the version of its tables
    routers: tuple[APIRouter, ...] = ()  # for the API and the pages
    navigation: tuple[tuple[str, str], ...] = ()  # path and English name of a page
    folder: Path | None = None  # with `templates`, `static` and `locale`
    # The roles that have each permission.
    permissions: Mapping[str, Collection[str]] = field(default_factory=dict)
    tables: sa.MetaData | None = None
    version: int = 1  # of the tables
    owners: tuple[sa.Column[Any], ...] = ()  # account ids; the rows are deleted with the account


@cache
def load_all() -> tuple[Plugin, ...]:
    """The installed plugins, by name."""
    plugins: list[Plugin] = [point.load() for point in entry_points(group=GROUP)]
    return tuple(sorted(plugins, key=lambda plugin: plugin.name))


def folders(name: str) -> list[Path]:
    own = [plugin.folder / name for plugin in load_all() if plugin.folder]
    return list(filter(Path.is_dir, own))
