"""Which network should order what a question finds, and when is nothing that was found relevant?

    python research/scripts/rerankers.py beir CORPUS beir-scifact/ --limit 100
    python research/scripts/rerankers.py qa CORPUS pubmedqa.json.gz --limit 100 --own

The passages that words and meaning find first are read by the shipped verifier and by the ms-marco
reranker that it was trained from, and ordered by what either says: alone, and added to their share
of the best fused score with `retrieval.fusion.with_prior`'s weight and others. CORPUS is a corpus
of the collection (for beir one whose addresses are its ids: `pincite eval beir --corpus CORPUS`).
Logits are kept where `pincite` keeps them, so that a stopped run goes on; questions are taken in a
fixed random order. --own also asks how well the best passage's score tells questions whose own
paper is there from the same questions without it: when to give no answer."""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from pincite import runtime
from pincite.corpus.embedded import EmbeddedCorpus
from pincite_lab.evaluation import beir, measures
from pincite_lab.evaluation import qa
from pincite_lab.evaluation.qa import Question, read_questions, sample
from pincite_lab.evaluation.measures import Doubles
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.retrieval.fusion import JUDGED, PRIOR_WEIGHT, shares
from pincite.settings import Settings
from pincite.types import Claim, Hit

NETWORKS = ("relevance", "support", "ms-marco")
PRIORS = (0.0, 2.0, PRIOR_WEIGHT, 15.0)  # what the whole width of a search is worth in log-odds
THRESHOLDS = {
    "cosine": (0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7),
    **dict.fromkeys(NETWORKS, (-4.0, -3.0, -2.0, -1.0, 0.0, 1.0, 2.0)),
}


@dataclass(frozen=True, slots=True)
class Read:
    """A question with the passages that were found for it, and what each network says of them."""

    question: Question
    grades: Mapping[str, int]
    hits: Sequence[Hit]
    scores: Mapping[str, Doubles]  # (n_hits,) by name


def main() -> None:
    arguments = parsed()
    settings = Settings.of(threads=arguments.threads)
    questions, grades = asked(arguments)
    with EmbeddedCorpus.open(arguments.corpus, runtime.encoder(settings)) as corpus:
        search = corpus.by("hybrid")
        texts = [q.text for q in questions]
        found = search.retrieve(texts, 2 * settings.retrieval.depth)
        meaning = corpus.dense().retrieve(texts, 2 * settings.retrieval.depth)
    networks = {
        "verifier": network(settings.models.verifier, arguments.threads),
        "ms-marco": network(weights.RERANKER, arguments.threads),
    }
    rows = []
    for number, (question, hits, near) in enumerate(zip(questions, found, meaning, strict=True), 1):
        kept = hits[: arguments.read]
        rows.append(
            Read(question, grades[question.question_id], kept, said(question, kept, near, networks))
        )
        print(f"\r{number}/{len(questions)}", end="", flush=True)
    print(f"\n{len(rows)} questions, the first {arguments.read} passages of each read")
    table(rows)
    if arguments.own:
        for name in rows[0].scores:
            abstention(rows, name)


def parsed() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("kind", choices=["beir", "qa"])
    parser.add_argument("corpus", type=Path)
    parser.add_argument("collection", type=Path)
    parser.add_argument("--limit", type=int)
    parser.add_argument("--read", type=int, default=JUDGED)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--own", action="store_true")
    return parser.parse_args()


def asked(arguments: argparse.Namespace) -> tuple[list[Question], dict[str, Mapping[str, int]]]:
    """The questions, and how relevant which documents are to each."""
    if arguments.kind == "qa":
        questions = sample(read_questions(arguments.collection), arguments.limit)
        return questions, {q.question_id: dict.fromkeys(q.relevant, 1) for q in questions}
    collection = beir.open_collection(arguments.collection, "test")
    every = [
        Question(query_id, text, frozenset(d for d, g in collection.qrels[query_id].items() if g))
        for query_id, text in collection.queries.items()
    ]
    return sample(every, arguments.limit), dict(collection.qrels)


def network(name: str, threads: int) -> CrossEncoderVerifier:
    judged = runtime.judgements_file()
    return CrossEncoderVerifier(weights.locate(name), threads=threads, judged=judged)


def said(
    question: Question,
    hits: Sequence[Hit],
    meaning: Sequence[Hit],
    networks: Mapping[str, CrossEncoderVerifier],
) -> dict[str, Doubles]:
    """Relevance and support as the verifier says them, the reranker's logit, the encoder's cosine.

    What is not among those near in meaning has the lowest cosine of them.
    """
    pairs = [(Claim("", question.text), hit.passage) for hit in hits]
    verifier = networks["verifier"]
    known = {hit.passage.passage_id: hit.score for hit in meaning}
    lowest = min(known.values(), default=0.0)
    cosine = [known.get(hit.passage.passage_id, lowest) for hit in hits]
    return {
        "relevance": np.asarray(verifier.relevance(pairs), dtype=np.float64),
        "support": np.asarray(verifier.log_odds(pairs)[:, 0], dtype=np.float64),
        "ms-marco": np.asarray(networks["ms-marco"].relevance(pairs), dtype=np.float64),
        "cosine": np.array(cosine),
    }


def table(rows: Sequence[Read]) -> None:
    """Each order of the passages, measured over documents."""
    print(f"{'order':28}{'MAP@10':>24}{'RR@10':>8}{'nDCG@10':>24}")
    show("as it was found", rows, lambda row: -np.arange(len(row.hits), dtype=np.float64))
    for name in NETWORKS:
        for weight in PRIORS:
            title = f"{name} + {weight:g} · share" if weight else name
            show(title, rows, partial(with_share, name, weight))


def with_share(name: str, weight: float, row: Read) -> Doubles:
    return row.scores[name] + weight * np.array(shares(row.hits))


def show(title: str, rows: Sequence[Read], order: Callable[[Read], Doubles]) -> None:
    run = {row.question.question_id: ranked(row.hits, order(row)) for row in rows}
    found = qa.search_measures([row.question for row in rows], run)
    graded = measures.ranking_measures(
        {r.question.question_id: r.grades for r in rows}, run, measures.GRADED
    )
    low, high = found["intervals"]["MAP@10"]
    below, above = graded["intervals"]["nDCG@10"]
    print(
        f"{title:28}{found['MAP@10']:9.3f} [{low:.3f}, {high:.3f}]{found['RR@10']:8.3f}"
        f"{graded['nDCG@10']:9.3f} [{below:.3f}, {above:.3f}]"
    )


def ranked(hits: Sequence[Hit], scores: Doubles) -> list[str]:
    """Documents in the order of their best passage."""
    order = np.argsort(-scores, kind="stable")
    return list(dict.fromkeys(hits[i].passage.url for i in order))


def abstention(rows: Sequence[Read], name: str) -> None:
    """The best passage's score with the question's own paper in the corpus and without it."""
    there = np.array([row.scores[name].max() for row in rows])
    without = np.array([row.scores[name][others(row)].max() for row in rows])
    values = np.concatenate([there, without])
    own = np.repeat([True, False], len(rows))
    auroc = measures.binary_measures(own, values)["auroc"]
    print(f"\n{name}: AUROC {auroc} {measures.auroc_interval(own, values)}")
    for title, scores in (("own paper there", there), ("without it", without)):
        quantiles = np.percentile(scores, [5, 25, 50, 75, 95])
        print(f"  {title:18} 5, 25, 50, 75, 95 %: {', '.join(f'{q:.2f}' for q in quantiles)}")
    for threshold in THRESHOLDS[name]:
        kept, silent = (there >= threshold).mean(), (without < threshold).mean()
        print(f"  from {threshold:+.2f}: answers {kept:.2f} of those, is silent on {silent:.2f}")


def others(row: Read) -> list[int]:
    """Of the passages that are not of the question's own paper."""
    return [i for i, hit in enumerate(row.hits) if hit.passage.url not in row.question.relevant]


if __name__ == "__main__":
    main()
