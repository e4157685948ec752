"""The view stored with a report, and labels at another threshold."""

import dataclasses

import pytest
from support.articles import parse_article

from pincite.judgement.findings import relabel
from pincite.settings import Settings
from pincite.types import Label
from pincite.verbs.verify import build
from pincite.wiki.article import read_articles
from pincite_server.requests import EXAMPLES, Example
from pincite_server.verifying import blocks_of


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_every_claim_stands_in_the_article(name: Example) -> None:
    example = EXAMPLES[name]
    article = next(iter(read_articles(example.folder / "article.wiki", title=example.title)))
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
    for block in blocks_of(article, "html"):
        ends = [end for start, stop, _ in block["claims"] for end in (start, stop)]
        assert ends == sorted(ends)


def flag(label: Label) -> Label:
    """The passage that denies a claim is not known where another one bore it out at first."""
    return Label.NOT_SUPPORTED if label is Label.REFUTED else label


@pytest.mark.parametrize("name", ["inventor", "vole"])
@pytest.mark.parametrize("threshold", [0.15, 0.5, 0.75])
def test_as_a_run_at_that_threshold(name: Example, threshold: float) -> None:
    example = EXAMPLES[name]
    article = next(iter(read_articles(example.folder / "article.wiki", title=example.title)))
    with build.verifying(Settings(), None, [example.folder / "sources"], keep=False) as run:
        first = list(run.pipeline.findings(article))
        other = dataclasses.replace(run.pipeline, threshold=threshold)
        wanted = list(other.findings(article))
    found = [relabel(finding, threshold) for finding in first]
    assert [(flag(f.label), f.missing) for f in found] == [
        (flag(f.label), f.missing) for f in wanted
    ]
    assert [[flag(c.label) for c in f.citations] for f in found] == [
        [flag(c.label) for c in f.citations] for f in wanted
    ]
    assert {f.label for f in found} > {Label.UNCHECKED}
