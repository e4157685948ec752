"""Extras: libraries that are installed only if their commands are used."""

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from pincite.errors import MissingExtra, install_command

# The libraries of each extra, by import name. Every module imports one of these before their
# dependencies.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "server": tuple(
        "pincite_server argon2 authlib fastapi prometheus_client psycopg python_multipart "
        "sqlalchemy starlette uvicorn".split()
    ),
    "mcp": ("pincite_mcp", "mcp"),
    "lab": ("pincite_lab", "ir_measures", "sklearn"),
    "train": ("onnx", "safetensors", "torch", "transformers"),
    "ocr": ("PIL", "rapidocr"),
    "ray": ("pincite_cluster", "ray"),
    "postgres": ("pincite_cluster", "psycopg"),
    "multilingual": ("pincite_multilingual", "sentencepiece"),
    "study": ("pincite_study", "krippendorff", "statsmodels"),
    "watch": ("pincite_watch",),
    "evidenceseeker": ("pincite_evidenceseeker",),
}


def missing(error: ImportError) -> MissingExtra | None:
    """Return what to install after a failed import; None if no extra provides it or it is there."""
    library = (error.name or "").partition(".")[0]
    extra = next((name for name, known in LIBRARIES.items() if library in known), None)
    # Installing the extra would not repair a library that is installed but broken.
    return _missing_extra(extra, [library]) if extra and find_spec(library) is None else None


def require(extra: str) -> None:
    """Raise MissingExtra if an extra is not installed; called before long runs."""
    if absent := [library for library in LIBRARIES[extra] if find_spec(library) is None]:
        raise _missing_extra(extra, absent)
    if extra == "train":
        # Before torch is loaded. Spin-waiting threads took 2.6 times the processor time of a step
        # on two cores with other work beside it, without any gain.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _missing_extra(extra: str, libraries: Sequence[str]) -> MissingExtra:
    are = "is" if len(libraries) == 1 else "are"
    return MissingExtra(
        f"{', '.join(libraries)} {are} not installed. Install with: {install_command(extra)}"
    )
