"""Every format of an answer: what it says, and that no text in it becomes anything else."""

import io
from dataclasses import replace
from pathlib import Path
from typing import Any

import ask_samples as samples
import pytest
from hostile import Page
from rich.console import Console
from syrupy.assertion import SnapshotAssertion

from pincite.cli.ask import deliver
from pincite.errors import PinciteError
from pincite.judgement.references import ReferenceVerdict, Support
from pincite.notes import Note
from pincite.types import Span
from pincite.verbs.ask import render as ask_render
from pincite.verbs.ask import terminal as ask_terminal
from pincite.verbs.ask import wording
from pincite.verbs.ask.report import Answer, AnswerReport


def shown(report: AnswerReport, width: int = 100) -> str:
    out = io.StringIO()
    ask_terminal.print_report(report, Console(file=out, width=width))
    return out.getvalue()


def moved(answer: Answer, by: int, **changes: Any) -> Answer:
    """The first sentence's evidence with its passage elsewhere in the document."""
    (sentence,) = answer.sentences
    (verdict,) = sentence.verdicts
    assert verdict.evidence is not None
    span = verdict.evidence.passage.span
    passage = replace(verdict.evidence.passage, span=Span(span.start + by, span.end + by))
    evidence = replace(verdict.evidence, passage=passage, **changes)
    verdicts = (replace(verdict, evidence=evidence),)
    return replace(answer, sentences=(replace(sentence, verdicts=verdicts),))


# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────


def test_a_page_has_every_standing_and_its_anchors_are_unique_and_resolve() -> None:
    page = Page(ask_render.to_html(samples.everything()))
    text = " ".join(page.text.split())
    assert [s for s, look in wording.LOOKS.items() if f"{look.sign} {look.label}" not in text] == []
    ids = page.all("id")
    assert len(ids) == len(set(ids))
    assert {link[1:] for link in page.all("href") if link.startswith("#")} <= set(ids)


def test_only_confirmed_sentences_without_a_note_are_joined_and_no_word_is_added() -> None:
    one = samples.document(1)
    yes, no = samples.supports(1, one), samples.contradicts(1, one)
    noted = samples.checked("C.", "supported", yes, notes=[Note("retracted", {"n": 1})])
    a, b, d = (samples.checked(text, "supported", yes) for text in ("A.", "B.", "D."))
    shown = (a, b, noted, samples.checked("E.", "contradicted", no), d)
    answer = replace(samples.every_standing(), sentences=shown, dropped=())
    page = ask_render.to_html(samples.answer_report(answer))
    joined = Page(page[page.index('class="joined"') : page.index('<ol class="answer">')])
    assert "A. [1] B. [1] D. [1]" in " ".join(joined.text.split())


@pytest.mark.parametrize("by", [0, 3])  # a misplaced passage is shown alone
def test_the_closest_sentence_is_marked_exactly(by: int) -> None:
    page = Page(ask_render.to_html(samples.answer_report(moved(samples.extract(), by))))
    assert page.marked == [samples.FINDING]
    assert samples.ABSTRACT.format(samples.FINDING) in page.text


def test_a_quote_from_a_table_is_shown_as_a_table() -> None:
    rows = "Parish: Holmby; 1990: 4,120; 2000: 4,310\nParish: Varde; 1990: 8,044; 2000: 8,120"
    source = samples.document(1, rows)
    verdict = samples.supports(1, source, rows.partition("\n")[0])
    told = samples.checked("Holmby had 4,310 inhabitants in 2000.", "supported", verdict)
    answer = replace(samples.every_standing(), sentences=(told,), dropped=())
    page = ask_render.to_html(samples.answer_report(answer))
    assert '<div class="cells"' in page
    assert "<td><mark>4,310</mark></td>" in page


@pytest.mark.parametrize("quote", [Span(5, 5), Span(5, 3), Span(10, 9999), None])
def test_an_invalid_quote_is_not_marked(quote: Span | None) -> None:
    answer = moved(samples.extract(), 0, quote=quote)
    page = Page(ask_render.to_html(samples.answer_report(answer)))
    assert page.marked == []
    assert samples.ABSTRACT.format(samples.FINDING) in page.text
    assert wording.quote_of(answer.sentences[0].verdicts[0]) == ""


def test_a_verdict_on_a_reference_that_is_not_listed() -> None:
    sentence = samples.checked(
        "So.", "supported", ReferenceVerdict(Support.SUPPORTS, written="9", number=9)
    )
    answer = replace(samples.extract(), sentences=(sentence,), references=())
    report = samples.answer_report(answer)
    assert "#a1-r9" not in ask_render.to_html(report)
    assert "[9]" in shown(report)


# ── Markdown ─────────────────────────────────────────────────────────────────────────────────────


def test_a_template_of_a_user(tmp_path: Path) -> None:
    template = tmp_path / "own.md.j2"
    template.write_text(
        "{{ question }}{% for s in sentences %}|{{ s.text }}{{ s.standing }}{% endfor %}"
        "{% for r in references %}|{{ r.number }}{{ r.meta.journal }}{% endfor %}"
        "|{{ shown.sentences[0].label }}"
    )
    written = ask_render.to_markdown(samples.answer_report(samples.extract()), template)
    assert written.endswith("verbatim|1Journal of Trams & Sleep|verbatim from \\[1\\]")


def test_snapshots(snapshot: SnapshotAssertion) -> None:
    report = samples.everything()
    assert ask_render.to_markdown(report) == snapshot(name="markdown")
    assert shown(report, width=90) == snapshot(name="terminal")


# ── What was copied, and what was left out ───────────────────────────────────────────────────────


def test_a_format_that_fails_affects_only_itself(tmp_path: Path) -> None:
    """Without versions there is no page; the JSON does not need them."""
    bare = replace(samples.everything(), versions=None)  # type: ignore[arg-type]
    paths: dict[str, Path | None] = {name: tmp_path / name for name in ("html", "json")}
    with pytest.raises(PinciteError, match="html"):
        deliver(bare, paths, None, quiet=True)
    assert [path.name for path in tmp_path.iterdir()] == ["json"]


def test_a_page_without_whole_texts_shows_only_passages() -> None:
    answer = samples.extract()
    first, *others = answer.references
    longer = replace(first.document, text=f"{first.document.text}\nEnd.")
    answer = replace(answer, references=(replace(first, document=longer), *others))
    (whole,) = ask_render.views([answer], with_texts=True)
    (shared,) = ask_render.views([answer], only_passages=True)
    assert "End." in str(whole["sentences"])
    assert "End." not in str(shared)
