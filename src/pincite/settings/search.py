"""What a user can set about models and searching, which all verbs do, and about `verify`."""

from dataclasses import dataclass
from typing import Annotated, Literal

from pincite.judgement import aggregation
from pincite.llm import chat
from pincite.llm.client import checked_url
from pincite.models import weights
from pincite.retrieval import cascade
from pincite.retrieval.filters import Filters, condition
from pincite.retrieval.fusion import DENSE_SHARE, JUDGED, Mode
from pincite.settings.values import Range, Share
from pincite.text.hosts import WIKIPEDIA_AND_MIRRORS

_Count = Annotated[int, Range(1, 10_000)]


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """`[models]`: the shipped networks or others, each by name, folder or Hugging Face id.

    Either may also run on a server, as NAME@URL: any encoder that it has, and Bespoke-MiniCheck.
    """

    encoder: str = weights.ENCODER
    encoders: tuple[str, ...] = ()  # others that corpora to be searched were built with
    verifier: str = weights.VERIFIER
    threads: Annotated[int, Range(0, 1024, zero="all cores")] = 0

    def __post_init__(self) -> None:
        """Refuse addresses that mean nothing."""
        for name in (self.encoder, *self.encoders):
            if found := weights.served(name):
                checked_url(found.url, "models.encoder", chat.EMBEDDINGS_KEY_VARIABLE)


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """`[retrieval]`: how a corpus is searched, and how much of what is found is read."""

    depth: _Count = 100  # passages from each of the two retrievers; SIDE: 100 and 100
    fusion: Mode = "weighted"  # how their rankings become one
    # Of meaning, with "weighted": 0 is by words alone, 1 by meaning alone.
    dense_share: Annotated[float, Range(0, 1)] = DENSE_SHARE
    judged: _Count = JUDGED  # of them together, the best that the verifier reads
    read: _Count = cascade.READ  # passages of a cited page that it reads, chosen by shared words


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """`[filters]`: which documents of a corpus may be found."""

    exclude_hosts: tuple[str, ...] = ()  # never found, nor what is below them
    published_from: str = ""  # "2019", "2019-05", "2019-05-14"; inclusive
    published_to: str = ""
    undated: bool = False  # whether a date filter lets through what has no date
    domains: tuple[str, ...] = ()  # only these hosts and what is below them
    languages: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()  # html, pdf, text, markdown, jsonl, tsv
    where: tuple[str, ...] = ()  # conditions on metadata: "section == news", "pages < 90"

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        _ = self.chosen

    @property
    def excluded(self) -> tuple[str, ...]:
        """Every host that no suggestion may come from: Wikipedia and its mirrors too."""
        return (*WIKIPEDIA_AND_MIRRORS, *self.exclude_hosts)

    @property
    def chosen(self) -> Filters:
        """All but the excluded hosts."""
        return Filters(
            published_from=self.published_from,
            published_to=self.published_to,
            undated=self.undated,
            domains=self.domains,
            languages=self.languages,
            kinds=self.kinds,
            where=tuple(map(condition, self.where)),
        )


@dataclass(frozen=True, slots=True)
class VerifySettings:
    """`[verify]`: articles, verdicts on their claims, and suggestions of better sources."""

    k: _Count = 3  # suggestions for a claim
    per_page: Annotated[int, Range(0, 10_000, zero="no limit")] = 0  # candidates from one page
    threshold: Share = aggregation.THRESHOLD  # probability of support that counts as supported
    # Claims that better sources are sought for: those whose own fail them, or as SIDE does all.
    suggest: Literal["failing", "all"] = "failing"
    uncited: bool = False  # whether sentences that need a citation and have none are looked for
    readout: aggregation.Readout = "parts"  # how a page is scored: its parts too, or SIDE's "max"
    wiki: str = ""  # base address of the wiki that titles belong to; empty: Wikipedia in `language`
    # Of articles from a wiki: its wikitext, or its HTML with templates expanded.
    article_markup: Literal["wikitext", "html"] = "wikitext"
