"""Open or create a corpus by address: a folder is embedded, `scheme://…` needs another engine.

Packages provide an engine through an entry point of the group `pincite.corpora`, whose name is the
scheme and which loads a `protocol.Engine`. `pincite-cluster` has `milvus://` and `postgresql://`.
"""

import hashlib
import re
from importlib.metadata import entry_points
from pathlib import Path

from pincite.corpus.protocol import Address, Corpus, Engine
from pincite.errors import ConfigError, MissingExtra, install_command
from pincite.protocols import Encoder

GROUP = "pincite.corpora"
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]+):/{1,2}(?!/)(.*)", re.DOTALL)
# scheme → the extra with its engine
_EXTRAS = {"milvus": "milvus", "milvuss": "milvus", "postgresql": "postgres"}
# A password may have a slash in it. The name of a PostgreSQL user is no secret.
_SECRET = re.compile(r"//[^?]*@")
_USER = re.compile(r"postgresql://[^/@:?]+@[^@?]*(\?|$)")


def address(where: Address) -> Address:
    """An address as engines take it: a folder as a path, all else as text.

    A path that a shell or `Path` made of `milvus://host/name` has lost a slash, and gets it back.

    >>> address("milvus://db.example:19530/wafer"), address("kb")
    ('milvus://db.example:19530/wafer', PosixPath('kb'))
    """
    match = _SCHEME.fullmatch(str(where))
    if match and not (isinstance(where, Path) and where.exists()):
        return f"{match[1]}://{match[2]}"
    return Path(where)


def name_of(where: Address) -> str:
    """The corpus's name: the last part of its address.

    >>> name_of("milvus://db.example:19530/wafer?consistency=Bounded")
    'wafer'
    """
    found = address(where)
    if isinstance(found, Path):
        return found.resolve().name
    return found.partition("?")[0].rstrip("/").rpartition("/")[2]


def open(where: Address, encoder: Encoder | None, *, write: bool = False) -> Corpus:
    """Open a corpus. Without an encoder, only word search works and nothing can be added.

    Raises:
        CorpusError: There is none, it is damaged, or its server does not answer.
        StaleCorpus: It was built with another encoder or passage rule.
        ConfigError: No engine handles the address.
        MissingExtra: The engine's library is not installed.
    """
    return engine(where).open(address(where), encoder, write=write)


def create(where: Address, encoder: Encoder | None) -> Corpus:
    """Create an empty corpus, open for writing; raises CorpusError if one exists."""
    return engine(where).create(address(where), encoder)


def open_or_create(where: Address, encoder: Encoder | None) -> Corpus:
    return open(where, encoder, write=True) if exists(where) else create(where, encoder)


def exists(where: Address) -> bool:
    return engine(where).exists(address(where))


def encoder_of(where: Address) -> str:
    """Return the fingerprint of the encoder that built the corpus, or "none"."""
    return engine(where).encoder_of(address(where))


def engine(where: Address) -> Engine:
    """Return the engine for this address.

    Raises:
        ConfigError: There is none, or the address contains a password.
        MissingExtra: The package that provides the engine is not installed.
    """
    found = address(where)
    if isinstance(found, Path):
        from pincite.corpus.embedded import ENGINE

        return ENGINE
    if _SECRET.search(found) and not _USER.match(found):
        raise ConfigError(
            f"{_SECRET.sub('//…@', found)}: addresses appear in reports and must not contain a "
            "password. Put Milvus's user:password in PINCITE_MILVUS_TOKEN, and PostgreSQL's "
            "password in ~/.pgpass, the file that PGPASSFILE names, or PGPASSWORD."
        )
    scheme = found.partition(":")[0]
    points = entry_points(group=GROUP)
    for point in points:
        if point.name == scheme:
            loaded: Engine = point.load()
            return loaded
    if extra := _EXTRAS.get(scheme):
        raise MissingExtra(
            f"{found}: the engine of {scheme}:// is not installed. "
            f"Install with: {install_command(extra)}"
        )
    known = ", ".join(dict.fromkeys([*_EXTRAS, *(point.name for point in points)]))
    raise ConfigError(
        f"{found}: no engine opens corpora at {scheme}:// addresses. Expected a folder, or an "
        f"address with one of: {known}. Is the package that provides {scheme}:// installed?"
    )


def notes_of(where: Address, beside: Path) -> Path:
    """Return a local folder for notes about a corpus: the corpus folder, or one below `beside`."""
    found = address(where)
    if isinstance(found, Path):
        return found
    folder = beside / hashlib.sha256(found.partition("?")[0].encode()).hexdigest()[:16]
    folder.mkdir(parents=True, exist_ok=True)
    return folder
