"""`ask`: a question answered from a corpus, every sentence verified against its references.

question ─▶ documents ─┬▶ a model writes ─▶ sentences ─▶ verdicts ─▶ repair ─┬▶ answer
                       └▶ their sentences that answer it, word for word ─────┘

If nothing relevant is found, there is no answer. A copied sentence is not verified.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

from pincite import errors
from pincite.errors import ServerError
from pincite.judgement.provenance import Retraction, retraction_of
from pincite.judgement.references import Standing
from pincite.notes import Note
from pincite.protocols import Completion, DocumentsOf, Nearest, Retriever
from pincite.retrieval.fusion import filter_hits
from pincite.text import citation_marks
from pincite.text import words as wording
from pincite.text.passages import passages
from pincite.types import Document, Hit, Passage, Span
from pincite.verbs.ask import extract
from pincite.verbs.ask.abstracts import WHOLE, fits
from pincite.verbs.ask.answer_check import AnswerChecker, Repairer, copied_sentence
from pincite.verbs.ask.extract import Extractor
from pincite.verbs.ask.questions import parts_of
from pincite.verbs.ask.report import Answer, Checked, Reference, Searched, fault
from pincite.verbs.ask.writers import ModelWriter

# Log-odds below `least_relevance` in which a document may still have the nearest sentences.
NEARBY = 1.0
RANKED = 100  # passages of a long text: some 15,000 tokens of prompt
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,200})[\"”“»]")
OnSentence = Callable[[Checked], None]
OnDraft = Callable[[int, Sequence[str]], None]  # number verified, sentences after them


@dataclass(frozen=True, slots=True)
class AskPipeline:
    """The parts of `ask`."""

    finder: "LiteratureFinder"
    writer: ModelWriter | Extractor
    checker: AnswerChecker
    searched: Searched  # what is known before the search
    repairer: Repairer | None = None  # None: unsupported sentences are labelled but kept
    least_relevance: float = 0.0  # log-odds; no answer if the best document has less
    language: str = "en"

    def ask(
        self, question: str, on_sentence: OnSentence | None = None, on_draft: OnDraft | None = None
    ) -> Answer:
        """Answer a question; an unfinished answer (Ctrl-C, a lost connection) says so.

        Args:
            question: one or more sentences.
            on_sentence: called once per sentence, as soon as it is verified.
            on_draft: also called, with the sentences still waiting to be verified.
        """
        return errors.attempt(
            lambda: self._ask(question, on_sentence, on_draft),
            lambda why: replace(self._empty(question), failure=fault(why)),
        )

    def _empty(self, question: str) -> Answer:
        return Answer(question, "", (), (), self.writer.fingerprint, self.searched)

    def _ask(
        self, question: str, on_sentence: OnSentence | None, on_draft: OnDraft | None
    ) -> Answer:
        has_words = re.search(r"\w", question)
        references, retracted = self.finder.find(question) if has_words else ([], [])
        silent = self._silent(question, references, retracted)
        best = silent.searched.best
        if isinstance(self.writer, Extractor):
            is_near = best is not None and best >= self.least_relevance - NEARBY
            return (
                self._extract(self.writer, silent, references, on_sentence) if is_near else silent
            )
        if best is None or best < self.least_relevance:
            return silent
        answer = self._write(self.writer, silent, references, on_sentence, on_draft)
        if not answer.text.strip() and not answer.failure:
            return silent
        return self.check(answer, references)

    def _silent(
        self, question: str, references: Sequence[Reference], retracted: Sequence[Reference]
    ) -> Answer:
        """Return the answer without sentences, and why there are none if none are found."""
        best = max((reference.relevance for reference in references), default=None)
        absent = errors.attempt(lambda: extract.absent_terms(question, references), lambda _: [])
        left_out = tuple(
            replace(reference, number=0, document=replace(reference.document, text=""), passages=())
            for reference in retracted
            if reference.relevance >= self.least_relevance and extract.on_topic(question, reference)
        )
        why = Note("nothing_answers")
        if best is None or best < self.least_relevance:
            code = "nothing_filtered" if self.searched.filters else "nothing_found"
            why = Note("nothing_relevant" if best is not None else code)
            why = Note("all_retracted") if left_out else why
        elif extract.is_uncovered(question, absent):
            why = Note("nothing_mentions", {"words": tuple(absent)})
        ids = tuple(reference.ref_id for reference in references)
        lacks = tuple(absent) if ids else ()
        return replace(
            self._empty(question),
            searched=replace(self.searched, found=ids, best=best, absent=lacks),
            abstained_coded=(why,),
            references=tuple(select(question, references, ())),
            left_out=left_out,
        )

    def _extract(
        self,
        writer: Extractor,
        silent: Answer,
        references: Sequence[Reference],
        on_sentence: OnSentence | None,
    ) -> Answer:
        """Quote the sentences that answer the question; returns `silent` if there are none."""
        asked = parts_of(silent.question)
        of_parts, failures = writer.quotes(asked, references)
        unanswered = tuple(
            part
            for part, of_part in zip(asked, of_parts, strict=True)
            if all(quote.is_nearest for quote in of_part)
        )
        all_quotes = [quote for of_part in of_parts for quote in of_part]
        by_span = {(q.source, q.span): q for q in all_quotes}
        by_span |= {(q.source, q.span): q for q in all_quotes if not q.is_nearest}
        quotes = list(by_span.values())
        silent = replace(silent, failure="; ".join(dict.fromkeys(map(fault, failures))))
        if not quotes:
            return silent
        cited = [references[quote.source].number for quote in quotes]
        _, new = renumber(references, cited)
        ordered = select(silent.question, references, cited)
        text, sentences = citation_marks.quote_with_marks(
            [(quote.text, new[number]) for quote, number in zip(quotes, cited, strict=True)]
        )
        checked = [
            copied_sentence(
                sentence,
                ordered[new[number] - 1],
                quote.span,
                quote.answers,
                Standing.NEAREST if quote.is_nearest else Standing.VERBATIM,
            )
            for sentence, quote, number in zip(sentences, quotes, cited, strict=True)
        ]
        if on_sentence:
            for sentence in checked:
                on_sentence(sentence)
        named, absent = ordered[: len(set(cited))], silent.searched.absent
        is_uncovered = extract.is_uncovered(silent.question, absent)
        why = silent.abstained_coded if is_uncovered else (Note("only_nearest"),)
        if min(extract.lacking(silent.question, r) for r in named) > extract.MUCH_ABSENT:
            absent = tuple(extract.absent_terms(silent.question, named))
        return replace(
            silent,
            searched=replace(silent.searched, absent=absent),
            abstained_coded=why if len(unanswered) == len(asked) else (),
            unanswered=unanswered if len(unanswered) < len(asked) else (),
            text=text,
            sentences=tuple(checked),
            references=tuple(ordered),
        )

    def _write(
        self,
        writer: ModelWriter,
        silent: Answer,
        references: Sequence[Reference],
        on_sentence: OnSentence | None,
        on_draft: OnDraft | None,
    ) -> Answer:
        """Return `silent` with a text and how it ended; sentences are verified meanwhile."""
        text, answer, n_verified = "", silent, 0

        def verify_new(*, last: bool) -> None:
            nonlocal n_verified
            if on_sentence is None:
                return
            whole, ordered = renumber_text(
                text if last else citation_marks.without_open_mark(text), references
            )
            sentences = citation_marks.cited_sentences(whole, self.language)
            if on_draft:
                on_draft(n_verified, [sentence.text for sentence in sentences[n_verified:]])
            # The last sentence may still grow; with `neighbours`, the one before depends on it.
            n_ready = len(sentences if last else sentences[: -1 - self.checker.neighbours])
            if n_ready > n_verified:
                complete = sentences if last else sentences[:-1]
                for checked in self.checker.check(complete, ordered)[n_verified:n_ready]:
                    on_sentence(checked)
                n_verified = n_ready

        try:
            for piece in writer.write(silent.question, references):
                if isinstance(piece, ServerError):
                    answer = replace(silent, failure=str(piece))
                elif isinstance(piece, Completion):
                    answer = replace(silent, cut=not piece.complete)
                else:
                    text += piece
                    if any(mark in piece for mark in ".!?])\n "):
                        verify_new(last=False)
        except KeyboardInterrupt:
            answer = replace(silent, cut=True, failure="the run was stopped", stopped=True)
        verify_new(last=True)
        return replace(answer, text=text)

    def check(self, written: Answer, references: Sequence[Reference]) -> Answer:
        """Verify, and repair, a written answer, of which only the text and its end are known."""
        text, references = renumber_text(written.text.strip(), references)
        sentences = citation_marks.cited_sentences(text, self.language)
        answer = replace(
            written,
            text=text,
            sentences=tuple(self.checker.check(sentences, references)),
            references=tuple(references),
            abstained_coded=(),
        )
        if self.repairer is not None:
            repaired = partial(self.repairer.repair, answer, self.checker)
            failed = answer
            answer = errors.attempt(repaired, lambda why: replace(failed, failure=fault(why)))
        checked = (*answer.sentences, *answer.dropped, *(c.before for c in answer.changes))
        cited = sorted({v.number for sentence in checked for v in sentence.verdicts if v.number})
        return replace(answer, references=tuple(select(answer.question, answer.references, cited)))


def select(question: str, references: Sequence[Reference], cited: Sequence[int]) -> list[Reference]:
    """Return the cited references and those on the topic, with the ages asked for before others."""
    kept = [r for r in references if r.number in cited or extract.on_topic(question, r)]
    kept.sort(key=lambda r: (True, None, False).index(fits(question, r.document)))
    return renumber(kept, cited)[0]


def with_numbers(references: Sequence[Reference]) -> list[Reference]:
    return [replace(reference, number=number) for number, reference in enumerate(references, 1)]


def renumber_text(text: str, references: Sequence[Reference]) -> tuple[str, list[Reference]]:
    """Renumber the text and its references by first use, unused ones last."""
    sources = [
        (frozenset({str(r.number), f"PUBMED:{r.ref_id}"}), r.document.text) for r in references
    ]
    text = citation_marks.without_copied(text, sources)
    text, used = citation_marks.renumber(text, {r.ref_id: r.number for r in references})
    return text, renumber(references, used)[0]


def renumber(
    references: Sequence[Reference], used: Sequence[int]
) -> tuple[list[Reference], dict[int, int]]:
    """Renumber the references by first use, unused ones last; also returns new numbers by old."""
    by_number = {reference.number: reference for reference in references}
    order = {old: new for new, old in enumerate(dict.fromkeys([*used, *by_number]), start=1)}
    return [replace(by_number[old], number=new) for old, new in order.items()], order


def ref_id(document: Document) -> str:
    return document.meta.get("pmid") or document.url


# ── Retrieval ────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class LiteratureFinder:
    """Finds documents for a question by words and meaning, exact matches first.

    A document scores as its best passage; summed scores would favour long documents.
    """

    search: Retriever
    documents_of: DocumentsOf
    limit: int = 10  # documents
    nearest: Nearest | None = None  # finds passages of long documents; None: by shared words
    passages: int = 200  # retrieved by the search
    exact_first: bool = True
    include_retracted: bool = False

    def find(self, question: str) -> tuple[list[Reference], list[Reference]]:
        """Return the documents, best first, and the retracted ones that were left out."""
        (hits,) = self.search.retrieve([question], self.passages)
        if self.exact_first:
            hits = exact_matches_first(question, hits)
        of_url: dict[str, list[Hit]] = {}
        for hit in hits:
            of_url.setdefault(hit.passage.url, []).append(hit)
        sound, retracted = list[Reference](), list[Reference]()
        urls = list(of_url)
        # In batches: hundreds of documents may be found, and few are needed.
        for start in range(0, len(urls), self.limit):
            portion = urls[start : start + self.limit]
            for url, document in zip(portion, self.documents_of(portion), strict=True):
                if document is None or len(sound) == self.limit:
                    continue
                of_one = tuple(hit.passage for hit in of_url[url])
                best = max(hit.score for hit in of_url[url])
                candidate = Reference(0, ref_id(document), document, best, of_one)
                is_retracted = retraction_of(document) is Retraction.YES
                left_out = is_retracted and not self.include_retracted
                (retracted if left_out else sound).append(candidate)
            if len(sound) == self.limit:
                break
        return with_numbers(self._with_passages(question, sound)), with_numbers(retracted)

    def _with_passages(self, question: str, references: Sequence[Reference]) -> list[Reference]:
        def by_words(document: Document) -> list[Passage]:
            ranked = sorted(passages(document), key=lambda p: -wording.overlap(question, p.text))
            return ranked[:RANKED]

        long = [r.document for r in references if len(r.document.text) > WHOLE]
        urls = [document.url for document in long]
        nearest = self.nearest(question, urls, RANKED) if self.nearest else [[] for _ in long]
        more = {
            document.url: near or errors.attempt(partial(by_words, document), lambda _: [])
            for document, near in zip(long, nearest, strict=True)
        }
        result = list[Reference]()
        for reference in references:
            by_span: dict[Span, Passage] = {}
            for passage in (*reference.passages, *more.get(reference.document.url, ())):
                by_span.setdefault(passage.span, passage)
            result.append(replace(reference, passages=tuple(by_span.values())))
        return result


def exact_matches_first(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """Move hits with the question's quoted phrases, or all its words, to the front (Verif.ai)."""
    phrases = [_plain(phrase) for phrase in _QUOTED.findall(question)]

    def is_exact(hit: Hit) -> bool:
        text = f"{hit.passage.title}\n{hit.passage.text}"
        if phrases:
            plain = f" {_plain(text)} "
            return all(f" {phrase} " in plain for phrase in phrases)
        return wording.missing_words(question, text) == 0.0

    exact = errors.apply(lambda of: list(map(is_exact, of)), hits, lambda *_: False)
    ordered = sorted(zip(exact, hits, strict=True), key=lambda pair: not pair[0])
    return filter_hits([hit for _, hit in ordered], lambda _: True)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))
