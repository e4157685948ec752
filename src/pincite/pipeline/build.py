"""Settings turned into the objects of a run, and a run's findings into a Report."""

import dataclasses
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from importlib.metadata import version
from pathlib import Path

from pincite.core import aggregation, flags
from pincite.core.funnel import funnel
from pincite.documents.own_copies import OwnCopies
from pincite.documents.sources import Sources, open_sources
from pincite.documents.web_sources import FetchStep
from pincite.index.corpus import EmbeddedCorpus
from pincite.models import weights
from pincite.models.calibration import Calibration
from pincite.models.chat import ChatClient
from pincite.models.encoder import OnnxEncoder
from pincite.models.titles import TrainedTitles
from pincite.models.verifier import CrossEncoderVerifier
from pincite.pipeline import reliability
from pincite.pipeline.ask_settings import AskSettings
from pincite.pipeline.cited_copies import CitedCopies, Place, without_own_copies
from pincite.pipeline.estimate import Estimate, Estimator
from pincite.pipeline.exclusions import Exclusions
from pincite.pipeline.expansion import AskedTitles, WithFeedback, WithTitles
from pincite.pipeline.own_sources import OwnSources, folder_of
from pincite.pipeline.settings import Settings
from pincite.pipeline.verify import VerifyPipeline
from pincite.pipeline.web_pages import web_candidates, web_pages
from pincite.pipeline.web_settings import MANNERS, PRIVATE, WebSettings
from pincite.protocols import Expander
from pincite.types import Article, CopyKind, Document, Finding, Reason, Report, Unchecked

# Settings that change how fast or where something is done, never what comes out.
WITHOUT_EFFECT = MANNERS | {"threads", "feedback_file"}
UNDATED = "Pages without a known date are never suggested while a date is asked for (see undated)."


@dataclass(frozen=True, slots=True)
class Run:
    """A pipeline that is ready, with what its results must record."""

    pipeline: VerifyPipeline
    versions: Mapping[str, str]
    warnings: tuple[str, ...]
    estimate: Callable[[Article], Estimate]  # of one article; fetches nothing
    flag_precision: tuple[tuple[float, float], ...] = ()  # as Report's
    prepare: Callable[[Article], None] = lambda article: None  # fetches what it cites, if allowed


def encoder(settings: Settings) -> OnnxEncoder:
    """The encoder of the settings; raises MissingModel with the command to run."""
    return OnnxEncoder(weights.locate(settings.encoder), threads=settings.threads)


@contextmanager
def opened(settings: Settings, corpus: Path | EmbeddedCorpus) -> Iterator[EmbeddedCorpus]:
    """The corpus of a folder, closed afterwards; one that is open already stays open."""
    if isinstance(corpus, EmbeddedCorpus):
        yield corpus
        return
    with EmbeddedCorpus.open(corpus, encoder(settings)) as stored:
        yield stored


def judgements_file() -> Path:
    """Where judged pairs are kept, so that a run can be stopped and go on."""
    return weights.cache_folder().parent / "judgements.sqlite"


@contextmanager
def verifying(
    settings: Settings,
    corpus: Path | EmbeddedCorpus | None,
    sources: Path | None,
    *,
    keep: bool = True,
    own_copies: bool = False,
    fetching: Callable[[FetchStep], None] = lambda step: None,
) -> Iterator[Run]:
    """A ready `verify` pipeline; closes what it opened.

    Args:
        settings: all of them.
        corpus: that suggestions come from, a folder or one that is open; None: no suggestions.
        sources: folder of stored copies; None: cited pages are looked up in the corpus only.
        keep: whether judged pairs are kept in `judgements_file()`.
        own_copies: whether what the user attached to sources is read; measurements must not.
        fetching: is told what is fetched, if the settings allow it at all.
    """
    with ExitStack() as stack:
        folder = weights.locate(settings.verifier)
        verifier = CrossEncoderVerifier(
            folder, threads=settings.threads, judged=judgements_file() if keep else None
        )
        stack.callback(verifier.close)
        stored = stack.enter_context(opened(settings, corpus)) if corpus else None
        copies = open_sources(sources) if sources else None
        web = stack.enter_context(web_pages(settings, fetching)) if settings.online else None
        own = OwnSources(OwnCopies(folder_of(settings.own_copies))) if own_copies else None
        listed = reliability.of_settings(settings)
        exclusions = Exclusions(settings.exclude_hosts, listed.rules if listed else None)
        hosts = exclusions.hosts()
        pipeline = VerifyPipeline(
            verifier=verifier,
            copies=CitedCopies(_places(copies, stored), web, own or without_own_copies),
            lexical=stored.lexical(hosts, settings.filters) if stored else None,
            dense=stored.dense(hosts, settings.filters) if stored else None,
            documents_of=stored.get if stored else None,
            languages=frozenset(weights.read_card(folder).get("languages", ["en"])),
            depth=settings.depth,
            fusion=settings.fusion,
            judged=settings.judged,
            per_page=settings.per_page,
            read=settings.read,
            k=settings.k,
            threshold=settings.threshold,
            readout=settings.readout,
            expander=expander(settings, stored) if stored else None,
            exclusions=exclusions,
            unfiltered=stored.lexical((), settings.filters) if stored else None,
            online=stack.enter_context(web_candidates(settings, web)),
        )
        versions = {"pincite": version("pincite"), "verifier": verifier.fingerprint}
        if stored:
            manifest = stored.manifest()
            versions |= {"encoder": manifest["encoder"], "corpus": manifest["digest"]}
        if own and (attached := own.copies.fingerprint()):
            versions["own_copies"] = attached
        if listed:
            versions["reliability"] = listed.fingerprint
        if pipeline.expander:
            versions["expansion"] = pipeline.expander.fingerprint
        warnings = tuple(map(str, copies.warnings)) if copies else ()
        if stored and settings.filters.leaves_out_undated:
            warnings = (*warnings, UNDATED)
        precision = flag_precision(verifier.calibration, settings.threshold)
        estimator = Estimator(
            stored=pipeline.copies.at_hand,
            seconds_a_pair=verifier.seconds_a_pair,
            of_a_page=settings.read,
            candidates=settings.judged if stored else 0,
            rules=web.sources.rules if web else settings.web_rules,
        )
        if web:
            estimator = replace(
                estimator,
                asked=pipeline.copies.asked_first,
                is_kept=web.sources.is_kept,
                host_of=web.sources.host_of,
            )
        prepare = pipeline.copies.prepare
        yield Run(pipeline, versions, warnings, estimator.of, precision, prepare)


def expander(settings: Settings, corpus: EmbeddedCorpus) -> Expander | None:
    """What adds words to the queries of this corpus; None where the settings want none.

    Raises:
        MissingModel, MissingExtra: the model that writes titles cannot be run.
    """
    if settings.expansion == "rm3":
        return WithFeedback(corpus.lexical(settings.excluded, settings.filters), corpus.terms)
    if settings.expansion == "titles":
        sampled = settings.title_decoding == "sample"
        folder = Path(settings.titles).expanduser()
        return WithTitles(TrainedTitles(folder, sampled=sampled, threads=settings.threads))
    if settings.expansion == "server":
        client = ChatClient.from_environment(settings.chat_url, settings.chat_model)
        return WithTitles(AskedTitles(client))
    return None


def late_warnings(pipeline: VerifyPipeline) -> tuple[str, ...]:
    """What went wrong while it ran without ending the run."""
    of_expander = pipeline.expander.warnings if pipeline.expander else ()
    of_search = pipeline.online.search.warnings if pipeline.online else ()
    return (*of_expander, *of_search, *pipeline.copies.warnings)


def flag_precision(calibration: Calibration, threshold: float) -> tuple[tuple[float, float], ...]:
    """How often a flag is right, by base rate; empty if the calibration has no measured rates."""
    return flags.precisions(calibration.rates_at(threshold))


def report_of(
    article: Article, findings: Sequence[Finding], settings: Settings, run: Run
) -> Report:
    """The findings ranked, with all that is needed to repeat them."""
    return Report(
        title=article.title,
        language=article.language,
        revision_id=article.revision_id,
        findings=tuple(aggregation.ranked(findings)),
        n_claims=len(article.claims),
        n_references=article.n_references,
        warnings=(*article.warnings, *run.warnings, *late_warnings(run.pipeline)),
        settings=report_settings(settings),
        versions=run.versions,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        funnel=funnel(article, findings),
        flag_precision=run.flag_precision,
        url=article.url,
    )


def report_settings(settings: Settings) -> dict[str, str | float | int | bool | None]:
    """What a report of `verify` records: all settings but those that only `ask` and `check` have.

    What concerns the web stays, private values excepted: it says where copies came from.
    """
    of_others = {field.name for field in dataclasses.fields(AskSettings)}
    of_others -= {field.name for field in dataclasses.fields(WebSettings)}
    return {name: value for name, value in recorded(settings).items() if name not in of_others}


def decisive(recorded: Mapping[str, object]) -> dict[str, object]:
    """Of recorded settings those that can change a verdict: not pauses, threads and places.

    Another pause would otherwise make every finished report of a batch void.
    """
    return {name: value for name, value in recorded.items() if name not in WITHOUT_EFFECT}


def recorded(settings: Settings) -> dict[str, str | float | int | bool | None]:
    """The settings as a report keeps them; lists as one text. Who asked is nobody's business."""
    return {
        key: ", ".join(value) if isinstance(value, tuple) else value
        for key, value in dataclasses.asdict(settings).items()
        if key not in PRIVATE
    }


def _places(copies: Sources | None, corpus: EmbeddedCorpus | None) -> list[Place]:
    """First the stored copies, then the corpus."""
    places = [Place(CopyKind.STORED, copies.get)] if copies else []
    return [*places, Place(CopyKind.CORPUS, partial(_in_corpus, corpus))] if corpus else places


def _in_corpus(corpus: EmbeddedCorpus, url: str) -> Document | Unchecked:
    (found,) = corpus.get([url])
    return found or Unchecked(url, Reason.NOT_SUPPLIED, "it is not in the corpus")
