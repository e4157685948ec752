"""A verifier that needs no weights, and files of invented rows."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from evaluation.invented import BRIDGE, WordVerifier


@pytest.fixture
def words() -> WordVerifier:
    return WordVerifier()


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Writes (claim, label, evidence, meta) tuples, evidence and meta optional, as a file."""

    def written(rows: Sequence[tuple[Any, ...]], name: str = "dev.jsonl") -> Path:
        path = tmp_path / name
        lines = []
        for number, (claim, label, *rest) in enumerate(rows):
            evidence = rest[0] if rest else BRIDGE
            value = {"id": f"r{number}", "claim": claim, "label": label, "evidence": evidence}
            lines.append(json.dumps(value | {"meta": rest[1] if len(rest) > 1 else {}}))
        path.write_text("\n".join(lines) + "\n" if lines else "")
        return path

    return written
