"""Public collections as rows for training: the sets of `verifier_fifth.toml` beside the others.

    git clone https://github.com/jayded/evidence-inference
    git clone https://github.com/posuer/Check-COVID
    python tools/claim_sets.py evidence-inference claims/evidence_inference.jsonl.gz
    python tools/claim_sets.py Check-COVID claims/check_covid_train.jsonl.gz

Evidence Inference 2.0 (DeYoung et al. 2020; MIT) says of a trial what an intervention did to an
outcome, and where that is written: up, down, or no significant difference. Of each finding three
claims are made: what was found (supported), another finding (refuted), and one of another outcome
that the words do not name (neither). Check-COVID (Wang et al. 2023; MIT) has claims from the news
before abstracts; only its training part is read.
"""

import argparse
import csv
import gzip
import json
import random
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pincite.text import words

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
    """Rows of a checkout of posuer/Check-COVID: the whole abstract, what speaks is marked."""
    data = folder / "Check-COVID"
    abstracts = {row["cord_id"]: row for row in _lines(data / "corpus.json")}
    for row in _lines(data / "train/covidCheck_train_composed+extracted.json"):
        abstract = abstracts[row["cord_id"]]
        speaking = [place["sent_index"] for place in row["evidence_set"]]
        yield {
            "id": f"check_covid:{row['id']}:{row['label']}",
            "claim": row["claim"].strip(),
            "evidence": "\n".join(" ".join(line.split()) for line in abstract["abstract"]),
            "label": LABELS[row["label"]],
            "meta": {"cord_id": row["cord_id"]}
            | ({} if row["label"] == "NOTENOUGHINFO" else {"supporting": [speaking]}),
        }


def _table(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as lines:
        yield from csv.DictReader(lines)


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


def main() -> None:
    """Write the rows of one collection and count their labels."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkout", type=Path, help="of evidence-inference or Check-COVID")
    parser.add_argument("out", type=Path, help="NAME.jsonl.gz")
    given = parser.parse_args()
    is_trials = (given.checkout / "annotations/prompts_merged.csv").exists()
    if not is_trials and not (given.checkout / "Check-COVID/corpus.json").exists():
        parser.error(f"{given.checkout} is a checkout of neither collection; see --help.")
    rows = list((evidence_inference if is_trials else check_covid)(given.checkout))
    with gzip.open(given.out, "wt", encoding="utf-8") as out:
        out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    print(f"{given.out}: {len(rows)} rows, {dict(Counter(row['label'] for row in rows))}")


if __name__ == "__main__":
    main()
