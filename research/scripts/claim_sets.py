"""Public collections as rows for training: sets of `verifier_fifth.toml` and of the two after it.

    git clone https://github.com/jayded/evidence-inference
    python research/scripts/claim_sets.py evidence-inference claims/evidence_inference.jsonl.gz

A checkout is known by its files; NAME.jsonl.gz must be the name in the recipe:

| NAME | checkout | what its rows are |
|---|---|---|
| evidence_inference | jayded/evidence-inference (MIT) | claims made of what trials found |
| check_covid_train | posuer/Check-COVID (MIT) | claims of the news before abstracts |
| summedits | salesforce/factualNLG (Apache-2.0) | edited sentences of summaries, judged by people |
| bump | dataminr-ai/BUMP (MIT) | sentences of summaries in which people made one error |
| defacto | microsoft/DeFacto (MIT) | a model's summaries, judged and corrected by people |
| fnc | FakeNewsChallenge/fnc-1 (none stated) | headlines before news that agree or disagree |
| lingnli | Alicia-Parrish/ling_in_loop (none stated) | inference written with linguists' advice |
| counterfactual_nli | acmi-lab/counterfactually-augmented-data (Apache-2.0) | inference, edited |

Evidence Inference 2.0 (DeYoung et al. 2020) says of a trial what an intervention did to an outcome,
and where that is written: up, down, or no significant difference. Of each finding three claims are
made: what was found (supported), another finding (refuted), and one of another outcome that the
words do not name (neither). Of Check-COVID (Wang et al. 2023) only the training part is read.
SummEdits: Laban et al. 2023; BUMP: Ma et al. 2023; DeFacto: Liu et al. 2023; FNC-1: Pomerleau and
Rao 2017, its test part; LingNLI: Parrish et al. 2021, its training parts; counterfactually revised
inference: Kaushik et al. 2020, training part, originals and revisions.
"""

import argparse
import csv
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pincite.documents.jsonl import LabelledClaim
from pincite.text import words
from pincite.text.sentences import sentences
from pincite_lab.training.groups import cut

SEED = 17
MOST_WORDS = 24  # of an outcome, an intervention or a comparator: longer ones are not read as nouns
LEAST_WORDS = 6  # of a finding: less is a row of a table
FOUND = {
    "significantly increased": "up",
    "significantly increase": "up",
    "significantly decreased": "down",
    "no significant difference": "same",
}
# {i}: intervention, {o}: outcome, {c}: what it is compared with.
SAID = {
    "up": (
        "{i} increases {o} compared with {c}.",
        "{o} is higher with {i} than with {c}.",
        "Compared with {c}, {i} raises {o}.",
        "{i} leads to greater {o} than {c}.",
        "{i} increases {o}.",
    ),
    "down": (
        "{i} reduces {o} compared with {c}.",
        "{o} is lower with {i} than with {c}.",
        "Compared with {c}, {i} decreases {o}.",
        "{i} leads to less {o} than {c}.",
        "{i} reduces {o}.",
    ),
    "same": (
        "{i} does not affect {o} compared with {c}.",
        "{o} does not differ between {i} and {c}.",
        "{i} and {c} lead to similar {o}.",
        "There is no significant difference in {o} between {i} and {c}.",
        "{i} has no effect on {o}.",
    ),
}
WINDOW = 170  # words that the recipes read of a page
LEAST_TOLD = 0.6  # of a summary's words that one window must hold: the rest of the page is not read
# What was done to a summary's sentence → what its page says of the new one. Another name need not
# exclude the first.
EDITS = {
    "antonym_swap": "refute",
    "negation_insertion_removal": "refute",
    "entity_modification": "not_support",
    "hallucinated_fact_insertion": "partial",
}
ERRORS = {"Predicate": "refute", "Circumstance": "refute", "Entity": "not_support"}
STANCES = {"agree": "support", "disagree": "refute", "discuss": "nei"}
INFERENCE = {"entailment": "support", "contradiction": "refute", "neutral": "nei"}
COUNTERFACTUAL = "NLI/all_combined/train.tsv"
LABELS = {"SUPPORT": "support", "REFUTE": "refute", "NOTENOUGHINFO": "nei"}


def evidence_inference(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of jayded/evidence-inference."""
    prompts = {row["PromptID"]: row for row in _table(folder / "annotations/prompts_merged.csv")}
    judged = defaultdict(list)
    for row in _table(folder / "annotations/v2_annotations.csv"):
        if row["Valid Label"] == "True" and row["Label"] in FOUND and row["PromptID"] in prompts:
            judged[row["PromptID"]].append(
                (FOUND[row["Label"]], " ".join(row["Annotations"].split()))
            )
    of_article = defaultdict(list)
    for prompt in judged:
        of_article[prompts[prompt]["PMCID"]].append(prompts[prompt])
    chance = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    for prompt, votes in judged.items():
        row = prompts[prompt]
        findings = {found for found, _ in votes}
        texts = [text for _, text in votes if len(text.split()) >= LEAST_WORDS]
        if len(findings) > 1 or not texts or not _short(row):
            continue
        (found,) = findings
        evidence = max(texts, key=len)
        made = [("support", row, found), ("refute", row, _other(found, chance))]
        unsaid = [
            other
            for other in of_article[row["PMCID"]]
            if _short(other) and not _named(other["Outcome"], evidence)
        ]
        if unsaid:
            made.append(("nei", chance.choice(unsaid), chance.choice(tuple(SAID))))
        for label, about, said in made:
            yield {
                "id": f"evidence_inference:{prompt}:{label}",
                "claim": _claim(about, said, chance),
                "evidence": evidence,
                "label": label,
                "meta": {"article": row["PMCID"]},
            }


def check_covid(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of posuer/Check-COVID: the whole abstract, what speaks is marked.

    What says nothing are single sentences of it: other rows have the same claim with those of the
    abstract that settle it. So these alone are the evidence there.
    """
    data = folder / "Check-COVID"
    abstracts = {row["cord_id"]: row for row in _lines(data / "corpus.json")}
    for row in _lines(data / "train/covidCheck_train_composed+extracted.json"):
        abstract = abstracts[row["cord_id"]]
        speaking = [place["sent_index"] for place in row["evidence_set"]]
        lines = [" ".join(line.split()) for line in abstract["abstract"]]
        silent = row["label"] == "NOTENOUGHINFO"
        yield {
            "id": f"check_covid:{row['id']}:{row['label']}",
            "claim": row["claim"].strip(),
            "evidence": "\n".join([lines[i] for i in speaking] if silent else lines),
            "label": LABELS[row["label"]],
            "meta": {"cord_id": row["cord_id"]} | ({} if silent else {"supporting": [speaking]}),
        }


def summedits(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of salesforce/factualNLG: each edited sentence, and the seed's own."""
    for path in sorted((folder / "data/summedits").glob("*.json")):
        seen: set[tuple[str, str]] = set()
        for row in json.loads(path.read_text("utf-8")):
            seed, edited = _sentences(row["original_summary"]), _sentences(row["summary"])
            changed = [text for text in edited if text not in seed]
            kinds = set(row["edit_types"])
            label = EDITS.get(min(kinds), "not_support") if len(kinds) == 1 else "not_support"
            said = [(text, "support", text) for text in seed]
            if row["label"] == 1:
                said += [(text, "support", text) for text in changed]
            elif len(changed) == 1 and len(edited) == len(seed):
                before = seed[edited.index(changed[0])]
                said.append((changed[0], _of_figures(before, changed[0]) or label, before))
            for claim, told, before in said:
                if (claim, row["doc"]) in seen or not _in_one_window(before, row["doc"]):
                    continue
                seen.add((claim, row["doc"]))
                yield _row(f"{path.stem}:{row['id']}:{len(seen)}", claim, row["doc"], told)


def bump(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of dataminr-ai/BUMP: pairs of a sentence and the same with an error."""
    seen: set[str] = set()
    for row in json.loads((folder / "data/task1_dataset.json").read_text("utf-8")):
        before = [part.strip() for part in row["reference_summary"].split(" . ")]
        after = [part.strip() for part in row["edited_summary"].split(" . ")]
        changed = [pair for pair in zip(before, after, strict=False) if pair[0] != pair[1]]
        kind = row["corrected_error_type"].split()
        label = ERRORS.get(kind[1]) if len(kind) > 1 else None
        if len(before) != len(after) or len(changed) != 1 or label is None:
            continue
        label = _of_figures(*changed[0]) or label
        for claim, told in zip(changed[0], ("support", label), strict=True):
            if claim not in seen and _in_one_window(changed[0][0], row["article"]):
                seen.add(claim)
                yield _row(f"bump:{row['id']}:{told}", claim, row["article"], told)


def defacto(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of microsoft/DeFacto: the model's summary, and what people made of it.

    What the article does not say of a summary that people could mend makes it partly supported.
    """
    for part in ("train", "val", "test"):
        for number, row in enumerate(_lines(folder / f"data/{part}.jsonl")):
            said = [(row["candidate"], "support")]
            mended = (row["feedback"]["summary"] or "").strip()
            if row["has_error"]:
                unsaid = bool(mended) and not row["intrinsic_error"]
                said = [(row["candidate"], "partial" if unsaid else "not_support")]
                said += [(mended, "support")] if mended else []
            for claim, label in said:
                yield _row(f"defacto:{part}:{number}:{label}", claim, row["article"], label)


def fnc(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of FakeNewsChallenge/fnc-1: of each stance as many as of the rarest."""
    bodies = _table(folder / "competition_test_bodies.csv")
    texts = {row["Body ID"]: row["articleBody"] for row in bodies}
    by_stance = defaultdict(list)
    for number, row in enumerate(_table(folder / "competition_test_stances.csv")):
        if row["Stance"] in STANCES:
            by_stance[row["Stance"]].append((number, row))
    most = min(map(len, by_stance.values()))
    chance = random.Random(SEED)  # noqa: S311 - a sample, not a secret
    for stance, rows in sorted(by_stance.items()):
        for number, row in chance.sample(rows, most):
            yield _row(f"fnc:{number}", row["Headline"], texts[row["Body ID"]], STANCES[stance])


def lingnli(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of Alicia-Parrish/ling_in_loop: all training rounds of three protocols."""
    for path in sorted((folder / "NLI_data").glob("*_protocol/train_round[1-5]_*.jsonl")):
        if path.stem.endswith("_combined"):
            continue
        for number, row in enumerate(_lines(path)):
            label = INFERENCE[row["label"]]
            yield _row(f"lingnli:{path.stem}:{number}", row["hypothesis"], row["premise"], label)


def counterfactual_nli(folder: Path) -> Iterator[dict[str, Any]]:
    """Rows of a checkout of acmi-lab/counterfactually-augmented-data: each pair and its edits."""
    for number, row in enumerate(_table(folder / COUNTERFACTUAL, "\t")):
        label = INFERENCE[row["gold_label"]]
        yield _row(f"counterfactual:{number}", row["sentence2"], row["sentence1"], label)


def _row(name: str, claim: str, evidence: str, label: str) -> dict[str, Any]:
    claim = " ".join(claim.split())
    return {"id": name, "claim": claim, "evidence": evidence.strip(), "label": label}


def _of_figures(before: str, after: str) -> str | None:
    """Refuted, where what went from a sentence are figures alone: the page has others."""
    gone = Counter(before.split()) - Counter(after.split())
    return "refute" if gone and all(any(map(str.isdigit, word)) for word in gone) else None


def _sentences(text: str) -> list[str]:
    return [" ".join(span.of(text).split()) for span in sentences(text, "en")]


def _in_one_window(claim: str, page: str) -> bool:
    """Whether one window of the page holds most of a claim's words."""
    wanted = set(words.content_words(claim))
    window = cut(LabelledClaim("", claim, page, "support"), 1, WINDOW).latent[0]
    return len(wanted & set(words.content_words(window))) >= LEAST_TOLD * len(wanted)


def _table(path: Path, delimiter: str = ",") -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines, delimiter=delimiter)


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with path.open(encoding="utf-8") as lines:
        yield from map(json.loads, lines)


def _short(row: dict[str, str]) -> bool:
    parts = (row["Outcome"], row["Intervention"], row["Comparator"])
    return all(part.strip() and len(part.split()) <= MOST_WORDS for part in parts)


def _named(outcome: str, evidence: str) -> bool:
    """Whether half of an outcome's words stand in the evidence: then it may say something of it."""
    told, named = set(words.content_words(evidence)), set(words.content_words(outcome))
    return not named or len(named & told) * 2 >= len(named)


def _other(found: str, chance: random.Random) -> str:
    return chance.choice([said for said in SAID if said != found])


def _claim(row: dict[str, str], said: str, chance: random.Random) -> str:
    parts = {"o": row["Outcome"], "i": row["Intervention"], "c": row["Comparator"]}
    parts = {key: " ".join(part.split()).rstrip(".,;") for key, part in parts.items()}
    claim = chance.choice(SAID[said]).format(**parts)
    return claim[0].upper() + claim[1:]


# A file by which a checkout is known → how it is read.
COLLECTIONS: dict[str, Callable[[Path], Iterator[dict[str, Any]]]] = {
    "annotations/prompts_merged.csv": evidence_inference,
    "Check-COVID/corpus.json": check_covid,
    "data/summedits": summedits,
    "data/task1_dataset.json": bump,
    "data/train.jsonl": defacto,
    "competition_test_stances.csv": fnc,
    "NLI_data": lingnli,
    COUNTERFACTUAL: counterfactual_nli,
}


def main() -> None:
    """Write the rows of one collection and count their labels."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="a folder with one of these repositories")
    parser.add_argument("out", type=Path, help="NAME.jsonl.gz")
    given = parser.parse_args()
    known = [read for mark, read in COLLECTIONS.items() if (given.checkout / mark).exists()]
    if not known:
        parser.error(f"{given.checkout} is a checkout of no collection that is known; see --help.")
    rows = list(known[0](given.checkout))
    with gzip.open(given.out, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{given.out}: {len(rows)} rows, {dict(Counter(row['label'] for row in rows))}")


if __name__ == "__main__":
    main()
