"""Files at addresses (s3://, gs://, hf://, http://…): copied to this machine, then read as files.

fsspec resolves the addresses; the user installs the packages for each store (s3fs, gcsfs, aiohttp…)
and supplies credentials. Only what the user names is fetched. Copies are kept, so the next run
fetches only what changed, and an update detects deleted files.
"""

import hashlib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from pincite.durable import replacing
from pincite.errors import ConfigError, InputError

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://.", re.IGNORECASE)
_SECRET = re.compile(r"//[^/@:]*:[^/@]*@")  # abfs://container@account/ has no secret
_LIST = ".downloads.json"  # of a copy: its files and their states
# The fields by which stores report that a file has changed; size alone is not enough.
_STATES = (
    *("ETag", "etag", "md5", "content_md5", "LastModified", "Last-Modified", "last_modified"),
    *("mtime", "updated", "modified", "created", "version_id", "generation"),
)

# Task, amount done, total if known, description.
Progress = Callable[[str, int, int | None, str], None]


class Inputs(NamedTuple):
    """The inputs, as paths on this machine."""

    paths: list[Path]
    called: dict[str, str]  # prefixes of file:// addresses → the user's names of these places

    def named(self, url: str) -> str:
        """Return an address as the user knows it."""
        for begins, name in self.called.items():
            if url.startswith(begins):
                return name + url.removeprefix(begins)
        return url


def local(
    given: Sequence[Path | str], folder: Path, progress: Progress = lambda *_: None
) -> Inputs:
    """Return paths unchanged, and for each address an up-to-date copy below `folder`.

    `progress` is called with the number of files copied.

    Raises:
        ConfigError: No installed package opens such addresses.
        InputError: Nothing is there, it may not be read, or a name leads outside the folder.
    """
    found = Inputs([], {})
    for each in given:
        if not is_address(each):
            found.paths.append(Path(each))
            continue
        address = str(each)
        target = folder / hashlib.sha256(address.encode()).hexdigest()[:16]
        path = _copy(address, target, progress)
        end = "" if path != target else "/"
        found.paths.append(path)
        found.called[path.resolve().as_uri() + end] = address.rstrip("/") + end
    return found


def is_address(place: Path | str) -> bool:
    """Whether a place is an address that fsspec may open, rather than a path."""
    return bool(_ADDRESS.match(str(place)))


def send(file: Path, address: str) -> None:
    """Copy a file to an address: `hf://datasets/OWNER/NAME/kb.zip`, `s3://bucket/kb.zip`.

    Raises:
        ConfigError: No installed package opens such addresses, or it contains a password.
        InputError: It cannot be written.
    """
    store, root = _store(address)
    try:
        store.put_file(str(file), root)
    except Exception as error:  # each store has its own errors
        message = str(error) or type(error).__name__
        raise InputError(f"{address} could not be written: {message}") from error


def _store(address: str) -> tuple[Any, str]:
    import fsspec

    if _SECRET.search(address):
        raise ConfigError(
            f"{_SECRET.sub('//…@', address)}: addresses appear in reports and must not contain a "
            "password. Set it the way the store's package expects, in its settings or variables."
        )
    try:
        store, root = fsspec.core.url_to_fs(address)
    except (ImportError, ValueError) as error:
        raise ConfigError(f"{address}: {error}. Expected an address that fsspec opens.") from error
    return store, root


def _copy(address: str, target: Path, progress: Progress) -> Path:
    store, root = _store(address)
    try:
        # A web server has a page at a folder's address too.
        is_file = not address.endswith("/") and store.isfile(root)
        base = root.rstrip("/") + "/"
        names = {PurePosixPath(root).name: root} if is_file else {}
        files = names or {name.removeprefix(base): name for name in store.find(root)}
        _bring(store, files, target, progress)
    except InputError:
        raise
    except Exception as error:  # each store has its own errors
        message = str(error) or type(error).__name__
        raise InputError(f"{address} could not be read: {message}") from error
    if not files:
        raise InputError(f"{address} contains no files; expected a file or a folder to add.")
    return target / next(iter(files)) if is_file else target


def _bring(store: Any, files: Mapping[str, str], target: Path, progress: Progress) -> None:
    """Copy what is new or changed, and remove what is gone; each file is replaced atomically."""
    target.mkdir(parents=True, exist_ok=True)
    noted = target / _LIST
    known: dict[str, str] = json.loads(noted.read_text()) if noted.exists() else {}
    for name in known.keys() - files.keys():
        _inside(target, name).unlink(missing_ok=True)
        del known[name]
    try:
        for n, (name, place) in enumerate(files.items()):
            progress("copying files", n, len(files), f"copying {name}")
            path, info = _inside(target, name), store.info(place)
            fields = [str(info[key]) for key in _STATES if info.get(key)]
            state = " ".join([*fields, str(info.get("size"))]) if fields else ""
            if not state or known.get(name) != state or not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                with replacing(path) as part:
                    store.get_file(place, str(part))
            known[name] = state
    finally:
        noted.write_text(json.dumps(known))


def _inside(target: Path, name: str) -> Path:
    """Return a path below `target`: the names in a bucket are not trusted."""
    path = target / name
    if not path.resolve().is_relative_to(target.resolve()) or path.resolve() == target.resolve():
        raise InputError(f"{name!r} is not the name of a file under the given address.")
    return path
