"""A writer to be killed: started by test_crash.py, forks one process for each job it reads.

A job is a line "add|delete|rebuild|optimize FOLDER LOG SEED". The process writes to LOG what it is
about to do and, once it returned, that it is done, so that the test knows what must be there after
a kill.
"""

import os
import random
import sys
import traceback
from contextlib import ExitStack
from pathlib import Path

from support.laws import FakeEncoder

from pincite.corpus import dense
from pincite.corpus import engines as corpora
from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.maintenance import optimize, rebuild
from pincite.errors import CorpusError
from pincite.types import Document

EXACT_LIMIT = 150  # so that vector indexes are built all the time
N_URLS = 120


def document(number: int, version: int) -> Document:
    """The version of a document: words of its own, and 2 to 4 passages."""
    words = random.Random(f"{number} {version}")
    text = " ".join(
        f"The word{words.randrange(500)} of page{number}v{version} is word{words.randrange(500)}."
        for _ in range(words.randrange(40, 70))
    )
    return Document(f"https://example.org/{number}", f"Page {number}", text)


def encoder_of(folder: Path) -> FakeEncoder:
    """The encoder with which the corpus was last built."""
    with EmbeddedCorpus.open(folder, None) as corpus:
        return FakeEncoder(int(corpus.manifest()["dim"]))


def work(job: str, folder: Path, log: Path, seed: int) -> None:
    """Do one kind of job over and over."""
    dense.EXACT_LIMIT = EXACT_LIMIT
    chance = random.Random(seed)
    with log.open("a", encoding="ascii", buffering=1) as lines:
        while job == "rebuild":
            encoder = FakeEncoder(80 - encoder_of(folder).dim)  # 32 and 48 in turn
            rebuild(folder, encoder, index=chance.choice(dense.KINDS))
        while job == "optimize":
            try:
                optimize(folder, index=chance.choice(dense.KINDS))
            except CorpusError as error:
                if "unfinished rebuild" not in str(error):
                    raise
                rebuild(folder, FakeEncoder(80 - encoder_of(folder).dim))  # as it advises
        with ExitStack() as stack:
            opened = EmbeddedCorpus.open(folder, encoder_of(folder), write=True)
            corpus = stack.enter_context(opened)
            if seed % 2:
                stack.enter_context(corpus.indexing_behind())
            version = 1000 * seed
            while True:
                numbers = chance.sample(range(N_URLS), chance.randrange(1, 12))
                version += 1
                lines.write(f"begin {job} {version} {' '.join(map(str, numbers))}\n")
                if job == "add":
                    corpus.add([document(number, version) for number in numbers])
                else:
                    corpus.delete([document(number, 0).url for number in numbers])
                lines.write("done\n")


def _say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


def main() -> None:
    """Fork a process for each job, say its number, wait until it was killed, say so."""
    import faiss
    import tantivy

    assert all((corpora, faiss, tantivy))  # loaded once, before forking
    for line in sys.stdin:
        job, folder, log, seed = line.split()
        if (child := os.fork()) == 0:
            try:
                work(job, Path(folder), Path(log), int(seed))
            except BaseException:  # it should be killed, not end
                traceback.print_exc()
            finally:
                os._exit(1)
        _say(child)
        _, status = os.waitpid(child, 0)
        _say(status)


if __name__ == "__main__":
    main()
