"""`ask` from question to answer, with the shipped models on documents written for this test."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pytest
from support.rows import each_row

from pincite.corpus.engines import EmbeddedCorpus
from pincite.corpus.protocol import NO_FILTERS
from pincite.errors import ServerError, ServerUnreachable
from pincite.judgement import decide
from pincite.judgement.provenance import Retraction
from pincite.judgement.references import Standing, Support, support_of
from pincite.models import weights
from pincite.models.session import OnnxEncoder
from pincite.models.verifier import CrossEncoderVerifier
from pincite.retrieval.filters import Filters, condition
from pincite.retrieval.fusion import Fused, Reranked
from pincite.settings import Settings
from pincite.text.citation_marks import cited_sentences
from pincite.text.passages import passages
from pincite.types import Document, Evidence, Hit, Passage, Readout, Span
from pincite.verbs.ask.answer_check import AnswerChecker, Repairer
from pincite.verbs.ask.build import AskRun
from pincite.verbs.ask.extract import Extractor, absent_terms, is_uncovered
from pincite.verbs.ask.pipeline import AskPipeline, LiteratureFinder, ref_id, with_numbers
from pincite.verbs.ask.report import Answer, Checked, Reference, Searched

pytestmark = pytest.mark.xdist_group("ask")  # one process: the fixtures are slow


def paper(pmid: int, title: str, text: str, **meta: str) -> Document:
    given = {"pmid": str(pmid), **meta}
    return Document(f"https://pubmed.example/{pmid}/", title, text, language="en", meta=given)


PAPERS = (
    paper(
        11,
        "Velorin and migraine: a randomised trial",
        "BACKGROUND: Migraine is common. METHODS: We gave velorin or placebo to 240 adults for 12 "
        "weeks. RESULTS: Velorin reduced the number of migraine days by 3.1 a month, placebo by "
        "1.2. CONCLUSIONS: Velorin reduced migraine days in adults.",
        retracted="no",
    ),
    paper(
        12,
        "No effect of velorin on migraine",
        "In a trial with 310 adults velorin did not reduce the number of migraine days. Nausea was "
        "seen in 14% of those treated.",
        retracted="no",
    ),
    paper(
        13,
        "Velorin abolishes migraine",
        "All 30 patients who took velorin were free of migraine after two weeks.",
        retracted="yes",
    ),
    paper(
        14, "Soil bacteria and barley", "Barley grew 8% taller where bacteria were added to soil."
    ),
)


@pytest.fixture(scope="module")
def verifier() -> Iterator[CrossEncoderVerifier]:
    found = CrossEncoderVerifier(weights.locate(weights.VERIFIER))
    yield found
    found.close()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedCorpus]:
    folder = tmp_path_factory.mktemp("papers") / "corpus"
    with EmbeddedCorpus.create(folder, OnnxEncoder(weights.locate(weights.ENCODER))) as made:
        made.add(PAPERS)
        yield made


@dataclass(frozen=True)
class Scripted:
    """Writes what it is told to, in the pieces that it is told."""

    pieces: Sequence[str]
    ending: ServerError | None = None
    fingerprint: str = "scripted"

    def write(self, question: str, references: Sequence[Reference]) -> Iterator[str | ServerError]:
        yield from self.pieces
        if self.ending:
            yield self.ending


def reference_of(document: Document, relevance: float = 0.0) -> Reference:
    return Reference(0, ref_id(document), document, relevance)


def references(*pmids: int) -> list[Reference]:
    by_pmid = {int(p.meta["pmid"]): p for p in PAPERS}
    return with_numbers([reference_of(by_pmid[pmid]) for pmid in pmids])


def finder_of(
    corpus: EmbeddedCorpus, verifier: CrossEncoderVerifier, filters: Filters = NO_FILTERS
) -> LiteratureFinder:
    search = Fused(corpus.lexical((), filters), corpus.dense((), filters), depth=100)
    return LiteratureFinder(Reranked(search, verifier), corpus.get)


def extractor(verifier: CrossEncoderVerifier) -> Extractor:
    return Extractor(verifier, OnnxEncoder(weights.locate(weights.ENCODER)), 9)


@pytest.fixture
def pipeline(corpus: EmbeddedCorpus, verifier: CrossEncoderVerifier) -> AskPipeline:
    searched = Searched("d", len(PAPERS), "weighted")
    finder = finder_of(corpus, verifier)
    return AskPipeline(finder, extractor(verifier), AnswerChecker(verifier), searched)


def written_by(writer: Any, pipeline: AskPipeline) -> AskPipeline:
    return replace(pipeline, writer=writer, least_relevance=-9.0)


def check(verifier: CrossEncoderVerifier, text: str, *pmids: int) -> list[Checked]:
    return AnswerChecker(verifier).check(cited_sentences(text), references(*pmids))


QUESTION = "Does velorin reduce the number of migraine days?"
CURE = "Were patients free of migraine after velorin?"
ANSWER = Answer(QUESTION, "", (), (), "scripted", Searched("d", len(PAPERS), "weighted"))


def test_an_extracted_answer_quotes_both_sides_word_for_word(pipeline: AskPipeline) -> None:
    answer = pipeline.ask(QUESTION)
    assert "Velorin reduced" in answer.sentences[0].sentence.text
    for checked in answer.sentences:
        number = int(checked.sentence.ids[0])
        assert checked.sentence.text in answer.references[number - 1].document.text
        assert checked.standing is Standing.VERBATIM
        (verdict,) = checked.verdicts
        assert verdict.support is Support.VERBATIM
        assert verdict.evidence is not None
        assert verdict.evidence.quoted == checked.sentence.text
    # The paper on another topic is not listed; the retracted one only as left out.
    assert {r.ref_id for r in answer.references} == {"11", "12"}
    assert {r.number for r in answer.references} == answer.cited
    assert [(r.ref_id, r.number, r.document.text) for r in answer.left_out] == [("13", 0, "")]
    assert pipeline.ask("Do soil bacteria help barley to grow taller?").left_out == ()


def test_an_abstract_in_another_language_is_not_quoted(verifier: CrossEncoderVerifier) -> None:
    text = (
        "Velorin reduced the number of migraine days in adults.\n\nAbstract (fre)\n\n"
        "Velorin a réduit le nombre de jours de migraine chez les adultes."
    )
    given = with_numbers([reference_of(paper(15, "Velorin", text))])
    (((quote,),), *_) = extractor(verifier).quotes([QUESTION], given)
    assert quote.text == "Velorin reduced the number of migraine days in adults."
    assert quote.span.of(text) == quote.text


def test_of_a_long_document_the_nearest_passages_are_quoted(verifier: CrossEncoderVerifier) -> None:
    filler = "The harbour of Varde was dredged in spring and the tram went on. " * 12
    said = "Velorin reduced the number of migraine days by 3.1 a month in adults."
    text = "\n".join([*[filler] * 20, said, *[filler] * 20])
    long = paper(17, "Velorin and the harbour", text)

    class Finds:
        def retrieve(self, queries: Sequence[str], k: int) -> list[list[Hit]]:
            return [[Hit(passages(long)[0], 1.0, 1)] for _ in queries]

    ((found,), _) = LiteratureFinder(Finds(), lambda urls: [long for _ in urls]).find(QUESTION)
    texts = [passage.text for passage in found.passages]
    assert said in texts[1]  # behind the one that was found
    (((quote, *_),), *_) = extractor(verifier).quotes([QUESTION], [found])
    assert (quote.text, quote.span.of(text)) == (said, said)


def test_only_retracted_papers_give_no_answer(
    corpus: EmbeddedCorpus, verifier: CrossEncoderVerifier, pipeline: AskPipeline
) -> None:
    only = Filters(where=(condition("retracted == yes"),))
    finder = finder_of(corpus, verifier, only)
    answer = replace(pipeline, least_relevance=-9.0, finder=finder).ask(CURE)
    assert [note.code for note in answer.abstained_coded] == ["all_retracted"]
    assert answer.sentences == ()
    assert [r.ref_id for r in answer.left_out] == ["13"]


def test_an_included_retracted_paper_is_marked(pipeline: AskPipeline) -> None:
    finder = replace(pipeline.finder, include_retracted=True)
    answer = replace(pipeline, least_relevance=-4.0, finder=finder).ask(CURE)
    (retracted,) = [r.number for r in answer.references if r.retraction is Retraction.YES]
    notes = [note for checked in answer.sentences for note in checked.notes]
    assert answer.left_out == ()
    assert f"reference {retracted} was retracted" in notes


def test_citation_marks_inside_a_quote_are_text(verifier: CrossEncoderVerifier) -> None:
    said = "As Holm et al. [3] saw, velorin reduced the number of migraine days [2, 55] (12)."
    given = with_numbers([reference_of(paper(n, "Velorin", said), 6.0) for n in (21, 22, 23)])

    class Found(LiteratureFinder):
        def find(self, question: str) -> tuple[list[Reference], list[Reference]]:
            return given, []

    finder = Found(None, None, list, None)  # type: ignore[arg-type]
    plan = AskPipeline(
        finder, extractor(verifier), AnswerChecker(verifier), Searched("d", 3, "weighted")
    )
    answer = plan.ask(QUESTION)
    shown = "As Holm et al. (3) saw, velorin reduced the number of migraine days (2, 55) (12)."
    assert [c.sentence.text for c in answer.sentences] == [shown]
    assert answer.text == f"{shown} [1]"
    assert answer.sentences[0].standing is Standing.VERBATIM


@each_row("ask/ask/a_sentence_is_decided_with_the_other_figure_of_its_reference")
def test_a_sentence_is_decided_with_the_other_figure_of_its_reference(
    sentence: str, support: float, recognised: int | None, expected: str
) -> None:
    text = "Of 90 women, 9% left. It fell by 4%."
    passage = Passage("d", "u", "", text, Span(0, len(text)), recognised=recognised)
    read = decide.weigh(Evidence(passage, 0, 0, 1, support, readout=Readout(support)))
    assert support_of(sentence, [read]).support == expected


def test_sentences_are_checked_against_the_references_that_they_cite(
    verifier: CrossEncoderVerifier,
) -> None:
    right, wrong, fabricated, beside, again = check(
        verifier,
        "Velorin reduced migraine days by 3.1 a month [1]. "
        "Velorin did not reduce migraine days in adults [1]. "
        "Velorin reduced migraine days in adults (PUBMED:999). "
        "Velorin reduced migraine days in adults [1][7]. "
        "Velorin reduced migraine days by 3.1 a month [1].",
        11,
    )
    assert (right.standing, fabricated.standing) == (Standing.SUPPORTED, Standing.FABRICATED)
    assert wrong.standing is not Standing.SUPPORTED
    (verdict,) = right.verdicts
    assert verdict.evidence is not None
    assert "3.1" in verdict.evidence.quoted
    assert (again.verdicts, again.sentence.span == right.sentence.span) == (right.verdicts, False)
    assert beside.standing is Standing.SUPPORTED
    assert [v.support for v in beside.verdicts] == [Support.SUPPORTS, Support.NO_SUCH_REFERENCE]
    assert "there is no reference 7" in beside.notes


def test_an_uncited_sentence_may_inherit_a_neighbours_reference(
    verifier: CrossEncoderVerifier,
) -> None:
    text = (
        "Velorin reduced migraine days in adults [1]. Nausea was seen in 14% of those treated. "
        "Velorin did not reduce the number of migraine days [2]."
    )
    assert check(verifier, text, 11, 12)[1].standing is Standing.UNCITED
    by_rule = AnswerChecker(verifier, neighbours=True).check(
        cited_sentences(text), references(11, 12)
    )[1]
    assert (by_rule.inherited, by_rule.sentence.ids) == (True, ("2",))
    assert by_rule.standing is Standing.SUPPORTED


def test_a_paper_in_another_language_or_without_text_is_not_checked(
    verifier: CrossEncoderVerifier,
) -> None:
    german = Document("u1", "Titel", "Velorin half.", language="de", meta={"pmid": "1"})
    empty = Document("u2", "Velorin helps", "", language="en", meta={"pmid": "2"})
    given = with_numbers([reference_of(german), reference_of(empty)])
    found = AnswerChecker(verifier).check(cited_sentences("Velorin helps [1][2]."), given)[0]
    assert found.standing is Standing.NOT_CHECKED
    assert [verdict.why for verdict in found.verdicts] == [
        "it is in 'de'; the verifier reads en (more: pincite[multilingual])",
        "no abstract is available",
    ]


def test_each_sentence_is_reported_once_while_the_answer_streams(pipeline: AskPipeline) -> None:
    told: list[tuple[str, int]] = []
    written = []

    class Noting(Scripted):
        def write(
            self, question: str, references: Sequence[Reference]
        ) -> Iterator[str | ServerError]:
            for piece in super().write(question, references):
                written.append(piece)
                yield piece

    text = "Velorin reduced migraine days [1]. Nausea was seen in 14% [2]. It was rare."
    answer = written_by(Noting(list(text)), pipeline).ask(
        QUESTION, lambda checked: told.append((checked.sentence.text, len(written)))
    )
    assert [text for text, _ in told] == [c.sentence.text for c in answer.sentences]
    assert told[0][1] < len(text)


def test_an_answer_that_breaks_off_is_returned_with_its_reason(pipeline: AskPipeline) -> None:
    writer = Scripted(["Velorin reduced migraine", " days [1]."], ServerUnreachable("gone"))
    answer = written_by(writer, pipeline).ask(QUESTION)
    assert (answer.failure, answer.complete, len(answer.sentences)) == ("gone", False, 1)


def test_ctrl_c_while_an_answer_is_written_ends_the_run(pipeline: AskPipeline) -> None:
    class Interrupted(Scripted):
        def write(
            self, question: str, references: Sequence[Reference]
        ) -> Iterator[str | ServerError]:
            yield from super().write(question, references)
            raise KeyboardInterrupt

    ready = written_by(Interrupted(["Velorin reduced migraine days [1]."]), pipeline)
    report = AskRun(Settings(), ready, {}, (), (), 0.0).ask([QUESTION, QUESTION])
    (answer,) = report.answers
    assert (report.stopped, answer.cut, len(answer.sentences)) == (True, True, 1)


def test_repair_lists_what_it_strikes_out_and_drops(pipeline: AskPipeline) -> None:
    text = (
        "Velorin reduced migraine days in adults [1]. Barley grew taller in Denmark (PUBMED:5). "
        "The weather was fine in Rome that year [1]."
    )
    plan = replace(pipeline, repairer=Repairer())
    answer = plan.check(replace(ANSWER, text=text), references(11))
    assert answer.text == "Velorin reduced migraine days in adults [1]."
    assert [(change.after, change.why) for change in answer.changes] == [
        ("", "its references do not exist"),
        ("", "its references do not mention it"),
    ]
    assert [s.standing for s in answer.sentences] == [Standing.SUPPORTED]


def test_citation_marks_copied_from_a_paper_cite_nothing(pipeline: AskPipeline) -> None:
    paper_ = paper(16, "Velorin", "As others saw, velorin halved the number of bad days [1, 7].")
    given = [*references(12), replace(references(11)[0], number=2, document=paper_)]
    text = (
        "Velorin halved the number of bad days [1, 7]. Velorin halved the number of bad days [2]."
    )
    copied, cited = pipeline.check(replace(ANSWER, text=text), given).sentences
    assert (copied.sentence.text, copied.standing) == (
        "Velorin halved the number of bad days (1, 7).",
        Standing.UNCITED,
    )
    assert (cited.sentence.ids, cited.standing) == (("1",), Standing.SUPPORTED)


def test_exact_matches_rank_first(pipeline: AskPipeline) -> None:
    finder = replace(pipeline.finder, include_retracted=True)
    first = finder.find('"free of migraine" in trials of velorin')[0][0]
    assert first.document.meta["pmid"] == "13"


def test_a_question_for_a_number_is_answered_from_its_sentence(pipeline: AskPipeline) -> None:
    answer = pipeline.ask("How many adults were in the velorin trial?")
    assert answer.sentences
    assert all("0 adults" in each.sentence.text for each in answer.sentences)


def test_nearest_sentences_are_quoted_as_unconfirmed(pipeline: AskPipeline) -> None:
    answer = pipeline.ask("Why does velorin reduce the number of migraine days?")
    assert [note.code for note in answer.abstained_coded] == ["only_nearest"]
    assert {each.standing for each in answer.sentences} == {Standing.NEAREST}
    assert {v.support for each in answer.sentences for v in each.verdicts} == {Support.VERBATIM}


def test_a_part_of_a_question_without_an_answer_is_named(pipeline: AskPipeline) -> None:
    part = "why does velorin reduce migraine days?"
    answer = pipeline.ask(f"How many adults were in the velorin trial, and {part}")
    assert (answer.unanswered, answer.abstained_coded) == ((part,), ())
    standings = [each.standing for each in answer.sentences]
    assert set(standings) == {Standing.VERBATIM, Standing.NEAREST}


def test_terms_that_no_cited_paper_mentions_are_named(pipeline: AskPipeline) -> None:
    assert pipeline.ask("Does velorin reduce migraine days in adults?").searched.absent == ()
    assert absent_terms("Does velorin taste of barley?", references(11)) == ["taste", "barley"]


@each_row("ask/ask/a_question_whose_subject_no_document_mentions_has_no_answer")
def test_a_question_whose_subject_no_document_mentions_has_no_answer(
    pipeline: AskPipeline, question: str
) -> None:
    answer = replace(pipeline, least_relevance=-99.0).ask(question)
    assert [note.code for note in answer.abstained_coded] == ["nothing_mentions"]


@each_row("ask/ask/a_question_is_uncovered_if_most_of_one_part_is_absent")
def test_a_question_is_uncovered_if_most_of_one_part_is_absent(
    question: str, absent: list[str], expected: bool
) -> None:
    assert is_uncovered(question, absent) is expected
