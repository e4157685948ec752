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
    assert untold["evidence"] == "They helped much.", "not what settles the claim elsewhere"


PAGE = (
    "The mill of Varde was built in 1911. Two women and one man ran it for thirty years. It ground "
    "rye for the whole county until the war, and it burnt down on the night of a storm."
)


def test_an_edited_sentence_is_told_from_the_seed_beside_it(tmp_path: Path) -> None:
    folder = tmp_path / "data/summedits"
    folder.mkdir(parents=True)
    seed = "The mill of Varde was built in 1911. It ground rye for the whole county."
    row = {"id": "a", "doc": PAGE, "original_summary": seed, "edit_types": [], "label": 1}
    edits = [
        (seed, 1, []),
        (seed.replace("whole", "entire"), 1, []),
        (seed.replace("1911", "1913"), 0, ["entity_modification"]),
        (seed.replace("Varde", "Holm"), 0, ["entity_modification"]),
        (seed.replace("built", "razed"), 0, ["antonym_swap"]),
        (f"{seed} Nobody ever paid for its flour.", 0, ["hallucinated_fact_insertion"]),
        ("Ships were sold in Esbjerg. It ground rye for the whole county.", 1, []),
    ]
    rows = [row | {"summary": s, "label": n, "edit_types": kinds} for s, n, kinds in edits]
    (folder / "summedits_a.json").write_text(json.dumps(rows))
    told = {str(row["claim"]): row["label"] for row in claim_sets.summedits(tmp_path)}
    first, second = "The mill of Varde was built in 1911.", "It ground rye for the whole county."
    assert told == {
        first: "support",
        second: "support",
        second.replace("whole", "entire"): "support",
        first.replace("1911", "1913"): "refute",  # the page has another figure
        first.replace("Varde", "Holm"): "not_support",  # it may have stood in both
        first.replace("built", "razed"): "refute",
    }  # what no window of the page holds, and what came as a sentence more, is left out


def test_a_sentence_and_the_same_with_an_error(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    before = "The mill of Varde was built in 1911 . It ground rye for the whole county"
    kinds = [
        ("ground", "burnt", "Intrinsic Predicate Error"),
        ("Varde", "Holm", "Extrinsic Entity Error"),
        ("It", "They", "Coreference Error"),
    ]
    rows = [
        {
            "id": number,
            "article": PAGE,
            "reference_summary": before,
            "edited_summary": before.replace(old, new),
            "corrected_error_type": kind,
        }
        for number, (old, new, kind) in enumerate(kinds)
    ]
    (tmp_path / "data/task1_dataset.json").write_text(json.dumps(rows))
    assert [(row["claim"], row["label"]) for row in claim_sets.bump(tmp_path)] == [
        ("It ground rye for the whole county", "support"),
        ("It burnt rye for the whole county", "refute"),
        ("The mill of Varde was built in 1911", "support"),
        ("The mill of Holm was built in 1911", "not_support"),
    ]


def test_a_summary_that_people_mended(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    said = ["It was built in 1911.", "It was built by a Dane in 1911.", "It was built in 1311."]
    faults = [(False, False, ""), (False, True, said[0]), (True, False, None)]
    rows = [
        {
            "article": PAGE,
            "candidate": text,
            "has_error": inside or beyond,
            "intrinsic_error": inside,
            "extrinsic_error": beyond,
            "feedback": {"summary": mended},
        }
        for text, (inside, beyond, mended) in zip(said, faults, strict=True)
    ]
    for part in ("train", "val", "test"):
        lines = [json.dumps(row) + "\n" for row in rows if part == "train"]
        (tmp_path / f"data/{part}.jsonl").write_text("".join(lines))
    assert [(row["claim"], row["label"]) for row in claim_sets.defacto(tmp_path)] == [
        (said[0], "support"),
        (said[1], "partial"),
        (said[0], "support"),
        (said[2], "not_support"),
    ]


def test_headlines_of_each_stance_are_as_many(tmp_path: Path) -> None:
    _write(tmp_path / "competition_test_bodies.csv", [{"Body ID": "1", "articleBody": PAGE}])
    stances = ["agree", "agree", "disagree", "discuss", "discuss", "unrelated"]
    rows = [
        {"Headline": f"Mill {number} built", "Body ID": "1", "Stance": stance}
        for number, stance in enumerate(stances)
    ]
    _write(tmp_path / "competition_test_stances.csv", rows)
    found = [str(row["label"]) for row in claim_sets.fnc(tmp_path)]
    assert sorted(found) == ["nei", "refute", "support"]


def test_inference_of_each_round_once(tmp_path: Path) -> None:
    folder = tmp_path / "NLI_data/1_Baseline_protocol"
    folder.mkdir(parents=True)
    row = {"premise": PAGE, "hypothesis": "A mill stood there.", "label": "entailment"}
    for name in ("train_round1_baseline", "train_round1_baseline_combined", "val_round1_base"):
        (folder / f"{name}.jsonl").write_text(json.dumps(row) + "\n")
    (found,) = claim_sets.lingnli(tmp_path)
    assert (found["claim"], found["label"]) == (row["hypothesis"], "support")


def test_one_edit_gives_a_pair_another_label(tmp_path: Path) -> None:
    (tmp_path / "NLI/all_combined").mkdir(parents=True)
    lines = [
        "sentence1\tsentence2\tgold_label",
        "A mill stood there.\tThere was a mill.\tentailment",
        'A "new" mill stood there.\tThe mill was old.\tcontradiction',
    ]
    (tmp_path / "NLI/all_combined/train.tsv").write_text("\n".join(lines) + "\n")
    found = list(claim_sets.counterfactual_nli(tmp_path))
    assert [row["label"] for row in found] == ["support", "refute"]
    assert found[1]["evidence"] == 'A "new" mill stood there.'


def _write(path: Path, rows: list[dict[str, str]]) -> None:
    with path.open("w", newline="") as out:
        writer = csv.DictWriter(out, rows[0])
        writer.writeheader()
        writer.writerows(rows)
