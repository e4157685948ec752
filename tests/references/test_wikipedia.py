"""References as Wikipedia has them, against a catalogue of about half of the works."""

from collections.abc import Iterator
from contextlib import closing
from datetime import date
from pathlib import Path

import pytest
from support.rows import rows

from pincite.references import catalogue, faults, read
from pincite.references.outcomes import Outcome, Status, ask, decide
from pincite.references.works import Notice, NoticeKind, Work
from pincite.types import FaultKind

CASES = "references/wikipedia"
TODAY = date(2026, 11, 29)
# What names each fault.
NAMES: dict[str, set[str]] = {
    "year": {"year"},
    "author": {"authors"},
    "journal": {"venue"},
    "title": {"title", "other_work"},
    "other_doi": {"other_work"},
    "check_digit": {"impossible"},
    "retracted": {"retracted", "withdrawn"},
    "chatbot": {FaultKind.CHATBOT, FaultKind.PLACEHOLDER},
    "pages": {FaultKind.PAGES},
    "gone": {"unverified"},  # only a service knows more
}
MILD = (Status.AGREES, Status.UNVERIFIED, Status.CORRECTED)
GERMAN = (
    "Die Mühle stand am Ufer des Flusses und wurde von der Gemeinde verkauft. Danach wurde sie "
    "umgebaut und dient heute als Wohnhaus, das man im Sommer auch besichtigen kann."
)
ENGLISH = "The mill stood on the bank of the river and was sold by the parish."


@pytest.fixture(scope="module")
def works(tmp_path_factory: pytest.TempPathFactory) -> Iterator[catalogue.Catalogue]:
    records = []
    for _, given in rows(f"{CASES}/works"):
        notices = [Notice(NoticeKind(kind), *rest) for kind, *rest in given.pop("notices", ())]
        lists = {name: tuple(value) for name, value in given.items() if isinstance(value, list)}
        records.append(Work(**(given | lists), notices=tuple(notices), source="Crossref"))
    with closing(catalogue.Catalogue(tmp_path_factory.mktemp("works") / "works.sqlite")) as found:
        found.add("works", "1", records)
        yield found


def looked_up(wikitext: str, works: catalogue.Catalogue, file: Path) -> tuple[Outcome, set[str]]:
    """The outcome of the one reference of an article, and all that is held against it."""
    is_german = wikitext.startswith(("{{Literatur", "{{Internetquelle"))
    is_short = wikitext.startswith("{{sfn")
    reference = wikitext if is_short else f"<ref>{wikitext}</ref>"
    file.write_text((GERMAN if is_german else ENGLISH) + reference, encoding="utf-8")
    (reference_read,) = read.read([file])
    (cited,) = faults.with_faults([reference_read.citation], TODAY)
    outcome = decide(cited, ask(cited, [works]))
    named = {str(part.field) for part in outcome.differences}
    named |= {str(fault.kind) for fault in cited.faults}
    return outcome, named | ({str(outcome.status)} if outcome.status not in MILD else set())


@pytest.mark.parametrize(
    ("name", "most_accused", "least_named"), [("references", 0, 29), ("held_back", 0, 28)]
)
def test_faults_are_named_and_right_references_are_not_accused(
    works: catalogue.Catalogue, tmp_path: Path, name: str, most_accused: int, least_named: int
) -> None:
    accused, n_named = list[str](), 0
    for fault, _, wikitext in rows(f"{CASES}/{name}"):
        outcome, named = looked_up(wikitext, works, tmp_path / "a.wiki")
        if not fault and named:
            accused.append(wikitext)
        n_named += bool(fault and {*named, str(outcome.status)} & NAMES[fault])
    assert len(accused) <= most_accused, accused
    assert n_named >= least_named


@pytest.mark.parametrize(("name", "least"), [("plain", 5), ("plain_held_back", 4)])
def test_references_without_a_template_are_never_accused(
    works: catalogue.Catalogue, tmp_path: Path, name: str, least: int
) -> None:
    found = [looked_up(text, works, tmp_path / "a.wiki") for _, text in rows(f"{CASES}/{name}")]
    assert not any(named for _, named in found)
    assert sum(outcome.status is Status.AGREES for outcome, _ in found) >= least
