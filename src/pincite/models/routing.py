"""Gives each (claim, passage) pair to the verifier that reads its languages.

The verifier of the settings reads its own languages, usually English. Other pairs go to the
multilingual verifier, a package of its own; without it, they stay with the first.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TypeVar

import numpy as np

from pincite.models.calibration import Calibration, calibration_for
from pincite.models.verifier import CrossEncoderVerifier, Pair
from pincite.models.weights import fingerprint, languages_of
from pincite.protocols import Floats
from pincite.text.languages import identify
from pincite.types import Claim, Evidence, Passage

Result = TypeVar("Result")


class RoutedVerifier:
    """A `Verifier` of one network for some languages, and another one for others."""

    def __init__(
        self,
        first: CrossEncoderVerifier,
        other: Path | None = None,
        *,
        threads: int = 0,
        judged: Path | None = None,
    ) -> None:
        """Use `first`, and the verifier in the folder `other` for pairs that `first` cannot read.

        The latter is loaded for the first such pair. `threads`, `judged`: as of `first`.
        """
        self.first = first
        self._threads, self._judged = threads, judged
        more = languages_of(other) if other else frozenset[str]()
        # A network whose card names no languages is still to be measured, by itself.
        self._more = more - first.languages if first.languages else frozenset[str]()
        self._folder = other if self._more else None
        self.languages = first.languages | self._more

    @property
    def fingerprint(self) -> str:
        """Name and hash of the weights of both."""
        if not self._folder:
            return self.first.fingerprint
        named = calibration_for(self._folder, 3).name
        return f"{self.first.fingerprint} and {fingerprint(self._folder)}+{named}"

    @property
    def calibration(self) -> Calibration:
        return self.first.calibration

    @cached_property
    def other(self) -> CrossEncoderVerifier:
        assert self._folder
        return CrossEncoderVerifier(self._folder, threads=self._threads, judged=self._judged)

    def close(self) -> None:
        self.first.close()
        if "other" in vars(self):
            self.other.close()

    def is_for_other(self, claim: Claim, passage: Passage) -> bool:
        """Whether the pair is in a language that only the other network reads.

        A claim without telling words is in its article's language, else in one that `first` reads.
        """
        if not self._folder:
            return False
        language = identify(claim.text, claim.language)
        if language and language not in self.first.languages:
            return True
        return (passage.language or identify(passage.text)) in self._more

    def verify(self, pairs: Sequence[Pair]) -> list[Evidence]:
        """Judge each pair, in order; see `CrossEncoderVerifier.verify`."""

        def judge(verifier: CrossEncoderVerifier, some: Sequence[Pair]) -> list[Evidence]:
            evidence = verifier.verify(some)
            if verifier is self.first:
                return evidence
            return [replace(one, verifier=verifier.fingerprint) for one in evidence]

        return self._by_language(judge, pairs)

    def log_odds(self, pairs: Sequence[Pair]) -> Floats:
        """Return (n_pairs, 2); see `CrossEncoderVerifier.log_odds`."""
        rows = self._by_language(lambda verifier, some: list(verifier.log_odds(some)), pairs)
        return np.array(rows, dtype=np.float32).reshape(-1, 2)

    def relevance(self, pairs: Sequence[Pair]) -> Floats:
        """Return (n_pairs,); see `CrossEncoderVerifier.relevance`."""
        rows = self._by_language(lambda verifier, some: list(verifier.relevance(some)), pairs)
        return np.array(rows, dtype=np.float32)

    def seconds_a_pair(self, pairs: Sequence[Pair]) -> float:
        """Measure the first network's time per pair; both have the same depth and width."""
        return self.first.seconds_a_pair(pairs)

    def _by_language(
        self,
        judge: Callable[[CrossEncoderVerifier, Sequence[Pair]], Sequence[Result]],
        pairs: Sequence[Pair],
    ) -> list[Result]:
        """Give each pair to the network of its language; results are in the order of the pairs."""
        of_first = [n for n, pair in enumerate(pairs) if not self.is_for_other(*pair)]
        of_other = sorted({*range(len(pairs))}.difference(of_first))
        results: dict[int, Result] = {}
        if of_first:
            results |= zip(of_first, judge(self.first, [pairs[n] for n in of_first]), strict=True)
        if of_other:  # else the other network need not be loaded
            results |= zip(of_other, judge(self.other, [pairs[n] for n in of_other]), strict=True)
        return [results[n] for n in range(len(pairs))]
