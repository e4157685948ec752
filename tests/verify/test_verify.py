"""`verify` on small pages, with a verifier that is exact about what it was asked."""

from collections.abc import Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any

import pytest
from support.rows import each_row

from pincite.protocols import Query
from pincite.retrieval.fusion import Fused
from pincite.text import words
from pincite.text.page_numbers import UNREAD
from pincite.types import (
    COPY_OF,
    GAP,
    Article,
    Citation,
    Claim,
    CopyKind,
    Document,
    Evidence,
    Failed,
    Finding,
    Hit,
    Label,
    Passage,
    Reason,
    Span,
    Unchecked,
    Uncited,
    Verifiability,
)
from pincite.verbs.verify import wording
from pincite.verbs.verify.better_sources import BetterSources
from pincite.verbs.verify.cited_copies import CitedCopies, SourceOf
from pincite.verbs.verify.pipeline import VerifyPipeline

BRIDGE = Document("https://varde.example/bridge", "Bridge", "The bridge opened in 1911.")
FERRY = Document("https://varde.example/ferry", "Ferry", "A ferry crossed the river before.")
BETTER = Document("https://better.example/", "History", "In 1911 the bridge of Varde opened.")


@dataclass
class WordVerifier:
    """Supported if every content word of the claim stands in the passage; the score is a share."""

    fingerprint: str = "words"
    asked: list[tuple[str, str]] = field(default_factory=list)

    def verify(self, pairs: Sequence[tuple[Claim, Passage]]) -> list[Evidence]:
        self.asked += [(claim.text, passage.text) for claim, passage in pairs]
        return [self._evidence(claim, passage) for claim, passage in pairs]

    def _evidence(self, claim: Claim, passage: Passage) -> Evidence:
        share = 1 - words.missing_words(claim.text, passage.text)
        supported = 0.9 if share == 1 else 0.4 * share
        quote = words.best_sentence(claim.text, passage.text)
        return Evidence(passage, supported, 0.0, 1 - supported, 4 * share - 3.5, quote)


@dataclass
class Always:
    """A retriever that always finds the same documents."""

    documents: Sequence[Document]

    def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
        hits = [
            Hit(Passage(d.doc_id, d.url, d.title, d.text, Span(0, len(d.text))), 1.0, rank)
            for rank, d in enumerate(self.documents[:k], 1)
        ]
        return [hits for _ in queries]


def source_of(url: str) -> Document | Unchecked:
    stored = {d.url: d for d in (BRIDGE, FERRY)}
    return stored.get(url) or Unchecked(url, Reason.DEAD, "HTTP 404")


def pipeline(
    *found: Document, source_of: SourceOf = source_of, **changed: object
) -> VerifyPipeline:
    everything = {d.url: d for d in (BRIDGE, FERRY, BETTER)}
    parts: dict[str, object] = {
        "verifier": WordVerifier(),
        "threshold": 0.55,  # the fake's own: from it on it means "supported"
        "copies": CitedCopies(source_of),
        "search": Fused(Always(found), None) if found else None,
        "documents_of": lambda urls: [everything.get(url) for url in urls],
        **changed,
    }
    of_search = {
        field.name: parts[field.name] for field in fields(BetterSources) if field.name in parts
    }
    better = BetterSources(**of_search) if parts["search"] else None  # type: ignore[arg-type]
    own = {field.name: parts[field.name] for field in fields(VerifyPipeline) if field.name in parts}
    return VerifyPipeline(**own | {"better": better})  # type: ignore[arg-type]


def claim(*urls: str | None, text: str = "The bridge opened in 1911.") -> Claim:
    citations = tuple(
        Citation(f"r{n}", Span(0, 1), Span(0, 1), url=url, isbn="1") for n, url in enumerate(urls)
    )
    return Claim("c", text, citations=citations)


def storing(page: Document, **changed: Any) -> VerifyPipeline:
    """Finds a page, which the corpus has as it is."""
    return pipeline(page, documents_of=lambda urls: [page for _ in urls], **changed)


def citing(claim: Claim, **known: Any) -> Claim:
    """A claim whose citations state more."""
    citations = (replace(citation, **known) for citation in claim.citations)
    return replace(claim, citations=tuple(citations))


def unread(finding: Finding) -> Unchecked:
    """Why the first source was not judged."""
    outcome = finding.citations[0].outcome
    assert isinstance(outcome, Unchecked)
    return outcome


def test_a_failing_source_and_a_better_one() -> None:
    found = pipeline(BETTER, FERRY).finding(claim(FERRY.url))
    assert found.label is Label.NOT_SUPPORTED
    assert [s.evidence.passage.url for s in found.suggestions] == [BETTER.url]
    assert found.suggestions[0].gain > 0
    assert found.suggestions[0].found_by in ("words", "meaning", "both")


def test_a_retracted_source_is_marked_and_never_suggested() -> None:
    withdrawn = replace(BRIDGE, title="RETRACTED: Bridge")
    kept = replace(BETTER, text=f"This article has been retracted.\n\n{BETTER.text}")
    found = pipeline(source_of=lambda url: withdrawn).finding(claim(BRIDGE.url))
    outcome = found.citations[0].outcome
    assert isinstance(outcome, Evidence)
    assert outcome.reasons_coded[-1].code == "source_retracted"
    assert storing(kept).finding(claim(FERRY.url)).suggestions == ()


def test_the_cited_work_is_no_better_source_at_another_address() -> None:
    kept = replace(BETTER, meta={"doi": "10.1000/Varde.1", "pmid": "77"})
    for known in ({"doi": "10.1000/varde.1"}, {"pmid": "77"}, {}):
        suggested = storing(kept).finding(citing(claim(FERRY.url), **known)).suggestions
        assert len(suggested) == (0 if known else 1)


def test_a_cited_copy_of_wikipedia_is_circular_and_supports_nothing() -> None:
    mirror = replace(BRIDGE, meta={COPY_OF: "https://en.wikipedia.org/wiki/Bridge"})
    found = pipeline(source_of=lambda url: mirror).finding(claim(mirror.url))
    assert (unread(found).reason, found.label) == (Reason.CIRCULAR, Label.UNCHECKED)


@pytest.mark.parametrize(("of_page", "year"), [(None, "1911"), ("1912-07-02", "1912")])
def test_relative_times_are_read_by_the_date_of_the_page_else_of_the_citation(
    of_page: str | None, year: str
) -> None:
    page = Document(BRIDGE.url, "Bridge", "The bridge opened this morning.", published=of_page)
    cited = citing(claim(BRIDGE.url), date="14 May 1911")
    outcome = pipeline(source_of=lambda _: page).finding(cited).citations[0].outcome
    assert isinstance(outcome, Evidence)
    assert year in outcome.passage.about.rpartition(" · ")[2]


def test_a_copy_in_the_corpus_comes_after_stored_pages() -> None:
    copies = CitedCopies(source_of, in_corpus=lambda citation: BETTER)
    for url, page in ((FERRY.url, FERRY), ("https://gone.example/", BETTER)):
        (citation,) = claim(url).citations
        assert copies.read(citation).source == copies.copy_at_hand(citation) == page
        assert copies.first_address(citation) is None
        kind = CopyKind.CORPUS if page is BETTER else CopyKind.STORED
        found = copies.read(citation).copy
        assert found
        assert found.kind is kind


@pytest.mark.parametrize(
    ("known", "reason", "detail"),
    [({"name": "9"}, Reason.UNDEFINED, "9"), ({"isbn": "1"}, Reason.OFFLINE, "no address, ISBN 1")],
)
def test_a_reference_without_an_address_is_undefined_or_offline(
    known: dict[str, str], reason: Reason, detail: str
) -> None:
    cited = Citation("r1", Span(0, 1), Span(0, 1), **known)  # type: ignore[arg-type]
    why = unread(pipeline().finding(Claim("c", "It opened.", citations=(cited,))))
    assert (why.reason, why.detail) == (reason, detail)


def test_a_group_is_judged_alone_and_together() -> None:
    text = "The bridge opened in 1911; a ferry crossed before."
    found = pipeline().finding(claim(BRIDGE.url, FERRY.url, text=text))
    assert [r.label for r in found.citations] == [Label.PARTLY_SUPPORTED] * 2
    assert [[p.span.of(text) for p in r.missing] for r in found.citations] == [
        ["a ferry crossed before"],
        ["The bridge opened in 1911"],
    ]
    assert found.together is not None
    assert found.label is Label.SUPPORTED
    assert found.missing == ()


HALF = "The bridge opened in 1911 and closed in 1950."


def test_a_source_that_bears_a_part_out_names_the_other() -> None:
    verifier = WordVerifier()
    found = pipeline(verifier=verifier).finding(claim(BRIDGE.url, text=HALF))
    assert found.label is Label.PARTLY_SUPPORTED
    (part,) = found.missing
    assert (part.kind, part.span.of(HALF), part.text) == (
        *("clause", "closed in 1950"),
        "The bridge closed in 1950",
    )
    assert not part.supported
    assert part.evidence is not None
    assert part.evidence.passage.url == BRIDGE.url
    (result,) = found.citations
    assert [clause.supported for clause in result.clauses] == [True, False]
    assert result.missing == found.missing
    assert [text for text, _ in verifier.asked] == [
        *(HALF, "The bridge opened in 1911", "The bridge closed in 1950"),
    ]


def test_a_supported_claim_still_names_what_no_passage_states() -> None:
    class Trusting(WordVerifier):
        def _evidence(self, claim: Claim, passage: Passage) -> Evidence:
            return Evidence(passage, 0.9, 0.0, 0.1, 2.0)

    text = "The bridge opened in 1913 with the help of Ingrid Holm."
    found = pipeline(verifier=Trusting()).finding(claim(BRIDGE.url, text=text))
    assert found.label is Label.SUPPORTED
    assert [(p.kind, p.words) for p in found.missing] == [
        ("figure", "1913"),
        ("name", "Ingrid Holm"),
    ]


def test_another_language_is_not_guessed_at() -> None:
    german = Document(BRIDGE.url, "Brücke", "Die Brücke wurde 1911 eröffnet.", language="de")
    found = pipeline(source_of=lambda url: german).finding(claim(BRIDGE.url))
    assert unread(found).reason is Reason.LANGUAGE


def test_a_claim_in_another_language_is_no_failure_beside_an_english_page() -> None:
    def article(language: str) -> Article:
        return Article("Varde", "", (claim(BRIDGE.url), claim("https://gone.example/")),
                       language=language)  # fmt: skip

    german = list(pipeline(BETTER).findings(article("de")))
    assert {finding.label for finding in german} == {Label.UNCHECKED}
    assert [unread(finding).reason for finding in german] == [Reason.LANGUAGE, Reason.DEAD]
    assert not any(finding.suggestions for finding in german)
    for language in ("en", "simple", "en-gb"):
        assert next(pipeline(BETTER).findings(article(language))).label is Label.SUPPORTED


def test_better_sources_are_sought_for_claims_that_fail_unless_for_all() -> None:
    for suggest, n in (("failing", 0), ("all", 1)):
        found = pipeline(FERRY, suggest=suggest).finding(claim(BRIDGE.url))
        assert (found.label, found.n_candidates) == (Label.SUPPORTED, n)
        tagged = replace(claim(BRIDGE.url), tags=("better source needed",))
        assert pipeline(FERRY, suggest=suggest).finding(tagged).n_candidates == 1
        clear = replace(claim(BRIDGE.url), tags=("page needed",))
        assert pipeline(FERRY, suggest=suggest).finding(clear).n_candidates == n
        failing = pipeline(BETTER, suggest=suggest).finding(claim(FERRY.url))
        assert len(failing.suggestions) == 1


def test_what_neither_a_citation_nor_a_search_supports_may_be_unverifiable() -> None:
    found = pipeline(BETTER).finding(claim(BRIDGE.url))
    assert found.verifiability is Verifiability.CITED
    tagged = replace(found, claim=replace(found.claim, tags=("failed verification",)))
    assert tagged.verifiability is None  # the editor's word against the verifier's
    better = pipeline(BETTER).finding(claim(FERRY.url))
    assert better.verifiability is Verifiability.BETTER_SOURCE
    alone = replace(better, suggestions=())
    assert alone.verifiability is Verifiability.DOUBTFUL
    assert str(better.n_candidates) in wording.unverifiable(alone)
    assert wording.unverifiable(better) == wording.unverifiable(found) == ""
    for other in (
        replace(alone, n_candidates=0),  # no search
        replace(alone, label=Label.UNCHECKED),
        replace(alone, label=Label.PARTLY_SUPPORTED),
    ):
        assert other.verifiability is None
    uncited = replace(alone, label=Label.UNCHECKED, citations=())
    assert uncited.verifiability is Verifiability.DOUBTFUL


def test_a_passage_that_is_not_in_the_stored_page_is_not_suggested() -> None:
    changed = pipeline(BETTER, documents_of=lambda urls: [FERRY for _ in urls])
    assert changed.finding(claim(FERRY.url)).suggestions == ()


def test_a_better_source_shows_why_in_its_quote() -> None:
    """Its passage may support the claim, but nobody sees that where the quote says less."""

    class Trusting(WordVerifier):
        def _evidence(self, claim: Claim, passage: Passage) -> Evidence:
            quote = Span(0, passage.text.find(".") + 1)
            found = super()._evidence(claim, passage)
            likely = 0.9 if len(passage.text) > 60 else found.prob_supported
            return replace(found, prob_supported=likely, score=2.2, quote=quote)

    silent = replace(
        BETTER, text="The bridge is old. It was opened by a king, in 1911, in May. Rain."
    )
    telling = replace(
        BETTER, text="In 1911 the bridge of Varde opened. A king came, it rained, he left."
    )
    other = replace(telling, text=telling.text.replace("1911", "1913"))
    for page, n in ((silent, 0), (other, 0), (telling, 1)):
        searched = storing(page, verifier=Trusting())
        assert len(searched.finding(claim()).suggestions) == n


def test_a_sentence_without_a_citation_gets_sources_from_the_corpus() -> None:
    sentence = Uncited(claim(text="The bridge of Varde opened in 1911."), 0.8, ())
    found = pipeline(BETTER).with_sources(sentence)
    assert [s.evidence.passage.url for s in found.suggestions] == [BETTER.url]
    assert found.probability == sentence.probability
    assert pipeline().with_sources(sentence) == sentence  # nothing to search
    assert pipeline(BETTER, languages=frozenset({"de"})).with_sources(sentence) == sentence


def test_a_source_is_judged_for_the_words_since_the_mark_before() -> None:
    """The first says what opened, the second what lies beside it: each for its own words."""
    text = "The bridge opened in 1911 beside a harbour."
    harbour = replace(FERRY, url="https://varde.example/harbour", text="A harbour lies beside it.")
    pages = {harbour.url: harbour, STRANGE.url: STRANGE}
    cited = pipeline(source_of=lambda url: pages.get(url) or source_of(url))
    second = replace(
        claim(harbour.url, text=text),
        own=Span(text.index("beside"), len(text)),
        earlier=claim(BRIDGE.url).citations,
    )
    found = cited.finding(second)
    assert found.label is Label.SUPPORTED
    assert found.citations[0].label is Label.PARTLY_SUPPORTED
    alone = cited.finding(replace(second, earlier=()))
    assert alone.label is Label.NOT_SUPPORTED
    silent = cited.finding(replace(second, citations=claim(STRANGE.url).citations))
    assert silent.label is Label.NOT_SUPPORTED


@each_row("verify/verify/an_unrelated_sentence_of_a_failing_source_is_not_quoted")
def test_an_unrelated_sentence_of_a_failing_source_is_not_quoted(page: str, quote: str) -> None:
    text = "In 2019 the artist Amoc was noted for rapping in Inari Sami, a language of Finland."
    found = pipeline(source_of=lambda url: Document(url, "", page)).finding(claim("u", text=text))
    outcome = found.citations[0].outcome
    assert isinstance(outcome, Evidence)
    assert (found.label, outcome.quoted) == (Label.NOT_SUPPORTED, quote)


# ── Containment ──────────────────────────────────────────────────────────────────────────────────


class Raising(WordVerifier):
    """Raises, with the whole batch, where a passage has a word that no reader knows."""

    def _evidence(self, claim: Claim, passage: Passage) -> Evidence:
        if "qqq" in passage.text:
            raise KeyError("qqq")
        return super()._evidence(claim, passage)


STRANGE = Document("https://old.example/", "Old", "The ship had qqq hundred men.")


def strange(url: str) -> Document | Unchecked:
    return STRANGE if url == STRANGE.url else source_of(url)


def test_a_pair_that_raises_costs_its_source_and_nothing_else() -> None:
    cited = pipeline(verifier=Raising(), source_of=strange)
    found = cited.finding(claim(STRANGE.url, BRIDGE.url))
    assert found.label is Label.SUPPORTED
    why = unread(found)
    assert (why.reason, why.detail) == (Reason.INTERNAL_ERROR, "KeyError")
    assert isinstance(found.citations[1].outcome, Evidence)
    alone = cited.finding(claim(STRANGE.url))
    assert (alone.label, alone.score) == (Label.UNCHECKED, None)


def test_what_could_not_be_judged_of_a_page_accuses_no_claim() -> None:
    filler = "They said that the weather was fine on the day. " * 40
    page = replace(STRANGE, text=f"{STRANGE.text} {filler}")
    found = pipeline(verifier=Raising(), source_of=lambda url: page).finding(claim(page.url))
    assert found.label is Label.UNCHECKED
    also = replace(page, text=f"{page.text} {BRIDGE.text}")
    found = pipeline(verifier=Raising(), source_of=lambda url: also).finding(claim(also.url))
    assert found.label is Label.SUPPORTED


def test_a_source_that_cannot_be_read_costs_itself() -> None:
    def raising(url: str) -> Document | Unchecked:
        if url != BRIDGE.url:
            raise KeyError(url)
        return source_of(url)

    found = pipeline(source_of=raising).finding(claim(FERRY.url, BRIDGE.url))
    assert [r.label for r in found.citations] == [Label.UNCHECKED, Label.SUPPORTED]


def test_a_search_that_raises_costs_the_better_sources_only() -> None:
    class Broken(Always):
        def retrieve(self, queries: Sequence[Query], k: int) -> list[list[Hit]]:
            raise ValueError

    broken = pipeline(search=Fused(Broken([]), None))
    found = broken.finding(claim(FERRY.url))
    assert (found.label, found.suggestions) == (Label.NOT_SUPPORTED, ())
    assert found.failed == Failed("internal", "ValueError")
    sentence = Uncited(claim(text="The bridge of Varde opened in 1911."), 0.8, ())
    assert broken.with_sources(sentence) == replace(sentence, failed=found.failed)


@pytest.mark.parametrize(("language", "label"), [("en", Label.SUPPORTED), ("de", Label.UNCHECKED)])
def test_a_claim_that_raises_costs_itself(language: str, label: Label) -> None:
    class Broken(VerifyPipeline):
        def _group(self, claim: Claim, checked: Sequence[object]) -> Finding:
            if "qqq" in claim.text:
                raise KeyError
            return super()._group(claim, checked)  # type: ignore[arg-type]

    parts = pipeline()
    broken = Broken(parts.verifier, parts.copies, threshold=parts.threshold)
    claims = (claim(BRIDGE.url, text="qqq ships"), claim(BRIDGE.url))
    found = list(broken.findings(Article("Varde", "", claims, language=language)))
    assert [f.label for f in found] == [Label.UNCHECKED, label]
    assert [f.failed for f in found] == [Failed("internal", "KeyError"), None]


@pytest.mark.parametrize(
    "text",
    [
        "Zero out of twelve came on Chriſtmas Eve, or by ſept 5, 1700.",
        f"It is {'9' * 5000} feet 9 inches tall, and '{'9' * 400} years after 1790'.",
        "On 31 February of the year 0 it had −٣١ °C and ½ of １２ men.",
    ],
)
def test_any_source_text_gets_a_finding(text: str) -> None:
    page = Document(STRANGE.url, "Old", text)
    both = claim(page.url, BRIDGE.url)
    found = pipeline(source_of=lambda url: page if url == page.url else BRIDGE).finding(both)
    assert found.label is Label.SUPPORTED
    assert found.citations[1].label is Label.SUPPORTED


def test_pages_that_were_not_read_may_support_a_claim() -> None:
    in_part = replace(BRIDGE, meta={UNREAD: "page 2: not read"})
    for text, label in (
        ("The bridge opened in 1911.", Label.SUPPORTED),
        ("The ferry sank in 1899.", Label.UNCHECKED),
    ):
        found = pipeline(source_of=lambda url: in_part).finding(claim(in_part.url, text=text))
        assert found.label is label
    why = unread(found)
    assert (why.reason, why.detail) == (Reason.UNREADABLE_SCAN, "page 2: not read")


PRINTED = replace(BETTER, url="https://m.varde.example/history?print=1", title="The bridge of 1911")


@pytest.mark.parametrize(
    ("cited", "stated", "n"),
    [
        ({"title": "The bridge of 1911", "publisher": "Varde Post"}, {"site": "Varde Post"}, 0),
        ({"title": "The bridge of 1911", "authors": ("Ida Holm",)}, {"author": "Ida Holm"}, 0),
        ({"title": "The bridge of 1911", "publisher": "Varde Post"}, {"site": "Holm Post"}, 1),
        ({"title": "The ferry of 1911", "publisher": "Varde Post"}, {"site": "Varde Post"}, 1),
    ],
)
def test_another_edition_of_the_cited_work_is_no_better_source(
    cited: dict[str, Any], stated: dict[str, str], n: int
) -> None:
    given = storing(replace(PRINTED, meta=stated))
    assert len(given.finding(citing(claim(FERRY.url), **cited)).suggestions) == n


def test_the_same_title_on_the_same_host_is_the_cited_work() -> None:
    given = storing(replace(PRINTED, url="https://www.varde.example/print/7"))
    for title, n in (("The bridge of 1911", 0), ("The bridge of 1912", 1)):
        assert len(given.finding(citing(claim(FERRY.url), title=title)).suggestions) == n


def test_a_quote_that_contradicts_the_claim_is_not_suggested() -> None:
    class Doubtful(WordVerifier):
        """Reads the quote alone as a contradiction."""

        def _evidence(self, claim: Claim, passage: Passage) -> Evidence:
            found = super()._evidence(claim, passage)
            alone = passage.text == "In 1911 the bridge of Varde opened."
            return replace(found, prob_supported=0.0, prob_refuted=1.0) if alone else found

    longer = replace(BETTER, text=f"{BETTER.text} Others crossed by ferry.")
    for verifier, n in ((WordVerifier(), 1), (Doubtful(), 0)):
        given = storing(longer, verifier=verifier)
        assert len(given.finding(claim(FERRY.url)).suggestions) == n


def test_a_suggestion_carries_what_its_reference_needs() -> None:
    meta = {"site": "Varde Post", "author": "Ida Holm, Jo Berg et al."}
    given = storing(replace(BETTER, meta=meta, published="1911-05-04"))
    (found,) = given.finding(claim(FERRY.url)).suggestions
    assert (found.site, found.authors) == ("Varde Post", ("Ida Holm", "Jo Berg"))
    assert found.published == "1911-05-04"


def test_sentences_read_with_the_quote_are_shown_where_they_say_what_it_lacks() -> None:
    page = "Tram\n\nIt opened in 1911. Rain fell. It was designed by Nils Aabel."
    spans = (Span(6, 24), Span(36, 66))
    text = GAP.join(span.of(page) for span in spans)
    read = Passage("d", "https://a.example/", "Tram", text, Span(6, 66), page=page, pieces=spans)
    evidence = Evidence(read, 0.9, 0.0, 0.1, 2.0, Span(0, 18))
    claim = "The tram opened in 1911 and was designed by Nils Aabel."
    assert wording.also_read(evidence, claim) == ["It was designed by Nils Aabel."]
    assert wording.also_read(replace(evidence, prob_supported=0.1), claim) == []
    assert wording.also_read(replace(evidence, quote=None), claim) == []
