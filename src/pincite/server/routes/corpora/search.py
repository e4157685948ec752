"""`/api/v1/corpora/…/search`: passages for a question or a statement, best first."""

from typing import Annotated

from fastapi import Query
from pydantic import BaseModel, Field, StringConstraints

from pincite.corpus.protocol import Way
from pincite.retrieval.filters import Filters, condition
from pincite.server.library.register import CorpusEntry
from pincite.server.people.identity import Reader
from pincite.server.problems import Problem, ProblemBody
from pincite.server.requests import Body, IsoDate
from pincite.server.routes.corpora.corpora import opened, readable
from pincite.server.routing import Router
from pincite.server.site import Site, Stores
from pincite.server.texts import whole
from pincite.types import Hit

router = Router(
    prefix="/api/v1/corpora/{corpus_id}",
    tags=["corpora"],
    responses={n: {"model": ProblemBody} for n in (400, 401, 403, 404, 409, 421, 422, 503)},
)
Question = Annotated[str, StringConstraints(min_length=1, max_length=2_000)]
Value = Annotated[str, StringConstraints(max_length=300)]
Values = Annotated[tuple[Value, ...], Field(max_length=20)]


class SearchQuery(Body):
    """What is searched for, and among which documents."""

    q: Question
    by: Way | None = None  # None: hybrid, if it can be
    k: Annotated[int, Field(ge=1, le=100)] = 10
    published_from: IsoDate = ""
    published_to: IsoDate = ""
    undated: bool = False
    domain: Values = ()
    language: Values = ()
    kind: Values = ()
    where: Values = ()  # "section == news", as --where has it

    @property
    def filters(self) -> Filters:
        """As the retrievers take them; raises ConfigError for a date or condition that is none."""
        return Filters(
            published_from=self.published_from,
            published_to=self.published_to,
            undated=self.undated,
            domains=self.domain,
            languages=self.language,
            kinds=self.kind,
            where=tuple(map(condition, self.where)),
        )


class HitBody(BaseModel):
    """A passage that was found."""

    rank: int
    score: float  # only comparable within one answer
    passage_id: str
    doc_id: str
    url: str
    title: str
    about: str  # title, author, site and year, as far as they are known
    start: int
    end: int
    text: str


class SearchResult(BaseModel):
    """What was found, and how it was searched."""

    query: str
    by: Way
    hits: list[HitBody]
    notes: list[str]  # what a reader should know: pages without a date were left out, …


@router.get("/search", operation_id="search_corpus")
def search_corpus(
    corpus_id: str, asked: Annotated[SearchQuery, Query()], who: Reader, site: Stores
) -> SearchResult:
    """By words (lexical), by meaning (dense), or both ranked together (hybrid)."""
    return searched(site, readable(site, corpus_id, who), asked)


def searched(site: Site, entry: CorpusEntry, asked: SearchQuery) -> SearchResult:
    """The best passages of a corpus; also for the pages.

    Raises:
        Problem: 409, it was to be searched by meaning, and cannot be.
    """
    notes, filters = [], asked.filters
    if filters.leaves_out_undated:
        notes.append("Documents without a known date are left out.")
    with opened(site, entry) as shelf:
        if shelf is None:
            return SearchResult(query=asked.q, by="lexical", hits=[], notes=["It is empty."])
        if shelf.no_meaning and asked.by in ("hybrid", "dense"):
            raise Problem(409, "no_meaning", shelf.no_meaning)
        if shelf.no_meaning:
            notes.append(f"Searched by words only. {shelf.no_meaning}")
        by = asked.by or ("lexical" if shelf.no_meaning else "hybrid")
        chosen = (site.settings.filters.exclude_hosts, filters)
        search = shelf.corpus.by(by, *chosen, site.settings.retrieval.fusion)
        (hits,) = search.retrieve([asked.q], asked.k)
    return SearchResult(query=asked.q, by=by, hits=list(map(_body, hits)), notes=notes)


def _body(hit: Hit) -> HitBody:
    passage = hit.passage
    return HitBody(
        rank=hit.rank,
        score=hit.score,
        passage_id=passage.passage_id,
        doc_id=passage.doc_id,
        url=whole(passage.url),
        title=whole(passage.title),
        about=whole(passage.about),
        start=passage.span.start,
        end=passage.span.end,
        text=whole(passage.text),
    )
