"""Answers with one planted fault each, and what the check of answers finds of them.

    python tools/planted.py [--answers 100] [--seed 1]

Sentences are those of the demo's abstracts, word for word or as `tests/cases/ask/reworded.json`
has them; that file was written before anything was measured and stays as it is.
"""

import argparse
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from pincite.documents.collection import collect
from pincite.judgement.provenance import Retraction
from pincite.judgement.references import Standing
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.settings import Settings
from pincite.text.citation_marks import cited_sentences
from pincite.text.sentences import sentences
from pincite.types import Document
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite.verbs.ask.pipeline import ref_id
from pincite.verbs.ask.quotable import can_stand_alone
from pincite.verbs.ask.report import Checked, Reference

ROOT = Path(__file__).parents[1]
ABSTRACTS = ROOT / "src/pincite/demo/ask/abstracts.xml"
REWORDED = ROOT / "tests/cases/ask/reworded.json"
KINDS = ("fabricated", "number", "negated", "uncited", "retracted")
# A number is replaced by a new one, or, which is harder, by another of the same abstract.
HOW = ("new", "of the abstract")
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7)
_NUMBER = re.compile(r"(?<![\w.,-])\d+(?:,\d{3})*(?:\.\d+)?(?![\w,]*\d)(?P<percent>%?)")
_LABEL = re.compile(r"^[A-Z][A-Z ]+: ")


@dataclass(frozen=True, slots=True)
class Statement:
    """A sentence with its source; `turned` says the contrary, where somebody wrote that."""

    pmid: str
    text: str
    turned: str = ""


@dataclass(frozen=True, slots=True)
class Planted:
    """An answer with a fault in one sentence."""

    kind: str
    text: str
    references: tuple[Reference, ...]
    place: int  # of the faulty sentence, from 0
    sound: str  # what that sentence says without its fault
    how: str = ""


@cache
def documents() -> dict[str, Document]:
    """The demo's abstracts by PMID."""
    collection = collect([ABSTRACTS])
    found = [one for piece in collection.pieces for one in collection.read(piece)]
    return {one.meta["pmid"]: one for one in found if isinstance(one, Document)}


def statements(known: Mapping[str, Document]) -> list[Statement]:
    """All sentences that an answer may be made of: the abstracts' own, and reworded ones."""
    own = [
        Statement(pmid, said)
        for pmid, document in known.items()
        for span in sentences(document.text.partition("\n\nAbstract (")[0])
        if can_stand_alone(said := _LABEL.sub("", span.of(document.text)))
    ]
    rows = json.loads(REWORDED.read_text(encoding="utf-8"))
    return [*own, *(Statement(row["pmid"], row["sound"], row.get("turned", "")) for row in rows)]


def planted(n_answers: int, seed: int = 1) -> Iterator[Planted]:
    """Answers with a fault of each kind in turn; the same for the same seed."""
    known = documents()
    chance = random.Random(seed)  # noqa: S311 - a sample, not a secret
    makers = _Makers(known, statements(known), chance)
    for number in range(n_answers):
        yield makers.answer(KINDS[number % len(KINDS)], HOW[number // len(KINDS) % len(HOW)])


@dataclass(frozen=True, slots=True)
class _Makers:
    known: Mapping[str, Document]
    pool: Sequence[Statement]
    chance: random.Random

    def answer(self, kind: str, how: str) -> Planted:
        """Four to six sentences of as many sources, one of them with the fault."""
        n_sentences = self.chance.randint(4, 6)
        place = self.chance.randrange(1, n_sentences - 1)
        faulty, said = self._fault(kind, how)
        chosen = self._others(n_sentences - 1, faulty.pmid)
        chosen.insert(place, faulty)
        references = self._references([each.pmid for each in chosen])
        by_pmid = {reference.ref_id: reference for reference in references}
        named = self.chance.random() < 0.5  # PMIDs, else numbers
        parts = []
        for at, each in enumerate(chosen):
            mark = f"(PUBMED:{each.pmid})" if named else f"[{by_pmid[each.pmid].number}]"
            if at == place and kind == "fabricated":
                mark = self._no_such(named, len(references))
            if at == place and kind == "uncited":
                mark = ""
            parts.append(_with_mark(said if at == place else each.text, mark, self.chance))
        how = how if kind == "number" else ""
        return Planted(kind, " ".join(parts), tuple(references), place, faulty.text, how)

    def _fault(self, kind: str, how: str) -> tuple[Statement, str]:
        """A statement, and what the faulty sentence says."""
        if kind == "negated":
            one = self.chance.choice([each for each in self.pool if each.turned])
            return one, one.turned
        if kind == "number":
            return self._swapped(how)
        one = self._any(retracted=kind == "retracted")
        return one, one.text

    def _swapped(self, how: str) -> tuple[Statement, str]:
        while True:
            one = self._any(retracted=False)
            abstract = self.known[one.pmid].text
            numbers = list(_NUMBER.finditer(one.text))
            if not numbers:
                continue
            old = self.chance.choice(numbers)
            others = self._rivals(old, one.text, abstract) if how == HOW[1] else self._new(old)
            others = [n for n in others if how == HOW[1] or n not in abstract]
            if others:
                new = self.chance.choice(others)
                return one, one.text[: old.start()] + new + one.text[old.end() :]

    def _rivals(self, old: re.Match[str], text: str, abstract: str) -> list[str]:
        """Numbers of the abstract that are written like `old` and that the sentence lacks."""
        stated = {match[0] for match in _NUMBER.finditer(text)}
        found = {match[0] for match in _NUMBER.finditer(abstract)} - stated
        return sorted(n for n in found if _form(n) == _form(old[0]))

    def _new(self, old: re.Match[str]) -> list[str]:
        """Numbers 15 to 60 % above and below, written like `old`."""
        bare = old[0].rstrip("%")
        decimals = len(bare.partition(".")[2])
        value = float(bare.replace(",", ""))
        made = [value * factor for factor in (0.4, 0.6, 0.75, 0.85, 1.15, 1.3, 1.6)]
        comma = "," if "," in bare else ""
        return sorted({f"{each:{comma}.{decimals}f}{old['percent']}" for each in made} - {old[0]})

    def _any(self, *, retracted: bool) -> Statement:
        return self.chance.choice(
            [each for each in self.pool if self._is_retracted(each.pmid) == retracted]
        )

    def _others(self, n: int, besides: str) -> list[Statement]:
        found: list[Statement] = []
        while len(found) < n:
            one = self._any(retracted=False)
            if one.pmid not in {besides, *(each.pmid for each in found)}:
                found.append(one)
        return found

    def _is_retracted(self, pmid: str) -> bool:
        return Reference(1, pmid, self.known[pmid]).retraction is Retraction.YES

    def _references(self, pmids: Sequence[str]) -> list[Reference]:
        """The sources with three that are not cited, in any order."""
        rest = sorted(set(self.known) - set(pmids))
        given = [*pmids, *self.chance.sample(rest, 3)]
        self.chance.shuffle(given)
        found = [self.known[pmid] for pmid in given]
        return [Reference(number, ref_id(one), one) for number, one in enumerate(found, 1)]

    def _no_such(self, named: bool, n_references: int) -> str:
        if named:
            return f"(PUBMED:{self.chance.randint(10_000_000, 39_999_999)})"
        return f"[{n_references + self.chance.randint(1, 4)}]"


def _form(number: str) -> tuple[bool, bool, int]:
    return "%" in number, "." in number, len(number.partition(".")[0])


def _with_mark(text: str, mark: str, chance: random.Random) -> str:
    """Before the full stop, or now and then behind it, as models write."""
    if not mark:
        return text
    if chance.random() < 0.2:
        return f"{text} {mark}"
    return f"{text[:-1]} {mark}{text[-1]}"


# ── What the check says ──────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Outcome:
    """An answer with its sentences, checked."""

    answer: Planted
    checked: tuple[Checked, ...]

    @property
    def faulty(self) -> Checked:
        """The sentence with the fault."""
        return self.checked[self.answer.place]

    @property
    def sound(self) -> list[Checked]:
        """The other sentences."""
        return [one for at, one in enumerate(self.checked) if at != self.answer.place]

    @property
    def caught(self) -> bool:
        """Whether the fault was flagged as what it is."""
        kind, found = self.answer.kind, self.faulty
        if kind == "fabricated":
            return found.standing is Standing.FABRICATED
        if kind == "uncited":
            return found.standing is Standing.UNCITED
        if kind == "retracted":
            return any(note.code == "retracted" for note in found.notes_coded)
        return found.standing is not Standing.SUPPORTED


def outcomes(answers: Sequence[Planted], checker: AnswerChecker) -> list[Outcome]:
    """What the checker says of each answer."""
    found = []
    for answer in answers:
        checked = checker.check(cited_sentences(answer.text), answer.references)
        found.append(Outcome(answer, tuple(checked)))
    return found


def verifier(judged: Path | None = None) -> CrossEncoderVerifier:
    """The one that is shipped; logits are kept in `judged`."""
    return CrossEncoderVerifier(weights.locate(Settings().models.verifier), judged=judged)


def catch_rate(found: Sequence[Outcome], kind: str, how: str = "") -> tuple[int, int]:
    """Caught faults of a kind, and all of it."""
    of_kind = [one for one in found if one.answer.kind == kind and how in ("", one.answer.how)]
    return sum(one.caught for one in of_kind), len(of_kind)


def false_alarms(found: Sequence[Outcome]) -> tuple[int, int]:
    """Sound sentences that are not called supported, and all sound ones."""
    sound = [each for one in found for each in one.sound]
    return sum(each.standing is not Standing.SUPPORTED for each in sound), len(sound)


def lines(found: Sequence[Outcome]) -> Iterator[str]:
    """The rates as a readable table."""
    for kind in KINDS:
        yield f"{kind:12} {_share(catch_rate(found, kind))}"
    for how in HOW:
        yield f"  number, {how}: {_share(catch_rate(found, 'number', how))}"
    yield f"false alarms {_share(false_alarms(found))}"


def _share(counts: tuple[int, int]) -> str:
    return f"{counts[0]}/{counts[1]} = {counts[0] / counts[1]:.3f}" if counts[1] else "none"


def _misses(found: Sequence[Outcome]) -> Iterator[str]:
    for one in found:
        if not one.caught:
            yield f"MISSED {one.answer.kind} {one.answer.how}\n  sound: {one.answer.sound}"
            yield from _shown(one.faulty)
        for each in one.sound:
            if each.standing is not Standing.SUPPORTED:
                yield "FALSE ALARM"
                yield from _shown(each)


def _shown(checked: Checked) -> Iterator[str]:
    yield f"  says: {checked.sentence.text} {checked.sentence.ids} {checked.standing}"
    for verdict in checked.verdicts:
        if verdict.evidence:
            e = verdict.evidence
            quote = e.quote.of(e.passage.text) if e.quote else ""
            yield f"  {e.prob_supported:.2f} {e.prob_refuted:.2f} {e.reasons} quote: {quote}"


def main() -> None:
    """Print the rates, the misses, and both rates at several thresholds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--judged", type=Path, help="A file where logits are kept.")
    given = parser.parse_args()
    answers, network = list(planted(given.answers, given.seed)), verifier(given.judged)
    found = outcomes(answers, AnswerChecker(network))
    print("\n".join([*_misses(found), *lines(found)]), flush=True)
    print("supported_from  number  negated  false alarms")
    for threshold in THRESHOLDS:
        found = outcomes(answers, AnswerChecker(network, supported_from=threshold))
        rates = [catch_rate(found, kind) for kind in ("number", "negated")]
        print(f"{threshold:14}", *(_share(each) for each in (*rates, false_alarms(found))))


if __name__ == "__main__":
    main()
