"""Every setting by topic: name, type, range, help and default.

`pincite.settings.schema` documents where settings can be set and their precedence. Each class below
is a table of the settings file. All options of EvidenceSeeker that affect `check` have a setting
here, with the same name if that is clear; docs/check.md has the table of both.
"""

import difflib
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Annotated, Any, Literal

from pincite.errors import ConfigError, FetchError
from pincite.judgement.decide import LEAST_DEGREE, REFERENCE_SUPPORTS_FROM
from pincite.judgement.decide import THRESHOLD as SUPPORTED
from pincite.llm import chat
from pincite.llm.calls import Budget
from pincite.llm.chat import Dialect, GuidanceKind, check_guidance
from pincite.llm.client import (
    EMBEDDINGS_KEY_VARIABLE,
    JUDGE_KEY_VARIABLE,
    KEY_VARIABLE,
    check_url,
)
from pincite.llm.templates import VARIABLES, are_labels
from pincite.models import weights
from pincite.models.weights import ENCODER, VERIFIER
from pincite.retrieval import cascade
from pincite.retrieval.filters import Filters, condition
from pincite.retrieval.fusion import DENSE_SHARE, JUDGED, Mode
from pincite.settings import schema
from pincite.settings.schema import PATH, Range, Share
from pincite.text.hosts import host_of
from pincite.types import StatementType
from pincite.web.addresses import PORTS, WAYBACK_API, WAYBACK_PAUSE, WebRules, private_host

# Personal addresses and local paths: never in a report, which others may read.
PRIVATE = frozenset(
    "web.contact web.cache web.private_hosts web.ca_file library.own_copies library.judges "
    "library.corpora check.template results.folder".split()
)
# How pages are requested, not which copies count. The age limit of cached pages is included: it
# does not apply to finished reports.
POLITENESS = frozenset({"web.pause", "web.at_once", "web.cache_days", "web.wayback_pause"})

Probabilities = Literal["logprobs", "estimate"]
Interpreter = Literal["rules", "model"]
Judge = Literal["verifier", "model"]
Finder = Literal["hybrid", "words", "windows"]
Period = Literal["", "daily", "weekly", "monthly", "yearly"]
Texts = tuple[str, ...]
_Thousand = Range(1, 1000)
_TenThousand = Range(1, 10_000)
_Million = Range(1, 1_000_000)
_Unit = Range(0, 1)
_NoLimit = Range(0, zero="no limit")
_Seconds = Range(0, ends="(]")
_REPLY = "Seconds to wait for one reply."
_AT_ONCE = "Requests at the same time."

# Log-odds of the best document below which nothing relevant was found. Of 150 PubMedQA questions,
# 92 % have their own paper above it, and 7 % the likeliest other one. (With an earlier network, at
# 1.0, of 100: 97 answered with their paper in the corpus, 27 without.) See research.
LEAST_RELEVANCE = 0.6
LEAST_ANSWER = -2.0  # few sentences below it answer; chosen on half of the labelled sentences
MOST_TOKENS = 100_000  # of one reply; more is a typing error
_RULES = WebRules()


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """`[models]`: the shipped networks or others.

    A name, a folder or a Hugging Face id; or NAME@URL for a model on a server: any encoder, and
    the chat models that `models.public` describes as verifiers.
    """

    encoder: Annotated[str, "Encoder: name, folder, Hugging Face id, or NAME@URL."] = ENCODER
    encoders: Annotated[Texts, "Other encoders that corpora were built with."] = ()
    verifier: Annotated[str, "Verifier: name, folder, Hugging Face id, or NAME@URL."] = VERIFIER
    threads: Annotated[int, Range(0, 1024, zero="all cores"), "Threads; 0: all cores."] = 0

    def __post_init__(self) -> None:
        for name in (self.encoder, *self.encoders):
            if server := weights.server_of(name):
                check_url(server.url, "models.encoder", EMBEDDINGS_KEY_VARIABLE)


@dataclass(frozen=True, slots=True)
class EmbeddingsSettings:
    """`[embeddings]`: requests to a server for vectors, if the encoder is NAME@URL."""

    query_prefix: Annotated[str, 'Put before each query; E5 wants "query: ".'] = ""
    passage_prefix: Annotated[str, 'Put before each passage; E5 wants "passage: ".'] = ""
    # TEI takes 32 texts unless its operator allows more.
    batch: Annotated[int, Range(1, 2048), "Texts in one request."] = 32
    at_once: Annotated[int, _Thousand, _AT_ONCE] = 4
    seconds: Annotated[float, _Seconds, _REPLY] = 260.0


@dataclass(frozen=True, slots=True)
class RetrievalSettings:
    """`[retrieval]`: how a corpus is searched, and how much of what is found is read."""

    depth: Annotated[int, _TenThousand, "Passages to take from each retriever."] = 100  # as SIDE
    fusion: Annotated[Mode, "How to combine the rankings by words and by meaning."] = "weighted"
    dense_share: Annotated[float, _Unit, "Balance: keywords (0) to meaning (1)."] = DENSE_SHARE
    judged: Annotated[int, _TenThousand, "Best passages to judge."] = JUDGED
    read: Annotated[
        int, _TenThousand, "Passages of a page to judge beside its covering sentences."
    ] = cascade.READ


@dataclass(frozen=True, slots=True)
class FilterSettings:
    """`[filters]`: which documents of a corpus may be found."""

    exclude_hosts: Annotated[Texts, "Exclude this site and its subdomains."] = ()
    published_from: Annotated[str, "Published on or after: 2019, 2019-05 or 2019-05-14."] = ""
    published_to: Annotated[str, "Published on or before this date."] = ""
    undated: Annotated[bool, "With a date filter, include documents without a date."] = False
    domains: Annotated[Texts, "Only this site and its subdomains."] = ()
    languages: Annotated[Texts, "Only documents in this language: en, de, …"] = ()
    kinds: Annotated[Texts, "Only files of this kind: html, pdf, docx, text, jsonl, pubmed, …"] = ()
    where: Annotated[Texts, "Condition on metadata: 'section in news, sport', 'pages < 90'."] = ()

    def __post_init__(self) -> None:
        _ = self.chosen

    @property
    def chosen(self) -> Filters:
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

    k: Annotated[int, _TenThousand, "Sources to suggest per claim."] = 3
    threshold: Annotated[Share, "Minimum probability for “supported”."] = SUPPORTED
    suggest: Annotated[Literal["failing", "all"], "Which claims get suggestions."] = "failing"
    uncited: Annotated[bool, "Also find sentences that lack a citation."] = False
    wiki: Annotated[str, "Wiki on which to look up titles; empty: Wikipedia."] = ""


@dataclass(frozen=True, slots=True)
class CheckSettings:
    """`[check]`: how a statement is read, searched for and judged."""

    interpretation: Annotated[Interpreter, "What finds the readings of a statement."] = "rules"
    confirmation: Annotated[Judge, "What judges a passage on a reading."] = "verifier"
    retrieval: Annotated[Finder, "How to search; windows is EvidenceSeeker's way."] = "hybrid"
    top_k: Annotated[int, _Thousand, "Passages to judge for each reading."] = 8
    # As in the verifier's training data.
    passage_words: Annotated[int, _Thousand, "Words in each passage to judge."] = 170
    window_size: Annotated[int, Range(0), "With windows: sentences on either side."] = 3
    ignore_statement_types: Annotated[Texts, "Types of readings not to judge."] = ("normative",)
    threshold: Annotated[float, Range(0, 1, "[)"), "Ignore evidence weaker than this, 0 to 1."] = (
        LEAST_DEGREE
    )
    count_copies: Annotated[bool, "Count copies and overlapping windows separately."] = False
    probabilities: Annotated[Probabilities, "Source of a model's probabilities."] = "logprobs"
    repetitions: Annotated[int, _Thousand, "Repetitions of the multiple-choice question."] = 1
    guidance: Annotated[GuidanceKind, "How a model is held to the answer format."] = "json"
    schema_for_lists: Annotated[bool, "With prompted: send a schema for other replies still."] = (
        False
    )
    answer_labels: Annotated[Texts, "Letters or digits that label the answers."] = ("A", "B", "C")
    label_delimiter: Annotated[str, "Text between a label and its answer."] = "."
    passage_source: Annotated[bool, "Show the model each passage's title, author and year."] = True
    top_logprobs: Annotated[int, _Thousand, "Alternatives requested for each token."] = 5
    template: Annotated[str, PATH, "Template for --markdown and the result log."] = ""
    translation: Annotated[Texts, 'Texts for the template: "confirmed=bestätigt".'] = ()

    def __post_init__(self) -> None:
        _ = self.ignored_types
        _ = self.texts
        if not are_labels(self.answer_labels):
            raise ConfigError(
                f"check.answer_labels are {', '.join(self.answer_labels)}; expected three or more "
                "different single letters or digits."
            )

    @property
    def asks_a_model(self) -> bool:
        return "model" in (self.interpretation, self.confirmation)

    @property
    def texts(self) -> dict[str, str]:
        pairs = [text.partition("=") for text in self.translation]
        for name, sign, _ in pairs:
            if not (name.strip() and sign):
                raise ConfigError(f"check.translation has {name!r}; expected NAME=TEXT.")
        return {name.strip(): text.strip() for name, _, text in pairs}

    @property
    def template_file(self) -> Path | None:
        return Path(self.template).expanduser() if self.template else None

    @property
    def ignored_types(self) -> frozenset[StatementType]:
        """The types of readings that are listed but not judged."""
        known = [str(kind) for kind in StatementType]
        for name in self.ignore_statement_types:
            if name and name not in known:
                raise ConfigError(
                    f"check.ignore_statement_types has {name!r}; known: {', '.join(known)}."
                )
        return frozenset(StatementType(name) for name in self.ignore_statement_types if name)


@dataclass(frozen=True, slots=True)
class ClaimReviewSettings:
    """`[claimreview]`: who publishes the reviews of `check --claimreview`."""

    author: Annotated[str, "Name of the publisher."] = ""
    author_url: Annotated[str, "The publisher's site."] = ""
    url: Annotated[str, "Where the page of --html will be published."] = ""

    def __post_init__(self) -> None:
        for name, given in (("author_url", self.author_url), ("url", self.url)):
            web = given.lower().startswith(("http://", "https://")) and host_of(given)
            if given and (not web or re.search(r"[\s<>\"\\\x00-\x1f]", given)):
                raise ConfigError(
                    f"claimreview.{name} is {given!r}; expected an http:// or https:// address."
                )


@dataclass(frozen=True, slots=True)
class AskSettings:
    """`[ask]`: which papers an answer is written from, by whom, and what of it stays."""

    answer: Annotated[Literal["extract", "model"], "Quote sentences, or have a model write."] = (
        "extract"
    )
    documents: Annotated[int, _Million, "Number of papers to answer from."] = 10  # as Verif.ai
    sentences: Annotated[int, _Million, "Maximum sentences in an answer without a model."] = 4
    rerank: Annotated[bool, "Let the verifier rerank the search results."] = True
    exact_first: Annotated[bool, "Rank quoted phrases and exact matches first."] = True
    least_relevance: Annotated[float, "Minimum log-odds of the best document."] = LEAST_RELEVANCE
    least_answer: Annotated[float, "Minimum log-odds of a quoted sentence."] = LEAST_ANSWER
    include_retracted: Annotated[bool, "Use retracted papers too, marked as such."] = False
    supported_from: Annotated[Share, "Minimum probability for “supported”."] = (
        REFERENCE_SUPPORTS_FROM
    )
    uncited: Annotated[
        Literal["label", "neighbour"],
        "Sentences without a reference: label them, or use the neighbour's, as Verif.ai does.",
    ] = "label"
    repair: Annotated[bool, "Rewrite or remove unsupported sentences."] = False
    prompt_tokens: Annotated[int, _Million, "Longest prompt, in tokens."] = 6000
    answer_tokens: Annotated[int, _Million, "Longest answer, in tokens."] = 1000  # as Verif.ai


@dataclass(frozen=True, slots=True)
class ChatSettings:
    """`[chat]`: an OpenAI-compatible server that interprets, confirms and writes."""

    url: Annotated[str, "Address of the model's server, up to /v1."] = ""
    model: Annotated[str, "Name of the model on that server."] = ""
    dialect: Annotated[Dialect, "Kind of server."] = "openai"
    at_once: Annotated[int, _Thousand, _AT_ONCE] = 16
    seconds: Annotated[float, _Seconds, _REPLY] = 260.0
    temperature: Annotated[float, Range(0), "Temperature of every step without its own."] = 0.2
    repetition_penalty: Annotated[float, Range(0), "For repeated tokens; 0: not sent."] = 0.0
    prompts: Annotated[str, PATH, "Folder of prompts that replace shipped ones by name."] = ""
    prompt_language: Annotated[Literal["en", "de"], "Language of the shipped prompts."] = "en"
    step_models: Annotated[Texts, "Other models for steps: negate_claim=MODEL or MODEL@URL."] = ()
    step_tokens: Annotated[Texts, 'Maximum reply tokens of steps: "negate_claim=300".'] = ()
    step_temperatures: Annotated[Texts, 'Other temperatures: "negate_claim=0".'] = ()

    def __post_init__(self) -> None:
        if self.url:
            check_url(self.url, "chat.url", KEY_VARIABLE)
        for url, variable in self.servers.items():
            check_url(url, "chat.step_models", variable)
        _ = self.tokens_of_steps
        _ = self.temperatures_of_steps

    @property
    def models_of_steps(self) -> dict[str, str]:
        """The models of the steps that have a separate one, as NAME or NAME@URL."""
        return _by_step("step_models", self.step_models, "model")

    @property
    def servers(self) -> dict[str, str]:
        """The steps' own servers, by address, with the variables of their keys."""
        given = filter(None, map(weights.server_of, self.models_of_steps.values()))
        return {server.url: chat.key_variable(server.url, self.url) for server in given}

    @property
    def tokens_of_steps(self) -> dict[str, int]:
        """Most tokens of a reply, for the steps that have a separate limit."""
        given = _by_step("step_tokens", self.step_tokens, "tokens")
        for step, tokens in given.items():
            if not (tokens.isascii() and tokens.isdigit() and 1 <= int(tokens) <= MOST_TOKENS):
                raise ConfigError(
                    f"chat.step_tokens has {tokens!r} for {step}; expected 1 to {MOST_TOKENS:,}."
                )
        return {step: int(tokens) for step, tokens in given.items()}

    @property
    def temperatures_of_steps(self) -> dict[str, float]:
        given = _by_step("step_temperatures", self.step_temperatures, "temperature")
        for text in given.values():
            if not re.fullmatch(r"[0-9]{1,3}(?:\.[0-9]{1,9})?", text):
                raise ConfigError(
                    f"chat.step_temperatures has {text!r}; expected a number like 0.2."
                )
        return dict.fromkeys(VARIABLES, self.temperature) | {s: float(t) for s, t in given.items()}


def _by_step(setting: str, texts: Texts, kind: str) -> dict[str, str]:
    pairs = [text.partition("=") for text in texts]
    for step, _, value in pairs:
        if step.strip() not in VARIABLES or not value.strip():
            close = difflib.get_close_matches(step.strip(), VARIABLES, n=1)
            hint = f" Did you mean {close[0]!r}?" if close else ""
            raise ConfigError(
                f"chat.{setting} has {step!r}; expected step={kind}, with a step of: "
                f"{', '.join(VARIABLES)}.{hint}"
            )
    return {step.strip(): value.strip() for step, _, value in pairs}


@dataclass(frozen=True, slots=True)
class JudgeSettings:
    """`[judge]`: a language model's second opinion on the verifier's findings."""

    url: Annotated[str, "Ask this OpenAI-compatible server for a second opinion."] = ""
    model: Annotated[str, "Name of the model on that server."] = ""
    dialect: Annotated[Dialect, "Kind of server."] = "openai"
    every: Annotated[bool, "Ask about every claim, however many."] = False
    most: Annotated[int, _Thousand, "Claims of a run to ask about, the likeliest to change."] = 100
    source_tokens: Annotated[int, Range(200, 1_000_000), "Tokens of sources in a prompt."] = 6000
    guided: Annotated[bool, "Ask the server to enforce the JSON Schema of replies."] = True
    at_once: Annotated[int, _Thousand, _AT_ONCE] = 4
    seconds: Annotated[float, _Seconds, _REPLY] = 260.0

    @property
    def limit(self) -> int | None:
        """The most claims of a run to ask about; None: all."""
        return None if self.every else self.most

    def __post_init__(self) -> None:
        if self.url:
            check_url(self.url, "judge.url", JUDGE_KEY_VARIABLE)
        if self.url and not self.model:
            raise ConfigError("judge.url is set; expected judge.model too.")


@dataclass(frozen=True, slots=True)
class BudgetSettings:
    """`[budget]`: the most that a run may ask of language models; 0: no limit."""

    max_calls: Annotated[int, _NoLimit, "Maximum calls to a language model; 0: unlimited."] = 0
    max_tokens: Annotated[
        int, _NoLimit, "Maximum tokens of prompts plus replies; 0: unlimited."
    ] = 0
    max_cost: Annotated[float, _NoLimit, "Maximum cost at the configured prices; 0: unlimited."] = (
        0.0
    )
    price_prompt: Annotated[float, Range(0), "Price per million prompt tokens."] = 0.0
    price_reply: Annotated[float, Range(0), "Price per million reply tokens."] = 0.0

    def __post_init__(self) -> None:
        if self.max_cost and not (self.price_prompt or self.price_reply):
            raise ConfigError(
                "budget.max_cost is set; expected price_prompt or price_reply too, per million "
                "tokens."
            )

    @property
    def limits(self) -> Budget:
        return Budget(
            self.max_calls, self.max_tokens, self.max_cost, self.price_prompt, self.price_reply
        )


@dataclass(frozen=True, slots=True)
class WebSettings:
    """`[web]`: what may be fetched, and how."""

    online: Annotated[bool, "Allow fetching from the web."] = False
    contact: Annotated[str, "Your e-mail or web address, sent to hosts in the User-Agent."] = ""
    ports: Annotated[Texts, "Ports that may be connected to."] = tuple(map(str, PORTS))
    private_hosts: Annotated[Texts, "Hosts of your own network to read: HOST or HOST:PORT."] = ()
    ca_file: Annotated[str, PATH, "PEM file of further certificates to trust."] = ""
    proxies: Annotated[bool, "Use HTTP_PROXY, HTTPS_PROXY and NO_PROXY."] = False
    pause: Annotated[float, Range(0, 3600), "Seconds between requests to a host."] = _RULES.pause
    at_once: Annotated[int, Range(1, 256), "Hosts to fetch from at the same time."] = _RULES.at_once
    seconds: Annotated[float, Range(1, 3600), "Seconds for one page."] = _RULES.seconds
    megabytes: Annotated[float, Range(0.1, 1000), "Largest page."] = _RULES.body_bytes / 1e6
    cache: Annotated[str, PATH, "File for fetched pages; empty: in the user's cache folder."] = ""
    cache_days: Annotated[float, Range(0, 36500), "Days to keep a page."] = _RULES.keep_days
    search_url: Annotated[str, "With --online: a SearXNG instance to find sources with."] = ""
    search_results: Annotated[int, Range(1, 20), "Search results to fetch per claim."] = 5
    wayback: Annotated[bool, "With --online: look for copies in the Wayback Machine."] = False
    wayback_api: Annotated[str, "Its availability service."] = WAYBACK_API
    wayback_pause: Annotated[float, Range(0, 30), "Seconds between requests."] = WAYBACK_PAUSE

    def __post_init__(self) -> None:
        if not host_of(self.wayback_api) or "?" in self.wayback_api:
            given = self.wayback_api
            raise ConfigError(
                f"web.wayback_api is {given!r}; expected an address like {WAYBACK_API}"
            )
        for port in self.ports:
            if not (port.isascii() and port.isdigit() and 0 < int(port) < 65536):
                raise ConfigError(f"web.ports has {port!r}; expected 1 to 65535.")
        for host in self.private_hosts:
            try:
                private_host(host)
            except (FetchError, ValueError) as error:
                raise ConfigError(
                    f"web.private_hosts has {host!r}; expected exact hosts, never a range: "
                    '"wiki.example.org" or "10.0.0.7:8080".'
                ) from error

    @property
    def rules(self) -> WebRules:
        return WebRules(
            online=self.online,
            contact=self.contact,
            ports=tuple(map(int, self.ports)),
            private_hosts=frozenset(map(private_host, self.private_hosts)),
            ca_file=self.ca_file,
            environment_proxies=self.proxies,
            pause=self.pause,
            at_once=self.at_once,
            seconds=self.seconds,
            body_bytes=int(self.megabytes * 1e6),
            keep_days=self.cache_days,
        )

    @property
    def cache_file(self) -> Path:
        if self.cache:
            return Path(self.cache).expanduser()
        return weights.cache_folder().parent / "web.sqlite"


@dataclass(frozen=True, slots=True)
class ReferencesSettings:
    """`[references]`: services asked about references with --online; empty: not asked."""

    crossref: Annotated[str, "Crossref's REST API."] = "https://api.crossref.org"
    datacite: Annotated[str, "DataCite's REST API."] = "https://api.datacite.org"
    openalex: Annotated[str, "OpenAlex's API."] = "https://api.openalex.org"
    pubmed: Annotated[str, "PubMed's E-utilities."] = (
        "https://eutils.ncbi.nlm.nih.gov/entrez/eutils"
    )
    open_library: Annotated[str, "Open Library."] = "https://openlibrary.org"

    def __post_init__(self) -> None:
        for name in self.__slots__:
            given = getattr(self, name)
            if given and (not host_of(given) or "?" in given):
                raise ConfigError(f"references.{name} is {given!r}; expected an address.")


@dataclass(frozen=True, slots=True)
class LibrarySettings:
    """`[library]`: what is kept for you on this machine. Empty: in the user's data folder."""

    reliability: Annotated[str, "Source list to use, or none. [the language's own]"] = ""
    feedback_file: Annotated[str, PATH, "File for `pincite feedback`."] = ""
    own_copies: Annotated[str, PATH, "Folder for `pincite source attach`."] = ""
    judges: Annotated[str, PATH, "File for `pincite calibrate judge`."] = ""
    corpora: Annotated[Texts, PATH, "Corpora if a command names none: [NAME=]FOLDER."] = ()

    @property
    def places(self) -> list[Path | str]:
        return [given if "://" in given else Path(given).expanduser() for given in self.corpora]


@dataclass(frozen=True, slots=True)
class ResultsSettings:
    """`[results]`: a log of all checks."""

    folder: Annotated[str, PATH, "Folder for a YAML file of each check; empty: no log."] = ""
    by: Annotated[Period, "Subfolders of the log."] = ""
    markdown: Annotated[bool, "Also write Markdown, using check.template."] = True


@dataclass(frozen=True, slots=True)
class Settings:
    """All settings with their defaults; complete and checked when constructed.

    >>> settings = Settings.of(depth=50, web_pause=2)
    >>> settings.retrieval.depth, settings.web.pause, settings.replace(depth=20).retrieval.depth
    (50, 2.0, 20)
    """

    language: Annotated[str, "Language of the text, if it does not declare one: en, de, …"] = "en"
    models: ModelSettings = field(default_factory=ModelSettings)
    embeddings: EmbeddingsSettings = field(default_factory=EmbeddingsSettings)
    retrieval: RetrievalSettings = field(default_factory=RetrievalSettings)
    filters: FilterSettings = field(default_factory=FilterSettings)
    verify: VerifySettings = field(default_factory=VerifySettings)
    check: CheckSettings = field(default_factory=CheckSettings)
    ask: AskSettings = field(default_factory=AskSettings)
    chat: ChatSettings = field(default_factory=ChatSettings)
    judge: JudgeSettings = field(default_factory=JudgeSettings)
    budget: BudgetSettings = field(default_factory=BudgetSettings)
    web: WebSettings = field(default_factory=WebSettings)
    references: ReferencesSettings = field(default_factory=ReferencesSettings)
    claimreview: ClaimReviewSettings = field(default_factory=ClaimReviewSettings)
    library: LibrarySettings = field(default_factory=LibrarySettings)
    results: ResultsSettings = field(default_factory=ResultsSettings)

    def __post_init__(self) -> None:
        schema.check(self)
        if self.check.confirmation == "model":
            check_guidance(self.check.guidance, self.chat.dialect)
        asked = self.check.asks_a_model or self.ask.answer == "model"
        if asked and not (self.chat.url and self.chat.model):
            what = "A language model is set to interpret, confirm or answer"
            wanted = "chat.url (such as http://localhost:8080/v1) and chat.model"
            raise ConfigError(f"{what}; expected {wanted} too.")

    @classmethod
    def of(cls, **given: Any) -> "Settings":
        """The defaults with some values, by the short names of options: `depth=50`.

        Raises ConfigError for an unknown name, a wrong type or a value out of range.
        """
        return cls().replace(**given)

    def replace(self, **given: Any) -> "Settings":
        """Return a copy with other values, by short name; raises like `of`."""
        changed = schema.convert(Settings, given, "Settings", SHORT)
        return schema.build(Settings, {**schema.flat(self), **changed})


_PREFIXED = {
    "chat": "url model dialect at_once seconds",
    "judge": "url model dialect every most source_tokens guided at_once seconds",
    "embeddings": "query_prefix passage_prefix batch at_once seconds",
    "claimreview": "author author_url url",
    "web": "ports proxies pause at_once seconds megabytes cache cache_days",
    "references": "crossref datacite openalex pubmed open_library",
    "results": "folder by markdown",
}
_SHORTER = {
    "check.threshold": "confirmation_threshold",
    "filters.languages": "source_languages",
    "verify.uncited": "verify_uncited",  # `ask` has a separate one
} | {
    f"{table}.{leaf}": f"{table}_{leaf}"
    for table, leaves in _PREFIXED.items()
    for leaf in leaves.split()
}
# Short name → full name; used in options, requests and `Settings.of`.
SHORT: Mapping[str, str] = MappingProxyType(
    {_SHORTER.get(name, name.rpartition(".")[2]): name for name in schema.settings_of(Settings)}
)


def load(options: Mapping[str, object], config: Path | None = None) -> Settings:
    """Load the effective settings; `options` by short name, `config` in place of the usual files.

    Raises ConfigError as `schema.load_values`.
    """
    stated = schema.load_values(Settings, options, config, short=SHORT)
    return schema.build(Settings, {name: value for name, (value, _) in stated.items()})


def public_settings(settings: Settings) -> dict[str, Any]:
    """Return the non-private settings for a report: lists as text, local paths as file names."""

    def public_value(value: Any) -> Any:
        if isinstance(value, tuple):
            return ", ".join(value)
        is_path = isinstance(value, str) and Path(value).is_absolute()
        return Path(value).name if is_path else value

    values = schema.flat(settings)
    return {name: public_value(value) for name, value in values.items() if name not in PRIVATE}
