"""The control study: the passage that the verifier chose against a random one of its source."""

import csv
import dataclasses
import io
import json
import random
import re

import pytest
from fastapi.testclient import TestClient
from study_samples import CHOSEN, at_hand, chosen_in, page, read_report

from pincite.errors import InputError
from pincite.text.passages import PASSAGE_WORDS
from pincite.types import Document, Evidence
from pincite_server.jobs import Status
from pincite_server.site import Site
from pincite_study.blinding import blind
from pincite_study.items import Gathered, draw_sample, gather, item_of
from pincite_study.preferences import Amount
from pincite_study.rating import Answer, Answered, RatingStore
from pincite_study.studies import Study, StudyStore

PREFERS_CHOSEN = 0.8  # planted in the raters: what SIDE found with people (Methods)


def passages(*evidence: Evidence, of: tuple[Document, ...], seed: int = 0) -> Gathered:
    return gather(read_report(*evidence), at_hand(*of), "passages", seed)


# ── What is compared ─────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("wide", [False, True])
def test_the_random_passage_is_another_of_the_same_source_and_as_wide(wide: bool) -> None:
    source = page(1)
    chosen = chosen_in(source, wide=wide)
    drawn = set()
    for seed in range(40):
        (item,) = passages(chosen, of=(source,), seed=seed).items
        assert item.tested.passage == chosen.passage.text
        start = source.text.index(item.baseline.passage)
        assert start >= chosen.passage.span.end
        assert (len(item.baseline.passage.split()) > PASSAGE_WORDS) is wide
        drawn.add(start)
    assert len(drawn) >= 2
    again = passages(chosen, of=(source,), seed=39).items
    assert again[0].baseline.passage == item.baseline.passage


def test_nothing_but_the_words_tells_the_two_apart_and_they_are_kept_by_name() -> None:
    source = page(1)
    (item,) = passages(chosen_in(source), of=(source,)).items
    kept = json.loads(json.dumps(item.as_dict()))
    assert {"chosen", "random"} < set(kept)
    assert not {"existing", "suggested", "baseline", "tested", "compare"} & set(kept)
    assert item_of(kept, "passages") == item
    for side in (item.baseline, item.tested):
        assert (side.quote, side.text, side.start) == (None, "", 0)
        assert (side.url, side.title) == (source.url, source.title)
    assert (item.baseline.score, item.tested.score, item.score) == (None, -1.0, -1.0)


def test_what_cannot_be_compared_is_counted() -> None:
    whole, short, gone = page(1), page(2, n_sentences=4), page(3)
    every = [chosen_in(source) for source in (whole, short, gone)]
    found = passages(*every, of=(whole, short, dataclasses.replace(gone, text="Another text.")))
    assert [item.tested.url for item in found.items] == [whole.url]
    assert (found.n_without_text, found.n_one_passage) == (1, 1)
    again = found + found
    assert (len(again.items), again.n_without_text, again.n_one_passage) == (2, 2, 2)


def test_a_text_that_changed_is_not_at_hand() -> None:
    source = page(1)
    changed = dataclasses.replace(source, text=f"New. {source.text}")
    found = gather(read_report(chosen_in(source)), lambda doc_id: changed, "passages")
    assert found == Gathered(n_without_text=1)


def test_no_own_copy_is_shown() -> None:
    source = dataclasses.replace(page(1), url=f"own:{'a' * 64}")
    assert passages(chosen_in(source), of=(source,)) == Gathered()


def test_every_source_of_a_claim_counts_once() -> None:
    one, two = page(1), page(2)
    both = read_report(chosen_in(one), chosen_in(two, score=-2.0))
    claim = both.findings[0].claim
    same = tuple(dataclasses.replace(finding, claim=claim) for finding in both.findings)
    several = dataclasses.replace(both, findings=(*same, same[0]))
    found = gather(several, at_hand(one, two), "passages")
    chosen = draw_sample(found.items, "low-scores", None, 0, "passages")
    assert [item.score for item in chosen] == [-2.0, -1.0]
    good = passages(chosen_in(one, score=1.0), of=(one,))
    with pytest.raises(InputError, match="none of their citations scores below 0"):
        draw_sample(good.items, "low-scores", None, 0, "passages")
    with pytest.raises(InputError, match="whole text"):
        draw_sample([], "random", None, 0, "passages")


# ── From a job to a report ───────────────────────────────────────────────────────────────────────


def job_of(site: Site, n: int, *more: Document) -> str:
    """A job that has read `n` pages of two passages and more, and others, and kept them."""
    documents = [*(page(number) for number in range(1, n + 1)), *more]
    found = read_report(*(chosen_in(d, score=-0.5 * k) for k, d in enumerate(documents, 1)))
    job = site.jobs.submit("local", "verify", "t", {"example": "article"})
    claimed = site.jobs.take("w")
    assert claimed
    kept = {document.doc_id: dataclasses.asdict(document) for document in documents}
    assert site.jobs.finish(claimed.job_id, "w", Status.DONE, result=found.to_json(), files=kept)
    return str(job.job_id)


def rate_all(ratings: RatingStore, made: Study) -> None:
    """Raters who read, and prefer the chosen passage eight times of ten, until nothing is left."""
    chance = random.Random(3)
    for _ in range(made.per_item):
        rater, _ = ratings.join(made.study_id)
        while task := ratings.next(rater):
            seen = blind(task.item, task.baseline_first)
            in_a = CHOSEN in seen.a.passage.head
            assert in_a is not (CHOSEN in seen.b.passage.head)
            assert (seen.a.passage.mark, seen.a.text, seen.b.text) == ("", None, None)
            answer: Answer = "a" if in_a is (chance.random() < PREFERS_CHOSEN) else "b"
            amounts: tuple[Amount, Amount] = ("enough", "none") if in_a else ("none", "enough")
            ratings.answer(rater, task.position, Answered(answer, *amounts), 0.0)
        ratings.finish(rater)


@pytest.fixture
def rated(client: TestClient, site: Site) -> Study:
    """A study of twenty sources, made on the page and rated by three."""
    job_id = job_of(site, 20, page(99, n_sentences=4))
    form = {"name": "Control", "job": job_id, "compare": "passages", "seed": "2"}
    assert client.post("/studies", data=form).status_code == 200
    (made,) = StudyStore(site.database).newest("local", 2)
    assert (made.n_items, made.compare) == (20, "passages")
    assert (made.n_one_passage, made.n_without_text) == (1, 0)
    rate_all(RatingStore(site.database), made)
    return made


def test_the_table_of_ratings_names_the_sides(client: TestClient, rated: Study) -> None:
    text = client.get(f"/studies/{rated.study_id}/ratings.csv").text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 60
    for row in rows:
        assert row["choice"] in ("chosen", "random")
        assert (row["evidence_chosen"], row["evidence_random"]) == ("enough", "none")
        assert (row["choice"] == "random") == (row["random_side"] == row["answer"])
        assert (row["random_score"], row["random_url"]) == ("", row["chosen_url"])
    assert "suggested" not in text
    assert "existing" not in text


def test_the_pages_name_the_sides_after_the_end_only(client: TestClient, site: Site) -> None:
    form = {"name": "Control", "job": job_of(site, 3), "compare": "passages", "per_item": "1"}
    page_of_study = client.post("/studies", data=form)
    (made,) = StudyStore(site.database).newest("local", 1)
    assert made.compare == "passages"
    text = client.post(f"/studies/{made.token}/join", data={"agreed": "yes"}).text
    for _ in range(3):
        assert "Which passage supports the words in bold better?" in text
        assert len(re.findall("<blockquote", text)) == 2
        for tells in ("<mark", "<details", ".example", "Title", "chosen", "andom", "score"):
            assert tells not in text
        position = re.search(r'action="[^"]*/tasks/(\d+)"', text)
        assert position
        data = {"answer": "a", "evidence_a": "none", "evidence_b": "enough"}
        text = client.post(f"/studies/{made.token}/tasks/{position[1]}", data=data).text
    text = client.post(f"/studies/{made.token}/finish", data={"x": "1"}).text
    assert text.count("the passage that Pincite chose") >= 3
    assert text.count("a random passage of the source") >= 3
    for report in (page_of_study.text, client.get(f"/studies/{made.study_id}/report").text):
        assert "chosen passage" in report
        assert "Evidence: random passage" in report
        assert "citation</th>" not in report
