"""A small report built by hand, and one whose every text is hostile."""

from pincite.notes import Note, as_written
from pincite.types import (
    Article,
    Bar,
    Changed,
    Citation,
    CitationResult,
    Claim,
    Copy,
    CopyKind,
    Evidence,
    Exclusion,
    Finding,
    Label,
    Listing,
    Part,
    Passage,
    Place,
    Reason,
    Reliability,
    Span,
    Suggestion,
    Unchecked,
    Uncited,
)
from pincite.verbs.verify.report import Report, coverage_of

HOSTILE = [
    '"><script>alert(1)</script>',
    "</mark></blockquote><img src=x onerror=alert(1)>",
    "}}{{delete}}</ref><!-- [[Category:Hacked]] -->",
    '=HYPERLINK("https://evil.example","x")',
    "@SUM(1+1)|cmd",
    "[red]not markup[/red] [link=https://evil.example]x[/link]",
    "\x1b]0;owned\x07\x1b[2Jcleared",
    "a\u202egnp.exe\u2066",
    "~~~~ '''bold''' __TOC__ {{!}} |url=https://evil.example/",
    "{{ 7 * 7 }} {% raw %} ${7*7}",
    "line\nbreak\r\nand\ttab\u2028",
    "\ud800 lone surrogate",
]


def evidence(text: str, quote: str, url: str, title: str, score: float = 1.0) -> Evidence:
    start = text.index(quote)
    return Evidence(
        passage=Passage("0123456789abcdef", url, title, text, Span(10, 10 + len(text))),
        prob_supported=0.7 if score >= 0 else 0.2,
        prob_refuted=0.1,
        prob_neutral=0.2 if score >= 0 else 0.7,
        score=score,
        quote=Span(start, start + len(quote)),
        unstated=("1913",),
    )


def partly(claim: Claim, citation: Citation, weak: Evidence, strong: Evidence) -> Finding:
    """The second half of the claim is missing."""
    middle, end = len(claim.text) // 2, len(claim.text)
    borne_out = Part("clause", Span(0, middle), claim.text[:middle], True, strong)
    missing = Part("clause", Span(middle, end), claim.text[middle:], False, weak)
    result = CitationResult(
        citation, weak, Label.PARTLY_SUPPORTED, (borne_out, missing), (missing,)
    )
    return Finding(claim, (result,), None, Label.PARTLY_SUPPORTED, -1.0, (), 2, missing=(missing,))


def changed(
    citation: Citation, strong: Evidence, weak: Evidence, gone: Unchecked
) -> CitationResult:
    """An archived copy bears the claim out; today's page does not any more."""
    return CitationResult(
        citation,
        strong,
        Label.SUPPORTED,
        copy=Copy(CopyKind.WAYBACK, gone.url, f"2014-03-02{gone.detail}"),
        not_live=gone,
        changed=Changed(Copy(CopyKind.LIVE, gone.url, "2026-11-21"), weak, Label.NOT_SUPPORTED),
    )


def uncited(text: str, strong: Evidence) -> tuple[Uncited, ...]:
    """A sentence that an editor tagged, and one with a source that could be cited for it."""
    whole = Span(0, len(text))
    tagged = Claim(
        "aaa111", text, text, (text,), tags=("citation needed",), sentence=text, part=whole
    )
    other = Claim("bbb222", text, text, (text,), text, Span(50, 60), sentence=text, part=whole)
    return (
        Uncited(tagged, 0.3, (Note("need_tagged"),)),
        Uncited(
            other,
            0.7,
            (Note("need_quotation", {"words": (text,)}),),
            (Suggestion(strong, "2024-03-01", 4.0),),
            5,
            (Exclusion("https://varde.example/", text, Bar.COPY, text),),
        ),
    )


def report(text: str = "plain", url: str = "https://varde.example/bridge") -> Report:
    """Four findings: one fails and has a better source, one in part, one open, one supported."""
    citation = Citation(
        "r1", Span(40, 80), Span(40, 80), template="cite web", title=text, url=url, text=text
    )
    claim = Claim("abc123", text, text, (text,), text, Span(0, 40), (citation,), (text,))
    passage = f"First. {text} Last."
    weak = evidence(passage, text, url, text, -1.5)
    strong = evidence(passage, text, "https://better.example/a?b=1&c=2", text, 2.5)
    gone = Unchecked(url, Reason.DEAD, text)
    listing = Listing(Reliability.DEPRECATED, text, text, text, url, (text,))
    findings = (
        Finding(
            claim,
            (
                CitationResult(
                    citation,
                    weak,
                    Label.NOT_SUPPORTED,
                    listing=listing,
                    place=Place(text, cited=text, elsewhere=True),
                    copy=Copy(CopyKind.OWN, f"own:{'0123456789abcdef' * 4}", file="book.pdf"),
                ),
            ),
            None,
            Label.NOT_SUPPORTED,
            -1.5,
            (Suggestion(strong, "2024-03-01", 4.0, Listing(Reliability.UNLISTED)),),
            12,
            excluded=(Exclusion(url, text, Bar.COPY, text),),
        ),
        partly(claim, citation, weak, strong),
        Finding(
            claim,
            (CitationResult(citation, gone, Label.UNCHECKED),),
            None,
            Label.UNCHECKED,
            None,
            (),
        ),
        Finding(
            claim, (changed(citation, strong, weak, gone),), strong, Label.SUPPORTED, 2.5, (), 3
        ),
    )
    article = Article(text, text, tuple(f.claim for f in findings), n_references=4)
    return Report(
        title=text,
        language="en",
        revision_id="1234",
        findings=findings,
        n_claims=4,
        n_references=4,
        warnings_coded=as_written(text),
        settings={"depth": 100, "note": text},
        versions={"pincite": "0.1.0", "verifier": text},
        created="2026-11-21T08:00:00+00:00",
        coverage=coverage_of(article, findings),
        flag_precision=((0.02, 0.12), (0.05, 0.28), (0.2, 0.67)),
        uncited=uncited(text, strong),
    )
