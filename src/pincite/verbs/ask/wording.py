"""Words and signs for answers of `ask`. They always go together, never colour alone."""

import difflib
import math
import re
from collections import Counter
from collections.abc import Callable, Sequence

from pincite.judgement.provenance import Retraction, is_retracted_title
from pincite.judgement.references import ReferenceVerdict, Standing, Support
from pincite.notes import IN_ENGLISH, QUOTED, Language
from pincite.report import bibliography
from pincite.report.cells import WORDS, Look, display_name, n_of, one_line
from pincite.retrieval.filters import SEPARATOR
from pincite.settings import LEAST_RELEVANCE
from pincite.text.hosts import without_folder
from pincite.types import Document, Evidence, Span
from pincite.verbs.ask.report import EXTRACT, Answer, Checked, Reference

_WORDS = WORDS["ask"]
LOOKS = {Standing(name): Look(**look) for name, look in _WORDS["looks"].items()}
VERDICTS = {Support(name): words for name, words in _WORDS["verdicts"].items()}
NO_ANSWER = "No confirmed answer in this corpus"
INHERITED = "has no reference of its own: checked against those of a neighbouring sentence"
ADVICE = (
    "A program compared each sentence with its references. It makes mistakes, and this is not "
    "advice: read the references before you rely on a sentence."
)
COPIES = (Standing.VERBATIM, Standing.NEAREST)
COPIED = (
    "These sentences are copied word for word. Check whether they really answer the question, and "
    "read the references before you rely on one: this is not medical or other advice."
)
ALSO_FOUND, CLOSEST = "Also found, not cited", "Closest documents"
# Log-odds of the best document: of PubMedQA's, 52 of 57 from 1.5 are the right paper, and 18 of 49
# from `LEAST_RELEVANCE`.
CLOSE_MATCH = 1.5
MATCHES = {
    CLOSE_MATCH: "close",
    LEAST_RELEVANCE: "weak. Check that it addresses your question.",
    -math.inf: "no close match",
}
LEFT_OUT = "Left out: retracted"


def counts(sentences: Sequence[Checked], words: Language = IN_ENGLISH) -> list[tuple[int, Look]]:
    """Count sentences by standing, and word the labels for it."""
    counted = Counter(sentence.standing for sentence in sentences)
    labels = {standing: words.say(look.label) for standing, look in LOOKS.items()}
    labels[Standing.MIXED] = words.say("mixed")
    n_copied = counted[Standing.VERBATIM]
    labels[Standing.VERBATIM] = words.plural("sentence quoted", "sentences quoted", n_copied)
    return [
        (counted[standing], look._replace(label=labels[standing]))
        for standing, look in LOOKS.items()
        if counted[standing]
    ]


def label(checked: Checked, say: Callable[[str], str] = str) -> str:
    """Return the label of a sentence; `say` may translate it."""
    if checked.standing is not Standing.VERBATIM:
        return say(LOOKS[checked.standing].label)
    return say("verbatim from %(numbers)s") % {"numbers": f"[{', '.join(numbers(checked))}]"}


def advice(answers: Sequence[Answer]) -> str:
    copied = all(sentence.standing in COPIES for a in answers for sentence in a.sentences)
    return (COPIED if copied else ADVICE) if any(a.sentences for a in answers) else ""


def written_by(answer: Answer, say: Callable[[str], str] = str) -> str:
    if answer.abstained and not answer.sentences:
        return ""
    if answer.by != EXTRACT:
        text = say("Written by %(model)s; each sentence was compared with its references.")
        return text % {"model": one_line(answer.by)}
    if answer.only_abstracts:
        return say("Quoted from the abstracts; no language model wrote this answer.")
    return say("Quoted from the documents; no language model wrote this answer.")


def cautions(answer: Answer, say: Callable[[str], str] = str) -> list[str]:
    """Return what readers must know about an answer: missing parts, terms no document mentions."""
    cautions = []
    if answer.searched.absent and answer.sentences:
        quoted = [say(QUOTED) % {"words": one_line(word)} for word in answer.searched.absent]
        text = say("No cited document mentions %(words)s, so this may not answer your question.")
        cautions.append(text % {"words": ", ".join(quoted)})
    for part in answer.unanswered:
        text = say("No sentence was found to answer this part: %(part)s")
        cautions.append(text % {"part": one_line(part)})
    if answer.cut:
        cautions.append(say("The model was stopped before it finished: the answer breaks off."))
    if answer.failure:
        cautions.append(
            say("A part is missing: %(failure)s") % {"failure": one_line(answer.failure)}
        )
    return cautions


def search_details(answer: Answer) -> list[tuple[str, str]]:
    where = answer.searched
    read = n_of(len(where.found), "document")
    if answer.only_abstracts:
        read += " (abstracts only, not full texts)"
    best = ""
    if where.best is not None:
        best = next(words for least, words in MATCHES.items() if where.best >= least)
        best = best if answer.sentences else best.partition(".")[0]
    known = [
        ("corpus", f"{n_of(where.n_documents, 'document')} (digest {where.corpus})"),
        ("mode", where.mode),
        ("filters", where.filters or "none"),
        ("read", read),
        ("best match", best),
    ]
    return [(name, one_line(value)) for name, value in known if value]


def numbers(checked: Checked) -> list[str]:
    """Return the reference numbers of a sentence, with "?" after a mark that resolves to none."""
    shown = (
        f"{one_line(v.written)}?" if v.number is None else str(v.number) for v in checked.verdicts
    )
    return list(dict.fromkeys(shown))


def quote_of(verdict: ReferenceVerdict) -> str:
    """Return the closest sentence, verbatim; empty if its span is invalid."""
    span = quote_span(verdict.evidence)
    return span.of(verdict.evidence.passage.text) if span and verdict.evidence else ""


def quote_span(evidence: Evidence | None) -> Span | None:
    """Return the quote's span in its passage; None if it lies outside."""
    if evidence is None or evidence.quote is None:
        return None
    start, end = evidence.quote
    return evidence.quote if 0 <= start < end <= len(evidence.passage.text) else None


def unknown_retractions(references: Sequence[Reference], say: Callable[[str], str] = str) -> str:
    """Count the references whose retraction status is unknown; empty for none."""
    n = sum(reference.retraction is Retraction.UNKNOWN for reference in references)
    if not n:
        return ""
    if len(references) == 1:
        return say("Retraction status unknown for the reference.")
    text = say("Retraction status unknown for %(n)s of %(all)s references.")
    return text % {"n": n, "all": len(references)}


def title_of(document: Document) -> str:
    """Return the title, else the name of a file, else the address."""
    return display_name(document.url, document.title)


def mark_of(reference: Reference, say: Callable[[str], str] = str) -> str:
    """Return the mark of a retraction, in words where the title has none; empty for others."""
    mark = bibliography.RETRACTIONS[reference.retraction]
    is_titled = is_retracted_title(reference.document.title.strip())
    return mark and ("⚠" if is_titled else f"⚠ {say(mark)}")


def url_of(document: Document) -> str:
    """Return the address; empty for a file whose name is shown as its title."""
    is_file = without_folder(document.url) != document.url
    return "" if is_file and not one_line(document.title) else document.url


def published_in(reference: Reference) -> str:
    document, meta = reference.document, reference.document.meta
    date = bibliography.cited_date(document.published, meta)
    volume, issue = meta.get("volume", ""), meta.get("issue", "")
    place = f"{volume}({issue})" if issue else volume
    pages = bibliography.whole_pages(meta.get("pages", ""))[0]
    parts = (
        bibliography.short_authors(meta),
        meta.get("journal_abbreviation") or meta.get("journal") or meta.get("site", ""),
        str(date[0]) if date else "undated",
        ":".join(part for part in (place, pages) if part),
        kind_of(reference),
        f"corpus {document.corpus}" if document.corpus else "",
    )
    return " · ".join(line for part in parts if (line := one_line(part)))


def kind_of(reference: Reference) -> str:
    """Return the publication types, without funding and "Journal Article"."""
    stated = reference.document.meta.get("publication_type", "").split(SEPARATOR)
    kinds = [kind for kind in stated if kind and not kind.startswith("Research Support")]
    shown = [kind for kind in kinds if kind != "Journal Article"]
    return SEPARATOR.join(shown or kinds)


def places_of(reference: Reference, sentences: Sequence[Checked], support: Support) -> list[int]:
    pairs = ((n, v) for n, s in enumerate(sentences, 1) for v in s.verdicts)
    numbers = (n for n, v in pairs if v.number == reference.number and v.support is support)
    return list(dict.fromkeys(numbers))


def cited_and_uncited(answer: Answer) -> tuple[list[Reference], list[Reference]]:
    """Separate the references that sentences cite from the others."""
    ordered = sorted(answer.references, key=lambda reference: reference.number)
    numbers = answer.cited
    cited = [reference for reference in ordered if reference.number in numbers]
    return cited, [reference for reference in ordered if reference not in cited]


def difference(before: str, after: str) -> list[tuple[str, str]]:
    """Diff a repaired sentence by word: ("same" | "gone" | "new", words).

    >>> difference("It fell by 32 %.", "It fell by 23 %.")
    [('same', 'It fell by '), ('gone', '32'), ('new', '23'), ('same', ' %.')]
    """
    old, new = (re.findall(r"\s+|[^\s]+", text) for text in (before, after))
    pieces: list[tuple[str, str]] = []
    matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
    for tag, i, j, k, end in matcher.get_opcodes():
        gone, added = "".join(old[i:j]), "".join(new[k:end])
        pieces += [("same", gone)] if tag == "equal" else [("gone", gone), ("new", added)]
    return [piece for piece in pieces if piece[1]]
