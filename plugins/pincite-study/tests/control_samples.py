"""A report whose citations were read in pages that are at hand, for studies of passages."""

from dataclasses import replace

from samples import report

from pincite.text.passages import PASSAGE_WORDS, WIDE_WORDS, windows
from pincite.types import Document, Evidence, Finding, Span
from pincite.verbs.verify.report import Report
from pincite_study.items import DocumentOf

CHOSEN = "lantern"  # a word that the chosen passages have, and no other


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
    claim = replace(
        plain.claim, claim_id=f"{number:0>12}", text=f"The {CHOSEN} number {number} was lit."
    )
    result = replace(plain.citations[0], outcome=evidence, copy=None)
    return replace(plain, claim=claim, citations=(result,), suggestions=())


def at_hand(*documents: Document) -> DocumentOf:
    """These, by their ids."""
    return {document.doc_id: document for document in documents}.get
