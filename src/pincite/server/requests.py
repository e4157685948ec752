"""What may be asked of the server: the bodies of the three verbs, and which settings they may set.

A request names no file and no address of a model: what runs, and on whose machine, is the server's
settings' business; of its models a request names one that the server offers. Texts are data; a NUL
or half a character pair, which a database would refuse, is refused here.
"""

from collections.abc import Sequence
from typing import Annotated, Any, Literal

from fastapi import Path
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pincite.retrieval.fusion import Mode
from pincite.server.examples import Example
from pincite.server.tables import Kind


def _storable(text: str) -> str:
    try:
        text.encode()  # in C: a text may have millions of characters
    except UnicodeEncodeError:
        text = "\0"
    if "\0" in text:
        raise ValueError("holds a NUL or half of a surrogate pair; expected text")
    return text


Text = Annotated[str, AfterValidator(_storable)]
Line = Annotated[Text, Field(max_length=2_000)]
Id = Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,40}$")]
Ids = Annotated[tuple[Id, ...], Field(min_length=1, max_length=20)]
IdPath = Annotated[str, Path(pattern=r"^[A-Za-z0-9_-]{1,40}$")]  # in an address
Revision = Annotated[int, Field(ge=1, le=2**53)]  # of a wiki's page
IsoDate = Annotated[str, Field(pattern=r"^(\d{4}(-\d{2}(-\d{2})?)?)?$")]


def corpora_in(corpus: str | Sequence[str] | None) -> tuple[str, ...]:
    """The corpora that a request names, each once: one, several, or none."""
    return tuple(dict.fromkeys([corpus] if isinstance(corpus, str) else corpus or ()))


def _one_or_more(corpus: str | Sequence[str]) -> str | Sequence[str]:
    return found if len(found := corpora_in(corpus)) > 1 else found[0]


Corpus = Annotated[Id | Ids, AfterValidator(_one_or_more)]  # one in a list is that one


class Body(BaseModel):
    """What a request brings: only what is known, and never changed."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Tuning(Body):
    """Settings that a request may change; those that it leaves out are the server's."""

    threshold: Annotated[float, Field(gt=0, lt=1)] | None = None
    k: Annotated[int, Field(ge=1, le=20)] | None = None
    verify_uncited: bool | None = None  # sentences without a citation too
    depth: Annotated[int, Field(ge=1, le=1000)] | None = None
    judged: Annotated[int, Field(ge=1, le=500)] | None = None
    fusion: Mode | None = None
    published_from: IsoDate | None = None
    published_to: IsoDate | None = None
    undated: bool | None = None
    domains: Annotated[tuple[Line, ...], Field(max_length=100)] | None = None
    source_languages: Annotated[tuple[Line, ...], Field(max_length=20)] | None = None
    kinds: Annotated[tuple[Line, ...], Field(max_length=20)] | None = None
    where: Annotated[tuple[Line, ...], Field(max_length=20)] | None = None
    include_retracted: bool | None = None  # of `ask`
    documents: Annotated[int, Field(ge=1, le=50)] | None = None  # of `ask`
    top_k: Annotated[int, Field(ge=1, le=50)] | None = None  # of `check`
    confirmation_threshold: Annotated[float, Field(ge=0, lt=1)] | None = None  # of `check`
    dense_share: Annotated[float, Field(ge=0, le=1)] | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    chat_model: Line | None = None  # one that the server offers
    language: Annotated[str, Field(pattern=r"^[a-z]{2,3}$")] | None = None

    def given(self) -> dict[str, Any]:
        """What was set."""
        return self.model_dump(exclude_none=True)


class VerifyRequest(Body):
    """An article: by title or address (where the server is online), as text, or a shipped one."""

    article: Line | None = None
    text: Annotated[Text, Field(max_length=5_000_000)] | None = None
    markup: Literal["wikitext", "html"] = "wikitext"
    title: Line = ""  # of `text`
    revision: Revision | None = None  # of `text`: kept, so that it can be asked for again
    example: Example | None = None
    corpus: Corpus | None = None  # that better sources come from
    settings: Tuning = Tuning()

    @model_validator(mode="after")
    def _one_article(self) -> "VerifyRequest":
        given = [name for name in ("article", "text", "example") if getattr(self, name)]
        if len(given) != 1:
            raise ValueError("expected one of article, text and example")
        return self

    @property
    def subject(self) -> str:
        """What it is about, in a line."""
        return self.article or self.title or ("An example article" if self.example else "Untitled")


class SentFile(Body):
    """A file of an upload."""

    stored: Annotated[str, Field(pattern=r"^[0-9]{5}(\.[a-z0-9]{1,8}){0,2}$")]  # on the disk
    name: str  # as its sender calls it
    n_bytes: int


class VerifyFilesRequest(VerifyRequest):
    """An article with files of its sources; made by the server, which has put these aside."""

    upload: Id | None = None
    files: tuple[SentFile, ...] = ()


class ReadingBody(Body):
    """A reading that a person worded or kept."""

    text: Annotated[Line, Field(min_length=1)]
    kind: Literal["descriptive", "ascriptive", "normative"] | None = None
    negation: Line = ""


class CheckRequest(Body):
    """A statement and the knowledge base that it is checked against."""

    statement: Annotated[Line, Field(min_length=1)]
    corpus: Corpus
    readings: Annotated[tuple[ReadingBody, ...], Field(max_length=20)] | None = None
    only_readings: bool = False  # stop before anything is searched
    settings: Tuning = Tuning()

    @property
    def subject(self) -> str:
        """What it is about, in a line."""
        return self.statement


class AskRequest(Body):
    """A question and the corpus that answers it."""

    question: Annotated[Line, Field(min_length=1)]
    corpus: Corpus
    repair: bool | None = None
    settings: Tuning = Tuning()

    @property
    def subject(self) -> str:
        """What it is about, in a line."""
        return self.question


class IngestRequest(Body):
    """Files that were sent for a corpus; made by the server, which has put them aside."""

    corpus: Id
    upload: Id
    files: tuple[SentFile, ...]

    @property
    def subject(self) -> str:
        """What it is about, in a line."""
        first = self.files[0].name
        return first if len(self.files) == 1 else f"{first} and {len(self.files) - 1} more"


Request = VerifyRequest | CheckRequest | AskRequest
KINDS: dict[Kind, type[Request]] = {  # of what is stored
    "verify": VerifyFilesRequest,
    "check": CheckRequest,
    "ask": AskRequest,
}
