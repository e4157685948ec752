"""Pairs of a citation's context and the title of the page that it cites, out of articles.

Articles come as `wiki/` reads them: wikitext, HTML, dumps, JSON lines; WAFER-like records give the
titles that they or the pages beside them hold. Titles that say nothing are left out and counted.
"""

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import Path

from pincite.errors import InputError
from pincite.retrieval.titles import context_of, is_junk
from pincite.training.encoder.searches import cited_by_records, is_wafer
from pincite.training.recipe import TitlesRecipe
from pincite.types import Claim
from pincite.wiki.article import read_articles

TOLD_EVERY = 1_000  # pairs between two words of progress

Tell = Callable[[str, int, int | None], None]
OnBad = Callable[[InputError], None]


@dataclass(frozen=True, slots=True)
class TitlePair:
    """What one step sees of one citation."""

    context: str
    title: str


@dataclass(slots=True)
class Sieve:
    """Lets each good pair through once; at most `most` stay, each with the same chance.

    `fits` says whether a title is short enough for the model.
    """

    fits: Callable[[str], bool]
    most: int
    seed: int
    kept: list[TitlePair] = field(default_factory=list)
    n_good: int = 0
    dropped: Counter[str] = field(default_factory=Counter)
    _seen: set[bytes] = field(default_factory=set)
    _chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        """Chance begins anew with each sieve."""
        self._chance = random.Random(f"{self.seed} pairs")  # noqa: S311 - a sample, not a secret

    def add(self, claim: Claim, title: str) -> None:
        """Keep the pair, or count why not; a full sieve lets a new one in for an old one.

        (Vitter 1985, algorithm R: a dump need not lie in memory as a whole.)
        """
        pair = TitlePair(context_of(claim), " ".join(title.split()))
        why = self._why_not(claim, pair)
        if why:
            self.dropped[why] += 1
            return
        self.n_good += 1
        if not self.most or len(self.kept) < self.most:
            self.kept.append(pair)
        elif (place := self._chance.randrange(self.n_good)) < self.most:
            self.kept[place] = pair

    def _why_not(self, claim: Claim, pair: TitlePair) -> str:
        if not claim.text or is_junk(pair.title):
            return "with an empty claim or a title that says nothing"
        key = blake2b(f"{pair.context}\0{pair.title}".encode("utf-8", "replace"), digest_size=12)
        if key.digest() in self._seen:
            return "that were met before"
        self._seen.add(key.digest())
        return "" if self.fits(pair.title) else "with a title of too many tokens"


def read_pairs(
    data: Path, recipe: TitlesRecipe, fits: Callable[[str], bool], told: "Told"
) -> Sieve:
    """The pairs of a file, or of all files in a folder by name; the seed decides which of many.

    Raises:
        InputError: there is no such file, too many lines or files are bad, or no pair is found.
    """
    sieve = Sieve(fits, recipe.pairs, recipe.seed)
    for path in _files(data):
        for claim, title in _titles(path, told.bad):
            sieve.add(claim, title)
            if sieve.n_good % TOLD_EVERY == 0:
                told.tell("reading pairs", sieve.n_good, None)
    if not sieve.kept:
        raise InputError(
            f"{data} gives no pair of a claim and its citation's title. Expected articles whose "
            "references have titles, or WAFER-like records with the titles of their pages."
        )
    return sieve


@dataclass(slots=True)
class Told:
    """Who hears of progress and of what is skipped, until it is too much."""

    tell: Tell
    warn: Callable[[str], None]
    max_bad: int
    n_bad: int = 0

    def bad(self, error: InputError) -> None:
        """Warn of a line or file that is skipped.

        Raises:
            InputError: there were more than `max_bad`.
        """
        self.n_bad += 1
        if self.n_bad > self.max_bad:
            raise InputError(
                f"More than {self.max_bad} lines or files cannot be used; the last: {error} Mend "
                "them, or raise --max-bad-rows."
            ) from error
        self.warn(f"skipped: {error}")


def _files(data: Path) -> list[Path]:
    """Pages that stand beside records are read with these."""
    if data.is_file():
        return [data]
    if not data.is_dir():
        raise InputError(f"There is no {data}. Expected a file or a folder of articles.")
    found = [p for p in sorted(data.iterdir()) if p.is_file() and not p.name.startswith(".")]
    return [p for p in found if not (p.name.startswith("corpus") and ".jsonl" in p.name)]


def _titles(path: Path, on_bad: OnBad) -> Iterator[tuple[Claim, str]]:
    """Claims with the title of each source; "" where it has none."""
    if is_wafer(path):
        for _, claim, cited in cited_by_records(path, on_bad):
            yield from ((claim, title) for _, title in cited)
        return
    try:
        for article in read_articles(path):
            for claim in article.claims:
                for citation in claim.citations:
                    yield claim, citation.title or ""
    except InputError as error:
        on_bad(error)


def kept_pairs(path: Path) -> list[TitlePair]:
    """What `groups.write_groups` wrote of pairs."""
    with path.open(encoding="utf-8") as lines:
        return [TitlePair(**json.loads(line)) for line in lines]
