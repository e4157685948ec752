"""A corpus that tests may damage: built once a module, copied for each test."""

import shutil
from pathlib import Path

import pytest
from support.laws import FakeEncoder

from pincite import durable
from pincite.corpus import dense
from pincite.corpus.engines import EmbeddedCorpus


@pytest.fixture(scope="module")
def made(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The module's DOCUMENTS, added BATCH by BATCH, without its DELETED; vectors of DIM."""
    module, folder = request.module, tmp_path_factory.mktemp("made") / "corpus"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dense, "EXACT_LIMIT", module.EXACT_LIMIT)
        with EmbeddedCorpus.create(folder, FakeEncoder(module.DIM)) as corpus:
            for start in range(0, len(module.DOCUMENTS), module.BATCH):
                corpus.add(module.DOCUMENTS[start : start + module.BATCH])
            corpus.delete(module.DELETED)
    return folder


@pytest.fixture
def folder(
    made: Path, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Path:
    monkeypatch.setattr(dense, "EXACT_LIMIT", request.module.EXACT_LIMIT)
    monkeypatch.setattr(durable, "PATIENCE_SECONDS", 0.1)
    return Path(shutil.copytree(made, tmp_path / "corpus"))
