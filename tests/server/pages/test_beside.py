"""What lies beside a report: the article as a reader sees it, with its claims in it."""

from collections.abc import Mapping
from typing import Any

import pytest
from samples import report

from pincite.server import work
from pincite.server.requests import EXAMPLES, Example
from pincite.server.work import THRESHOLDS, beside, blocks_of
from pincite.types import Document, Finding
from pincite.wiki.article import parse_article, read_articles


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_claim_stands_in_the_article(name: Example) -> None:
    example = EXAMPLES[name]
    article = next(iter(read_articles(example.article, title=example.title)))
    blocks = blocks_of(article, "wikitext")
    marked = {
        claim_id: block["text"][start:stop]
        for block in blocks
        for start, stop, claim_id in block["claims"]
    }
    assert set(marked) == {claim.claim_id for claim in article.claims}
    for claim in article.claims:
        assert marked[claim.claim_id].split()[-1] in claim.text
    assert "heading" in {block["kind"] for block in blocks}


def test_claims_do_not_overlap_and_html_is_read_too() -> None:
    source = '<p>One thing<sup class="reference"><a href="#n">[1]</a></sup> and another.</p>'
    article = parse_article(source, "T", markup="html")
    found = beside(article, blocks_of(article, "html"), [], {}, None)
    for block in found["blocks"]:
        ends = [end for start, stop, _ in block["claims"] for end in (start, stop)]
        assert ends == sorted(ends)
    assert list(found["precision"]) == [f"{t:.2f}" for t in THRESHOLDS]


def test_finding_whose_atoms_raise_costs_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    found = report("The bridge opened in 1911.")
    first = found.findings[0].claim.claim_id
    real = work._atoms

    def atoms(finding: Finding, seen: Mapping[str, Document]) -> dict[str, Any]:
        if finding.claim.claim_id == first:
            raise KeyError("ſ")
        return real(finding, seen)

    monkeypatch.setattr(work, "_atoms", atoms)
    article = parse_article("<p>One thing.</p>", "T", markup="html")
    made = beside(article, [], found.findings, {}, None)["atoms"]
    assert made[first] == {}
    assert all(made[each.claim.claim_id] for each in found.findings if each.claim.claim_id != first)
