"""A corpus as one file: whole on both sides, and hostile or damaged files refused."""

import json
import os
import signal
import sqlite3
import stat
import warnings
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from support.laws import FakeEncoder
from support.rows import each_row

from pincite.cli import cli
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import verify
from pincite.corpus.package import MANIFEST, STORE, pack, unpack
from pincite.errors import CorpusError, InputError
from pincite.types import Document

DOCUMENTS = [
    Document(f"https://a.example/{n}", f"Bridge {n}", f"The bridge {n} opened in {1900 + n}. " * 40)
    for n in range(5)
]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packed") / "kb"
    with EmbeddedCorpus.create(folder, FakeEncoder()) as made:
        made.add(DOCUMENTS)
        made.delete([DOCUMENTS[4].url])
    return folder


@pytest.fixture(scope="module")
def packed(corpus: Path) -> Path:
    pack(corpus, corpus.parent / "kb.pincite")
    return corpus.parent / "kb.pincite"


def changed(
    packed: Path,
    file: Path,
    store: Callable[[bytes], bytes] = lambda content: content,
    manifest: Mapping[str, object] = MappingProxyType({}),
) -> Path:
    """The package with another store, and a manifest that fits it, or has other values."""
    import hashlib

    with zipfile.ZipFile(packed) as archive:
        about = json.loads(archive.read(MANIFEST))
        content = store(archive.read(STORE))
    about |= {"n_bytes": len(content), "sha256": hashlib.sha256(content).hexdigest(), **manifest}
    with zipfile.ZipFile(file, "w") as archive:
        archive.writestr(MANIFEST, json.dumps(about))
        archive.writestr(STORE, content)
    return file


def with_sql(tmp_path: Path, *statements: str) -> Callable[[bytes], bytes]:
    """A store in which somebody ran SQL."""

    def run(content: bytes) -> bytes:
        path = tmp_path / "other.sqlite"
        path.write_bytes(content)
        connection = sqlite3.connect(path)
        connection.create_function("bomb", 0, lambda: zlib.compress(b"a" * 50_000_000))
        for statement in statements:
            connection.execute(statement)
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.close()
        return path.read_bytes()

    return run


def refused(file: Path, said: str, folder: Path) -> None:
    with pytest.raises(InputError, match=said) as raised:
        unpack(file, folder)
    assert "pack CORPUS FILE" in str(raised.value), "it says what was expected"
    assert not folder.exists()
    assert not list(folder.parent.glob(f".{folder.name}-*")), "nothing is left beside it"


def test_what_is_unpacked_is_the_same_corpus(corpus: Path, packed: Path, tmp_path: Path) -> None:
    about = unpack(packed, tmp_path / "new")
    assert (about.n_documents, about.encoder) == (4, "fake-32")
    assert verify(tmp_path / "new") == []
    urls = [document.url for document in DOCUMENTS]
    with (
        EmbeddedCorpus.open(corpus, FakeEncoder()) as old,
        EmbeddedCorpus.open(tmp_path / "new", FakeEncoder(), write=True) as new,
    ):
        assert new.get(urls) == old.get(urls) == [*DOCUMENTS[:4], None]
        assert new.manifest()["digest"] == old.manifest()["digest"] == about.digest
        of_old, of_new = (each.dense().retrieve(["bridge 3"], 99) for each in (old, new))
        assert of_old == of_new
        # An old index still counts what was deleted, so scores by words may differ a little.
        words = [each.lexical().retrieve(["bridge 3"], 99)[0] for each in (old, new)]
        assert {hit.passage for hit in words[0]} == {hit.passage for hit in words[1]}
        assert new.add([DOCUMENTS[4]]) == 1, "it goes on as a corpus of its own"
    assert not list(packed.parent.glob("*.part*"))


def test_an_empty_folder_is_filled_and_another_is_not(packed: Path, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    unpack(packed, tmp_path / "empty")
    for name, taken in (("empty", tmp_path / "empty"), ("kb.pincite", packed)):
        with pytest.raises(CorpusError, match=f"{name} already exists"):
            unpack(packed, taken)


def test_a_corpus_can_be_packed_while_it_is_written(tmp_path: Path) -> None:
    with EmbeddedCorpus.create(tmp_path / "kb", FakeEncoder()) as made:
        made.add(DOCUMENTS[:2])
        about = pack(tmp_path / "kb", tmp_path / "file")
        made.add(DOCUMENTS)
    assert about.n_documents == unpack(tmp_path / "file", tmp_path / "new").n_documents == 2


@given(share=st.floats(0, 0.999))
def test_a_cut_file_is_refused(share: float, packed: Path) -> None:
    content = packed.read_bytes()
    cut = packed.with_name("cut")
    cut.write_bytes(content[: int(share * len(content))])
    refused(cut, "not a valid package", packed.with_name("of-cut"))


@given(place=st.floats(0, 0.999), bit=st.integers(0, 7))
def test_a_flipped_bit_is_refused_or_changes_nothing(place: float, bit: int, packed: Path) -> None:
    """What it may change is what an archive says of its members: dates, rights."""
    import shutil

    content = bytearray(packed.read_bytes())
    content[int(place * len(content))] ^= 1 << bit
    file, folder = packed.with_name("flipped"), packed.with_name("of-flipped")
    file.write_bytes(content)
    try:
        unpack(file, folder)
    except InputError:
        assert not folder.exists()
    else:
        assert verify(folder) == []
        shutil.rmtree(folder)


@each_row("corpus/package/a_package_with_other_members_is_refused")
def test_a_package_with_other_members_is_refused(
    tmp_path: Path, packed: Path, names: list[str], said: str
) -> None:
    with zipfile.ZipFile(packed) as old, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a name that occurs twice
        with zipfile.ZipFile(tmp_path / "file", "w") as archive:
            for name in names:
                archive.writestr(name, old.read(STORE if STORE in name else MANIFEST))
    refused(tmp_path / "file", said, tmp_path / "new")
    assert {path.name for path in tmp_path.iterdir()} == {"file"}


def test_a_member_that_says_it_is_a_link_is_a_file(tmp_path: Path, packed: Path) -> None:
    with zipfile.ZipFile(packed) as old, zipfile.ZipFile(tmp_path / "file", "w") as archive:
        for name in (MANIFEST, STORE):
            member = zipfile.ZipInfo(name)
            member.external_attr = (stat.S_IFLNK | 0o777) << 16
            archive.writestr(member, old.read(name))
    unpack(tmp_path / "file", tmp_path / "new")
    assert not any(path.is_symlink() for path in (tmp_path / "new").rglob("*"))


def test_what_unpacks_to_more_than_it_is(tmp_path: Path, packed: Path) -> None:
    with zipfile.ZipFile(tmp_path / "file", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr(MANIFEST, "{}")
        archive.writestr(STORE, b"\0" * 10_000_000)
    refused(tmp_path / "file", "is compressed", tmp_path / "new")
    bomb = with_sql(tmp_path, "UPDATE blocks SET data = bomb() WHERE document = 1")
    refused(changed(packed, tmp_path / "file", bomb), "longer than any", tmp_path / "new")


@each_row("corpus/package/a_store_that_is_not_what_a_corpus_writes")
def test_a_store_that_is_not_what_a_corpus_writes(
    tmp_path: Path, packed: Path, sql: str, said: str
) -> None:
    file = changed(packed, tmp_path / "file", with_sql(tmp_path, sql))
    refused(file, said, tmp_path / "new")


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ({"sha256": "0" * 64}, "checksum differs"),
        ({"n_bytes": 1}, "does not have the size"),
        ({"pincite_package": "2"}, "reads 1"),
        ({"n_documents": 5}, "n_documents is 5"),
        ({"digest": "0" * 32}, "digest"),
        ({"n_documents": "many"}, "n_documents"),
        ({"encoder": "x" * 200_000}, "longer than"),
    ],
)
def test_a_manifest_that_does_not_fit(
    tmp_path: Path, packed: Path, manifest: dict[str, object], said: str
) -> None:
    refused(changed(packed, tmp_path / "file", manifest=manifest), said, tmp_path / "new")


def test_files_that_are_something_else(tmp_path: Path, packed: Path) -> None:
    refused(changed(packed, tmp_path / "file", lambda _: b"text"), "store", tmp_path / "new")
    (tmp_path / "file").write_text("text")
    refused(tmp_path / "file", "not a zip", tmp_path / "new")
    with pytest.raises(InputError, match="cannot be unpacked"):
        unpack(tmp_path / "absent", tmp_path / "new")
    with pytest.raises(CorpusError, match="pincite corpus add"):
        pack(tmp_path / "nowhere", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_what_is_stopped_or_refused_leaves_nothing(
    packed: Path, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def press(what: str, done: int, total: int) -> None:
        os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        unpack(packed, tmp_path / "new", press)
    (tmp_path / "out").write_text("what was there before")
    monkeypatch.chdir(tmp_path)
    for taken in (tmp_path / "out" / "below", Path()):  # below a file, and over a folder
        with pytest.raises(CorpusError):
            pack(corpus, taken)
    assert {path.name for path in tmp_path.iterdir()} == {"out"}


def test_commands_pack_and_unpack_a_corpus(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)

    def run(*arguments: str) -> str:
        done = CliRunner().invoke(cli, ["corpus", *arguments], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    about = json.loads(run("pack", str(corpus), "kb.pincite", "--json", "-q"))
    assert about["n_documents"] == 4
    again = json.loads(run("unpack", "kb.pincite", "new", "--json", "-q"))
    assert again == about
    assert run("verify", "new", "-q") == ""
