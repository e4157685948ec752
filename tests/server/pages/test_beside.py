"""What lies beside a report: the article as a reader sees it, with its claims in it."""

import pytest

from pincite.server.requests import EXAMPLES, Example
from pincite.server.work import THRESHOLDS, beside, blocks_of
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
    found = beside(blocks_of(article, "html"), None)
    for block in found["blocks"]:
        ends = [end for start, stop, _ in block["claims"] for end in (start, stop)]
        assert ends == sorted(ends)
    assert list(found["precision"]) == [f"{t:.2f}" for t in THRESHOLDS]
