"""From reports to the items of a study: a claim and two passages, which are compared.

Citations: of the one that the article has and the one that was suggested. Of several citations of a
claim the one that the verifier scored highest stands for all: the suggestion has to be better than
the best. Whole texts are taken where they are at hand, cut alike.

Passages: of each cited source the one that the verifier chose, and a random one that is as wide;
bare, since a quote or a place in the text would tell which is which.

Answers: to one question, the one in the first report of `ask` and the one in another.
"""

import hashlib
import math
import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from pincite import codec
from pincite.errors import InputError
from pincite.text.passages import PASSAGE_WORDS, WIDE_WORDS, windows
from pincite.types import Document, Evidence, Finding, Passage, Span, own_digest
from pincite.verbs.ask.report import Answer, AnswerReport
from pincite.verbs.verify.report import Report
from pincite_server.jobs import JobStore
from pincite_server.tables import whole
from pincite_study.preferences import PAIRS, Compared, Comparison

Sample = Literal["low-scores", "random"]
TEXT_CHARS = 50_000  # of a source's text, around its passage
DocumentOf = Callable[[str], Document | None]  # by its id; None: it is not at hand


@dataclass(frozen=True, slots=True)
class Source:
    """One of the two sources of an item. Spans count characters."""

    url: str
    title: str
    score: float | None  # log-odds of support, of the verifier; None: a random passage has none
    passage: str
    quote: tuple[int, int] | None = None  # in the passage
    text: str = ""  # around the passage; empty: it was not at hand
    start: int = 0  # of the passage in the text


@dataclass(frozen=True, slots=True)
class Item:
    """What is rated, with what raters are not told."""

    claim_id: str
    article: str
    article_url: str
    section: tuple[str, ...]
    before: str
    claim: str
    baseline: Source
    tested: Source
    compare: Comparison = "citations"

    @property
    def score(self) -> float:
        """The verifier's log-odds for the article's citation."""
        cited = self.baseline if self.compare == "citations" else self.tested
        assert cited.score is not None
        return cited.score

    def as_dict(self) -> dict[str, Any]:
        """As JSON values, the sides by name."""
        values = asdict(self) | {"section": list(self.section)}
        pair = PAIRS[values.pop("compare")]
        for name in ("baseline", "tested"):
            side = values.pop(name)
            values[getattr(pair, name)] = side | {"quote": side["quote"] and list(side["quote"])}
        return values

    def comparison(self, number: int) -> Compared:
        suggested = self.tested.score if self.compare == "citations" else None
        system = self.tested.title if self.compare == "answers" else ""
        return Compared(number, self.score, suggested, self.claim, system)


def item_of(values: Mapping[str, Any], compare: Comparison) -> Item:
    """The item that `Item.as_dict` made these values of."""
    pair = PAIRS[compare]
    sides = {"baseline": values[pair.baseline], "tested": values[pair.tested]}
    return codec.from_values(Item, {**values, **sides, "compare": compare})


@dataclass(frozen=True, slots=True)
class Gathered:
    """What of reports can be rated, and of how many checked citations nothing can."""

    items: tuple[Item, ...] = ()
    # The source's whole text is not at hand; answers: a question is not in both reports.
    n_without_text: int = 0
    # The source has no other passage that is as wide; answers: both are the same.
    n_one_passage: int = 0

    def __add__(self, other: "Gathered") -> "Gathered":
        return Gathered(
            self.items + other.items,
            self.n_without_text + other.n_without_text,
            self.n_one_passage + other.n_one_passage,
        )


def gather(report: Report, document_of: DocumentOf, compare: Comparison, seed: int = 0) -> Gathered:
    """What of a report can be rated.

    Of citations, the claims whose citation was checked and that have a suggestion; of passages,
    every checked citation. Nothing that was read in a user's own copy: raters may see only a quote
    of it, and would compare that with a whole passage. `seed` draws the random passages.
    """
    if compare == "citations":
        return Gathered(tuple(_citations(report, document_of)))
    return sum(
        (
            _passages(report, finding, result.outcome, document_of, seed)
            for finding in report.findings
            for result in finding.citations
            if isinstance(result.outcome, Evidence) and not own_digest(result.outcome.passage.url)
        ),
        Gathered(),
    )


def draw_sample(
    items: Iterable[Item],
    how: Sample,
    n: int | None,
    seed: int,
    compare: Comparison = "citations",
    *,
    worst: float = 0.0,
) -> list[Item]:
    """Return `n` of the items, or all; what several reports have counts once.

    low-scores: those whose citation the verifier thinks more likely to fail than not (log-odds
    below 0, as SIDE's study with editors), the lowest first. random: any, by the seed. `worst`:
    of low-scores this share of all, whatever their log-odds; 0: those below 0.

    Raises InputError: none is left.
    """
    once = list({_key(item): item for item in items}.values())
    if how == "low-scores":
        chosen = sorted(once, key=lambda item: (item.score, item.claim_id))
        below = [item for item in chosen if item.score < 0]
        chosen = chosen[: math.ceil(worst * len(chosen))] if worst else below
    else:
        chosen = random.Random(seed).sample(once, len(once))  # noqa: S311 - no secret
    if not chosen:
        needs, otherwise = _NEEDS[compare]
        why = "none of their citations scores below 0" if once else "there is none"
        raise InputError(
            f"A study of {compare} needs {needs}; {why} in these reports. "
            f"{otherwise}, or take --sample random."
        )
    return chosen[:n]


_NEEDS: dict[Comparison, tuple[str, str]] = {
    "citations": (
        "claims whose citation was checked and that have a suggestion",
        "Verify with --corpus",
    ),
    "passages": (
        "checked citations whose source's whole text is at hand and has two passages",
        "Name the folder of --sources",
    ),
    "answers": ("questions with two different answers", "Ask with other models or settings"),
}


def _key(item: Item) -> tuple[str, ...]:
    """A claim has one item of citations, one of passages per source, one of answers per system."""
    other = {"citations": "", "passages": item.tested.url, "answers": item.tested.title}
    return item.claim_id, other[item.compare]


def answers_of(reports: Sequence[tuple[str, AnswerReport]]) -> Gathered:
    """Items that compare the answers of the first report with those of each other one, by name.

    Raises InputError: there is one report only, or two have the same name.
    """
    names = [name for name, _ in reports]
    if len(set(names)) < max(2, len(names)):
        raise InputError(
            "A study of answers needs two or more reports of `pincite ask --json`, each with a "
            f"file name of its own; got {', '.join(names)}."
        )
    (first_name, first), *others = reports
    by_question = {answer.question: answer for answer in first.answers}
    pairs = ((name, answer) for name, report in others for answer in report.answers)
    gathered = Gathered()
    for name, answer in pairs:
        if answer.question not in by_question:
            gathered += Gathered(n_without_text=1)
            continue
        baseline = _answer(first_name, by_question[answer.question])
        tested = _answer(name, answer)
        if baseline.passage == tested.passage:
            gathered += Gathered(n_one_passage=1)
            continue
        question = whole(answer.question)
        claim_id = f"q{hashlib.sha256(question.encode()).hexdigest()[:12]}"
        item = Item(claim_id, "", "", (), "", question, baseline, tested, compare="answers")
        gathered += Gathered((item,))
    return gathered


def _answer(name: str, answer: Answer) -> Source:
    """A whole answer as raters see it, with the titles of the references that it cites."""
    cited = {verdict.number for sentence in answer.sentences for verdict in sentence.verdicts}
    titles = [
        f"[{reference.number}] {reference.document.title or reference.ref_id}"
        for reference in answer.references
        if reference.number in cited
    ]
    text = "\n".join([answer.text or NO_ANSWER, *(["", *titles] if titles else [])])
    best = answer.searched.best
    return Source("", whole(name), 0.0 if best is None else best, whole(text))


NO_ANSWER = "(no answer: the sources found do not answer this question)"


def _citations(report: Report, document_of: DocumentOf) -> Iterator[Item]:
    for finding in report.findings:
        evidence = [r.outcome for r in finding.citations if isinstance(r.outcome, Evidence)]
        if not evidence or not finding.suggestions:
            continue
        best = max(evidence, key=lambda checked: checked.score)
        if own_digest(best.passage.url) is None:
            suggested = finding.suggestions[0].evidence
            sides = (_source(best, document_of), _source(suggested, document_of))
            yield _item(report, finding, "citations", sides)


def _passages(
    report: Report, finding: Finding, chosen: Evidence, document_of: DocumentOf, seed: int
) -> Gathered:
    passage = chosen.passage
    document = document_of(passage.doc_id)
    if document is None or not passage.stands_in(document.text):
        return Gathered(n_without_text=1)
    size = PASSAGE_WORDS if len(passage.text.split()) <= PASSAGE_WORDS else WIDE_WORDS
    read = passage.pieces or (passage.span,)
    others = [w for w in windows(document, size) if not any(map(w.span.overlaps, read))]
    if not others:
        return Gathered(n_one_passage=1)
    drawn = random.Random(f"{seed} {finding.claim.claim_id} {passage.passage_id}")  # noqa: S311
    sides = (_bare(drawn.choice(others), None), _bare(passage, chosen.score))
    return Gathered((_item(report, finding, "passages", sides),))


def _item(
    report: Report, finding: Finding, compare: Comparison, sides: tuple[Source, Source]
) -> Item:
    claim, article = finding.claim, (whole(report.title), whole(report.url or ""))
    section = tuple(map(whole, claim.section))
    texts = whole(claim.before), whole(claim.text)
    return Item(claim.claim_id, *article, section, *texts, *sides, compare)


def _source(evidence: Evidence, document_of: DocumentOf) -> Source:
    passage, quote = evidence.passage, evidence.quote
    text, start = _around(document_of(passage.doc_id), passage.span, passage.text)
    place = (quote.start, quote.end) if quote else None
    return replace(_bare(passage, evidence.score), quote=place, text=whole(text), start=start)


def _bare(passage: Passage, score: float | None) -> Source:
    return Source(whole(passage.url), whole(passage.title), score, whole(passage.text))


def _around(document: Document | None, span: Span, passage: str) -> tuple[str, int]:
    """The text around a passage, and where in it the passage begins; ("", 0) without one."""
    if document is None or span.of(document.text) != passage:
        return "", 0
    text = document.text
    spare = max(0, TEXT_CHARS - len(passage))
    first = max(0, min(span.start - spare // 2, len(text) - TEXT_CHARS))
    return text[first : first + max(TEXT_CHARS, len(passage))], span.start - first


def documents_beside(jobs: JobStore, job_id: str) -> DocumentOf:
    def document_of(doc_id: str) -> Document | None:
        kept = jobs.file(job_id, doc_id)
        return Document(**kept) if kept else None

    return document_of
