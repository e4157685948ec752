"""Packages and modules import in one direction: no circles, at any level."""

import ast
from collections.abc import Iterable, Mapping
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

SRC = Path(__file__).parents[2] / "src"
PACKAGES = sorted(path.parent for path in SRC.rglob("__init__.py"))


def name_of(path: Path) -> str:
    """The dotted name of a module or package by its file."""
    return ".".join(path.relative_to(SRC).with_suffix("").parts).removesuffix(".__init__")


MODULES = {name_of(path): path for path in sorted(SRC.rglob("*.py"))}


def imports(path: Path) -> Iterable[str]:
    """Modules of the project that a file imports at run time, also inside functions."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for_types = {
        id(node)
        for block in tree.body
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    for node in ast.walk(tree):
        if id(node) in for_types:
            continue
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in MODULES)
        elif isinstance(node, ast.ImportFrom) and node.module in MODULES:
            named = (f"{node.module}.{alias.name}" for alias in node.names)
            yield from (name if name in MODULES else node.module for name in named)


GRAPH = {name: set(imports(path)) for name, path in MODULES.items()}


def circle(graph: Mapping[str, set[str]]) -> list[str]:
    """A circle in a graph, as the nodes along it; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        found: list[str] = error.args[1]
        return found
    return []


def parts_of(package: str, graph: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """What the modules and packages directly in a package import from each other."""
    inside = package + "."

    def part(name: str) -> str:
        return name.removeprefix(inside).partition(".")[0]

    found: dict[str, set[str]] = {}
    for name, imported in graph.items():
        if name.startswith(inside):
            others = {part(each) for each in imported if each.startswith(inside)}
            found.setdefault(part(name), set()).update(others - {part(name)})
    return found


def test_a_circle_through_packages_is_found() -> None:
    graph: dict[str, set[str]] = {
        "p.a.x": {"p.b.y"},
        "p.b.y": set(),
        "p.b.z": {"p.a.w"},
        "p.a.w": set(),
        "p.c": {"p.a.x"},
    }
    assert circle(graph) == []
    assert set(circle(parts_of("p", graph))) == {"a", "b"}


def test_no_modules_import_each_other() -> None:
    assert circle(GRAPH) == []


@pytest.mark.parametrize("package", [name_of(path / "__init__.py") for path in PACKAGES])
def test_the_parts_of_a_package_import_in_one_direction(package: str) -> None:
    assert circle(parts_of(package, GRAPH)) == []
