"""Corpora that whoever runs the server keeps elsewhere: `server.corpora`, for everybody to read.

They are in the register for as long as they are in the setting; nothing of them is changed or
deleted from here. People who use the server never learn where they lie.
"""

import logging
from collections.abc import Iterable, Sequence
from pathlib import Path

from pincite import runtime
from pincite.corpus import engines
from pincite.corpus.protocol import Address
from pincite.errors import ConfigError, CorpusError, PinciteError
from pincite.server.library.register import CorpusEntry, CorpusRegister, NameTaken, Shared

SETTING = "server.corpora"
LOG = logging.getLogger("pincite.server.library.linked")
_HIDDEN = (
    "The corpus is stored elsewhere and cannot be read now. Whoever runs this server finds the "
    "reason in its log."
)


def link(register: CorpusRegister, owner: str, given: Sequence[str]) -> list[CorpusEntry]:
    """Make the register hold exactly these linked corpora; gives their entries.

    Args:
        register: of the server.
        owner: of those that are new.
        given: folders or addresses, each perhaps as NAME=….

    Raises:
        ConfigError: an address that no engine opens, or a name that is given twice or taken.
    """
    try:
        wanted = {name: _placed(str(place)) for name, place in _named(given)}
    except ConfigError as error:
        raise ConfigError(f"{SETTING}: {error}") from error
    known = _linked(register)
    for name in known.keys() - wanted.keys():
        register.remove(known[name].corpus_id)
    for name, address in wanted.items():
        if name not in known:
            _add(register, owner, name, address)
        elif known[name].address != address:  # the same one elsewhere: jobs still name it
            register.change(known[name].corpus_id, folder=str(address))
    return list(_linked(register).values())


def fault(entry: CorpusEntry) -> str:
    """Why a linked corpus cannot be read now, for whoever runs the server; empty if it can."""
    try:
        found = engines.exists(entry.address)
    except PinciteError as error:
        return f"{SETTING}: {entry.name}: {error}"
    return "" if found else f"{SETTING}: {entry.name}: there is no corpus at {entry.address}"


def without_places(error: Exception, places: Iterable[Address], instead: str = "The corpus") -> str:
    """What went wrong, for people who need not know where corpora lie.

    An engine's message may name a server in words that nobody foresees: such a one is only logged,
    as is that of a folder that is gone, which tells how to make one.
    """
    text, addresses = str(error), tuple(places)
    others = [each for each in addresses if isinstance(each, str) or not each.exists()]
    if others and (isinstance(error, CorpusError) or any(str(each) in text for each in others)):
        LOG.warning("%s", text)
        return _HIDDEN
    for each in addresses:
        text = text.replace(str(each), instead)
    return text


def _linked(register: CorpusRegister) -> dict[str, CorpusEntry]:
    return {entry.name: entry for entry in register.listed() if register.is_linked(entry)}


def _add(register: CorpusRegister, owner: str, name: str, address: Address) -> None:
    try:
        register.add(owner, name, address=address, shared=Shared.EVERYBODY)
    except NameTaken as error:
        if name not in _linked(register):  # else another process that starts was quicker
            raise ConfigError(f"{SETTING}: {error}") from error


def _named(given: Sequence[str]) -> list[tuple[str, object]]:
    return list(runtime.named(given).items()) if given else []


def _placed(given: str) -> Address:
    """As it is registered: a folder whole, whatever the working folder is later."""
    engines.engine(given)  # raises ConfigError if there is none for it
    found = engines.address(given)
    return found.expanduser().absolute() if isinstance(found, Path) else found
