"""Verdicts at another threshold are those that a run at that threshold would have given."""

import dataclasses

import pytest

from pincite.judgement.fusion import relabelled
from pincite.server.requests import EXAMPLES, Example
from pincite.settings import Settings
from pincite.types import Label
from pincite.verbs.verify import build
from pincite.wiki.article import read_articles


def flag(label: Label) -> Label:
    """The passage that denies a claim is not known where another one bore it out at first."""
    return Label.NOT_SUPPORTED if label is Label.REFUTED else label


@pytest.mark.parametrize("name", ["inventor", "vole"])
@pytest.mark.parametrize("threshold", [0.15, 0.5, 0.75])
def test_as_a_run_at_that_threshold(name: Example, threshold: float) -> None:
    example = EXAMPLES[name]
    article = next(iter(read_articles(example.article, title=example.title)))
    with build.verifying(Settings(), None, example.sources, keep=False) as run:
        first = list(run.pipeline.findings(article))
        other = dataclasses.replace(run.pipeline, threshold=threshold)
        wanted = list(other.findings(article))
    found = [relabelled(finding, threshold) for finding in first]
    assert [(flag(f.label), f.missing) for f in found] == [
        (flag(f.label), f.missing) for f in wanted
    ]
    assert [[flag(c.label) for c in f.citations] for f in found] == [
        [flag(c.label) for c in f.citations] for f in wanted
    ]
    assert {f.label for f in found} > {Label.UNCHECKED}
