"""Settings turned into what every verb runs on: models, corpora, and a language model's server."""

import dataclasses
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pincite.corpus.embedded import EmbeddedCorpus
from pincite.llm.calls import Budget
from pincite.llm.chat import ChatClient
from pincite.llm.chat_wire import Limits
from pincite.llm.templates import Templates
from pincite.models import weights
from pincite.models.encoder import OnnxEncoder
from pincite.models.titles import TrainedTitles
from pincite.models.verifier import CrossEncoderVerifier
from pincite.protocols import Expander
from pincite.retrieval.expansion import AskedTitles, WithFeedback, WithTitles
from pincite.settings import Settings
from pincite.settings.web import PRIVATE


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


def verifier(settings: Settings, *, keep: bool = True) -> CrossEncoderVerifier:
    """The verifier of the settings, to be closed; `keep`: judged pairs in `judgements_file()`."""
    folder = weights.locate(settings.verifier)
    judged = judgements_file() if keep else None
    return CrossEncoderVerifier(folder, threads=settings.threads, judged=judged)


def languages(settings: Settings) -> frozenset[str]:
    """Those that the verifier of the settings reads."""
    return frozenset(weights.read_card(weights.locate(settings.verifier)).get("languages", ["en"]))


def judgements_file() -> Path:
    """Where judged pairs are kept, so that a run can be stopped and go on."""
    return weights.cache_folder().parent / "judgements.sqlite"


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


def models(settings: Settings) -> dict[str, ChatClient]:
    """A client for each step that has a model of its own, and one for the others."""
    limits = Limits(seconds=settings.chat_seconds, at_once=settings.chat_at_once)
    names = {"": settings.chat_model, **settings.models_of_steps}
    clients = {
        name: ChatClient.from_environment(settings.chat_url, name, limits, settings.chat_dialect)
        for name in dict.fromkeys(names.values())
    }
    return {step: clients[name] for step, name in names.items()}


def budget(settings: Settings) -> Budget:
    """What a run may spend."""
    return Budget(
        settings.max_calls,
        settings.max_tokens,
        settings.max_cost,
        settings.price_prompt,
        settings.price_reply,
    )


def templates(settings: Settings) -> Templates:
    """The prompts, shipped or the user's."""
    folder = Path(settings.prompts).expanduser() if settings.prompts else None
    return Templates.load(settings.prompt_language, settings.language, folder)


def recorded(settings: Settings) -> dict[str, str | float | int | bool | None]:
    """The settings as a report keeps them; lists as one text. Who asked is nobody's business."""
    return {
        key: ", ".join(value) if isinstance(value, tuple) else value
        for key, value in dataclasses.asdict(settings).items()
        if key not in PRIVATE
    }
