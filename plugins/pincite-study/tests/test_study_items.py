"""What of a report is rated, and that nobody can tell the two sources apart by anything else."""

import json
from dataclasses import replace

import pytest
from samples import HOSTILE, report
from study_samples import item, source

from pincite.errors import InputError
from pincite.types import Document
from pincite.verbs.verify.report import Report
from pincite_study.blinding import Marked, blind
from pincite_study.items import TEXT_CHARS, draw_sample, gather, item_of

REPORT = Report.from_json(report("plain").to_json())


def test_rated_is_what_was_checked_and_has_a_suggestion() -> None:
    (found,) = gather(REPORT, lambda doc_id: None, "citations").items
    assert found.claim == "plain"
    assert (found.baseline.score, found.tested.score) == (-1.5, 2.5)
    assert found.baseline.text == found.tested.text == ""
    assert found.baseline.passage[slice(*found.baseline.quote or ())] == "plain"


def test_of_several_citations_the_best_stands_for_all() -> None:
    finding = REPORT.findings[0]
    strong = REPORT.findings[3].citations[0]
    both = replace(finding, citations=(finding.citations[0], strong))
    (found,) = gather(replace(REPORT, findings=(both,)), lambda doc_id: None, "citations").items
    assert found.baseline.score == 2.5


def test_a_whole_text_is_taken_where_its_passage_stands_in_it() -> None:
    evidence = REPORT.findings[0].suggestions[0].evidence
    text = "0123456789" + evidence.passage.text + "x" * 200_000
    page = Document("https://a.example/", "A", text)
    (found,) = gather(REPORT, lambda doc_id: page, "citations").items
    side = found.tested
    assert len(side.text) == TEXT_CHARS
    assert side.text[side.start :].startswith(side.passage)
    page = replace(page, text="another version of the page")
    (other,) = gather(REPORT, lambda doc_id: page, "citations").items
    assert other.tested.text == ""


def test_low_scores_are_those_below_zero_lowest_first() -> None:
    items = [item(n, score) for n, score in enumerate((0.5, -1.0, -4.0, -2.0), 1)]
    chosen = draw_sample([*items, items[1]], "low-scores", 2, seed=1)
    assert [each.baseline.score for each in chosen] == [-4.0, -2.0]


def test_the_worst_share_is_of_all_items() -> None:
    items = [item(n, score) for n, score in enumerate((0.5, 3.0, 0.2, 2.0, 1.0), 1)]
    chosen = draw_sample(items, "low-scores", None, seed=1, worst=0.3)
    assert [each.baseline.score for each in chosen] == [0.2, 0.5]


def test_a_random_sample_is_that_of_its_seed() -> None:
    items = [item(n) for n in range(1, 30)]
    one, again, other = (draw_sample(items, "random", 10, seed) for seed in (1, 1, 2))
    assert one == again != other
    assert len({each.claim_id for each in one}) == 10


def test_a_study_of_nothing_is_refused() -> None:
    for items in ([], [item(1, 2.0)]):
        with pytest.raises(InputError, match="suggestion"):
            draw_sample(items, "low-scores", None, 0)


@pytest.mark.parametrize("text", HOSTILE)
def test_items_are_kept_as_json_and_come_back(text: str) -> None:
    read = Report.from_json(report(text).to_json())
    (found,) = gather(read, lambda doc_id: None, "citations").items
    assert item_of(json.loads(json.dumps(found.as_dict())), "citations") == found
    json.dumps(found.as_dict(), ensure_ascii=False).encode()  # what a database takes


def test_addresses_of_both_sites_are_hidden_in_every_text() -> None:
    seen = blind(item(1), baseline_first=True)
    assert seen.a.passage == Marked("Before. ", "oldsite quote 1.", " See [address] or [address].")
    assert seen.a.text
    assert ".example" not in str(seen)
    assert "Title of" not in str(seen)


def test_a_mark_or_a_whole_text_is_shown_on_both_sides_or_on_none() -> None:
    bare = replace(source("oldsite", 1, -1.0, text=False), quote=None)
    for given in ({"baseline": bare}, {"tested": bare}):
        seen = blind(item(1, given=given), baseline_first=True)
        assert (seen.a.text, seen.b.text) == (None, None)
        assert seen.a.passage.mark == seen.b.passage.mark == ""
