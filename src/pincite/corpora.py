"""Opens the corpora of a run: names them, and finds the encoder that built each."""

import contextlib
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cache, partial
from pathlib import Path

from pincite.corpus import engines
from pincite.corpus.generation import NO_ENCODER
from pincite.corpus.protocol import Address, Corpora, Corpus
from pincite.errors import ConfigError, MissingModel
from pincite.models import weights
from pincite.protocols import Encoder
from pincite.references import catalogue
from pincite.runtime import Place, Places, encoder, served_encoder
from pincite.settings import Settings

_NAMED = re.compile(r"([^=/\\]+)=(.+)", re.DOTALL)


@contextmanager
def open_corpora(settings: Settings, corpora: Places) -> Iterator[Corpora]:
    """Open these corpora and close them afterwards; those already open stay open.

    Raises CorpusError, StaleCorpus, MissingModel, and ConfigError as `name_corpora`.
    """
    places = name_corpora(corpora)
    load_encoder = cache(partial(encoder, settings))
    with ExitStack() as stack:
        opened: dict[str, Corpus] = {}
        for name, place in places.items():
            if not isinstance(place, Path | str):
                opened[name] = place
                continue
            chosen = encoder_name(settings, place, several=len(places) > 1)
            opened[name] = stack.enter_context(engines.open(place, load_encoder(chosen)))
        works = stack.enter_context(catalogue.of_user())
        yield Corpora(opened) if works is None else Corpora(opened, works.marked)


def name_corpora(corpora: Places) -> dict[str, Place]:
    """Name each corpus: as given, else after its folder, numbered if two have the same name.

    Raises ConfigError if two were given the same name, if one is given twice, or if there is none.
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
    named: dict[str, Place] = {}
    for name, place in given:
        own = engines.name_of(place) if isinstance(place, Path | str) else place.name
        if any(_is_same(place, other) for other in named.values()):
            raise ConfigError(f"The corpus {own!r} is given twice.")
        if name and chosen.count(name) > 1:
            raise ConfigError(f"Two corpora are called {name!r}. Give each another name.")
        numbered = (own, *(f"{own} ({number})" for number in range(2, len(given) + 2)))
        unused = (candidate for candidate in numbered if candidate not in (*named, *chosen))
        named[name or next(unused)] = place
    return named


def _with_name(place: Place) -> tuple[str, Place]:
    match = _NAMED.fullmatch(str(place)) if isinstance(place, Path | str) else None
    if match is None or Path(match[0]).exists():
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
                built_by = served_encoder(settings.embeddings, served).fingerprint
            else:
                built_by = weights.fingerprint(weights.locate(name))
            if built_by == wanted:
                return name
    return models.encoder


def encoder_for(settings: Settings, place: Address, chosen: bool) -> Encoder | None:
    """Load the encoder for a copy of a corpus: the original's, unless another is `chosen`.

    Raises ConfigError if the settings do not have it.
    """
    wanted = engines.encoder_of(place)
    if not chosen and wanted == NO_ENCODER:
        return None
    name = settings.models.encoder if chosen else encoder_name(settings, place, several=True)
    loaded = encoder(settings, name)
    if not chosen and loaded.fingerprint != wanted:
        raise ConfigError(
            f"{place} was built with the encoder {wanted}, which is not among those in the "
            "settings. Give it with --encoder, or rebuild the corpus with another one."
        )
    return loaded
