"""What `pip install pincite` leaves out: which extra brings a library that is missing."""

import os
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

from pincite.errors import MissingExtra

# As they are imported. What these bring with them comes after one of them in every module.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "server": (
        *("argon2", "authlib", "fastapi", "prometheus_client", "psycopg"),
        *("pydantic", "python_multipart", "sqlalchemy", "starlette", "uvicorn"),
    ),
    "mcp": ("mcp",),
    "eval": ("ir_measures", "krippendorff", "matplotlib", "sklearn", "statsmodels"),
    "train": (
        *("datasets", "onnx", "peft", "safetensors", "sentence_transformers", "torch"),
        *("transformers", "trl"),
    ),
    "qlora": ("bitsandbytes",),
    "ray": ("ray",),
    "milvus": ("pincite_milvus", "pymilvus"),
    "study": ("pincite_study",),
}
_WHAT = {
    "server": "The server",
    "mcp": "The MCP server",
    "eval": "Measuring",
    "train": "Training",
    "qlora": "Training",
    "ray": "--on ray",
    "milvus": "A corpus in Milvus",
    "study": "A blind study",
}


def missing(error: ImportError) -> MissingExtra | None:
    """What to install where an import failed; None if no extra brings it, or it is there."""
    library = (error.name or "").partition(".")[0]
    extra = next((name for name, known in LIBRARIES.items() if library in known), None)
    # One that is installed and cannot be imported is broken: installing the extra mends nothing.
    return _absent(extra, [library]) if extra and find_spec(library) is None else None


def require(extra: str) -> None:
    """Raise MissingExtra where an extra is not installed: before a long run, not after it."""
    if absent := [library for library in LIBRARIES[extra] if find_spec(library) is None]:
        raise _absent(extra, absent)
    if extra == "train":
        # Before torch is loaded. Threads that wait by spinning took 2.6 times the processor time of
        # a step on two cores with other work beside it, and none of it was used.
        os.environ.setdefault("OMP_WAIT_POLICY", "passive")


def _absent(extra: str, libraries: Sequence[str]) -> MissingExtra:
    which = "which is" if len(libraries) == 1 else "which are"
    return MissingExtra(
        f"{_WHAT[extra]} needs {', '.join(libraries)}, {which} not installed. "
        f"Install with: pip install 'pincite[{extra}]'"
    )
