"""Items of studies that were made up, and reports whose pages are at hand."""

from dataclasses import replace
from typing import Any

from samples import report

from pincite.text.passages import PASSAGE_WORDS, WIDE_WORDS, windows
from pincite.types import Document, Evidence, Finding, Span
from pincite.verbs.verify.report import Report
from pincite_study.items import DocumentOf, Item, Source
from pincite_study.studies import Plan, Study, StudyStore

CHOSEN = "lantern"  # a word that the chosen passages have, and no other


def source(name: str, number: int, score: float, *, text: bool = True) -> Source:
    """A source whose every word tells which it is."""
    quote = f"{name} quote {number}."
    passage = f"Before. {quote} See https://{name}.example/page/{number} or {name}.example."
    around = f"{name} begins. {passage} {name} ends."
    return Source(
        url=f"https://www.{name}.example/page/{number}",
        title=f"Title of {name} {number}",
        score=score,
        passage=passage,
        quote=(8, 8 + len(quote)),
        text=around if text else "",
        start=around.index(passage) if text else 0,
    )


def item(number: int, score: float = -3.25, *, given: Any = None) -> Item:
    values: dict[str, Any] = {
        "claim_id": f"{number:012}",
        "article": "Varde",
        "article_url": "https://wiki.example/Varde?oldid=7",
        "section": ("History", "Bridge"),
        "before": "The town has a river.",
        "claim": f"The bridge number {number} was opened in 1911.",
        "baseline": source("oldsite", number, score),
        "tested": source("newsite", number, 1.4375),
    }
    return Item(**(values | (given or {})))


def study(store: StudyStore, n: int = 4, owner: str = "local", **plan: Any) -> Study:
    items = [item(number, -0.5 * number) for number in range(1, n + 1)]
    return store.create(owner, Plan("Bridges", **plan), items)


def page(number: int, n_sentences: int = 30) -> Document:
    """Sentences of twenty words; the first is what the claim of this number says."""
    url = f"https://site{number}.example/page"
    rest = [f"Sentence {n} of page {number} {'river ' * 14}flows." for n in range(1, n_sentences)]
    first = f"The {CHOSEN} number {number} was lit in 1911, {'harbour ' * 11}it says."
    return Document(url, f"Title {number}", " ".join([first, *rest]), language="en")


def chosen_in(document: Document, *, wide: bool = False, score: float = -1.0) -> Evidence:
    """The first passage of a page as the verifier would choose it, in one of its widths."""
    passage = windows(document, WIDE_WORDS if wide else PASSAGE_WORDS)[0]
    return Evidence(passage, 0.3, 0.1, 0.6, score, quote=Span(0, 20))


def read_report(*evidence: Evidence) -> Report:
    """A report with a finding for each, which nothing was suggested for."""
    plain = report("plain").findings[0]
    return replace(report("plain"), findings=tuple(_finding(plain, each) for each in evidence))


def _finding(plain: Finding, evidence: Evidence) -> Finding:
    number = evidence.passage.url.removeprefix("https://site").partition(".")[0]
    text = f"The {CHOSEN} number {number} was lit."
    claim = replace(plain.claim, claim_id=f"{number:0>12}", text=text)
    result = replace(plain.citations[0], outcome=evidence, copy=None)
    return replace(plain, claim=claim, citations=(result,), suggestions=())


def at_hand(*documents: Document) -> DocumentOf:
    """These, by their ids."""
    return {document.doc_id: document for document in documents}.get
