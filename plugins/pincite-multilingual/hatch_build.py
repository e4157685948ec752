"""Refuses to build a package without weights."""

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

NETWORK = "src/pincite_multilingual/weights/multilingual-e5-small/model.onnx"


class CustomBuildHook(BuildHookInterface[Any]):
    """Runs before each build."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        if version != "editable" and not (Path(self.root) / NETWORK).is_file():
            raise FileNotFoundError(f"{NETWORK} is missing. Build it first: make multilingual")
