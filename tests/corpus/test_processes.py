"""Damage, a full disk, and other processes: what happens to a folder besides our own writing."""

import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.laws import FakeEncoder

from pincite.corpus.engines import EmbeddedCorpus
from pincite.types import Document

DOCUMENTS = [Document(f"u:{i}", f"Page {i}", f"Words of page{i}. " * 80) for i in range(60)]
DIM, EXACT_LIMIT, BATCH, DELETED = 256, 100, 20, list[str]()


def check(corpus: EmbeddedCorpus) -> None:
    for i in (0, 25, 59):
        assert corpus.lexical().retrieve([f"page{i}"], 1)[0][0].passage.url == f"u:{i}"
        passage = corpus.lexical().retrieve([f"page{i}"], 1)[0][0].passage
        near = corpus.dense().retrieve([f"Page {i}\n{passage.text}"], 1)[0][0]
        assert near.passage.url == f"u:{i}"


def run(code: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    head = (
        "import sys, resource; from pathlib import Path\n"
        "from pincite.errors import CorpusError\n"
        "from pincite.corpus.engines import EmbeddedCorpus\n"
        "from support.laws import FakeEncoder\n"
        "from pincite.types import Document\n"
        "folder = Path(sys.argv[1])\n"
    )
    command = [sys.executable, "-c", head + code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def files_of(folder: Path, part: str) -> list[Path]:
    generation = folder / "g1"
    paths = [*generation.glob(f"{part}.json"), *generation.glob(f"{part}-*.faiss")]
    return sorted([*paths, *generation.glob(f"{part}-*/*")])


@pytest.mark.parametrize("damage", ["truncated", "deleted", "empty"])
@pytest.mark.parametrize("part", ["lexical", "dense"])
def test_damaged_index_files_are_made_anew_on_opening(folder: Path, part: str, damage: str) -> None:
    paths = [path for path in files_of(folder, part) if not path.name.endswith(".lock")]
    for number, path in enumerate(random.Random(damage).sample(paths, min(4, len(paths)))):
        if not path.exists():
            continue  # belonged to an index that was replaced
        content = path.read_bytes()
        middle = len(content) // 2
        if damage == "truncated":
            path.write_bytes(content[:middle])
        elif damage == "deleted":
            path.unlink()
        else:
            path.write_bytes(b"")
        with EmbeddedCorpus.open(folder, FakeEncoder(256), write=number % 2 == 0) as corpus:
            check(corpus)
            status = corpus.status()
            assert status.lexical_sequence == status.sequence
    with EmbeddedCorpus.open(folder, FakeEncoder(256), write=True) as corpus:
        assert corpus.delete(["u:0"]) == 1
        assert corpus.add(DOCUMENTS[:1]) == 1
        check(corpus)


def test_damaged_word_index_while_another_writes(folder: Path) -> None:
    with EmbeddedCorpus.open(folder, FakeEncoder(256), write=True) as writer:
        (folder / "g1" / "lexical.json").unlink()
        with EmbeddedCorpus.open(folder, FakeEncoder(256)) as reader:
            assert reader.lexical().retrieve(["page1"], 1)[0]
            assert reader.dense().retrieve(["page1"], 1)[0]
            writer.add([Document("u:new", "", "New.")])
            assert reader.lexical().retrieve(["page1"], 1)[0]


@pytest.fixture
def read_only(folder: Path) -> Iterator[Path]:
    """A copy that may only be read, where every user can get to: pytest's folders are private."""
    parent = Path(tempfile.mkdtemp(prefix="pincite-test-"))
    copy = shutil.copytree(folder, parent / "corpus")
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o555 if path.is_dir() else 0o444)
    parent.chmod(0o755)
    yield copy
    for path in [copy, *copy.rglob("*")]:
        path.chmod(0o755)
    shutil.rmtree(parent)


def test_folder_that_may_only_be_read(read_only: Path) -> None:
    code = (
        "import os, faiss, tantivy\n"  # before the interpreter's own folder may be out of reach
        "if os.geteuid() == 0: os.setgid(65534); os.setuid(65534)\n"
        "try:\n"
        "    with EmbeddedCorpus.open(folder, FakeEncoder(256)) as corpus:\n"
        "        print(corpus.lexical().retrieve(['page5'], 1)[0][0].passage.url)\n"
        "        print(len(corpus.dense().retrieve(['page5'], 3)[0]))\n"
        "    EmbeddedCorpus.open(folder, FakeEncoder(256), write=True)\n"
        "except CorpusError as error: print(error)\n"
    )
    result = run(code, str(read_only))
    assert result.stdout.splitlines()[:2] == ["u:5", "3"], result.stdout + result.stderr
    assert result.stdout.splitlines()[2].startswith(str(read_only))
