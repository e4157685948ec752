"""Settings turned into what every verb runs on: models, corpora, and a language model's server."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pincite import settings as settings_
from pincite.corpus.embedded import EmbeddedCorpus
from pincite.library import judges
from pincite.llm.calls import Calls
from pincite.llm.chat import JUDGE_KEY_VARIABLE, ChatClient
from pincite.llm.chat_wire import Limits
from pincite.llm.judge import Judge, WithSecondOpinion
from pincite.llm.kept import KeptReplies
from pincite.llm.templates import Templates
from pincite.models import layouts, weights
from pincite.models.asked import AskedMiniCheck
from pincite.models.encoder import OnnxEncoder
from pincite.models.titles import TrainedTitles
from pincite.models.verifier import CrossEncoderVerifier
from pincite.protocols import Expander, Verifier
from pincite.retrieval.expansion import AskedTitles, WithFeedback, WithTitles
from pincite.settings import Settings
from pincite.settings.chat import ChatSettings
from pincite.settings.search import ModelSettings


def encoder(models: ModelSettings) -> OnnxEncoder:
    """The encoder of the settings; raises MissingModel with the command to run."""
    return OnnxEncoder(weights.locate(models.encoder), threads=models.threads)


@contextmanager
def opened(models: ModelSettings, corpus: Path | EmbeddedCorpus) -> Iterator[EmbeddedCorpus]:
    """The corpus of a folder, closed afterwards; one that is open already stays open."""
    if isinstance(corpus, EmbeddedCorpus):
        yield corpus
        return
    with EmbeddedCorpus.open(corpus, encoder(models)) as stored:
        yield stored


def verifier(models: ModelSettings, *, keep: bool = True) -> CrossEncoderVerifier:
    """The verifier of the settings, to be closed; `keep`: judged pairs in `judgements_file()`."""
    judged = judgements_file() if keep else None
    if served := weights.served(models.verifier):
        asked = AskedMiniCheck(ChatClient.from_environment(served.url, served.model))
        return CrossEncoderVerifier(asked, judged=judged)
    folder = weights.locate(models.verifier)
    return CrossEncoderVerifier(folder, threads=models.threads, judged=judged)


def languages(models: ModelSettings) -> frozenset[str]:
    """Those that the verifier of the settings reads."""
    if weights.served(models.verifier):
        return frozenset({"en"})
    folder = weights.locate(models.verifier)
    if layout := layouts.of_folder(folder):
        return frozenset(layout.languages)
    return frozenset(weights.read_card(folder).get("languages", ["en"]))


def judgements_file() -> Path:
    """Where judged pairs are kept, so that a run can be stopped and go on."""
    return weights.cache_folder().parent / "judgements.sqlite"


def expander(settings: Settings, corpus: EmbeddedCorpus) -> Expander | None:
    """What adds words to the queries of this corpus; None where the settings want none.

    Raises:
        MissingModel, MissingExtra: the model that writes titles cannot be run.
    """
    chosen = settings.retrieval
    if chosen.expansion == "rm3":
        return WithFeedback(
            corpus.lexical(settings.filters.excluded, settings.filters.chosen), corpus.terms
        )
    if chosen.expansion == "titles":
        sampled = chosen.title_decoding == "sample"
        folder = Path(chosen.titles).expanduser()
        return WithTitles(TrainedTitles(folder, sampled=sampled, threads=settings.models.threads))
    if chosen.expansion == "server":
        client = ChatClient.from_environment(settings.chat.url, settings.chat.model)
        return WithTitles(AskedTitles(client))
    return None


def clients(chat: ChatSettings) -> dict[str, ChatClient]:
    """A client for each step that has a model of its own, and one for the others."""
    limits = Limits(seconds=chat.seconds, at_once=chat.at_once)
    names = {"": chat.model, **chat.models_of_steps}
    clients = {
        name: ChatClient.from_environment(chat.url, name, limits, chat.dialect)
        for name in dict.fromkeys(names.values())
    }
    return {step: clients[name] for step, name in names.items()}


def templates(chat: ChatSettings, language: str) -> Templates:
    """The prompts, shipped or the user's."""
    folder = Path(chat.prompts).expanduser() if chat.prompts else None
    return Templates.load(chat.prompt_language, language, folder)


@contextmanager
def judge(settings: Settings) -> Iterator[Judge]:
    """The language model that gives second opinions, within the budget of the settings.

    Replies are kept in `replies_file()`: no later run asks for them again.
    """
    chosen = settings.judge
    log_ratios = judges.log_ratios(judges.file_of(settings.library.judges), chosen.model)
    limits = Limits(seconds=chosen.seconds, at_once=chosen.at_once)
    client = ChatClient.from_environment(
        chosen.url, chosen.model, limits, chosen.dialect, JUDGE_KEY_VARIABLE
    )
    kept = KeptReplies(replies_file())
    try:
        calls = Calls({"": client}, settings.budget.limits, kept, kept.record)
        yield Judge(
            calls,
            templates(settings.chat, settings.language),
            log_ratios,
            chosen.source_tokens,
            guided=chosen.guided,
        )
    finally:
        kept.close()


@contextmanager
def seconded(settings: Settings, verifier: Verifier) -> Iterator[Verifier]:
    """The verifier with a judge beside it, if the settings name one."""
    chosen = settings.judge
    if not chosen.url:
        yield verifier
        return
    with judge(settings) as asked:
        yield WithSecondOpinion(verifier, asked, chosen.band, chosen.every, chosen.at_once)


def replies_file() -> Path:
    """Where a judge's replies are kept."""
    return weights.cache_folder().parent / "replies.sqlite"


def recorded(settings: Settings) -> dict[str, Any]:
    """The settings as most reports keep them: by full name, without private ones, lists as text."""
    return {
        key: ", ".join(value) if isinstance(value, tuple) else value
        for key, value in settings_.recorded(settings).items()
    }
