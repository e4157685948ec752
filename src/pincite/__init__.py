"""Shows whether a source supports a statement, down to the exact passage, and finds better ones.

    import pincite

    report = pincite.verify("article.wiki", sources="pages/", corpus="web/")
    report = pincite.check("The bridge is of stone.", "kb/")
    report = pincite.ask("Does sleep loss impair memory?", "papers/")

Importing this package loads none of its modules: each name is looked up when it is first used.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

# Libraries that would report on their use, or note a device id, read these when they are imported.
SILENCED = {
    "ORT_DISABLE_TELEMETRY": "1",  # ONNX Runtime
    "HF_HUB_DISABLE_TELEMETRY": "1",  # huggingface_hub
    "RAY_USAGE_STATS_ENABLED": "0",
    "DO_NOT_TRACK": "1",  # https://consoledonottrack.com
}
os.environ.update(SILENCED)

if TYPE_CHECKING:
    from pincite.api import Report, Verifier, aask, acheck, ask, averify, check, open_corpus, verify
    from pincite.errors import PinciteError
    from pincite.settings import Settings
    from pincite.types import Article, Claim, Document, Evidence, Finding, Label, Passage, Unchecked
    from pincite.verbs.ask.report import Answer
    from pincite.verbs.check.report import Check

__all__ = [
    "Answer",
    "Article",
    "Check",
    "Claim",
    "Document",
    "Evidence",
    "Finding",
    "Label",
    "Passage",
    "PinciteError",
    "Report",
    "Settings",
    "Unchecked",
    "Verifier",
    "aask",
    "acheck",
    "ask",
    "averify",
    "check",
    "open_corpus",
    "verify",
]

_MODULES = {
    "pincite.api": (
        *("Report", "Verifier", "open_corpus"),
        *("aask", "acheck", "ask", "averify", "check", "verify"),
    ),
    "pincite.errors": ("PinciteError",),
    "pincite.settings": ("Settings",),
    "pincite.verbs.ask.report": ("Answer",),
    "pincite.verbs.check.report": ("Check",),
}


if not TYPE_CHECKING:  # so that mypy does not accept any other name

    def __getattr__(name):  # noqa: ANN001, ANN202
        """Look up a name of `__all__` in the module that defines it."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        homes = (module for module, names in _MODULES.items() if name in names)
        return getattr(import_module(next(homes, "pincite.types")), name)


def __dir__() -> list[str]:
    return __all__
