from dataclasses import replace

from support.judged import SAID, evidence

from pincite.judgement.decide import THRESHOLD, log_odds
from pincite.verbs.verify.better_sources import outranking


def test_suggestions_outrank_support_and_come_from_different_pages() -> None:
    candidates = [
        evidence(2.0, url="https://x.example/1"),
        evidence(3.0, url="https://x.example/1"),
        evidence(2.5, url="https://y.example/"),
        evidence(0.4, url="https://z.example/"),
        evidence(-1.0, url="https://w.example/"),
    ]
    found = outranking(candidates, 0.5, THRESHOLD, {})
    assert [s.evidence.score for s in found] == [3.0, 2.5]
    assert [s.gain for s in found] == [2.5, 2.0]


def test_what_is_unlikely_or_contradicts_is_no_better_source() -> None:
    unlikely = evidence(log_odds(0.39), url="https://x.example/")
    assert outranking([unlikely], None, THRESHOLD, {}) == []
    good = evidence(2.0, url="https://y.example/")
    against = replace(evidence(-2.0, url=good.passage.url), witnesses=(SAID,))
    assert outranking([good, against], None, THRESHOLD, {}) == []
    assert len(outranking([good], None, THRESHOLD, {})) == 1


def test_how_well_it_was_found_counts_beside_the_score() -> None:
    first = evidence(2.0, url="https://first.example/")
    tenth = evidence(2.5, url="https://tenth.example/")
    priors = {"https://first.example/": 6.5, "https://tenth.example/": 5.2}
    by_score = outranking([first, tenth], None, THRESHOLD, {})
    by_both = outranking([first, tenth], None, THRESHOLD, priors)
    assert [s.evidence for s in by_score] == [tenth, first]
    assert [s.evidence for s in by_both] == [first, tenth]
