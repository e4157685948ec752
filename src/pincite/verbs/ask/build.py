"""Builds `ask` from settings, for the command line, the Python API and the server's jobs."""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version

from pincite import runtime
from pincite.corpora import Corpora, open_corpora
from pincite.llm.calls import Calls, notes_of
from pincite.notes import Note
from pincite.protocols import Progress, Reader, Usage, Verifier
from pincite.retrieval.fusion import OF_ONE, Reranked
from pincite.settings import Settings, public_settings
from pincite.text.languages import identify
from pincite.verbs.ask.answer_check import AnswerChecker, Repairer
from pincite.verbs.ask.extract import Extractor
from pincite.verbs.ask.pipeline import AskPipeline, LiteratureFinder, OnDraft, OnSentence
from pincite.verbs.ask.report import Answer, AnswerReport, Searched
from pincite.verbs.ask.writers import ModelWriter


@dataclass(frozen=True, slots=True)
class AskRun:
    """An `ask` pipeline, ready for any number of questions."""

    settings: Settings
    pipeline: AskPipeline
    versions: Mapping[str, str]
    warnings: tuple[Note, ...]
    calls: tuple[Calls, ...]  # of the model that writes, and of a second opinion
    started: float

    def ask(
        self,
        questions: Sequence[str],
        on_progress: Progress = lambda step, done, total: None,
        on_sentence: OnSentence | None = None,
        on_draft: OnDraft | None = None,
    ) -> AnswerReport:
        """Answer questions. After Ctrl-C, return the answers so far (`AnswerReport.stopped`).

        `on_sentence` and `on_draft` are as in `AskPipeline.ask`.
        """
        answers: list[Answer] = []
        try:
            for question in questions:
                on_progress("answering questions", len(answers), len(questions))
                answers.append(self.pipeline.ask(question, on_sentence, on_draft))
                if answers[-1].stopped:
                    break
        except KeyboardInterrupt:
            pass  # report what was done so far
        usage = sum((calls.usage for calls in self.calls), Usage())
        german = sum(identify(answer.question) == "de" for answer in answers)
        unread = german and "de" not in self.pipeline.checker.languages
        notes = (Note("german_questions", {"n": german, "all": len(answers)}),) if unread else ()
        return AnswerReport(
            answers=tuple(answers),
            n_questions=len(questions),
            usage=replace(usage, seconds=round(time.monotonic() - self.started, 1)),
            warnings_coded=(*self.warnings, *notes, *notes_of(self.calls)),
            settings=public_settings(self.settings),
            versions=self.versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


@contextmanager
def asking(settings: Settings, corpus: runtime.Places, *, keep: bool = True) -> Iterator[AskRun]:
    """Build an `ask` pipeline and close it afterwards.

    `keep`: whether to cache judged pairs in `runtime.judgements_file()`.
    """
    chosen, language = settings.ask, settings.language
    with ExitStack() as stack:
        verifier = runtime.verifier(settings.models, keep=keep)
        stack.callback(verifier.close)
        stored = stack.enter_context(open_corpora(settings, corpus))
        judging, second = stack.enter_context(runtime.with_second_opinions(settings, verifier))
        calls = templates = None
        writer: ModelWriter | Extractor
        if chosen.answer == "model":
            calls = Calls(runtime.clients(settings.chat), settings.budget.limits)
            templates = runtime.templates(settings.chat, language)
            limits = chosen.prompt_tokens, chosen.answer_tokens
            writer = ModelWriter(calls, templates, *limits, settings.chat.temperature)
        else:
            encoder = stored.encoder or runtime.encoder(settings)
            writer = Extractor(
                verifier, encoder, chosen.sentences, chosen.least_answer, chosen.rerank
            )
        of_corpus = stored.versions()
        repairer = Repairer(calls, templates, language, chosen.prompt_tokens)
        pipeline = AskPipeline(
            finder=finder(settings, stored, verifier),
            writer=writer,
            checker=checker(settings, judging, verifier.languages),
            searched=Searched(
                of_corpus["corpus"],
                stored.n_documents,
                settings.retrieval.fusion,
                str(settings.filters.chosen),
            ),
            repairer=repairer if chosen.repair else None,
            least_relevance=chosen.least_relevance,
            language=language,
        )
        versions = {
            "pincite": version("pincite"),
            "verifier": judging.fingerprint,
            "writer": writer.fingerprint,
            **of_corpus,
        }
        if templates:
            versions["prompts"] = templates.fingerprint
        undated = settings.filters.chosen.leaves_out_undated
        yield AskRun(
            settings=settings,
            pipeline=pipeline,
            versions=versions,
            warnings=(*stored.notes, *((Note("undated_not_read"),) if undated else ())),
            calls=tuple(filter(None, (calls, second))),
            started=time.monotonic(),
        )


def checker(
    settings: Settings, verifier: Verifier, languages: frozenset[str] = frozenset({"en"})
) -> AnswerChecker:
    return AnswerChecker(
        verifier,
        languages,
        settings.ask.supported_from,
        settings.retrieval.read,
        neighbours=settings.ask.uncited == "neighbour",
    )


def finder(settings: Settings, corpora: Corpora, verifier: Reader) -> LiteratureFinder:
    # Wikipedia cannot be a source for itself, but it may be one in a user's own corpus.
    search = runtime.search(settings, corpora, settings.filters.exclude_hosts)
    return LiteratureFinder(
        search=Reranked(search, verifier, settings.retrieval.judged, OF_ONE)
        if settings.ask.rerank
        else search,
        documents_of=corpora.get,
        limit=settings.ask.documents,
        nearest=corpora.nearest,
        passages=2 * settings.retrieval.depth,
        exact_first=settings.ask.exact_first,
        include_retracted=settings.ask.include_retracted,
    )
