"""Which documents an answer is written from: searched by words and meaning, read, put in order.

question ─▶ passages by words and meaning, fused ─▶ read by the verifier ─▶ exact ones first

A document counts as its best passage does. Verif.ai sums the scores of an abstract's passages,
which favours long ones (B24).
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial

from pincite import containment
from pincite.judgement.references import Retraction, retraction_of
from pincite.protocols import DocumentsOf, Nearest, Retriever
from pincite.retrieval.fusion import kept
from pincite.text import words as wording
from pincite.text.passages import passages
from pincite.types import Document, Hit, Passage, Span

# Characters of a text that is read from beginning to end; of a longer one passages are chosen. The
# longest abstracts of PubMed, in two languages, have about as many.
WHOLE = 6_000
RANKED = 100  # passages of a longer text: a prompt of 15,000 tokens
_QUOTED = re.compile(r"[\"“„«]([^\"“”„«»]{2,200})[\"”“»]")


@dataclass(frozen=True, slots=True)
class FoundDocument:
    """A document with passages of it, best first: those found, and of a long one the nearest."""

    document: Document
    passages: tuple[Passage, ...]
    relevance: float  # log-odds that its best passage bears on the question; the fused score unread

    @property
    def is_retracted(self) -> bool:
        """Whether it is known to be; partly is not."""
        return retraction_of(self.document) is Retraction.YES


@dataclass(frozen=True, slots=True)
class Found:
    """What was found for a question, best first."""

    documents: tuple[FoundDocument, ...]
    left_out: tuple[FoundDocument, ...] = ()  # retracted ones that would have been among them


@dataclass(frozen=True, slots=True)
class LiteratureFinder:
    """Documents for a question, best first."""

    search: Retriever
    documents_of: DocumentsOf
    limit: int = 10  # documents
    nearest: Nearest | None = None  # of a long document; None: those that share most words
    passages: int = 200  # of the search
    exact_first: bool = True
    include_retracted: bool = False

    def find(self, question: str) -> list[FoundDocument]:
        """At most `limit` documents; none if the search found no passage."""
        return list(self.found(question).documents)

    def found(self, question: str) -> Found:
        """The same, with what was left out."""
        (hits,) = self.search.retrieve([question], self.passages)
        if self.exact_first:
            hits = exact_matches_first(question, hits)
        found = self._documents(hits)
        return replace(found, documents=self._with_passages(question, found.documents))

    def _with_passages(
        self, question: str, found: Sequence[FoundDocument]
    ) -> tuple[FoundDocument, ...]:
        """The documents, the long ones with more passages behind those that were found."""
        long = [each.document for each in found if len(each.document.text) > WHOLE]
        urls = [document.url for document in long]
        nearest = self.nearest(question, urls, RANKED) if self.nearest else [[] for _ in long]
        more = {
            document.url: near
            or containment.attempted(partial(_by_words, question, document), lambda _: [])
            for document, near in zip(long, nearest, strict=True)
        }
        return tuple(
            replace(each, passages=_merged(each.passages, more.get(each.document.url, ())))
            for each in found
        )

    def _documents(self, hits: Sequence[Hit]) -> Found:
        of_url: dict[str, list[Hit]] = {}
        for hit in hits:
            of_url.setdefault(hit.passage.url, []).append(hit)
        sound: list[FoundDocument] = []
        retracted: list[FoundDocument] = []
        # A few at a time: of a few hundred documents that were found ten are wanted.
        urls = list(of_url)
        for start in range(0, len(urls), self.limit):
            for each in self._read(of_url, urls[start : start + self.limit]):
                is_left_out = each.is_retracted and not self.include_retracted
                (retracted if is_left_out else sound).append(each)
                if len(sound) == self.limit:
                    return Found(tuple(sound), tuple(retracted))
        return Found(tuple(sound), tuple(retracted))

    def _read(self, of_url: dict[str, list[Hit]], urls: Sequence[str]) -> list[FoundDocument]:
        return [
            FoundDocument(document, tuple(h.passage for h in found), max(h.score for h in found))
            for document, found in zip(
                self.documents_of(urls), (of_url[url] for url in urls), strict=True
            )
            if document is not None
        ]


def _by_words(question: str, document: Document) -> list[Passage]:
    """Those that share most with the question, first."""
    by_words = sorted(passages(document), key=lambda p: -wording.shared(question, p.text))
    return by_words[:RANKED]


def _merged(found: Sequence[Passage], more: Sequence[Passage]) -> tuple[Passage, ...]:
    """Each once, in this order."""
    by_span: dict[Span, Passage] = {}
    for passage in (*found, *more):
        by_span.setdefault(passage.span, passage)
    return tuple(by_span.values())


_TOPIC = re.compile(
    r"(?P<topic>\w[^:?]+):\s+(?P<verb>is|are|was|were|does|do|did|can|could|should|will|has|have)"
    r" (?:it|they|this|these)\b(?P<rest>[^?]*\?)",
    re.IGNORECASE,
)
_STUDY = re.compile(  # "…: a hypothesis-generating study" says nothing of the subject
    r"\W*\b(?:an? )?(?:[\w-]+ )?(?:hypothesis-generating|exploratory|pilot|preliminary|prospective"
    r"|retrospective|randomi[sz]ed|observational|multicent(?:re|er)|cross-sectional)"
    r"(?: [\w-]+){0,2}? (?:study|trial|analysis|survey|review|report)\b",
    re.IGNORECASE,
)


def plainer(question: str) -> str:
    """The question in one clause, without what kind of study asked it.

    >>> plainer("Green tea: does it lower blood pressure?")
    'Does green tea lower blood pressure?'
    >>> plainer("Does green tea help? A hypothesis-generating cohort study")
    'Does green tea help?'
    """
    shorter = _STUDY.sub("", question).strip()
    shorter = shorter if shorter.endswith("?") or not shorter else f"{shorter}?"
    if not (match := _TOPIC.fullmatch(shorter)):
        return shorter if _STUDY.search(question) and shorter else question
    topic = match["topic"]
    if topic[1:2].islower():  # no "DNA repair"
        topic = topic[0].lower() + topic[1:]
    return f"{match['verb'].capitalize()} {topic}{match['rest']}"


def exact_matches_first(question: str, hits: Sequence[Hit]) -> list[Hit]:
    """What holds the question's quoted phrases, or all its words, before what does not.

    Verif.ai's users expect exact matches first and those by meaning after them (§III-A). Within
    either the order stays.
    """
    phrases = [_plain(phrase) for phrase in _QUOTED.findall(question)]

    def is_exact(hit: Hit) -> bool:
        text = f"{hit.passage.title}\n{hit.passage.text}"
        if phrases:
            plain = _plain(text)
            return all(f" {phrase} " in f" {plain} " for phrase in phrases)
        return wording.missing_words(question, text) == 0.0

    exact = containment.each(lambda of: list(map(is_exact, of)), hits, lambda *_: False)
    ordered = sorted(zip(exact, hits, strict=True), key=lambda pair: not pair[0])
    return kept([hit for _, hit in ordered], lambda _: True)


def _plain(text: str) -> str:
    return " ".join(re.findall(r"\w+", text.casefold()))


# ── What the texts lack of a question ────────────────────────────────────────────────────────────

_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
# Words that a question is put with, besides those that `content_words` leaves out.
_ASKING = frozenset(
    "answer associated association best cause caused causes compare compared define describe "
    "difference differences different differ differs discuss effect effective effects affect "
    "affected affects evidence exist exists explain give given gives happen happens help helps "
    "identify impact impacts important importance influence influences involve involved involves "
    "kind kinds know known lead leads like list lists literature make makes matter matters mean "
    "means mention name named names necessary need needed needs outline paper papers part play "
    "played plays please possible published question questions really related relation "
    "relationship relationships research role roles show shows state study studies summarise "
    "summarize tell there thing things type types use used useful uses using way ways work works "
    "still better worse good bad new value worth".split()
)
# What forms of a word end in behind what they share: inflections, and Latin and Greek plurals.
_ENDINGS = frozenset(
    "s es y ies ied e ed d ing er ers or ors en ren ly al ally ual ic ical ically ion ions ation "
    "ations ative ive ives ively ment ments ity ities ous ness able ible ance ances ence ences ant "
    "ants ent ents ise ised ize ized ising izing isation ization ist ists ism um a us i is ae ia "
    "ata eutic eutics sis ses tic ue ues hood".split()
) | {""}
_IRREGULAR = {
    "women": "woman",
    "men": "man",
    "mice": "mouse",
    "feet": "foot",
    "teeth": "tooth",
    "people": "person",
    "lives": "life",
    "geese": "goose",
}
_SHARED = 3  # letters that two forms of a word have in common at least
_SHORTEST_ACRONYM = 3


def unanswered_terms(question: str, source: str) -> list[str]:
    """The subjects of a question that `source` lacks in any form, as written, each once, in order.

    >>> unanswered_terms("Is there a vaccine against measles?", "Measles is a disease.")
    ['vaccine']
    >>> unanswered_terms("List the roles of studies in children.", "A child was studied.")
    []
    """
    written_there = _WORD.findall(source)
    there = frozenset(map(_base, frozenset(written_there)))
    initials = "".join(word[0].lower() for word in written_there)
    near: dict[str, list[str]] = {}
    for word in there:
        near.setdefault(word[:_SHARED], []).append(word)

    def is_there(written: str) -> bool:
        word = _base(written)
        if word in _ASKING or word in there or not wording.content_words(written):
            return True
        if written.isupper() and len(word) >= _SHORTEST_ACRONYM and word in initials:
            return True
        return any(_are_forms(word, other) for other in near.get(word[:_SHARED], ()))

    asked = (match[0] for match in _WORD.finditer(question))
    return [word for word in dict.fromkeys(asked) if not is_there(word)]


def _base(written: str) -> str:
    word = written.lower().replace("’", "'").removesuffix("'s")
    return _IRREGULAR.get(word, word)


def _are_forms(one: str, other: str) -> bool:
    """Whether both begin alike and go on with endings: "vaccine" and "vaccination"."""
    n = next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), None)
    n = min(len(one), len(other)) if n is None else n
    # "hypertension" and "hypertensive" share a letter of their endings too.
    for cut in range(n, max(_SHARED, n - 2) - 1, -1):
        if all(_is_ending(word[cut:], word[cut - 1]) for word in (one, other)):
            return True
    return False


def _is_ending(rest: str, before: str) -> bool:
    doubled = rest[:1] == before and rest[1:] in ("ed", "ing", "er")  # "stopped"
    return rest in _ENDINGS or doubled
