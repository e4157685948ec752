"""Copies the inputs at addresses (s3://, gs://, hf://, http://…), and reads inputs ahead.

fsspec resolves the addresses; the user installs the packages for each store (s3fs, gcsfs, aiohttp…)
and supplies credentials. Only what the user names is fetched. Copies are kept, so the next run
fetches only what changed, and an update detects deleted files.

Threads read ahead while the caller processes the current item. Costly formats are read in
subprocesses (`sandbox`), so the threads use several cores. The backlog is bounded.
"""

import hashlib
import json
import os
import re
import threading
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path, PurePosixPath
from queue import Queue, SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, NamedTuple, TypeVar

from pincite.durable import replacing
from pincite.errors import ConfigError, InputError

if TYPE_CHECKING:
    from pincite.protocols import Encoder

# ── Files at addresses ────────────────────────────────────────────────────────────────────────────

_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]+://.", re.IGNORECASE)
_SECRET = re.compile(r"//[^/@:]*:[^/@]*@")  # abfs://container@account/ has no secret
_LIST = ".downloads.json"  # beside a copy, which may have any names: its files and their states
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
        for begins, name in self.called.items():
            if url.startswith(begins):
                return name + url.removeprefix(begins)
        return url


def local(
    given: Sequence[Path | str], folder: Path, progress: Progress = lambda *_: None
) -> Inputs:
    """Return paths unchanged, and for each address an up-to-date copy below `folder`.

    `progress` is called with the number of files copied. Raises ConfigError if no installed package
    opens such addresses, InputError if nothing can be read or a name leads outside the folder.
    """
    inputs = Inputs([], {})
    for address in map(str, given):
        if not is_address(address):
            inputs.paths.append(Path(address))
            continue
        target = folder / hashlib.sha256(address.encode()).hexdigest()[:16]
        path = _copy(address, target, progress)
        end = "" if path != target else "/"
        inputs.paths.append(path)
        inputs.called[path.resolve().as_uri() + end] = address.rstrip("/") + end
    return inputs


def is_address(place: Path | str) -> bool:
    """Whether a place is an address that fsspec may open, rather than a path."""
    return bool(_ADDRESS.match(str(place)))


def send(file: Path, address: str) -> None:
    """Copy a file to an address; raises ConfigError or InputError if it cannot be written."""
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
    noted = target.with_name(target.name + _LIST)
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
        with replacing(noted) as part:
            part.write_text(json.dumps(known))


def _inside(target: Path, name: str) -> Path:
    """Return a path below `target`: the names in a bucket are not trusted."""
    path = target / name
    if not path.resolve().is_relative_to(target.resolve()) or path.resolve() == target.resolve():
        raise InputError(f"{name!r} is not the name of a file under the given address.")
    return path


# ── Reading ahead ─────────────────────────────────────────────────────────────────────────────────

T = TypeVar("T")
Item = TypeVar("Item")
Name = TypeVar("Name")
# The caller needs a core too; a worker process takes 150 MB, and a second to start.
READERS = max(1, min(4, (os.cpu_count() or 1) // 2))
MOST_STREAMS = 16  # waiting or being read; each file of a folder is one
# Items travel in parts of so many characters or items.
PART_CHARS, PART_ITEMS = 100_000, 64
WAITING_PARTS = 2  # of a stream at which its reader pauses
_AT_ONCE = threading.BoundedSemaphore(READERS)


def in_parts(items: Iterable[T]) -> Iterator[list[T]]:
    """Group items; if reading them fails, the error comes after the items before it."""
    part, n_chars = list[T](), 0
    try:
        for item in items:
            part.append(item)
            n_chars += len(getattr(item, "text", ""))
            if n_chars >= PART_CHARS or len(part) >= PART_ITEMS:
                yield part
                part, n_chars = [], 0
    except Exception:
        yield part
        raise
    yield part


class _Stream(Generic[T]):
    """A stream that a thread reads and the caller iterates over."""

    def __init__(self, items: Iterable[T]) -> None:
        self._items, self._abandoned = items, threading.Event()
        self._parts: Queue[list[T] | BaseException | None] = Queue(WAITING_PARTS)

    def read(self) -> None:
        end = None
        parts = in_parts(self._items)
        try:
            while not self._abandoned.is_set() and (part := next(parts, None)) is not None:
                self._parts.put(part)
        except BaseException as error:  # re-raised after the last item
            end = error
        if isinstance(self._items, Generator):  # closes its file
            self._items.close()
        self._parts.put(end)

    def __iter__(self) -> Iterator[T]:
        while isinstance(part := self._parts.get(), list):
            yield from part
        if part is not None:
            raise part

    def abandon(self) -> None:
        """Stop reading; removing parts wakes a reader that waits for room."""
        self._abandoned.set()
        while not self._parts.empty():
            self._parts.get()


def read_ahead(
    streams: Iterable[tuple[Name, Iterable[T]]], n_readers: int = READERS
) -> Generator[tuple[Name, Iterator[T]], None, None]:
    """Yield named streams in order, read by daemon threads; closing stops the reading.

    An error of a stream comes after its items, and one between streams after the last of them.
    """
    jobs: SimpleQueue[_Stream[T] | None] = SimpleQueue()
    errors = list[Exception]()

    def work() -> None:
        while (stream := jobs.get()) is not None:
            stream.read()

    def submit() -> Iterator[tuple[Name, _Stream[T]]]:
        try:
            for name, items in streams:
                stream = _Stream(items)
                jobs.put(stream)
                yield name, stream
        except Exception as error:
            errors.append(error)

    for _ in range(n_readers):
        threading.Thread(target=work, name="pincite-reader", daemon=True).start()
    submitted = submit()
    waiting = deque(islice(submitted, MOST_STREAMS))
    try:
        while waiting:
            name, stream = waiting[0]
            yield name, iter(stream)
            stream.abandon()  # the caller may not have exhausted it
            waiting.popleft()
            waiting.extend(islice(submitted, 1))
    finally:
        for _, stream in waiting:
            stream.abandon()
        for _ in range(n_readers):
            jobs.put(None)
    if errors:
        raise errors[0]


def read_each(read: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
    """Map `read` over items, lazily and in order; all callers together read READERS at once."""

    def read_one(item: Item) -> T:
        with _AT_ONCE:
            return read(item)

    with closing(read_ahead((None, map(read_one, (item,))) for item in items)) as streams:
        for _, results in streams:
            yield from results


class Parallel:
    """Bulk work in this process, in the order of the items; plugins add other workers."""

    is_remote = False  # whether functions run in other processes, on copies of their arguments

    def map(self, function: Callable[[Item], T], items: Iterable[Item]) -> Iterator[T]:
        """Apply a module-level `function` to each item; raises what it raises."""
        return map(function, items)

    def streams(
        self, function: Callable[[Item], Iterable[T]], items: Iterable[Item]
    ) -> Generator[tuple[Item, Iterator[T]], None, None]:
        """Yield each item with the iterator of `function`, which ends or raises as it does here."""
        return read_ahead((item, function(item)) for item in items)

    def encoder(self, encoder: "Encoder", load: Callable[[], "Encoder"]) -> "Encoder":
        """Return one that spreads passages; a worker gets the same encoder from `load`."""
        return encoder
