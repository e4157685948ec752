"""Turn rows of claims files into training groups: a claim, its evidence's passages, and negatives.

Which passage of a long evidence decides the label is latent; EM in training finds it. Negatives are
retrieved passages of other documents, passages of the right page without the evidence, and wrong or
changed claims against the right page.
"""

import json
import random
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from pincite import durable
from pincite.corpus import engines
from pincite.corpus.protocol import Corpus
from pincite.documents import jsonl
from pincite.documents.jsonl import LabelledClaim, read_labelled
from pincite.errors import InputError
from pincite.protocols import Encoder
from pincite.text import words
from pincite.text.passages import cited_passages, windows
from pincite.types import Document, Passage, Span
from pincite_lab.training import perturbations
from pincite_lab.training.recipe import GROUPS, MAX_BAD, Recipe, Run, SetRecipe

# A retrieved passage or a changed claim may be refuted or just not mentioned: not supported.
GENERATED_LABEL = "not_support"
HELD_BACK = 5  # one claim in this many
LEAST_ROWS, LEAST_HELD_BACK = 20, 5  # rows to learn from, documents to compare on
DEPTH = 20  # passages per claim and ranking
# The first hits are often paraphrases of the evidence: a correct passage labelled as a negative
# does more harm than a weak negative.
SKIPPED = 2
_DOCUMENTS_AT_ONCE = 200
_QUERIES_AT_ONCE = 256
_WORD, _DIGIT = re.compile(r"\w+"), re.compile(r"\d")
_POSSIBLE = re.compile(r"\b(?:may|might|could)\b")  # "may not" does not negate "may"

Tell = Callable[[str, int, int | None], None]  # task, steps done, steps in all
Warn = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Group:
    """What one training step sees of one row."""

    set_name: str
    row_id: str
    claim: str
    label: str  # of the claim with its deciding passage: one of labelled.LABELS
    passages: tuple[str, ...]  # of the right document; the deciding one is latent
    negatives: tuple[str, ...] = ()
    rivals: tuple[tuple[str, str], ...] = ()  # (changed or wrong claim, its label), same passage
    weight: float = 1.0


def prepare_groups(run: Run, encoder: Encoder | None, tell: Tell, warn: Warn) -> list[Group]:
    """Load the groups saved in the run's folder, or make them from its data and save them.

    Raises:
        InputError: A file is missing, or has more than MAX_BAD malformed rows.
    """
    recipe, saved = run.recipe, run.folder / GROUPS
    if saved.exists():
        return read_groups(saved)
    sets = {spec.name: read_set(run.data, spec, recipe.seed, warn) for spec in recipe.sets}
    evidences, others = defaultdict[str, list[str]](list), dict[str, list[str]]()
    searched = [row for spec in recipe.sets if spec.retrieve for row in sets[spec.name]]
    for row in searched:
        evidences[row.claim].append(row.evidence)
    if searched and recipe.negatives:
        everything = [row.evidence for row in searched]
        with index(run.folder / "evidence", everything, encoder, tell) as corpus:
            of_claim = negatives(corpus, evidences, encoder is not None, tell)
            others = {claim: [p.text for p in passages] for claim, passages in of_claim.items()}
    groups: list[Group] = []
    for n, wanted in enumerate(recipe.sets, 1):
        rows = sets[wanted.name]
        groups += groups_of(rows, wanted, recipe, lambda row: others.get(row.claim, ()))
        tell("cutting evidence", n, len(recipe.sets))
    write_groups(saved, groups)
    return groups


# Reading


def read_set(folder: Path, wanted: SetRecipe, seed: int, warn: Warn) -> list[LabelledClaim]:
    """Read the sampled rows of one set, in an order set by the seed; warns of skipped rows.

    Raises:
        InputError: The file is missing or unreadable, has no rows, or more than MAX_BAD malformed
            ones.
    """
    path = jsonl.find(folder, wanted.name)
    if path is None:
        raise InputError(f"{folder} has no {wanted.name}.jsonl.gz, which the recipe names.")
    rows = list(read_labelled(path, partial(skip, list[InputError](), path, warn)))
    if not rows:
        raise InputError(f"{path} has no usable rows; expected claims with evidence.")
    random.Random(f"{seed} {wanted.name}").shuffle(rows)  # noqa: S311 - a sample, not a secret
    return rows[: wanted.rows or None]


def skip(bad: list[InputError], data: Path, warn: Warn, error: InputError) -> None:
    """Add an error to the bad rows of `data`; raises InputError at more than MAX_BAD."""
    bad.append(error)
    if len(bad) > MAX_BAD:
        raise InputError(f"{data} has more than {MAX_BAD} bad rows; the last: {error}") from error
    warn(f"skipped: {error}")


def is_held_back(claim: str, seed: int) -> bool:
    """Whether a claim is in the fifth that is never trained on, in any set.

    Case and white space are ignored: one claim often occurs with several evidences.
    """
    return _hash(claim, f"{seed} held back") % HELD_BACK == 0


def split(
    rows: Sequence[LabelledClaim], seed: int
) -> tuple[list[LabelledClaim], list[LabelledClaim]]:
    """Split rows into those to learn from and those of a fixed fifth of the documents.

    A claim held back with one document is not learnt with another. Few rows are all learnt.
    """
    held = [row for row in rows if is_held_back(row.document, seed)]
    kept, claims = {row.document for row in held}, {row.claim.casefold() for row in held}
    rest = [r for r in rows if r.document not in kept and r.claim.casefold() not in claims]
    enough = len(rest) >= LEAST_ROWS and len(kept) >= LEAST_HELD_BACK
    return (rest, held) if enough else (list(rows), [])


def half_of(claim: str, seed: int) -> str:
    """Return the claim's half of the held-back ones: to `fit` thresholds, or to `measure`."""
    return ("fit", "measure")[_hash(claim, f"{seed} half") % 2]


def _hash(claim: str, salt: str) -> int:
    plain = " ".join(claim.casefold().split())
    return int.from_bytes(blake2b(f"{salt} {plain}".encode(), digest_size=8).digest())


# Negatives from retrieval: what BM25 and the dense index find for a claim in other documents


def index(folder: Path, evidences: Sequence[str], encoder: Encoder | None, tell: Tell) -> Corpus:
    """Build or resume a corpus of the distinct evidences."""
    corpus = engines.open_or_create(folder, encoder)
    distinct = list(dict.fromkeys(evidences))
    for start in range(0, len(distinct), _DOCUMENTS_AT_ONCE):
        batch = enumerate(distinct[start : start + _DOCUMENTS_AT_ONCE], start)
        corpus.add([Document(f"evidence:{n}", "", text) for n, text in batch])
        tell("indexing evidence", min(start + _DOCUMENTS_AT_ONCE, len(distinct)), len(distinct))
    return corpus


def negatives(
    corpus: Corpus, own: Mapping[str, Sequence[str]], dense: bool, tell: Tell
) -> dict[str, list[Passage]]:
    """Map each query to passages found for it, except those of its `own` evidences.

    These are what each ranking finds after its first hits, word hits first.
    """
    queries = list(own)
    retrievers = [corpus.lexical()] + ([corpus.dense()] if dense else [])
    of_query: dict[str, list[Passage]] = {query: [] for query in queries}
    for start in range(0, len(queries), _QUERIES_AT_ONCE):
        chunk = queries[start : start + _QUERIES_AT_ONCE]
        for retriever in retrievers:
            for query, hits in zip(chunk, retriever.retrieve(chunk, DEPTH), strict=True):
                passages = (hit.passage for hit in hits[SKIPPED:])
                of_query[query] += [
                    p for p in passages if not any(p.text in evidence for evidence in own[query])
                ]
        tell("searching negatives", min(start + _QUERIES_AT_ONCE, len(queries)), len(queries))
    return of_query


# Splitting evidence and changing claims


class Cut(NamedTuple):
    """A row's evidence in passages: those that may decide the label, and those known not to."""

    latent: tuple[str, ...]
    lacking: tuple[str, ...] = ()


def cut(row: LabelledClaim, most: int, n_words: int = 0) -> Cut:
    """Split a row's evidence like a source cited to `verify`, at most `most` passages per kind.

    With `n_words` all are about that long. The passages that share most words with the claim are
    kept: a cheap selection before EM makes the costly one. `meta.supporting` may mark the evidence
    lines (sets of line numbers, as in WiCE); passages without any of them lack the evidence.
    """
    page = Document(row.row_id, "", row.evidence)
    pieces = windows(page, n_words) if n_words else cited_passages(page)
    wanted = set(words.content_words(row.claim))
    marked = _marked_lines(row)

    def best(passages: Sequence[Passage]) -> tuple[str, ...]:
        shared = [len(wanted & set(words.content_words(p.text))) for p in passages]
        chosen = sorted(range(len(passages)), key=lambda i: (-shared[i], i))[:most]
        return tuple(passages[i].text for i in sorted(chosen))

    supporting = [p for p in pieces if any(p.span.overlaps(line) for line in marked)]
    if not supporting:
        return Cut(best(pieces) or (row.evidence,))
    return Cut(best(supporting), best([p for p in pieces if p not in supporting]))


def _marked_lines(row: LabelledClaim) -> list[Span]:
    """Return the evidence lines that annotators marked; empty if the set has no marks."""
    marks = row.meta.get("supporting")  # other sets may use this key differently
    lists = [group for group in marks if isinstance(group, list)] if isinstance(marks, list) else []
    wanted = {line for group in lists for line in group if isinstance(line, int)}
    spans, start = [], 0
    for number, line in enumerate(row.evidence.split("\n")):
        if number in wanted:
            spans.append(Span(start, start + len(line)))
        start += len(line) + 1
    return spans


def changed_claims(
    row: LabelledClaim, names: Sequence[str], others: Sequence[str], chance: random.Random
) -> tuple[tuple[str, str], ...]:
    """Return a changed and a wrong claim for a supported row, each with its label, if possible."""
    kinds = [*perturbations.KINDS, *perturbations.HARD_KINDS]
    chance.shuffle(kinds)
    changed: list[tuple[str, str]] = []
    for kind in kinds:
        swap = perturbations.perturb(kind, row.claim, names, chance, row.evidence)
        if swap and (kind == "negation" or swap.text not in row.evidence):
            changed.append((swap.text, _label_of(swap, row)))
            break
    if others and (not changed or chance.random() < 0.3):
        changed.append((chance.choice(others), GENERATED_LABEL))
    return tuple(changed)


def _label_of(swap: perturbations.Perturbation, row: LabelledClaim) -> str:
    """Refuted if the evidence states the original value, otherwise not supported.

    Another name need not exclude the first: two towns may have voted for it.
    """
    before = swap.span.of(row.claim)
    named = swap.kind == "name" or (swap.kind == "rival" and not _DIGIT.search(before))
    if named or _POSSIBLE.search(row.claim):
        return GENERATED_LABEL
    words_before, of_page = (_WORD.findall(x.casefold()) for x in (before, row.evidence))
    stated = set(words_before) <= set(of_page)
    return "refute" if swap.kind == "negation" or stated else GENERATED_LABEL


def groups_of(
    rows: Sequence[LabelledClaim],
    wanted: SetRecipe,
    recipe: Recipe,
    retrieved: Callable[[LabelledClaim], Sequence[str]],
) -> Iterator[Group]:
    """Yield one group per visit of each row; every visit draws new negatives.

    `retrieved` returns passages of other documents for a row's claim, best first.
    """
    chance = random.Random(f"{recipe.seed} {wanted.name} made")  # noqa: S311
    if wanted.held_back:  # nor may it be another row's wrong claim
        rows = [row for row in rows if not is_held_back(row.claim, recipe.seed)]
    names = [name for row in rows for name in words.names(row.claim)]
    for row in rows:
        evidence = cut(row, recipe.max_passages, wanted.window_words or recipe.window_words)
        for _ in range(wanted.visits):
            rivals: tuple[tuple[str, str], ...] = ()
            negatives: tuple[str, ...] = ()
            if row.label == "support" and chance.random() < recipe.swaps:
                drawn = chance.sample(rows, min(3, len(rows)))
                # Claims split from one sentence share their evidence, which may support them all.
                others = [other.claim for other in drawn if other.evidence != row.evidence]
                rivals = changed_claims(row, names, others, chance)
            if wanted.retrieve and chance.random() < recipe.negatives:
                texts = [text for text in retrieved(row) if text not in row.evidence]
                negatives = (chance.choice(texts),) if texts else ()
            if evidence.lacking:
                negatives = (*negatives, chance.choice(evidence.lacking))
            yield Group(
                wanted.name, row.row_id, row.claim, row.label, evidence.latent,
                negatives, rivals, wanted.weight,
            )  # fmt: skip


def write_groups(path: Path, groups: Sequence[Group]) -> None:
    lines = (json.dumps(asdict(group), ensure_ascii=False) + "\n" for group in groups)
    durable.write_text(path, "".join(lines))


def read_groups(path: Path) -> list[Group]:
    kind = TypeAdapter(Group)
    with path.open("rb") as lines:
        return [kind.validate_json(line) for line in lines]
