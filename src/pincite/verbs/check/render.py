"""Renders check reports as HTML, Markdown, CSV and ClaimReview, and writes the results log.

The HTML page has no script and makes no request; every value is escaped. `terminal` prints reports.
"""

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pincite.codec import DIGITS, values_of
from pincite.documents.text import code_of
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, Weighed
from pincite.library.results import log_result
from pincite.notes import IN_ENGLISH, Language
from pincite.report import cells, templates
from pincite.report.cells import cell, one_line, safe_link
from pincite.report.yaml_text import to_yaml
from pincite.settings import Settings
from pincite.text.hosts import host_of
from pincite.text.page_numbers import PageNumber, number_at
from pincite.types import CopyKind, Document, Failed, Span
from pincite.verbs.check import wording
from pincite.verbs.check.report import Check, CheckReport, ReadingResult, shown

# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────

_PLOT = 320  # side length in pixels of the plot of measures
_HEADLINE = 300  # characters of a statement as a heading; a click shows the whole
_SIDES = (
    {"word": "for", "sign": "▲", "tone": "supported"},
    {"word": "against", "sign": "▽", "tone": "refuted"},
    {"word": "neutral", "sign": "○", "tone": "unchecked"},
)


def to_html(report: CheckReport) -> str:
    n_readings = sum(len(check.results) for check in report.checks)
    return templates.page("check.html.j2").render(
        report=report,
        checks=views(report),
        n_readings=wording.readings(n_readings),
        advice=wording.ADVICE,
        legend=report.legend(),
        used=cells.asked(report.usage),
        css=templates.style("check.css"),
    )


def views(report: CheckReport, words: Language = IN_ENGLISH) -> list[dict[str, Any]]:
    return [shown(partial(_view, words=words), check) for check in report.checks]


def _view(check: Check, words: Language) -> dict[str, Any]:
    return {
        "statement": check.statement,
        "short": cells.shortened(check.statement, _HEADLINE),
        "interpreted_by": check.interpreted_by,
        "failures": [failure.detail for failure in check.failures],
        "readings": [_reading(result, words) for result in check.results],
    }


def _reading(result: ReadingResult, words: Language) -> dict[str, object]:
    weight, n_passages = result.weight, len(result.items)
    outcome = weight.outcome
    rank = confirmation.rank(outcome)
    failures = [i.outcome.detail for i in result.items if isinstance(i.outcome, Failed)]
    return {
        "reading_id": result.reading.reading_id,
        "number": result.reading.reading_id[1:],
        "text": result.reading.text,
        "meaning": words.say(wording.KINDS[result.reading.kind]),
        "negation": result.reading.negation,
        "outcome": outcome.value,
        # A CSS class, named after the labels of `verify`.
        "tone": "unchecked"
        if rank is None
        else ("partly_supported", "supported", "refuted")[(rank > 0) - (rank < 0)],
        "sign": wording.SIGNS[outcome],
        "label": words.say(wording.LABELS[outcome]),
        "summary": wording.mean_degree(weight, n_passages, words)
        or wording.sentence(weight, n_passages, result.reading.kind, words),
        "warning": wording.warning(weight, words),
        "years": [
            (year, wording.signed(then.doc), words.say(wording.LABELS[then.outcome]))
            for year, then in result.as_of
        ],
        "sides": sides(result),
        "failures": list(dict.fromkeys(failures)),
        "unused": wording.unused_pages(result.unread, result.excluded, words.say),
    }


def sides(result: ReadingResult) -> list[dict[str, Any]]:
    """Group the documents into for, against and neutral; empty if nothing was judged.

    The counts are those of the listed documents. The strongest come first.
    """
    items = result.items
    for_it, against = confirmation.sides(items)
    deciding = {items[place].passage.doc_id for place in (*for_it, *against)}
    judged = [n for n, item in enumerate(items) if not isinstance(item.outcome, Failed)]
    neutral = [n for n in judged if items[n].passage.doc_id not in deciding]
    if not judged:
        return []
    return [
        {**side, "documents": _documents(result, places)}
        for side, places in zip(_SIDES, (for_it, against, neutral), strict=True)
    ]


def _documents(result: ReadingResult, places: Sequence[int]) -> list[dict[str, Any]]:
    grouped: dict[str, list[int]] = {}
    for place in places:
        grouped.setdefault(result.items[place].passage.doc_id, []).append(place)
    return [_document(result, of_one) for of_one in grouped.values()]


def _document(result: ReadingResult, places: Sequence[int]) -> dict[str, Any]:
    item = result.items[places[0]]
    passage, href = item.passage, safe_link(item.passage.url)
    source = (item.meta.get(name, "") for name in ("author", "publisher", "site"))
    return {
        "name": cells.one_line(passage.title) or passage.url,
        "href": href,
        "host": host_of(passage.url) if href and passage.title else "",
        "published": item.published,
        "source": " · ".join(dict.fromkeys(part for part in source if part)),
        "corpus": item.corpus,
        "copies": item.copies,
        "online": item.origin is CopyKind.LIVE,
        "passages": [_passage(result, place) for place in places],
    }


def _passage(result: ReadingResult, place: int) -> dict[str, Any]:
    item = result.items[place]
    outcome, text = item.outcome, item.passage.text
    assert not isinstance(outcome, Failed)
    start, end = outcome.quote or Span(0, 0)
    degree = item.doc or 0.0
    return {
        "degree": wording.signed(degree),
        "share": round(abs(degree) * 100),
        "strong": place in result.weight.contradictions,
        "page": page_of(item),
        "head": text[:start],
        "quote": text[start:end],
        "tail": text[end:],
        "reasons": outcome.reasons_coded,
        "analysis": outcome.analysis,
    }


def page_of(item: Weighed) -> PageNumber | None:
    """Return the page of the quote, else of the passage; None for documents without pages."""
    quote = None if isinstance(item.outcome, Failed) else item.outcome.quote
    document = Document(item.passage.url, item.passage.title, "", meta=dict(item.meta))
    return number_at(document, item.passage.span.start + (quote.start if quote else 0))


def measures_to_html(result: Mapping[str, Any]) -> str:
    points = [
        {
            "x": round(one["mean_probability"] * _PLOT, 1),
            "y": round((1 - one["share_supported"]) * _PLOT, 1),
            "r": round(3 + 2 * one["n"] ** 0.5, 1),
            "title": f"{one['mean_probability']:.2f} said, {one['share_supported']:.2f} true, "
            f"{one['n']} statements",
        }
        for one in result["reliability"]
    ]
    said = list(next(iter(result["confusion"].values())))
    return templates.page("check_measures.html.j2").render(
        result=result,
        groups={"all": result, **result["by_type"]},
        names={name: name.replace("_", " ") for name in (*result["confusion"], *said)},
        rows=[_measured(row) for row in result["rows"]],
        said=said,
        points=points,
        side=_PLOT,
        css=templates.style("check_measures.css"),
    )


def _measured(row: Mapping[str, Any]) -> dict[str, Any]:
    return {
        **row,
        "right": row["said"] == row["label"],
        "outcome": wording.LABELS[Outcome(row["outcome"])],
        "degree": wording.signed(row["doc"]),
    }


# ── CSV ───────────────────────────────────────────────────────────────────────────────────────────

COLUMNS = (
    "statement reading_id reading kind origin outcome reading_doc n_texts n_failed side doc "
    "prob_supported prob_refuted strong_contradiction published url title author publisher quote "
    "copies failed origin corpus"
).split()


def to_csv(report: CheckReport) -> str:
    """Render the report as CSV with a header. Formulas are neutralised."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow([cell(value) for value in row])
    return out.getvalue()


def rows(report: CheckReport) -> Iterator[list[object]]:
    """Yield the values of `COLUMNS`. A reading without evidence has one row."""
    for check in report.checks:
        yield from shown(_of_check, check)


def _of_check(check: Check) -> list[list[object]]:
    rows = list[list[object]]()
    for result in check.results:
        reading, weight = result.reading, result.weight
        head: list[object] = [check.statement, reading.reading_id, reading.text, reading.kind]
        head += [reading.origin, weight.outcome, _rounded(weight.doc)]
        head += [weight.n_texts, weight.n_failed]
        found = [_of_item(result, n) for n in range(len(result.items))]
        unused = [(page.url, f"{page.reason}: {page.detail}") for page in result.unread]
        unused += [(page.url, f"{page.bar}: {page.detail}") for page in result.excluded]
        for url, why in unused:
            known = {"side": "unused", "url": url, "failed": why, "origin": CopyKind.LIVE}
            found.append([known.get(column) for column in COLUMNS[len(head) :]])
        nothing: list[object] = [None] * (len(COLUMNS) - len(head))
        rows += [[*head, *row] for row in found or [nothing]]
    return rows


def _of_item(result: ReadingResult, place: int) -> list[object]:
    """Return the columns from `side` on."""
    item = result.items[place]
    passage, outcome, meta = item.passage, item.outcome, item.meta
    row: list[object] = [item.side, _rounded(item.doc)]
    if isinstance(outcome, Failed):
        row += [None, None]
    else:
        row += [_rounded(outcome.prob_supported), _rounded(outcome.prob_refuted)]
    row += [place in result.weight.contradictions, item.published, passage.url, passage.title]
    row += [meta.get("author"), meta.get("publisher")]
    failed = f"{outcome.step}: {outcome.detail}" if isinstance(outcome, Failed) else None
    row.append(None if isinstance(outcome, Failed) else outcome.quoted or None)
    return [*row, " ".join(item.copies), failed, item.origin, item.corpus or None]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, DIGITS)


# ── ClaimReview ───────────────────────────────────────────────────────────────────────────────────


def to_claimreview(report: CheckReport) -> str:
    """Render ClaimReview as JSON-LD that is safe inside a `<script>` element.

    There is one review per reading with evidence. Author and address come from the publisher's
    settings and are left out unless set.
    """
    reviews = [
        review
        for n, check in enumerate(report.checks, 1)
        for review in shown(partial(_reviews, report=report, number=n), check)
    ]
    document = {"@context": "https://schema.org", "@graph": reviews}
    # ASCII without "<": text from a page cannot end a script element.
    return json.dumps(document, ensure_ascii=True, indent=1).replace("<", "\\u003c") + "\n"


def _reviews(check: Check, report: CheckReport, number: int) -> list[dict[str, Any]]:
    return [
        _review(result, report)
        | _published(report, f"reading-{number}-{result.reading.reading_id[1:]}")
        for result in check.results
        if confirmation.rank(result.weight.outcome) is not None
    ]


_NAMES = ("claimreview.author", "claimreview.author_url", "claimreview.url")


def lacking(report: CheckReport) -> str:
    """List the unset settings that search engines expect in the document; empty if none."""
    given = report.settings
    absent = [name for name in _NAMES if not given.get(name)]
    if not absent:
        return ""
    return (
        f"claimreview: not set, so left out: {', '.join(absent)}. Set them before you publish it."
    )


def _published(report: CheckReport, anchor: str) -> dict[str, Any]:
    given = report.settings
    name, site, page = (str(given.get(name) or "") for name in _NAMES)
    author = {"name": name} if name else {}
    author |= {"url": site} if safe_link(site) else {}
    found: dict[str, Any] = {}
    if author:
        found["author"] = {"@type": "Organization", **author}
    if safe_link(page):
        found["url"] = page if "#" in page else f"{page}#{anchor}"
    return found


def _review(result: ReadingResult, report: CheckReport) -> dict[str, Any]:
    outcome = result.weight.outcome
    rank = confirmation.rank(outcome)
    assert rank is not None
    language = code_of(str(report.settings.get("language") or ""))
    return {
        "@type": "ClaimReview",
        **({"inLanguage": language} if language else {}),
        "claimReviewed": one_line(result.reading.text),
        "datePublished": report.created[:10],
        "itemReviewed": {"@type": "Claim", "name": one_line(result.reading.text)},
        "reviewRating": {
            "@type": "Rating",
            "ratingValue": rank + 4,  # schema.org's Rating needs a scale; 4 is the middle
            "worstRating": 1,
            "bestRating": 7,
            "alternateName": wording.LABELS[outcome],
            "ratingExplanation": result.summary,
        },
        "reviewBody": wording.ADVICE,
        "citation": [_work(item) for item in result.items if item.side in ("for", "against")],
    }


def _work(item: Weighed) -> dict[str, Any]:
    work = {"@type": "CreativeWork", "name": one_line(item.passage.title or item.passage.url)}
    if href := safe_link(item.passage.url):
        work["url"] = href
    if item.published:
        work["datePublished"] = item.published
    return work


# ── Markdown ──────────────────────────────────────────────────────────────────────────────────────

_NONE = math.nan  # for missing numbers: EvidenceSeeker's filters round every number


class _Member(str):
    """A text that also acts as a member of EvidenceSeeker's enumerations, with its `.value`."""

    value: str

    def __new__(cls, text: str, value: str) -> "_Member":
        made = super().__new__(cls, text)
        made.value = value
        return made


class _Lenient(dict[str, Any]):
    """A table whose missing keys are empty: not every document has a page."""

    def __missing__(self, key: str) -> str:
        return ""


class _Levels(dict[str, str]):
    """Our labels by outcome. Calling it with a mean degree returns EvidenceSeeker's level."""

    def __call__(self, doc: float) -> _Member:
        level = Outcome.BALANCED if math.isnan(doc) else confirmation.level(doc)
        return _level(level)


def to_markdown(
    report: CheckReport,
    template: Path | None = None,
    *,
    show_documents: bool = True,
    translation: Mapping[str, str] | None = None,
) -> str:
    """Render all checks, one after another, with a template that a user can replace.

    Values have the names and forms of EvidenceSeeker's result template, so its templates run
    unchanged; we add more. A missing number, as in a reading without evidence, is NaN.
    `translation` holds texts that a template may name.

    Raises:
        ConfigError: the template cannot be read or filled in.
    """
    words = {"translation": _Lenient(translation or {})}
    return _filled(report, template, words, show_documents=show_documents)


def to_footnotes(report: CheckReport) -> str:
    return _filled(report, None, {}, shipped="check_footnotes.md.j2")


def _filled(
    report: CheckReport,
    template: Path | None,
    more: Mapping[str, object],
    *,
    shipped: str = "check.md.j2",
    show_documents: bool = True,
) -> str:
    def filled(check: Check) -> str:
        values = _values(check, report, show_documents)
        return templates.markdown(template, {**values, **more}, shipped=shipped)

    return "\n".join(shown(filled, check) for check in report.checks)


def uid_of(statement: str, created: str) -> str:
    return hashlib.sha256(f"{created}\0{statement}".encode("utf-8", "replace")).hexdigest()[:16]


def _values(check: Check, report: CheckReport, show_documents: bool) -> dict[str, object]:
    seeds: dict[str, object] = {
        "statement": check.statement,
        "time": report.created,
        "claims": list(map(_claim, check.results)),
        "feedback": _Lenient(),
        "translation": _Lenient(),
        "show_documents": show_documents,
        "confirmation_level": _Levels({str(o): label for o, label in wording.LABELS.items()}),
    }
    uid = uid_of(check.statement, report.created)
    return {
        **seeds,
        "evse_result": {**seeds, "uid": uid, "request": check.statement},
        "failures": values_of(check.failures),
        "interpreted_by": check.interpreted_by,
        "complete": check.complete,
        "warnings": list(report.warnings),
        "versions": dict(report.versions),
        "advice": wording.ADVICE,
    }


def _claim(result: ReadingResult) -> dict[str, object]:
    reading, weight = result.reading, result.weight
    documents = [_as_document(str(n), item) for n, item in enumerate(result.items)]
    return {
        **values_of(reading),
        **values_of(weight, DIGITS),
        "summary": result.summary,
        "warning": result.warning,
        "unread": values_of(result.unread),
        "excluded": values_of(result.excluded),
        "uid": reading.reading_id,
        "statement_type": _Member(str(reading.kind), str(reading.kind)),
        "average_confirmation": _number(weight.doc),
        "evidential_uncertainty": _number(weight.variance),
        "n_evidence": weight.n_texts,
        "confirmation_level": _level(weight.outcome),
        "verbalized_confirmation": result.summary,
        "documents": documents,
        "confirmation_by_document": {each["uid"]: _number(each["doc"]) for each in documents},
        "metadata": _Lenient(),
    }


def _as_document(uid: str, item: Weighed) -> dict[str, Any]:
    passage, outcome = item.passage, item.outcome
    stated = {"title": passage.title, "url": passage.url, "published": item.published}
    known = {name: value for name, value in stated.items() if value}
    failed = (
        {"step": outcome.step, "detail": outcome.detail} if isinstance(outcome, Failed) else None
    )
    return {
        **stated,
        "uid": uid,
        "text": passage.text,
        "side": item.side,
        "doc": _rounded(item.doc),
        "quote": "" if isinstance(outcome, Failed) else outcome.quoted,
        "failed": failed,
        "corpus": item.corpus,
        "metadata": _Lenient({**known, "file_name": passage.url.rpartition("/")[2], **item.meta}),
    }


def _level(outcome: Outcome) -> _Member:
    """Return EvidenceSeeker's word for our outcome, such as "strongly_confirmed"."""
    word = confirmation.seed_level(outcome) or str(outcome)
    for noun, verb in (("disconfirmation", "disconfirmed"), ("confirmation", "confirmed")):
        if word.endswith(noun) and not word.startswith("inconclusive"):
            degree = word.removesuffix(noun).rstrip("_")
            return _Member(str(outcome), f"{degree}ly_{verb}" if degree else verb)
    return _Member(str(outcome), word)


def _number(value: float | None) -> float:
    return _NONE if value is None else value


# ── Log ───────────────────────────────────────────────────────────────────────────────────────────


def log_checks(report: CheckReport, settings: Settings) -> list[Path]:
    """Write each check to the results log, if enabled; returns the files.

    Raises:
        ConfigError: a file cannot be written, the template cannot be filled in, or git fails.
    """
    written = list[Path]()
    for check in report.checks if settings.results.folder else ():
        one = replace(report, checks=(check,), n_statements=1)
        texts = {"yaml": to_yaml(one.to_values())}
        if settings.results.markdown:
            own, words = settings.check.template_file, settings.check.texts
            texts["md"] = to_markdown(one, own, translation=words)
        uid = uid_of(check.statement, report.created)
        written += log_result(settings.results, uid, report.created, texts)
    return written
