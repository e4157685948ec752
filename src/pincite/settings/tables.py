"""The tables of the settings: models, searching, `verify`, `check`, `ask`, servers, the web.

Each record is a table of the file; a field is a setting with its default, and its type holds its
range. What EvidenceSeeker can set about `check` can be set here too, under its names where they say
what is meant; docs/check.md has the table of both. Nothing here reaches a private address.
"""

import difflib
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pincite.errors import ConfigError
from pincite.judgement import aggregation
from pincite.judgement.confirmation import THRESHOLD, StatementType
from pincite.judgement.references import CONTRADICTED_FROM, SUPPORTED_FROM
from pincite.llm import chat
from pincite.llm.calls import Budget
from pincite.llm.chat import Dialect, GuidanceKind
from pincite.llm.client import checked_url
from pincite.llm.replies import are_labels
from pincite.llm.templates import VARIABLES
from pincite.models import weights
from pincite.retrieval import cascade
from pincite.retrieval.filters import Filters, condition
from pincite.retrieval.fusion import DENSE_SHARE, JUDGED, Mode
from pincite.settings.values import Range, Share
from pincite.text.hosts import WIKIPEDIA_AND_MIRRORS, host_of
from pincite.web.addresses import PORTS, WAYBACK_API, WAYBACK_PAUSE, WebRules

_UpTo10k = Annotated[int, Range(1, 10_000)]


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

    depth: _UpTo10k = 100  # passages from each of the two retrievers; SIDE: 100 and 100
    fusion: Mode = "weighted"  # how their rankings become one
    # Of meaning, with "weighted": 0 is by words alone, 1 by meaning alone.
    dense_share: Annotated[float, Range(0, 1)] = DENSE_SHARE
    judged: _UpTo10k = JUDGED  # of them together, the best that the verifier reads
    read: _UpTo10k = cascade.READ  # passages of a cited page that it reads, chosen by shared words


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

    k: _UpTo10k = 3  # suggestions for a claim
    per_page: Annotated[int, Range(0, 10_000, zero="no limit")] = 0  # candidates from one page
    threshold: Share = aggregation.THRESHOLD  # probability of support that counts as supported
    # Claims that better sources are sought for: those whose own fail them, or as SIDE does all.
    suggest: Literal["failing", "all"] = "failing"
    uncited: bool = False  # whether sentences that need a citation and have none are looked for
    wiki: str = ""  # base address of the wiki that titles belong to; empty: Wikipedia in `language`
    # Of articles from a wiki: its wikitext, or its HTML with templates expanded.
    article_markup: Literal["wikitext", "html"] = "wikitext"


Probabilities = Literal["logprobs", "estimate"]
_UpTo1k = Annotated[int, Range(1, 1000)]


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """`[check]`: how a statement is read, searched for and judged."""

    interpretation: Literal["rules", "model"] = "rules"  # who finds the readings of a statement
    # Who judges what a passage says about one.
    confirmation: Literal["verifier", "model"] = "verifier"
    # "words": BM25 alone; "windows": EvidenceSeeker's, by meaning, around sentences.
    retrieval: Literal["hybrid", "words", "windows"] = "hybrid"
    top_k: _UpTo1k = 8  # texts for a reading
    passage_words: _UpTo1k = 170  # of a text that is judged, around what was found: as in training
    window_size: Annotated[int, Range(0)] = 3  # sentences on either side, for retrieval "windows"
    ignore_statement_types: tuple[str, ...] = ("normative",)  # listed, not judged
    threshold: Annotated[float, Range(0, 1, "[)")] = THRESHOLD  # of |DOC|: not above it is silent
    count_copies: bool = False  # whether copies and overlapping windows count each
    probabilities: Probabilities = "logprobs"  # of a model's choice; "estimate": from repetitions
    repetitions: _UpTo1k = 1  # of the multiple choice
    guidance: GuidanceKind = "json"  # how a model is kept to an answer
    answer_labels: tuple[str, ...] = ("A", "B", "C")  # of the options: letters or digits
    label_delimiter: str = "."  # between a label and its option
    passage_source: bool = True  # a model also reads title, author and year of a passage
    top_logprobs: _UpTo1k = 5  # alternatives that the server is asked for
    template: str = ""  # of --markdown and of the result log; empty: the one that is shipped
    translation: tuple[str, ...] = ()  # "confirmed=bestätigt": texts that the template may name

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        _ = self.ignored_types
        _ = self.texts
        if not are_labels(self.answer_labels):
            raise ConfigError(
                f"check.answer_labels are {', '.join(self.answer_labels)}; expected three or more "
                "different single letters or digits."
            )

    @property
    def asks_a_model(self) -> bool:
        """Whether a language model's server is needed."""
        return "model" in (self.interpretation, self.confirmation)

    @property
    def texts(self) -> dict[str, str]:
        """The texts that a template may name."""
        pairs = [text.partition("=") for text in self.translation]
        for name, sign, _ in pairs:
            if not (name.strip() and sign):
                raise ConfigError(f"check.translation has {name!r}; expected NAME=TEXT.")
        return {name.strip(): text.strip() for name, _, text in pairs}

    @property
    def template_file(self) -> Path | None:
        """The template; None: the one that is shipped."""
        return Path(self.template).expanduser() if self.template else None

    @property
    def ignored_types(self) -> frozenset[StatementType]:
        """The types of readings that are listed and not judged."""
        known = [str(kind) for kind in StatementType]
        for name in self.ignore_statement_types:
            if name and name not in known:
                raise ConfigError(
                    f"check.ignore_statement_types has {name!r}; expected of: {', '.join(known)}."
                )
        return frozenset(StatementType(name) for name in self.ignore_statement_types if name)


@dataclass(frozen=True, slots=True)
class ClaimReviewSettings:
    """`[claimreview]`: who publishes the reviews of `check --claimreview`."""

    author: str = ""
    author_url: str = ""  # the author's site
    url: str = ""  # where the page of --html will be published

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        for name, given in (("author_url", self.author_url), ("url", self.url)):
            if given and not _is_web_address(given):
                raise ConfigError(
                    f"claimreview.{name} is {given!r}; expected an http:// or https:// address."
                )


def _is_web_address(url: str) -> bool:
    """Whether a browser could open it; host and scheme, and nothing that no address holds."""
    web = url.lower().startswith(("http://", "https://"))
    return web and bool(host_of(url)) and not re.search(r"[\s<>\"\\\x00-\x1f]", url)


WrittenBy = Literal["extract", "model"]
Uncited = Literal["label", "neighbour"]
_UpTo1M = Annotated[int, Range(1, 1_000_000)]

# Log-odds of the best document below which nothing relevant was found. Of 150 PubMedQA questions
# 92 % have their own paper above it, and 7 % the likest other one. (Of 100 with the first round's
# network, at 1.0: 97 answered with their paper in the corpus, 27 without.) See research.
LEAST_RELEVANCE = 0.6
LEAST_ANSWER = -2.0  # below it few sentences answer: chosen on half of the labelled sentences


@dataclass(frozen=True, slots=True)
class AskSettings:
    """`[ask]`: which papers an answer is written from, by whom, and what of it stays."""

    answer: WrittenBy = "extract"  # who writes it: sentences of the sources, or a model
    documents: _UpTo1M = 10  # that it is written from (Verif.ai: 10)
    sentences: _UpTo1M = 5  # of an extracted answer, at most
    rerank: bool = True  # whether the verifier's network reads what the search found
    exact_first: bool = True  # quoted phrases and all words of a question before likeness
    least_relevance: float = LEAST_RELEVANCE  # log-odds of the best document; below: no answer
    least_answer: float = LEAST_ANSWER  # log-odds that a sentence answers it; below: not quoted
    include_retracted: bool = False  # whether retracted papers are read, and marked as such
    supported_from: Share = SUPPORTED_FROM  # probability from which a reference supports
    contradicted_from: Share = CONTRADICTED_FROM
    uncited: Uncited = "label"  # sentences without a reference; "neighbour": Verif.ai's rule
    repair: bool = False  # whether what is not supported is rewritten or struck out
    prompt_tokens: _UpTo1M = 6000  # of a prompt for a model, all in all
    answer_tokens: _UpTo1M = 1000  # of its answer (Verif.ai: 1000)
    summaries: bool = False  # whether a model condenses each passage first: a call for each


MOST_TOKENS = 100_000  # of one reply; more is a slip of the keyboard
_Limit = Annotated[int, Range(0, zero="no limit")]
_Price = Annotated[float, Range(0)]


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """`[chat]`: an OpenAI-compatible server, for whatever a model is to do."""

    url: str = ""  # of the server, up to /v1
    model: str = ""  # as that server calls it
    dialect: Dialect = "openai"  # the kind of server
    at_once: Annotated[int, Range(1, 1000)] = 16  # requests under way
    seconds: Annotated[float, Range(0, ends="(]")] = 260.0  # for one whole reply
    temperature: Annotated[float, Range(0)] = 0.2  # of all steps
    prompts: str = ""  # folder of prompts that replace the shipped ones of the same name
    prompt_language: Literal["en", "de"] = "en"  # of the shipped prompts
    step_models: tuple[str, ...] = ()  # "negate_claim=qwen3": steps with another model
    step_tokens: tuple[str, ...] = ()  # "negate_claim=300": steps with another limit of the reply

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.url:
            checked_url(self.url, "chat.url", chat.KEY_VARIABLE)
        _ = self.models_of_steps
        _ = self.tokens_of_steps

    @property
    def models_of_steps(self) -> dict[str, str]:
        """The models of the steps that have one of their own."""
        return _by_step("step_models", self.step_models, "model")

    @property
    def tokens_of_steps(self) -> dict[str, int]:
        """Most tokens of a reply, of the steps that have a limit of their own."""
        given = _by_step("step_tokens", self.step_tokens, "tokens")
        for step, tokens in given.items():
            if not (tokens.isascii() and tokens.isdigit() and 1 <= int(tokens) <= MOST_TOKENS):
                raise ConfigError(
                    f"chat.step_tokens has {tokens!r} for {step}; expected 1 to {MOST_TOKENS:,}."
                )
        return {step: int(tokens) for step, tokens in given.items()}


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """`[judge]`: a language model's second opinion on what our verifier found."""

    url: str = ""  # of an OpenAI-compatible server, up to /v1; empty: none is asked
    model: str = ""  # as that server calls it
    dialect: Dialect = "openai"  # the kind of server
    every: bool = False  # whether it is asked of all claims, not only where we are unsure
    # Unsure: our probability of support lies between these. Beyond them a verdict that adds as
    # much as a good model's does (`judgement.fusion`) would not change ours at the threshold 0.3.
    low: Annotated[float, Range(0, 1)] = 0.1
    high: Annotated[float, Range(0, 1)] = 0.7
    source_tokens: Annotated[int, Range(200, 1_000_000)] = 6000  # of the sources in a prompt
    guided: bool = True  # whether the server is to keep replies to their JSON Schema
    at_once: Annotated[int, Range(1, 1000)] = 4  # requests under way
    seconds: Annotated[float, Range(0, ends="(]")] = 260.0  # for one whole reply

    @property
    def band(self) -> tuple[float, float]:
        """Our probabilities of support in which it is asked."""
        return self.low, self.high

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.url:
            checked_url(self.url, "judge.url", chat.JUDGE_KEY_VARIABLE)
        if self.url and not self.model:
            raise ConfigError("judge.url is set; expected judge.model too.")
        if self.low > self.high:
            raise ConfigError(f"judge.low is {self.low}; expected at most judge.high, {self.high}.")


@dataclass(frozen=True, slots=True)
class EmbeddingsSettings:
    """`[embeddings]`: how a server is asked for vectors, where an encoder is given as NAME@URL."""

    # What some models want before each text: of E5, "query: " and "passage: ".
    query_prefix: str = ""
    passage_prefix: str = ""
    batch: Annotated[int, Range(1, 2048)] = 32  # texts of a request; TEI takes 32 unless told more
    at_once: Annotated[int, Range(1, 1000)] = 4  # requests under way
    seconds: Annotated[float, Range(0, ends="(]")] = 260.0  # for one whole reply


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """`[budget]`: what a run may ask of the server."""

    max_calls: _Limit = 0
    max_tokens: _Limit = 0  # prompts and replies together
    max_cost: Annotated[float, Range(0, zero="no limit")] = 0.0  # in the currency of the prices
    price_prompt: _Price = 0.0  # for a million tokens
    price_reply: _Price = 0.0

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if self.max_cost and not (self.price_prompt or self.price_reply):
            raise ConfigError(
                "budget.max_cost is set; expected price_prompt or price_reply too, for a million "
                "tokens."
            )

    @property
    def limits(self) -> Budget:
        """As the calls of a run take them."""
        return Budget(
            self.max_calls, self.max_tokens, self.max_cost, self.price_prompt, self.price_reply
        )


def _by_step(setting: str, texts: tuple[str, ...], what: str) -> dict[str, str]:
    """What each text says of a step, as "step=value"."""
    pairs = [text.partition("=") for text in texts]
    for step, _, value in pairs:
        if step.strip() not in VARIABLES or not value.strip():
            close = difflib.get_close_matches(step.strip(), VARIABLES, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(
                f"chat.{setting} has {step!r}; expected step={what}, with a step of: "
                f"{', '.join(VARIABLES)}.{hint}"
            )
    return {step.strip(): value.strip() for step, _, value in pairs}


_DEFAULT = WebRules()


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`[web]`: what may be fetched, and how."""

    online: bool = False  # whether anything may be fetched from the web
    contact: str = ""  # e-mail or web address that hosts are told, in the User-Agent
    ports: tuple[str, ...] = tuple(map(str, PORTS))
    proxies: bool = False  # whether HTTP_PROXY, HTTPS_PROXY and NO_PROXY are heeded
    # Seconds between two requests to one host, and how many hosts are asked at the same time.
    pause: Annotated[float, Range(0, 3600)] = _DEFAULT.pause
    at_once: Annotated[int, Range(1, 256)] = _DEFAULT.at_once
    seconds: Annotated[float, Range(1, 3600)] = _DEFAULT.seconds  # for one page
    megabytes: Annotated[float, Range(0.1, 1000)] = _DEFAULT.body_bytes / 1e6  # of it, unpacked
    cache: str = ""  # file of fetched pages; empty: in the user's cache folder
    cache_days: Annotated[float, Range(0, 36500)] = _DEFAULT.keep_days
    search_url: str = ""  # a SearXNG that may be sent claims, to find sources; needs online
    search_results: Annotated[int, Range(1, 20)] = 5  # pages fetched of what it finds for a claim
    wayback: bool = False  # whether the Wayback Machine may be asked for copies; needs online
    wayback_api: str = WAYBACK_API  # its availability service
    wayback_pause: Annotated[float, Range(0, 30)] = WAYBACK_PAUSE  # seconds between two questions

    def __post_init__(self) -> None:
        """Refuse values that mean nothing."""
        if not host_of(self.wayback_api) or "?" in self.wayback_api:
            given = self.wayback_api
            raise ConfigError(
                f"web.wayback_api is {given!r}; expected an address like {WAYBACK_API}"
            )
        for port in self.ports:
            if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
                raise ConfigError(f"web.ports has {port!r}; expected 1 to 65535.")

    @property
    def rules(self) -> WebRules:
        """The limits and manners of the fetcher."""
        return WebRules(
            online=self.online,
            contact=self.contact,
            ports=tuple(map(int, self.ports)),
            environment_proxies=self.proxies,
            pause=self.pause,
            at_once=self.at_once,
            seconds=self.seconds,
            body_bytes=int(self.megabytes * 1e6),
            keep_days=self.cache_days,
        )

    @property
    def cache_file(self) -> Path:
        """Where fetched pages are kept."""
        if self.cache:
            return Path(self.cache).expanduser()
        return weights.cache_folder().parent / "web.sqlite"
