"""Where records of works are looked up, and what the sources that were asked have answered."""

from collections.abc import Callable
from contextlib import AbstractContextManager, closing, nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Protocol

from pincite.durable import data_path
from pincite.errors import FetchError
from pincite.references.works import Work
from pincite.types import Citation, Reason

if TYPE_CHECKING:
    from pincite.references.catalogue import Catalogue


class Unanswered(NamedTuple):
    """A source that gave no answer."""

    source: str
    reason: Reason
    detail: str = ""


class Source(Protocol):
    """Where records are looked up."""

    @property
    def name(self) -> str: ...

    def lookup(self, citation: Citation) -> list[Work] | None:
        """Return the records with an identifier of the citation, and those with a title like its.

        An empty list: the source has none. None: it was not asked, for lack of what it takes.
        Raises FetchError if it gave no answer: it is down, or allows no more requests.
        """
        ...


class Service(NamedTuple):
    """A service on the web, asked in one way; a source."""

    name: str
    lookup: Callable[[Citation], list[Work] | None]
    is_search: bool = False  # for a work of which no identifier is known
    is_status: bool = False  # for the notices about a work that the user's own sources have


def users_catalogue() -> Path:
    """Where `pincite works import` writes, unless another file is given."""
    return data_path("works.sqlite")


def open_users_catalogue() -> AbstractContextManager["Catalogue | None"]:
    """Open the user's catalogue of works, a source; None if nothing was imported yet."""
    if not users_catalogue().is_file():
        return nullcontext()
    from pincite.references.catalogue import Catalogue

    return closing(Catalogue(users_catalogue()))


@dataclass(slots=True)
class Answers:
    """What the sources that were asked about one reference have returned so far."""

    works: list[Work] = field(default_factory=list)
    answered: list[str] = field(default_factory=list)  # names of the sources that answered
    failed: list[Unanswered] = field(default_factory=list)
    services: list[str] = field(default_factory=list)  # that were asked, even in vain

    def ask(self, source: Source, citation: Citation) -> bool:
        """Add a source's records, or its failure; False if it has no way to be asked."""
        try:
            records = source.lookup(citation)
        except FetchError as error:
            self.failed.append(Unanswered(source.name, error.reason, str(error)))
            return True
        if records is None:
            return False
        self.works += [replace(work, source=work.source or source.name) for work in records]
        self.answered.append(source.name)
        return True
