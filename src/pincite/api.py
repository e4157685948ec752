"""The Python API: the functions and classes behind `import pincite`.

They do what the command line does, with the same defaults: without `settings=`, those that `pincite
config show` prints. Nothing is fetched from the web unless the user enabled it.
"""

import asyncio
import functools
import html
import io
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeAlias, TypeVar

from rich.console import Console

from pincite import codec, runtime
from pincite.corpus import engines
from pincite.corpus.protocol import Corpus as OpenCorpus
from pincite.durable import silent
from pincite.errors import InputError, MissingExtra
from pincite.judgement import decide
from pincite.judgement.contradictions import discard_rebutted
from pincite.protocols import Progress
from pincite.retrieval import cascade
from pincite.settings import Settings, load
from pincite.text.passages import cited_passages
from pincite.types import Article, Claim, Document, Evidence, Finding, Passage, Span
from pincite.verbs.ask import build as build_ask
from pincite.verbs.ask import render as ask_render
from pincite.verbs.ask import terminal as ask_terminal
from pincite.verbs.ask.report import Answer, AnswerReport
from pincite.verbs.check import build as build_check
from pincite.verbs.check import render as check_render
from pincite.verbs.check import terminal as check_terminal
from pincite.verbs.check.report import Check, CheckReport
from pincite.verbs.check.spoken import Occasion
from pincite.verbs.verify import articles, build
from pincite.verbs.verify import render as verify_render
from pincite.verbs.verify import terminal as verify_terminal
from pincite.verbs.verify.report import Report as VerifyReport
from pincite.wiki.article import article_in

if TYPE_CHECKING:
    import pandas

Record_co = TypeVar("Record_co", bound=VerifyReport | CheckReport | AnswerReport, covariant=True)
Result_co = TypeVar("Result_co", covariant=True)
_Given = ParamSpec("_Given")
_Result = TypeVar("_Result")
Place: TypeAlias = str | Path
Corpus: TypeAlias = Place | OpenCorpus  # a folder, an address, or an open corpus
Corpora: TypeAlias = Corpus | Sequence[Corpus] | Mapping[str, Corpus]

# Markup that marks a string as article text: no file name or title contains it.
_OF_TEXTS = ("\n", "<", "{{", "[[")
_HEIGHT = "40rem"  # height of a report: a screen, less the cell above it
# In a frame, in-page links would load the notebook, and most sites refuse to be framed. Only our
# templates contain these attributes: quotation marks in article text are escaped.
_LINKS = (
    ('href="#', 'href="about:srcdoc#'),
    ('rel="noreferrer nofollow noopener"', 'rel="noreferrer nofollow noopener" target="_blank"'),
)
_SANDBOX = "allow-popups allow-popups-to-escape-sandbox"  # no scripts, no forms, no same origin


@dataclass(frozen=True, slots=True, repr=False)
class Report(Generic[Record_co, Result_co]):
    """The result of a function. Notebooks display it; `print` shows it as the command line does.

    `results` are the findings of `verify`, worst first, or the checks or answers, in the order of
    the statements or questions.
    """

    record: Record_co  # the whole report: also its settings, versions and warnings
    results: tuple[Result_co, ...]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values, as in the command line's `--json`."""
        return self.record.to_values()

    def to_json(self) -> str:
        return codec.to_json(self.to_dict())

    def to_html(self) -> str:
        """Return one self-contained page, as in the command line's `--html`."""
        render, _ = _RENDERERS[type(self.record)]
        return str(render.to_html(self.record))

    def to_frame(self) -> "pandas.DataFrame":
        """Return a pandas table with a row per citation, judged passage, or sentence.

        The columns of `verify` and `check` are those of the command line's `--csv`.

        Raises:
            MissingExtra: pandas is not installed.
        """
        try:
            import pandas
        except ImportError as error:
            message = "to_frame() needs pandas, which is not installed: pip install pandas"
            raise MissingExtra(message) from error
        render, _ = _RENDERERS[type(self.record)]
        return pandas.DataFrame(list(render.rows(self.record)), columns=list(render.COLUMNS))

    def __str__(self) -> str:
        shown = io.StringIO()
        console = Console(file=shown, force_terminal=False, force_jupyter=False, color_system=None)
        _, terminal = _RENDERERS[type(self.record)]
        terminal.print_report(self.record, console)
        return shown.getvalue()

    def __repr__(self) -> str:
        return f"<Report with {len(self.results)} results; print it, or see to_html>"

    def _repr_html_(self) -> str:
        """Return the page in a sandboxed frame, which isolates its style and blocks scripts."""
        page = self.to_html()
        for on_a_page, in_a_frame in _LINKS:
            page = page.replace(on_a_page, in_a_frame)
        whole = html.escape(page.encode("utf-8", "replace").decode("utf-8"))
        style = f"width: 100%; height: {_HEIGHT}; border: 0"
        frame = f'<iframe title="Report" sandbox="{_SANDBOX}" style="{style}"'
        return f'{frame} srcdoc="{whole}"></iframe>'


# Per record: the module that renders its page and its table, and the one that prints it.
_RENDERERS: dict[type, tuple[Any, Any]] = {
    VerifyReport: (verify_render, verify_terminal),
    CheckReport: (check_render, check_terminal),
    AnswerReport: (ask_render, ask_terminal),
}


def verify(
    article: Place | Article,
    *,
    sources: Place | None = None,
    corpus: Corpora | None = None,
    title: str | None = None,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Report[VerifyReport, Finding]:
    """Check an article's citations, worst first.

    A source that cannot be read is a result, `Unchecked`, not an error. Judgements are cached on
    disk, so after Ctrl-C the same call catches up quickly.

    Args:
        article: a file with wikitext, HTML or a dump; or wikitext or HTML as a string. With
            `online` in the settings, also a title or an address.
        sources: a folder with copies of the cited pages, matched by address, DOI, title or file
            name; or WARC files, JSON lines, or files named in a manifest.
        corpus: where to look for better sources: a folder or an open corpus, or several (a list,
            or by name); None: `library.corpora` of the settings, else none are suggested.
        title: of the article, if its text does not state it; or which page of a dump.
        settings: None: this machine's settings.
        progress: called as `progress("checking claims", 3, 14)`; for example `print`.

    Raises:
        InputError: the article or the folder is missing or cannot be read.
        ConfigError, MissingModel, CorpusError, FetchError: see `pincite.errors`.

    Examples:
        >>> report = verify("The bridge is of stone.<ref>A book</ref>", title="Varde Bridge")
        >>> [(finding.claim.text, finding.label) for finding in report.results]
        [('The bridge is of stone.', <Label.UNCHECKED: 'unchecked'>)]
    """
    settings = settings or load({})
    page = _article(article, title, settings)
    with build.verifying_one(
        page,
        settings,
        _corpora(corpus, settings),
        [Path(sources)] if sources else [],
        fetching=lambda now: progress("fetching sources", now.n_done, now.n_urls),
    ) as run:
        record = run.verify(page, progress)
    if record.stopped:  # a partial report could be mistaken for a complete one
        raise KeyboardInterrupt
    return Report(record, record.findings)


def check(
    statement: str | Sequence[str],
    corpus: Corpora | None = None,
    *,
    settings: Settings | None = None,
    progress: Progress = silent,
    occasions: Sequence[Occasion] = (),
) -> Report[CheckReport, Check]:
    """Show what a corpus, or the web, says for and against a statement, or several.

    Passing several in one call is faster, since the models are loaded once. If something could not
    be judged, the results say so, and `record.complete` is false.

    Args:
        statement: a sentence or a few; each of its readings is judged separately.
        corpus: the knowledge base: a folder, or an open corpus, which stays open; or several, in a
            list or by name. None: `library.corpora` of the settings, or only pages of the web, with
            `online` and `search_url` in the settings.
        settings: None: this machine's settings.
        progress: as in `verify`.
        occasions: who said each statement, when and where; or one for all.

    Raises:
        InputError: a statement without words.
        ConfigError, MissingModel, CorpusError: see `pincite.errors`.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder, open_corpus(folder, write=True) as kb:
        ...     _ = kb.add([Document("https://a.example/", "Bridge", "The bridge opened in 1911.")])
        ...     report = check("The bridge opened in 1911.", kb)
        >>> [str(reading.weight.outcome) for reading in report.results[0].results]
        ['strong_confirmation']
    """
    settings, statements = settings or load({}), _texts(statement, "statement to check")
    with build_check.checking(
        settings,
        _corpora(corpus, settings),
        on_calls=lambda *n: progress("judging passages", *n),
        fetching=lambda now: progress("fetching pages", now.n_done, now.n_urls),
    ) as run:
        record = run.check(statements, progress, occasions=occasions)
    if record.stopped:
        raise KeyboardInterrupt
    return Report(record, record.checks)


def ask(
    question: str | Sequence[str],
    corpus: Corpora | None = None,
    *,
    settings: Settings | None = None,
    progress: Progress = silent,
) -> Report[AnswerReport, Answer]:
    """Answer a question, or several, from the documents of a corpus.

    By default an answer quotes sentences of the documents. With a language model (see `Settings`),
    the model writes it, and each sentence is verified. If nothing relevant is found, there is no
    answer, and `abstained` says why.

    Args:
        question: one, or several, for which the models are loaded once.
        corpus: where to look: a folder, or an open corpus, which stays open; or several, in a list
            or by name. None: `library.corpora` of the settings.
        settings: None: this machine's settings.
        progress: as in `verify`.

    Raises:
        InputError: a question without words.
        ConfigError, MissingModel, CorpusError: see `pincite.errors`.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder, open_corpus(folder, write=True) as papers:
        ...     text = "A short nap after lunch improved memory in 40 adults."
        ...     _ = papers.add([Document("https://a.example/", "Naps", text)])
        ...     report = ask("Do naps improve memory?", papers)
        >>> report.results[0].text
        'A short nap after lunch improved memory in 40 adults. [1]'
    """
    settings, questions = settings or load({}), _texts(question, "question to answer")
    folders, n_sentences = _corpora(corpus, settings) or [], count(1)
    with build_ask.asking(settings, folders) as run:
        record = run.ask(
            questions, progress, lambda _: progress("sentences", next(n_sentences), None)
        )
    if record.stopped:
        raise KeyboardInterrupt
    return Report(record, record.answers)


def _awaitable(work: Callable[_Given, _Result]) -> Callable[_Given, Coroutine[Any, Any, _Result]]:
    """Return `work` as a coroutine function, which runs it in a thread of its own."""

    @functools.wraps(work)
    async def awaitable(*given: _Given.args, **options: _Given.kwargs) -> _Result:
        is_cancelled = threading.Event()
        progress: Any = options.get("progress", silent)

        def stopping(task: str, n_done: int, n_all: int | None) -> None:
            if is_cancelled.is_set():
                raise KeyboardInterrupt
            progress(task, n_done, n_all)

        options["progress"] = stopping
        try:
            return await asyncio.to_thread(work, *given, **options)
        finally:
            is_cancelled.set()

    awaitable.__doc__ = (
        f"`{work.__name__}` for an event loop, which stays free: it runs in a thread.\n\n    "
        "A cancelled call raises at once. Its thread ends at the next step of its progress."
    )
    awaitable.__name__ = awaitable.__qualname__ = f"a{work.__name__}"
    return awaitable


averify, acheck, aask = _awaitable(verify), _awaitable(check), _awaitable(ask)


def open_corpus(
    path: Place, *, write: bool = False, settings: Settings | None = None
) -> OpenCorpus:
    """Open a corpus to search it, to add documents, or to use it several times.

    It is a context manager; without `with`, close it.

    Args:
        path: its folder, or an address like `postgresql://localhost/database/name`.
        write: whether documents can be added; the corpus is created if there is none. Only one
            process can write at a time.
        settings: determine the encoder; None: this machine's settings.

    Raises:
        CorpusError: not a corpus, damaged, or another process is writing it.
        StaleCorpus: it was built with another encoder.
        ConfigError, MissingModel: see `pincite.errors`.

    Examples:
        >>> from tempfile import TemporaryDirectory
        >>> with TemporaryDirectory() as folder, open_corpus(folder, write=True) as corpus:
        ...     corpus.add([Document("https://a.example/", "Bridge", "The old bridge is of wood.")])
        ...     corpus.lexical().retrieve(["wooden bridges"], 1)[0][0].passage.text
        1
        'The old bridge is of wood.'
    """
    encoder = runtime.encoder(settings or load({}))
    if write:
        return engines.open_or_create(path, encoder)
    return engines.open(path, encoder)


class Verifier:
    """The model alone: what a passage says about a claim.

    The model is loaded once, when the object is created. The shipped model reads English; the
    language of texts is not checked here.

    Examples:
        >>> verifier = Verifier()
        >>> passage = "The bridge over the river at Varde was built of stone and opened in 1911."
        >>> claims = ["The bridge at Varde opened in 1911.", "The bridge at Varde opened in 1913."]
        >>> right, wrong = verifier.verify([(claim, passage) for claim in claims])
        >>> right.prob_supported > 0.5, wrong.prob_refuted > 0.5
        (True, True)
        >>> wrong.reasons
        ('source: 1911 · claim: 1913',)
    """

    def __init__(self, settings: Settings | None = None) -> None:
        """Load the `verifier` of the settings; None: this machine's settings.

        Raises:
            ConfigError, MissingModel: see `pincite.errors`.
        """
        self._settings = settings or load({})
        self._model = runtime.verifier(self._settings.models, keep=False)

    @property
    def fingerprint(self) -> str:
        """Name and hash of the weights; different ones may give different results."""
        return self._model.fingerprint

    def verify(self, pairs: Sequence[tuple[str | Claim, str | Passage]]) -> list[Evidence]:
        """Judge each pair, in order.

        A string of more than 100 words is split like a cited page. The evidence is then that of the
        passage that supports the claim best or, if none supports it, of the one that contradicts
        it. A `Passage` is judged unchanged.
        """
        claims = [Claim.alone(c) if isinstance(c, str) else c for c, _ in pairs]
        rows = [
            (c, text, self._passages(c, text)) for c, (_, text) in zip(claims, pairs, strict=True)
        ]
        judged = iter(self._model.verify([(c, passage) for c, _, cut in rows for passage in cut]))
        of_pairs = []
        for claim, text, passages in rows:
            evidence = [next(judged) for _ in passages]
            if isinstance(text, str) and len(evidence) > 1:
                evidence = [discard_rebutted(claim, e, text) for e in evidence]
                best = decide.deciding_evidence(evidence, self._settings.verify.threshold)
                evidence = [best] if best else evidence
            of_pairs.append(evidence[0])
        return of_pairs

    def _passages(self, claim: Claim, text: str | Passage) -> Sequence[Passage]:
        if isinstance(text, Passage):
            return [text]
        document = Document("", "", text)
        whole = Passage(document.doc_id, "", "", text, Span(0, len(text)))
        passages = cited_passages(document) or [whole]
        return cascade.worth_reading(claim.text, passages, self._settings.retrieval.read)


def _article(given: Place | Article, title: str | None, settings: Settings) -> Article:
    if isinstance(given, Article):
        return given
    if isinstance(given, str) and any(sign in given for sign in _OF_TEXTS):
        return article_in(given, title=title, otherwise=settings.language)
    return articles.open_article(given, title, settings, lambda line: None)


def _corpora(given: Corpora | None, settings: Settings) -> Corpora | None:
    return settings.library.places or None if given is None else given


def _texts(given: str | Sequence[str], kind: str) -> list[str]:
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, Iterable) or not all(isinstance(text, str) for text in texts):
        raise InputError(f"The {kind} is {given!r}; expected a text, or several in a list.")
    cleaned = [" ".join(text.split()) for text in texts]
    if not cleaned or not all(cleaned):
        raise InputError(f"The {kind} is empty; expected one or more texts with words.")
    return cleaned
