"""Builds what every verb needs from the settings: models, search, a language model's server."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from pincite.corpus.protocol import Address, Corpus
from pincite.llm.calls import Calls, ReplyCache
from pincite.llm.chat import ChatClient, key_variable
from pincite.llm.client import (
    EMBEDDING_LIMITS,
    EMBEDDINGS_KEY_VARIABLE,
    JUDGE_KEY_VARIABLE,
    KEY_VARIABLE,
    Key,
    Limits,
    ServedEncoder,
)
from pincite.llm.templates import Templates
from pincite.models import weights
from pincite.models.calibration import ONE_LOGIT
from pincite.models.routing import RoutedVerifier
from pincite.models.session import OnnxEncoder
from pincite.models.verifier import CrossEncoderVerifier, LoadedNetwork
from pincite.protocols import Encoder, Verifier
from pincite.references.works import users_catalogue
from pincite.retrieval.fusion import Fused
from pincite.settings import ChatSettings, EmbeddingsSettings, ModelSettings, Settings

if TYPE_CHECKING:
    from pincite.corpora import Corpora
    from pincite.library.reliability import StoredList
    from pincite.llm.judge import Examiner, Judge
    from pincite.references.catalogue import Catalogue

NO_LIST = "none"  # value of the setting that disables reliability lists

Place: TypeAlias = Address | Corpus  # a corpus: its folder or address, or an open one
# One corpus, or several: by name, as NAME=ADDRESS, or named after their folders.
Places: TypeAlias = Place | Sequence[Place] | Mapping[str, Place]


def encoder(settings: Settings, name: str = "") -> Encoder:
    """Load the encoder of the settings, or another one; raises MissingModel."""
    name = name or settings.models.encoder
    if served := weights.server_of(name):
        return served_encoder(settings.embeddings, served)
    return OnnxEncoder(weights.locate(name), threads=settings.models.threads)


def served_encoder(how: EmbeddingsSettings, served: weights.Served) -> ServedEncoder:
    prefixes = how.query_prefix, how.passage_prefix
    limits = replace(EMBEDDING_LIMITS, seconds=how.seconds, at_once=how.at_once)
    key = Key.read(EMBEDDINGS_KEY_VARIABLE)
    return ServedEncoder(served.model, served.url, key, prefixes, how.batch, limits)


def search(
    settings: Settings, corpora: "Corpora", hosts: Sequence[str], *, by_meaning: bool = True
) -> Fused:
    """Build the search by words and meaning, with a run's weights, filters and excluded `hosts`."""
    chosen, how = (hosts, settings.filters.chosen), settings.retrieval
    dense = corpora.dense(*chosen) if by_meaning else None
    return Fused(corpora.lexical(*chosen), dense, how.fusion, how.depth, how.dense_share)


def verifier(models: ModelSettings, *, keep: bool = True) -> RoutedVerifier:
    """Load the verifier of the settings, and find the multilingual one for other languages.

    `keep`: cache judged pairs in `judgements_file()`.
    """
    judged = judgements_file() if keep else None
    model: Path | LoadedNetwork
    if served := weights.server_of(models.verifier):
        from pincite.models.public import ChatNetwork

        client = ChatClient(served.url, served.model, Key.read(KEY_VARIABLE))
        network = ChatNetwork(client, served.model)
        model = LoadedNetwork(network.fingerprint, network, ONE_LOGIT, frozenset({"en"}))
    else:
        model = weights.locate(models.verifier)
    first = CrossEncoderVerifier(model, threads=models.threads, judged=judged)
    other = weights.multilingual_verifier()
    return RoutedVerifier(first, other, threads=models.threads, judged=judged)


def reliability_list(settings: Settings) -> "StoredList | None":
    """Load the chosen list, or else the language's if there is one; raises ConfigError."""
    from pincite.library.exclusions import imported_lists

    name = settings.library.reliability
    if name == NO_LIST or (not name and settings.language not in imported_lists()):
        return None
    from pincite.library.reliability import load_list  # most runs have none

    return load_list(name or settings.language)


def judgements_file() -> Path:
    """Return the cache of judged pairs, from which an interrupted run resumes."""
    return weights.cache_folder().parent / "judgements.sqlite"


def clients(chat: ChatSettings) -> dict[str, ChatClient]:
    """Make a client per step with a model of its own, and one ("") for the others."""
    limits = Limits(seconds=chat.seconds, at_once=chat.at_once)
    names = {"": chat.model, **chat.models_of_steps}
    clients = {}
    for name in dict.fromkeys(names.values()):
        at = weights.server_of(name) or weights.Served(name, chat.url)
        key = Key.read(key_variable(at.url, chat.url))
        clients[name] = ChatClient(
            at.url, at.model, key, limits, chat.dialect, chat.repetition_penalty
        )
    return {step: clients[name] for step, name in names.items()}


def templates(chat: ChatSettings, language: str) -> Templates:
    folder = Path(chat.prompts).expanduser() if chat.prompts else None
    return Templates.load(chat.prompt_language, language, folder)


@contextmanager
def judge(settings: Settings) -> "Iterator[Judge]":
    """Open the model for second opinions; its replies are cached in `replies_file()`."""
    from pincite.llm.judge import Judge

    chosen = settings.judge
    limits = Limits(seconds=chosen.seconds, at_once=chosen.at_once)
    key = Key.read(JUDGE_KEY_VARIABLE)
    client = ChatClient(chosen.url, chosen.model, key, limits, chosen.dialect)
    kept = ReplyCache(replies_file())
    try:
        calls = Calls({"": client}, settings.budget.limits, kept, kept.record)
        prompts = templates(settings.chat, settings.language)
        yield Judge(calls, prompts, source_tokens=chosen.source_tokens, guided=chosen.guided)
    finally:
        kept.close()


def examiner(settings: Settings, asked: "Judge") -> "Examiner":
    """Return what examines a judge before its first opinion."""
    from pincite.llm.judge import Examiner, judges_file

    return Examiner(asked, judges_file(settings.library.judges), settings.judge.at_once)


@contextmanager
def with_second_opinions(
    settings: Settings, verifier: Verifier
) -> Iterator[tuple[Verifier, Calls | None]]:
    """Add a judge's second opinions to the verifier, if the settings name one; and its calls."""
    chosen = settings.judge
    if not chosen.url:
        yield verifier, None
        return
    from pincite.llm.judge import WithSecondOpinion

    with judge(settings) as asked:
        examined = examiner(settings, asked)
        judged = WithSecondOpinion(verifier, asked, examined, chosen.every, chosen.at_once)
        yield judged, asked.calls


def replies_file() -> Path:
    return weights.cache_folder().parent / "replies.sqlite"


def open_users_catalogue() -> AbstractContextManager["Catalogue | None"]:
    """Open the user's catalogue of works, a source; None if nothing was imported yet."""
    if not users_catalogue().is_file():
        return nullcontext()
    from pincite.references.catalogue import Catalogue

    return closing(Catalogue(users_catalogue()))
