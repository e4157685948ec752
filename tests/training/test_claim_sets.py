"""Public collections as rows: what is made of a finding, and of a claim before an abstract."""

import csv
import json
from pathlib import Path

import claim_sets

PROMPTS = [
    {
        "PromptID": "1",
        "PMCID": "7",
        "Outcome": "pain",
        "Intervention": "rest",
        "Comparator": "work",
    },
    {
        "PromptID": "2",
        "PMCID": "7",
        "Outcome": "sleep",
        "Intervention": "rest",
        "Comparator": "work",
    },
    {
        "PromptID": "3",
        "PMCID": "7",
        "Outcome": "mood",
        "Intervention": "rest",
        "Comparator": "work",
    },
]
FOUND = [  # prompt, label, words; the third is contested, the fourth was called invalid
    ("1", "significantly decreased", "Patients who rested had far less pain (P < 0.01).", "True"),
    ("2", "no significant difference", "Both groups slept for seven hours a night.", "True"),
    ("3", "significantly increased", "Their mood was better on all of the days.", "True"),
    ("3", "no significant difference", "Their mood was better on all of the days.", "True"),
    ("1", "significantly increased", "Nothing of the kind was seen by the authors.", "False"),
]


def test_a_finding_makes_a_claim_of_each_label(tmp_path: Path) -> None:
    folder = tmp_path / "annotations"
    folder.mkdir()
    _write(folder / "prompts_merged.csv", PROMPTS)
    names = ("PromptID", "Label", "Annotations", "Valid Label")
    _write(folder / "v2_annotations.csv", [dict(zip(names, row, strict=True)) for row in FOUND])
    rows = list(claim_sets.evidence_inference(tmp_path))
    assert [row["label"] for row in rows] == ["support", "refute", "nei"] * 2
    supported, refuted, unsaid = rows[:3]
    assert supported["evidence"] == refuted["evidence"] == FOUND[0][2]
    down = [said.format(i="rest", o="pain", c="work") for said in claim_sets.SAID["down"]]
    assert str(supported["claim"]).lower() in [claim.lower() for claim in down]
    assert str(refuted["claim"]).lower() not in [claim.lower() for claim in down]
    assert "pain" in str(refuted["claim"]).lower()
    assert "pain" not in str(unsaid["claim"]).lower()  # another outcome, which the words lack


def test_an_abstract_keeps_its_lines_and_what_speaks(tmp_path: Path) -> None:
    data = tmp_path / "Check-COVID"
    (data / "train").mkdir(parents=True)
    abstract = {"cord_id": "a", "title": "", "abstract": ["Masks were worn.", "They helped\nmuch."]}
    (data / "corpus.json").write_text(json.dumps(abstract) + "\n")
    claim: dict[str, object] = {
        "id": "1",
        "claim": "Masks help. ",
        "cord_id": "a",
        "label": "SUPPORT",
    }
    speaking = [{"sent_index": 1, "type": "PRIMARY"}]
    rows = [claim | {"evidence_set": speaking}]
    rows += [claim | {"label": "NOTENOUGHINFO", "evidence_set": speaking}]
    path = data / "train/covidCheck_train_composed+extracted.json"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    told, untold = claim_sets.check_covid(tmp_path)
    assert told["evidence"] == "Masks were worn.\nThey helped much."
    assert (told["claim"], told["label"]) == ("Masks help.", "support")
    assert told["meta"] == {"cord_id": "a", "supporting": [[1]]}
    assert (untold["label"], untold["meta"]) == ("nei", {"cord_id": "a"})


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
