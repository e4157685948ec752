"""Is a corpus whole? Every checksum and cross-reference in it, and the mending of what can be.

The word index and the vector index are derived from the store and made anew; the pointer to the
generation in use follows from what lies in the folder, where only one is possible; leftovers go.
A damaged document is not derived from anything: it is named, with what to do.
"""

import dataclasses
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, nullcontext
from pathlib import Path

from pincite.corpus.check_store import flaws
from pincite.corpus.durable import Tell, silent
from pincite.corpus.generation import (
    COMPACTING,
    POINTER,
    Generation,
    check_format,
    current_name,
    generations,
    holds_documents,
    point_to,
)
from pincite.corpus.lock import WriterLock
from pincite.corpus.protocol import Finding
from pincite.errors import CorpusError


def verify(folder: Path, *, repair: bool = False, tell: Tell = silent) -> list[Finding]:
    """What is wrong with the corpus, worst first; with `repair`, what is derived is made anew.

    Holds the writer's lock where the folder can be written, so that nothing moves meanwhile;
    readers go on.

    Raises:
        CorpusError: It is no corpus, has an unknown format, or another process is writing it.
    """
    if not holds_documents(folder):
        current_name(folder)  # says what is wrong
    with _alone(folder):
        pointer, name = _pointer(folder, repair)
        if name is None:
            return pointer
        try:
            generation = Generation(folder / name, write=repair)
        except CorpusError as error:
            remedy = f"Restore {folder} from a copy, or make the corpus anew from its sources."
            return [*pointer, Finding("store", str(folder / name), str(error), remedy)]
        with closing(generation):
            check_format(folder, generation.store.manifest())
            with generation.store.snapshot():
                found = [Finding(*flaw) for flaw in flaws(generation.store, tell)]
            found += _derived(generation, repair, tell)
            return [*pointer, *found, *_leftovers(folder, generation, repair)]


def _alone(folder: Path) -> AbstractContextManager[object]:
    return WriterLock(folder) if os.access(folder, os.W_OK) else nullcontext()


def _pointer(folder: Path, repair: bool) -> tuple[list[Finding], str | None]:
    """The name of the generation in use, if it is known or can only be one."""
    try:
        return [], current_name(folder)
    except CorpusError:
        possible = [p.name for p in generations(folder) if not (p / COMPACTING).exists()]
    problem = "is missing or damaged; it names the build in use"
    if len(possible) != 1:
        remedy = (
            f"{len(possible)} are there ({', '.join(possible)}), and an unfinished rebuild is the "
            "latest of them. Move away all but the one that was in use, and repair."
        )
        return [Finding("pointer", str(folder / POINTER), problem, remedy)], None
    if repair:
        point_to(folder, possible[0])
    return [Finding("pointer", str(folder / POINTER), problem, _repair(folder), repair)], possible[
        0
    ]


def _derived(generation: Generation, repair: bool, tell: Tell) -> list[Finding]:
    """What is wrong with the word index and the vector index."""

    def words() -> Iterator[tuple[str, str]]:
        return generation.lexical.faults(tell)

    found = _mended("words", generation, words, generation.lexical.forget, repair, tell)
    if generation.has_vectors:
        dense = generation.dense
        found += _mended("meaning", generation, dense.faults, dense.forget, repair, tell)
    return found


def _mended(
    kind: str,
    generation: Generation,
    faults: Callable[[], Iterator[tuple[str, str]]],
    forget: Callable[[], None],
    repair: bool,
    tell: Tell,
) -> list[Finding]:
    remedy = _repair(generation.folder.parent)
    found = [Finding(kind, place, problem, remedy) for place, problem in _asked(faults)]
    if not found or not repair:
        return found
    try:
        forget()
        generation.catch_up(tell)
    except CorpusError as error:
        return [*found, Finding(kind, str(generation.folder), f"not repaired: {error}", remedy)]
    still = [Finding(kind, place, problem, remedy) for place, problem in _asked(faults)]
    return [*(dataclasses.replace(finding, repaired=True) for finding in found), *still]


def _asked(faults: Callable[[], Iterator[tuple[str, str]]]) -> Iterator[tuple[str, str]]:
    try:
        yield from faults()
    except CorpusError as error:
        yield "the store", str(error)


def _leftovers(folder: Path, generation: Generation, repair: bool) -> list[Finding]:
    """What killed processes left, and an unfinished rebuild, which is worth going on with."""
    gone = [path for path in generations(folder) if _is_left(path, generation.folder)]
    gone += [*folder.glob("*.part"), *generation.folder.glob("*.part")]
    gone += [*generation.lexical.leftovers(), *generation.dense.leftovers()]
    for path in gone if repair else ():
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
    problem = "was left by a process that was killed"
    remedy = f"Remove it: pincite corpus verify {folder} --repair"
    found = [
        Finding("leftover", str(path), problem, remedy, repair and not path.exists())
        for path in gone
    ]
    going_on = f"Go on with it: pincite corpus rebuild {folder}"
    return found + [
        Finding("leftover", str(path), "is an unfinished rebuild", going_on)
        for path in generations(folder)
        if path not in gone and path != generation.folder
    ]


def _is_left(path: Path, current: Path) -> bool:
    older = int(path.name[1:]) < int(current.name[1:])
    return older or (path != current and (path / COMPACTING).exists())


def _repair(folder: Path) -> str:
    return f"Make it anew: pincite corpus verify {folder} --repair"
