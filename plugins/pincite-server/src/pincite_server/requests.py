"""Request bodies: jobs of the three verbs, their settings, and pagination.

A request cannot name a file or a server; settings determine what runs and where. It can only choose
among the models that the server offers. Texts with a NUL or a lone surrogate are refused, because
databases reject them. A cursor encodes the last row of a page, so the server stores no state.
"""

import base64
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from fastapi import Path as InPath
from fastapi import Query
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    model_validator,
)
from pydantic_core import PydanticCustomError

import pincite
from pincite.settings import SHORT, Settings
from pincite.settings.schema import request_model, settings_of
from pincite.wiki.article import title_of
from pincite_server.problems import Problem, unknown_field
from pincite_server.tables import Kind, iso

DEMO = Path(pincite.__file__).parent / "demo"
Example = Literal["article", "inventor", "vole"]


class Shipped(NamedTuple):
    """A bundled article, in a folder with the pages that it cites."""

    title: str
    folder: Path  # with `article.wiki` and the folder `sources`


EXAMPLES: dict[Example, Shipped] = {
    "article": Shipped("Varrowmouth", DEMO / "verify"),
    "inventor": Shipped("Edda Marrick", DEMO / "verify" / "inventor"),
    "vole": Shipped("Saltfen vole", DEMO / "verify" / "vole"),
}


def _storable(text: str) -> str:
    try:
        text.encode()  # implemented in C, because a text may have millions of characters
    except UnicodeEncodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError("contains a NUL or half of a surrogate pair")
    return text


Text = Annotated[str, AfterValidator(_storable)]
Line = Annotated[Text, Field(max_length=2_000)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
IdPath = Annotated[str, InPath(pattern=r"^[A-Za-z0-9_-]{1,40}$")]  # a path parameter
MOST_AT_ONCE = 50  # statements or questions of a request; one takes seconds, a job may take an hour
Item = Annotated[Line, Field(min_length=1)]
Items = Annotated[tuple[Item, ...], Field(min_length=1, max_length=MOST_AT_ONCE)]
OneOrMore = Annotated[
    Items,
    BeforeValidator(
        lambda given: (given,) if isinstance(given, str) else given,
        json_schema_input_type=Item | Items,
    ),
    PlainSerializer(lambda items: items if len(items) > 1 else items[0]),
]
Revision = Annotated[int, Field(ge=1, le=2**53)]  # of a wiki page
IsoDate = Annotated[str, Field(pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")]


def corpora_in(corpus: str | Sequence[str] | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys([corpus] if isinstance(corpus, str) else corpus or ()))


_CorpusId = Annotated[Text, Field(min_length=1, max_length=200)]
_CorpusIds = Annotated[tuple[_CorpusId, ...], Field(min_length=1, max_length=20)]
Corpus = Annotated[  # one id, or several different ones
    _CorpusId | _CorpusIds,
    AfterValidator(lambda given: ids if len(ids := corpora_in(given)) > 1 else ids[0]),
]


def _first(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else f"{texts[0]} (and {len(texts) - 1} more)"


class Body(BaseModel):
    """A request body; unknown fields are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _only_known(cls, given: Any) -> Any:
        for name in given if isinstance(given, dict) else ():
            if name not in cls.model_fields:
                values = {"field": name, "what": unknown_field(name, cls.model_fields)}
                raise PydanticCustomError("unknown_field", "{what}", values)
        return given


class Shown(BaseModel):
    """A reply with fields of a record, under the record's names."""

    model_config = ConfigDict(from_attributes=True)


# Seconds since 1970 as an ISO timestamp, UTC.
Moment = Annotated[str, BeforeValidator(lambda at: iso(at) if isinstance(at, float) else at)]


# Settings that a request can change; some have lower maximums.
TUNABLE = (
    *("threshold", "k", "verify_uncited", "depth", "judged", "fusion", "dense_share"),
    *("published_from", "published_to", "undated", "domains", "source_languages", "kinds", "where"),
    *("include_retracted", "documents", "top_k", "confirmation_threshold"),
    *("temperature", "chat_model", "language"),
)
_MOST = {"k": 20, "depth": 1000, "judged": 500, "documents": 50, "top_k": 50, "temperature": 2}
_TYPES = {
    "published_from": IsoDate,
    "published_to": IsoDate,
    "language": Annotated[str, Field(pattern=r"^[a-z]{2,3}$")],
}
_DECLARED = {name: settings_of(Settings)[SHORT[name]] for name in TUNABLE}
_MODEL: Any = request_model(
    "Tuning", _DECLARED, Body, text=Line, most=_MOST | {"domains": 100}, instead=_TYPES
)


class Tuning(_MODEL):  # type: ignore[misc]  # mypy cannot see the fields
    """Settings of a run that a request may change; for the others, the server's are used."""

    def overrides(self) -> dict[str, Any]:
        values: dict[str, Any] = self.model_dump(exclude_none=True)
        return values


class VerifyRequest(Body):
    """An article: by title or address (if the server is online), as text, or a shipped one."""

    article: Line | None = None
    text: Annotated[Text, Field(max_length=5_000_000)] | None = None
    markup: Literal["wikitext", "html"] = "wikitext"
    title: Line = ""  # of `text`
    revision: Revision | None = None  # of `text`; stored so that the request can be repeated
    wiki: Line | None = None  # origin of the wiki of `text`; a script of a wiki cannot choose it
    example: Example | None = None
    corpus: Corpus | None = None  # the corpus to search for better sources
    settings: Tuning = Tuning()

    @model_validator(mode="after")
    def _one_article(self) -> "VerifyRequest":
        given = [name for name in ("article", "text", "example") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("expected one of article, text and example")
        return self

    @property
    def subject(self) -> str:
        if self.example:
            return self.title or "An example article"
        return self.article or self.title or title_of(self.text or "", "Untitled", self.markup)


class SentFile(Body):
    """A file of an upload."""

    stored: Annotated[str, Field(pattern=r"^[0-9]{5}(\.[a-z0-9]{1,8}){0,2}$")]  # file name on disk
    name: str  # as sent by the client; never used as a path
    n_bytes: int


class VerifyFilesRequest(VerifyRequest):
    """An article with uploaded files of its sources; made by the server."""

    upload: Id | None = None
    files: tuple[SentFile, ...] = ()


class ReadingBody(Body):
    """A reading that the user wrote or kept."""

    text: Annotated[Line, Field(min_length=1)]
    kind: Literal["descriptive", "ascriptive", "normative"] | None = None
    negation: Line = ""


class CheckRequest(Body):
    """A statement, or several, and the knowledge base that they are checked against."""

    statement: OneOrMore
    corpus: Corpus
    readings: Annotated[tuple[ReadingBody, ...], Field(max_length=20)] | None = None
    only_readings: bool = False  # stop before searching
    readings_of: Id | None = None  # the job that found the readings; the history leaves it out
    unlogged: bool = False  # leave it out of the operator's log of results
    speaker: Line = ""  # of all statements, as are `date` and `place`
    date: Annotated[str, Field(pattern=r"^(\d{4}(-\d\d(-\d\d)?)?)?$")] = ""
    place: Line = ""
    settings: Tuning = Tuning()

    @model_validator(mode="after")
    def _readings_of_one(self) -> "CheckRequest":
        if len(self.statement) > 1 and (self.only_readings or self.readings):
            raise ValueError("readings and only_readings expect a single statement")
        return self

    @property
    def subject(self) -> str:
        return _first(self.statement)


class AskRequest(Body):
    """A question, or several, and the corpus that answers them."""

    question: OneOrMore
    corpus: Corpus
    repair: bool | None = None
    settings: Tuning = Tuning()

    @property
    def subject(self) -> str:
        return _first(self.question)


class IngestRequest(Body):
    """Uploaded files for a corpus; made by the server."""

    corpus: Id
    upload: Id
    files: tuple[SentFile, ...]

    @property
    def subject(self) -> str:
        return _first([file.name for file in self.files])


Request = VerifyRequest | CheckRequest | AskRequest
KINDS: dict[Kind, type[Request]] = {  # as stored
    "verify": VerifyFilesRequest,
    "check": CheckRequest,
    "ask": AskRequest,
}


Row = TypeVar("Row")
Limit = Annotated[int, Query(ge=1, le=200, description="Rows per page.")]
Cursor = Annotated[
    str | None, Query(max_length=500, description="`next` of the previous page, if any.")
]


def cursor_of(*values: Any) -> str:
    """Encode the values of the last row by which a list is ordered.

    >>> read_cursor(cursor_of(1.5, "a"), (float, str))
    (1.5, 'a')
    """
    return base64.urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


def read_cursor(cursor: str | None, kinds: tuple[type, ...]) -> tuple[Any, ...] | None:
    """Decode a cursor; None if there is none. Raises Problem: 422, it is not valid."""
    if cursor is None:
        return None
    try:
        text = base64.b64decode(cursor + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        values = json.loads(text)
        # Databases cannot compare with a NUL, NaN or a larger number.
        usable = ("\0" not in v if isinstance(v, str) else abs(v) < 2**63 for v in values)
        if tuple(map(type, values)) == kinds and all(usable):
            return tuple(values)
    except (ValueError, TypeError, RecursionError):
        pass
    raise Problem(422, "invalid_cursor", "The cursor is not one that this server issued.")


def page_of(
    rows: list[Row], limit: int, key: Callable[[Row], tuple[Any, ...]]
) -> tuple[list[Row], str | None]:
    """The first `limit` rows, and the cursor of the next page (None on the last page).

    `key` returns the values by which the list is ordered.

    >>> page_of(["a", "b"], 2, lambda row: (row,)), page_of(["a", "b"], 1, lambda row: (row,))[0]
    ((['a', 'b'], None), ['a'])
    """
    page = rows[:limit]
    return page, cursor_of(*key(page[-1])) if len(rows) > limit else None
