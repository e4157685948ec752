"""The notebooks run, show what they showed when they were kept, and name no machine."""

import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import pincite

NOTEBOOKS = sorted((Path(__file__).parents[2] / "docs" / "notebooks").glob("*.ipynb"))
SECONDS = 120  # of a cell on a machine that is busy; alone each notebook takes some seconds


@pytest.fixture(autouse=True)
def _its_own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HOME", "XDG_CONFIG_HOME", "PINCITE_CACHE", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(tmp_path / name.lower()))
    monkeypatch.setenv("PYTHONPATH", str(Path(pincite.__file__).parents[1]))


def outputs(notebook: Any) -> list[list[str]]:
    """The kinds of each cell's outputs."""
    return [[one["output_type"] for one in cell.get("outputs", ())] for cell in notebook["cells"]]


def printed(notebook: Any) -> list[list[str]]:
    """The lines that its cells print, without figures and order, which may differ by machine."""
    texts = [o["text"] for c in notebook["cells"] for o in c.get("outputs", ()) if "text" in o]
    return [sorted(re.sub(r"\d", "0", text).splitlines()) for text in texts]


@pytest.mark.filterwarnings("default")  # Jupyter's own
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_shows_the_same(path: Path, tmp_path: Path) -> None:
    kept = nbformat.read(path, as_version=4)
    made = nbformat.read(path, as_version=4)
    made_by = NotebookClient(made, timeout=SECONDS, resources={"metadata": {"path": tmp_path}})
    made_by.execute()
    assert outputs(made) == outputs(kept)
    assert printed(made) == printed(kept)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_what_is_kept_is_short_and_names_no_machine(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert len(text) < 40_000
    assert not re.search(r"/(home|tmp|work|root|usr)/", text)
    cells = [cell for cell in json.loads(text)["cells"] if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in cells] == [*range(1, len(cells) + 1)]
