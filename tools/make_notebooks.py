"""Run the notebooks of docs/notebooks and keep what they show: `make notebooks`."""

import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parents[1] / "docs" / "notebooks"

for path in sorted(FOLDER.glob("*.ipynb")):
    notebook = nbformat.read(path, as_version=4)
    with tempfile.TemporaryDirectory() as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, record_timing=False, resources=where).execute()
    notebook["metadata"].pop("language_info", None)  # names the Python that ran it
    nbformat.write(notebook, path)
    print(path.relative_to(FOLDER.parents[1]))
