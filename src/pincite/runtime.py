"""Builds what every verb needs from the settings: models, corpora, a language model's server."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TypeAlias

from pincite.corpus import engines
from pincite.corpus.generation import NO_ENCODER
from pincite.corpus.protocol import Address, Corpora, Corpus
from pincite.errors import ConfigError, MissingModel
from pincite.llm.calls import Calls, Key, Limits, ReplyCache
from pincite.llm.chat import (
    EMBEDDING_LIMITS,
    EMBEDDINGS_KEY_VARIABLE,
    JUDGE_KEY_VARIABLE,
    KEY_VARIABLE,
    ChatClient,
    ServedEncoder,
    key_variable,
)
from pincite.llm.judge import Examiner, Judge, WithSecondOpinion, judges_file
from pincite.llm.templates import Templates
from pincite.models import weights
from pincite.models.public import ChatNetwork
from pincite.models.session import OnnxEncoder
from pincite.models.verifier import CrossEncoderVerifier, RoutedVerifier
from pincite.protocols import Encoder, Verifier
from pincite.references import catalogue
from pincite.retrieval.fusion import Fused
from pincite.settings import ChatSettings, EmbeddingsSettings, ModelSettings, Settings

Place: TypeAlias = Address | Corpus  # a corpus: its folder or address, or an open one
# One corpus, or several: by name, as NAME=ADDRESS, or named after their folders.
Places: TypeAlias = Place | Sequence[Place] | Mapping[str, Place]
_NAMED = re.compile(r"([^=/\\]+)=(.+)", re.DOTALL)


def encoder(settings: Settings, name: str = "") -> Encoder:
    """Load the encoder of the settings, or another one; raises MissingModel."""
    name = name or settings.models.encoder
    if found := weights.served(name):
        return _served(settings.embeddings, found)
    return OnnxEncoder(weights.locate(name), threads=settings.models.threads)


def _served(how: EmbeddingsSettings, found: weights.Served) -> ServedEncoder:
    prefixes = how.query_prefix, how.passage_prefix
    limits = replace(EMBEDDING_LIMITS, seconds=how.seconds, at_once=how.at_once)
    key = Key.read(EMBEDDINGS_KEY_VARIABLE)
    return ServedEncoder(found.model, found.url, key, prefixes, how.batch, limits)


@contextmanager
def open_corpora(settings: Settings, corpora: Places) -> Iterator[Corpora]:
    """Open these corpora and close them afterwards; those already open stay open.

    Raises:
        ConfigError: two have the same name, or one is given twice.
        CorpusError, StaleCorpus, MissingModel
    """
    places = name_corpora(corpora)
    encoders: dict[str, Encoder] = {}
    with ExitStack() as stack:
        found: dict[str, Corpus] = {}
        for name, place in places.items():
            if not isinstance(place, Path | str):
                found[name] = place
                continue
            chosen = encoder_name(settings, place, several=len(places) > 1)
            if chosen not in encoders:
                encoders[chosen] = encoder(settings, chosen)
            found[name] = stack.enter_context(engines.open(place, encoders[chosen]))
        works = stack.enter_context(catalogue.of_user())
        yield Corpora(found) if works is None else Corpora(found, works.marked)


def search(
    settings: Settings, corpora: Corpora, hosts: Sequence[str], *, by_meaning: bool = True
) -> Fused:
    """Build the search by words and meaning, with a run's weights, filters and excluded `hosts`."""
    chosen, how = (hosts, settings.filters.chosen), settings.retrieval
    dense = corpora.dense(*chosen) if by_meaning else None
    return Fused(corpora.lexical(*chosen), dense, how.fusion, how.depth, how.dense_share)


def name_corpora(corpora: Places) -> dict[str, Place]:
    """Name each corpus: as given, else after its folder, numbered if two have the same name.

    Raises:
        ConfigError: two have the same name, one is given twice, or there is none.
    """
    if isinstance(corpora, Mapping):
        given: list[tuple[str, Place]] = list(corpora.items())
    elif isinstance(corpora, Sequence) and not isinstance(corpora, str):
        given = [_with_name(place) for place in corpora]
    else:
        given = [_with_name(corpora)]
    if not given:
        raise ConfigError("No corpus was given. Expected at least one folder or address.")
    chosen = [name for name, _ in given if name]
    found: dict[str, Place] = {}
    for name, place in given:
        own = engines.name_of(place) if isinstance(place, Path | str) else place.name
        if any(_is_same(place, other) for other in found.values()):
            raise ConfigError(f"The corpus {own!r} is given twice.")
        if name and chosen.count(name) > 1:
            raise ConfigError(f"Two corpora are called {name!r}. Give each another name.")
        numbered = (own, *(f"{own} ({number})" for number in range(2, len(given) + 2)))
        unused = (each for each in numbered if each not in (*found, *chosen))
        found[name or next(unused)] = place
    return found


def _with_name(place: Place) -> tuple[str, Place]:
    match = _NAMED.fullmatch(str(place)) if isinstance(place, Path | str) else None
    if match is None or (isinstance(place, Path) and place.exists()):
        return "", place
    return " ".join(match[1].split()), engines.address(match[2])


def _is_same(one: Place, other: Place) -> bool:
    if not isinstance(one, Path | str) or not isinstance(other, Path | str):
        return one is other
    a, b = engines.address(one), engines.address(other)
    return a.resolve() == b.resolve() if isinstance(a, Path) and isinstance(b, Path) else a == b


def encoder_name(settings: Settings, place: Address, *, several: bool = False) -> str:
    """Name the encoder that built the corpus, if the settings or the package have it.

    Otherwise return the settings' first: opening the corpus with it raises the right error.
    """
    models = settings.models
    names = [models.encoder, *models.encoders, weights.MULTILINGUAL]
    if several:
        names.append(weights.ENCODER)
    wanted = engines.encoder_of(place)
    for name in dict.fromkeys(names):
        with contextlib.suppress(MissingModel):
            if served := weights.served(name):
                built_by = _served(settings.embeddings, served).fingerprint
            else:
                built_by = weights.fingerprint(weights.locate(name))
            if built_by == wanted:
                return name
    return models.encoder


def encoder_for(settings: Settings, place: Address, chosen: bool) -> Encoder | None:
    """Load the encoder for a copy of a corpus: the original's, unless another is `chosen`.

    Raises:
        ConfigError: the settings do not have it.
        CorpusError, MissingModel
    """
    wanted = engines.encoder_of(place)
    if not chosen and wanted == NO_ENCODER:
        return None
    name = settings.models.encoder if chosen else encoder_name(settings, place, several=True)
    found = encoder(settings, name)
    if not chosen and found.fingerprint != wanted:
        raise ConfigError(
            f"{place} was built with the encoder {wanted}, which is not among those in the "
            "settings. Give it with --encoder, or rebuild the corpus with another one."
        )
    return found


def verifier(models: ModelSettings, *, keep: bool = True) -> RoutedVerifier:
    """Load the verifier of the settings, and find the multilingual one for other languages.

    `keep`: cache judged pairs in `judgements_file()`.
    """
    judged = judgements_file() if keep else None
    model: Path | ChatNetwork
    if served := weights.served(models.verifier):
        client = ChatClient(served.url, served.model, Key.read(KEY_VARIABLE))
        model = ChatNetwork(client, served.model)
    else:
        model = weights.locate(models.verifier)
    first = CrossEncoderVerifier(model, threads=models.threads, judged=judged)
    other = weights.multilingual_verifier()
    return RoutedVerifier(first, other, threads=models.threads, judged=judged)


def judgements_file() -> Path:
    """Return the cache of judged pairs, from which an interrupted run resumes."""
    return weights.cache_folder().parent / "judgements.sqlite"


def clients(chat: ChatSettings) -> dict[str, ChatClient]:
    """Make a client per step with a model of its own, and one ("") for the others."""
    limits = Limits(seconds=chat.seconds, at_once=chat.at_once)
    names = {"": chat.model, **chat.models_of_steps}
    clients = {}
    for name in dict.fromkeys(names.values()):
        at = weights.served(name) or weights.Served(name, chat.url)
        key = Key.read(key_variable(at.url, chat.url))
        clients[name] = ChatClient(
            at.url, at.model, key, limits, chat.dialect, chat.repetition_penalty
        )
    return {step: clients[name] for step, name in names.items()}


def templates(chat: ChatSettings, language: str) -> Templates:
    folder = Path(chat.prompts).expanduser() if chat.prompts else None
    return Templates.load(chat.prompt_language, language, folder)


@contextmanager
def judge(settings: Settings) -> Iterator[Judge]:
    """Open the model for second opinions; its replies are cached in `replies_file()`."""
    chosen = settings.judge
    limits = Limits(seconds=chosen.seconds, at_once=chosen.at_once)
    key = Key.read(JUDGE_KEY_VARIABLE)
    client = ChatClient(chosen.url, chosen.model, key, limits, chosen.dialect)
    kept = ReplyCache(replies_file())
    try:
        calls = Calls({"": client}, settings.budget.limits, kept, kept.record)
        yield Judge(
            calls,
            templates(settings.chat, settings.language),
            source_tokens=chosen.source_tokens,
            guided=chosen.guided,
        )
    finally:
        kept.close()


def examiner(settings: Settings, asked: Judge) -> Examiner:
    """Return what examines a judge before its first opinion."""
    return Examiner(asked, judges_file(settings.library.judges), settings.judge.at_once)


@contextmanager
def with_second_opinions(settings: Settings, verifier: Verifier) -> Iterator[Verifier]:
    """Add a judge's second opinions to the verifier if the settings name one."""
    chosen = settings.judge
    if not chosen.url:
        yield verifier
        return
    with judge(settings) as asked:
        examined = examiner(settings, asked)
        yield WithSecondOpinion(verifier, asked, examined, chosen.every, chosen.at_once)


def replies_file() -> Path:
    return weights.cache_folder().parent / "replies.sqlite"
