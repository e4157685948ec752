"""What `pip install pincite` leaves out: which extra brings a library that is missing."""

from collections.abc import Mapping
from importlib.util import find_spec

from pincite.errors import MissingExtra

# As they are imported. What these bring with them comes after one of them in every module.
LIBRARIES: Mapping[str, tuple[str, ...]] = {
    "server": (
        *("alembic", "argon2", "authlib", "fastapi", "prometheus_client", "psycopg"),
        *("pydantic", "python_multipart", "sqlalchemy", "starlette", "uvicorn"),
    ),
    "eval": ("ir_measures", "krippendorff", "matplotlib", "sklearn", "statsmodels"),
    "train": ("onnx", "peft", "safetensors", "torch", "transformers"),
    "qlora": ("bitsandbytes",),
}
_WHAT = {"server": "the server", "eval": "the measures", "train": "what trains models"}


def missing(error: ImportError) -> MissingExtra | None:
    """What to install where an import failed; None if no extra brings it."""
    library = (error.name or "").partition(".")[0]
    return next((_absent(name) for name, known in LIBRARIES.items() if library in known), None)


def require(extra: str) -> None:
    """Raise MissingExtra where an extra is not installed: before a long run, not after it."""
    if any(find_spec(library) is None for library in LIBRARIES[extra]):
        raise _absent(extra)


def _absent(extra: str) -> MissingExtra:
    return MissingExtra(f"this needs {_WHAT.get(extra, extra)}: pip install 'pincite[{extra}]'")
