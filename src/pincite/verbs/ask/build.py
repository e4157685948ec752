"""`ask` from settings and questions to their report; nothing else makes one.

`asking` opens what the settings name; `AskRun.ask` then does what there is to do for questions.
The command line, the Python API and the server's jobs call it.
"""

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version

from pincite import runtime
from pincite.completions import Usage
from pincite.corpus.multi_corpus import Corpora
from pincite.llm.calls import Calls
from pincite.llm.judge import WithSecondOpinion
from pincite.llm.templates import Templates
from pincite.models.verifier import CrossEncoderVerifier
from pincite.notes import Note
from pincite.protocols import Encoder, Progress, Verifier
from pincite.retrieval.retrievers import OF_ONE, Reranked
from pincite.settings import Settings, recorded
from pincite.text.words import looks_german
from pincite.verbs.ask.answer_check import AnswerChecker, Repairer
from pincite.verbs.ask.extract import Extractor
from pincite.verbs.ask.literature import LiteratureFinder
from pincite.verbs.ask.pipeline import AskPipeline, Draft, Tell
from pincite.verbs.ask.records import Answer, AnswerReport, Searched
from pincite.verbs.ask.writers import ModelWriter


@dataclass(frozen=True, slots=True)
class AskRun:
    """`ask`, ready for any number of questions."""

    settings: Settings
    pipeline: AskPipeline
    versions: Mapping[str, str]
    warnings: tuple[Note, ...]
    calls: tuple[Calls, ...]  # of the model that writes, of a second opinion
    started: float

    def ask(
        self,
        questions: Sequence[str],
        on_progress: Progress = lambda step, done, total: None,
        on_sentence: Tell | None = None,
        on_draft: Draft | None = None,
    ) -> AnswerReport:
        """The report of answers; after Ctrl-C, those there are so far (`AnswerReport.stopped`).

        Args:
            questions: each is answered on its own.
            on_progress: called as `on_progress("answering questions", 1, 3)`.
            on_sentence: called with each sentence as soon as it is verified.
            on_draft: called with sentences that wait to be verified, see `AskPipeline.ask`.
        """
        answers: list[Answer] = []
        try:
            for question in questions:
                on_progress("answering questions", len(answers), len(questions))
                answers.append(self.pipeline.ask(question, on_sentence, on_draft))
                if answers[-1].stopped:
                    break
        except KeyboardInterrupt:
            pass  # what there is makes the report
        usage = sum((calls.usage for calls in self.calls), Usage())
        return AnswerReport(
            answers=tuple(answers),
            n_questions=len(questions),
            usage=replace(usage, seconds=round(time.monotonic() - self.started, 1)),
            warnings_coded=(*self.warnings, *_of_questions(answers)),
            settings=recorded(self.settings),
            versions=self.versions,
            created=datetime.now(UTC).isoformat(timespec="seconds"),
        )


@contextmanager
def asking(settings: Settings, corpus: runtime.Places, *, keep: bool = True) -> Iterator[AskRun]:
    """A ready `ask`; closes what it opened.

    Args:
        settings: all of them.
        corpus: where to look, folders or open ones.
        keep: whether judged pairs are kept in `runtime.judgements_file()`.
    """
    with ExitStack() as stack:
        verifier = runtime.verifier(settings.models, keep=keep)
        stack.callback(verifier.close)
        stored = stack.enter_context(runtime.opened(settings, corpus))
        encoder = stored.encoder or runtime.encoder(settings)
        versions = stored.versions()
        languages = runtime.languages(settings.models)
        calls = None
        templates = None
        if settings.ask.answer == "model":
            models = runtime.clients(settings.chat)
            calls = Calls(models, settings.budget.limits)
            templates = runtime.templates(settings.chat, settings.language)
        writer = _writer(settings, verifier, encoder, calls, templates)
        judging = stack.enter_context(runtime.seconded(settings, verifier))
        pipeline = AskPipeline(
            finder=finder(settings, stored, verifier),
            writer=writer,
            checker=checker(settings, judging, languages),
            searched=Searched(
                versions["corpus"],
                stored.n_documents,
                settings.retrieval.fusion,
                str(settings.filters.chosen),
            ),
            repairer=Repairer(calls, templates, settings.language, settings.ask.prompt_tokens)
            if settings.ask.repair
            else None,
            least_relevance=settings.ask.least_relevance,
            language=settings.language,
        )
        versions = {
            "pincite": version("pincite"),
            "verifier": judging.fingerprint,
            "writer": writer.fingerprint,
            **versions,
        }
        if templates:
            versions["prompts"] = templates.fingerprint
        second = judging.calls if isinstance(judging, WithSecondOpinion) else None
        asked = tuple(filter(None, (calls, second)))
        yield AskRun(settings, pipeline, versions, _warnings(settings), asked, time.monotonic())


def checker(
    settings: Settings, verifier: Verifier, languages: frozenset[str] = frozenset({"en"})
) -> AnswerChecker:
    """What judges the sentences of an answer; `languages` are those that the verifier reads."""
    return AnswerChecker(
        verifier,
        languages,
        settings.ask.supported_from,
        settings.ask.contradicted_from,
        settings.retrieval.read,
        neighbours=settings.ask.uncited == "neighbour",
    )


def _of_questions(answers: Sequence[Answer]) -> tuple[Note, ...]:
    german = sum(looks_german(answer.question) for answer in answers)
    if not german:
        return ()
    return (Note("german_questions", {"n": german, "all": len(answers)}),)


def finder(
    settings: Settings, corpora: Corpora, verifier: CrossEncoderVerifier
) -> LiteratureFinder:
    """What finds the documents of an answer; `verifier` reads what was found."""
    # Wikipedia is no source for Wikipedia, but may well be one of a user's own corpus.
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


def _writer(
    settings: Settings,
    verifier: CrossEncoderVerifier,
    encoder: Encoder,
    calls: Calls | None,
    templates: Templates | None,
) -> ModelWriter | Extractor:
    if calls is None or templates is None:
        return Extractor(
            verifier,
            encoder,
            settings.ask.sentences,
            settings.ask.least_answer,
            settings.ask.rerank,
        )
    return ModelWriter(
        calls,
        templates,
        settings.ask.prompt_tokens,
        settings.ask.answer_tokens,
        settings.chat.temperature,
        settings.chat.at_once if settings.ask.summaries else 0,
    )


def _warnings(settings: Settings) -> tuple[Note, ...]:
    return (Note("undated_not_read"),) if settings.filters.chosen.leaves_out_undated else ()
