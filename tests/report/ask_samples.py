"""Answers built by hand: one of a scientist's question with every standing, and hostile ones."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pincite.judgement.references import ReferenceVerdict, Standing, Support
from pincite.notes import Note, as_written
from pincite.protocols import Usage
from pincite.text import citation_marks
from pincite.text.citation_marks import Mark, Sentence
from pincite.types import Document, Evidence, Passage, Span
from pincite.verbs.ask import answer_check
from pincite.verbs.ask.report import Answer, AnswerReport, Change, Checked, Reference, Searched

ABSTRACT = (
    "BACKGROUND: Night trams run past many bedrooms. METHODS: We followed 412 adults in Varde for "
    "two years. RESULTS: {} The effect was larger in winter. CONCLUSIONS: Quieter wheels may help."
)
FINDING = "Adults beside the line slept 23 minutes less than those a street away (p < 0.01)."
SEARCHED = Searched(
    corpus="5f1c9a0b77d2",
    n_documents=21412,
    mode="words and meaning, by reciprocal rank",
    filters="published from 2010",
    found=("11111111", "22222222", "33333333"),
    best=2.25,
)


def document(number: int, text: str = "", **meta: str) -> Document:
    pmid = str(number) * 8
    known = {
        "pmid": pmid,
        "doi": f"10.5555/varde.{number}_(a)",
        "author": "I. M. Holm et al.",
        "authors": "Holm, Ida Marie, Jr; van Berg, Per; Dam, Bo; Varde Sleep Study Group",
        "groups": "Varde Sleep Study Group",
        "journal": "Journal of Trams & Sleep",
        "journal_abbreviation": "J Trams Sleep",
        "issn": "1234-5679",
        "volume": "12",
        "issue": "3",
        "pages": "1023-9",
        "pubdate": "2019 Apr 7",
        "publication_type": "Journal Article; Observational Study",
        "keywords": "trams; sleep",
        "coverage": "abstract",
        "retracted": "no",
    }
    return Document(
        url=f"https://pubmed.ncbi.nlm.nih.gov/{pmid}/",
        title=f"Night trams and sleep in Varde: cohort {number}",
        text=text or ABSTRACT.format(FINDING),
        kind="pubmed",
        published="2018-12-20",
        language="en",
        meta={**known, **meta},
    )


def reference(number: int, source: Document) -> Reference:
    return Reference(number, source.meta.get("pmid") or source.url, source, 2.5 - number / 4)


def evidence(source: Document, quoted: str, supported: float, refuted: float = 0.02) -> Evidence:
    start = source.text.index(quoted)
    passage = Passage(
        source.doc_id, source.url, source.title, source.text, Span(0, len(source.text)), "about"
    )
    rest = round(1 - supported - refuted, 4)
    quote = Span(start, start + len(quoted)) if quoted else None
    notes = as_written("says “two years”")
    return Evidence(passage, supported, refuted, rest, 1.5, quote, notes=notes)


def sentence(text: str, *ids: str, at: int = 0) -> Sentence:
    """A sentence whose marks stand behind it."""
    end = at + len(text)
    marks = tuple(
        Mark(Span(end + 5 * n, end + 5 * n + 5), (written,)) for n, written in enumerate(ids)
    )
    return Sentence(Span(at, end + 5 * len(ids)), text, marks)


def checked(
    text: str,
    standing: str,
    *verdicts: ReferenceVerdict,
    notes: Sequence[Note] = (),
    inherited: bool = False,
) -> Checked:
    ids = [verdict.written for verdict in verdicts]
    return Checked(sentence(text, *ids), verdicts, Standing(standing), inherited, tuple(notes))


def _verdict(
    support: Support, number: int, evidence: Evidence | None = None, why: str = ""
) -> ReferenceVerdict:
    return ReferenceVerdict(support, evidence, as_written(why), str(number), number)


def _judged(
    support: Support,
    supported: float,
    refuted: float,
    number: int,
    source: Document,
    quoted: str = FINDING,
) -> ReferenceVerdict:
    return _verdict(support, number, evidence(source, quoted, supported, refuted))


supports = partial(_judged, Support.SUPPORTS, 0.93, 0.02)
partly = partial(_judged, Support.PARTLY, 0.93, 0.02)
contradicts = partial(_judged, Support.CONTRADICTS, 0.03, 0.91)
silent = partial(_judged, Support.NO_EVIDENCE, 0.2, 0.1)


def missing(written: str) -> ReferenceVerdict:
    return ReferenceVerdict(Support.NO_SUCH_REFERENCE, written=written)


def unread(number: int, why: str) -> ReferenceVerdict:
    return _verdict(Support.NOT_CHECKED, number, why=why)


def every_standing() -> Answer:
    """A model's answer in which every case occurs, one sentence twice."""
    one, four = document(1), document(4)
    two = document(
        2,
        retracted="yes",
        notices="RetractionIn: PMID 29999999 (J Trams Sleep. 2020;13(1):2)",
        publication_type="Journal Article; Retracted Publication",
    )
    three = document(3, "電車の夜間走行は睡眠を短くした。対象は成人412人である。", retracted="")
    same = "Living beside a night tram line shortens sleep by 23 minutes."
    sentences = (
        checked(same, "supported", supports(1, one)),
        checked("The effect fades in winter.", "contradicted", contradicts(1, one)),
        checked(
            "Quieter wheels lengthen sleep by half an hour.",
            "mixed",
            supports(2, two),
            contradicts(4, four),
            notes=[Note("retracted", {"n": 2})],
        ),
        checked("Children are affected most.", "no_evidence", silent(1, one), inherited=True),
        checked(
            "A trial in Esbjerg found no effect.",
            "fabricated",
            missing("PUBMED:99999999"),
            notes=as_written("no reference 99999999 was found: it may be invented"),
        ),
        checked(same, "supported", supports(1, one), supports(4, four)),
        checked(
            "Nachts fahren die Bahnen seltener. Tōkyō sah dasselbe.",
            "not_checked",
            unread(3, "in a language the model does not read"),
        ),
        checked("So the line should be judged with care.", "uncited"),
        checked("Sleep is 32 minutes shorter.", "partly_supported", partly(1, one)),
    )
    before = checked("Sleep is 32 minutes shorter.", "contradicted", contradicts(1, one))
    return Answer(
        question="Do night trams shorten the sleep of people who live beside the line?",
        text=" ".join(s.sentence.text for s in sentences),
        sentences=sentences,
        references=tuple(
            reference(n, d) for n, d in enumerate((one, two, three, four, document(5)), 1)
        ),
        by="qwen3-8b",
        searched=SEARCHED,
        dropped=(
            checked(
                "Trams improve sleep.",
                "contradicted",
                contradicts(1, one),
                notes=as_written("reference 1 says otherwise"),
            ),
            checked("A review of 90 cities agrees.", "fabricated", missing("7")),
        ),
        changes=(
            Change(
                before, "Sleep is 23 minutes shorter.", as_written("reference 1 says 23 minutes")
            ),
            Change(before, "", as_written("nothing in the references bears it out")),
        ),
    )


def copied(
    number: int, source: Document, text: str, standing: Standing = Standing.VERBATIM
) -> Checked:
    """A sentence that stands in its source."""
    start = source.text.index(text)
    place = citation_marks.quote_with_marks([(text, number)])[1][0]
    return answer_check.copied_sentence(
        place, reference(number, source), Span(start, start + len(text)), 1.25, standing
    )


def extract() -> Answer:
    one, gone = document(1), document(2, retracted="yes")
    return Answer(
        question="How much shorter is sleep beside a tram line?",
        text=f"{FINDING} [1]",
        sentences=(copied(1, one, FINDING),),
        references=(reference(1, one),),
        by="extract",
        searched=SEARCHED,
        left_out=(replace(reference(2, replace(gone, text="")), number=0),),
    )


def with_nearest() -> Answer:
    """Of its second part, only the nearest sentence was found."""
    answer = extract()
    nearest = copied(1, document(1), FINDING, Standing.NEAREST)
    sentences = (*answer.sentences, nearest)
    text = f"{answer.text} {answer.text}"
    return replace(answer, text=text, sentences=sentences, unanswered=("why?",))


def abstained() -> Answer:
    return Answer(
        question="Does moonlight heal sprained ankles?",
        text="",
        sentences=(),
        references=(),
        by="extract",
        searched=Searched("5f1c9a0b77d2", 21412, "words", found=("11111111",), best=-3.5),
        abstained_coded=as_written("the best of what was found hardly bears on the question"),
    )


def broken_off() -> Answer:
    return Answer(
        question="Who pays for quieter wheels?",
        text="The city",
        sentences=(checked("The city", "uncited"),),
        references=(),
        by="qwen3-8b",
        searched=SEARCHED,
        cut=True,
        failure="the server went away: connection reset",
    )


def hostile(text: str, url: str) -> Answer:
    """An answer whose every text is `text`, and every address `url`."""
    names = (
        "pmid doi pmc author authors groups journal journal_abbreviation issn volume issue pages"
    )
    more = (
        "pubdate publication_type keywords mesh notices site book publisher article_language isbn"
    )
    meta = dict.fromkeys(f"{names} {more}".split(), text) | {"retracted": "yes"}
    source = Document(url, text, f"First. {text} Last.", "pubmed", text, None, text, meta)
    page = Document(url, text, f"First. {text} Last.", meta={"author": text, "retracted": text})
    verdicts = (
        ReferenceVerdict(Support.SUPPORTS, evidence(source, text, 0.9), (), text, 1),
        ReferenceVerdict(Support.NO_SUCH_REFERENCE, None, as_written(text), text),
        ReferenceVerdict(Support.NOT_CHECKED, None, as_written(text), text, 2),
    )
    one = Checked(sentence(text, text), verdicts, Standing.MIXED, True, as_written(text))
    return Answer(
        question=text,
        text=text,
        sentences=(one, one),
        references=(Reference(1, text, source), Reference(2, url, page)),
        by=text,
        searched=Searched(text, 3, text, text, (text,), 0.5),
        dropped=(one,),
        changes=(Change(one, text, as_written(text)), Change(one, "", as_written(text))),
        cut=True,
        failure=text,
    )


def answer_report(*answers: Answer, n_questions: int = 0, note: str = "plain") -> AnswerReport:
    return AnswerReport(
        answers=answers,
        n_questions=n_questions or len(answers),
        usage=Usage(8, 1, 2, 3, 1000, 200, 0.5, 1.5),
        warnings_coded=as_written(note),
        settings={"k": 10, "note": note, "language": "en", "where": (note, "mesh == Sleep")},
        versions={"pincite": "0.1.0", "verifier": note},
        created="2026-11-21T12:00:00+00:00",
    )


def everything() -> AnswerReport:
    return answer_report(every_standing(), with_nearest(), abstained(), broken_off(), n_questions=5)
