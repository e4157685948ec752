"""Check reports for other programs: CSV, ClaimReview, Markdown, and the log of results."""

import csv
import hashlib
import io
import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from pincite.contract.check import CheckRecord, ReadingRecord, WeighedRecord
from pincite.contract.codec import values_of
from pincite.documents.text import code_of
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Outcome, Weighed
from pincite.library.results import log_of
from pincite.report import templates
from pincite.report.cells import cell, one_line, safe_link
from pincite.report.yaml_text import to_yaml
from pincite.settings import Settings
from pincite.types import CopyKind
from pincite.verbs.check import data, wording
from pincite.verbs.check.records import Check, CheckReport, ReadingResult, shown

# ── CSV ───────────────────────────────────────────────────────────────────────────────────────────

COLUMNS = (
    "statement reading_id reading kind origin outcome reading_doc n_texts n_failed side doc "
    "prob_reading prob_negation strong_contradiction published url title author publisher quote "
    "copies failed origin corpus"
).split()


def to_csv(report: CheckReport) -> str:
    """The report as CSV with a header; no text becomes a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for row in rows(report):
        writer.writerow([cell(value) for value in row])
    return out.getvalue()


def rows(report: CheckReport) -> Iterator[list[object]]:
    """The values of `COLUMNS`; a reading without evidence has one row."""
    threshold = wording.threshold_of(report)
    for check in report.checks:
        yield from shown(partial(_of_check, threshold=threshold), check)


def _of_check(check: Check, threshold: float) -> list[list[object]]:
    rows = list[list[object]]()
    for reading in data.check_record(check, threshold).readings:
        head: list[object] = [check.statement, reading.reading_id, reading.text, reading.kind]
        head += [reading.origin, reading.outcome, reading.doc]
        head += [reading.n_texts, reading.n_failed]
        found = [*map(_of_item, reading.evidence), *map(_of_page, _unused(reading))]
        for row in found or [[]]:
            rows.append([*head, *row, *[None] * (len(COLUMNS) - len(head) - len(row))])
    return rows


def _of_item(item: WeighedRecord) -> list[object]:
    why = f"{item.failed.step}: {item.failed.detail}" if item.failed else None
    said = [item.side, item.doc, item.prob_reading, item.prob_negation, item.strong_contradiction]
    source = [item.published, item.url, item.title, item.meta.get("author")]
    return [
        *said,
        *source,
        item.meta.get("publisher"),
        item.quote,
        " ".join(item.copies),
        why,
        item.origin,
        item.corpus or None,
    ]


def _unused(reading: ReadingRecord) -> list[tuple[str, str]]:
    """The pages of the web that are no evidence: address and why."""
    unread = [(page.url, f"{page.reason}: {page.detail}") for page in reading.unread]
    return [*unread, *((page.url, f"{page.bar}: {page.detail}") for page in reading.excluded)]


def _of_page(page: tuple[str, str]) -> list[object]:
    """The columns from `side` on."""
    known = {"side": "unused", "url": page[0], "failed": page[1], "origin": CopyKind.LIVE}
    return [known.get(column) for column in COLUMNS[COLUMNS.index("side") :]]


# ── ClaimReview ───────────────────────────────────────────────────────────────────────────────────


def to_claimreview(report: CheckReport) -> str:
    """Checks as ClaimReview in JSON-LD; safe inside of a page's `<script>` too.

    One review for each reading that the knowledge base speaks about: of others a rating would say
    more than is known. Author and address, which only the publisher knows, are settings, and are
    left out where they are not set.
    """
    reviews = [
        review
        for n, check in enumerate(report.checks, 1)
        for review in shown(partial(_reviews, report=report, number=n), check)
    ]
    document = {"@context": "https://schema.org", "@graph": reviews}
    # ASCII without "<": no text of a page can end a script element.
    return json.dumps(document, ensure_ascii=True, indent=1).replace("<", "\\u003c") + "\n"


def _reviews(check: Check, report: CheckReport, number: int) -> list[dict[str, Any]]:
    threshold = wording.threshold_of(report)
    return [
        _review(result, report, threshold)
        | _published(report, f"reading-{number}-{result.reading.reading_id[1:]}")
        for result in check.results
        if confirmation.rank(result.weight.outcome) is not None
    ]


_NAMES = ("claimreview.author", "claimreview.author_url", "claimreview.url")


def lacking(report: CheckReport) -> str:
    """What a publisher has to add before search engines take the document; empty if nothing."""
    given = report.settings
    absent = [name for name in _NAMES if not given.get(name)]
    if not absent:
        return ""
    return (
        f"claimreview: not set, so left out: {', '.join(absent)}. Set them before you publish it."
    )


def _published(report: CheckReport, anchor: str) -> dict[str, Any]:
    """Who says so, and where: the reading's place on the page of --html."""
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


def _review(result: ReadingResult, report: CheckReport, threshold: float) -> dict[str, Any]:
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
            "ratingValue": rank + 4,  # schema.org's Rating wants a scale; 4 is in its middle
            "worstRating": 1,
            "bestRating": 7,
            "alternateName": wording.LABELS[outcome],
            "ratingExplanation": wording.sentence(result),
        },
        "reviewBody": wording.ADVICE,
        "citation": [
            _work(item)
            for item in result.items
            if abs(confirmation.degree_of(item) or 0.0) > threshold
        ],
    }


def _work(item: Weighed) -> dict[str, Any]:
    work = {"@type": "CreativeWork", "name": one_line(item.passage.title or item.passage.url)}
    if href := safe_link(item.passage.url):
        work["url"] = href
    if item.published:
        work["datePublished"] = item.published
    return work


# ── Markdown ──────────────────────────────────────────────────────────────────────────────────────

_NONE = math.nan  # of a number that is not there: EvidenceSeeker's filters round all of them


class _Member(str):
    """A text that is also a member of EvidenceSeeker's enumerations: `.value` is its word."""

    value: str

    def __new__(cls, text: str, value: str) -> "_Member":
        made = super().__new__(cls, text)
        made.value = value
        return made


class _Lenient(dict[str, Any]):
    """A table whose other keys are empty texts: not every document has a page."""

    def __missing__(self, key: str) -> str:
        return ""


class _Levels(dict[str, str]):
    """Our labels by outcome; called with a mean degree, EvidenceSeeker's level."""

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
    """All checks, one after another, through a template that a user can replace.

    The values have the names and forms that EvidenceSeeker's result template uses, so that a
    template of it runs as it is, and more of our own. A number that there is none of, as for a
    reading without evidence, is NaN. `translation`: texts that a template may name.

    Raises:
        ConfigError: the template cannot be read or filled in.
    """
    words = {"translation": _Lenient(translation or {})}
    return _filled(report, template, words, show_documents=show_documents)


def to_footnotes(report: CheckReport) -> str:
    """All checks as text to be pasted elsewhere: each reading with its evidence as footnotes."""
    return _filled(report, None, {}, shipped="check_footnotes.md.j2")


def _filled(
    report: CheckReport,
    template: Path | None,
    more: Mapping[str, object],
    *,
    shipped: str = "check.md.j2",
    show_documents: bool = True,
) -> str:
    threshold = wording.threshold_of(report)

    def filled(check: Check) -> str:
        values = _values(data.check_record(check, threshold), report, show_documents)
        return templates.markdown(template, {**values, **more}, shipped=shipped)

    return "\n".join(shown(filled, check) for check in report.checks)


def uid_of(statement: str, created: str) -> str:
    """16 hex digits that stand for one check of a statement."""
    return hashlib.sha256(f"{created}\0{statement}".encode("utf-8", "replace")).hexdigest()[:16]


def _values(check: CheckRecord, report: CheckReport, show_documents: bool) -> dict[str, object]:
    seeds: dict[str, object] = {
        "statement": check.statement,
        "time": report.created,
        "claims": [_claim(reading) for reading in check.readings],
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


def _claim(reading: ReadingRecord) -> dict[str, object]:
    """A reading under our names, then under EvidenceSeeker's."""
    documents = [_document(str(n), item) for n, item in enumerate(values_of(reading.evidence))]
    return {
        **values_of(reading),
        "uid": reading.reading_id,
        "statement_type": _Member(str(reading.kind), str(reading.kind)),
        "average_confirmation": _number(reading.doc),
        "evidential_uncertainty": _number(reading.variance),
        "n_evidence": reading.n_texts,
        "confirmation_level": _level(reading.outcome),
        "verbalized_confirmation": reading.summary,
        "documents": documents,
        "confirmation_by_document": {each["uid"]: _number(each["doc"]) for each in documents},
        "metadata": _Lenient(),
    }


def _document(uid: str, item: dict[str, Any]) -> dict[str, Any]:
    stated = {"title": item["title"], "url": item["url"], "published": item["published"]}
    known = {name: value for name, value in stated.items() if value}
    meta = _Lenient({**known, "file_name": item["url"].rpartition("/")[2], **item["meta"]})
    return {**item, "uid": uid, "text": item["passage"], "metadata": meta}


def _level(outcome: Outcome) -> _Member:
    """Our outcome with EvidenceSeeker's word: "strongly_confirmed", "inconclusive_confirmation"."""
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
    """Write each check of a report into the log, if there is one; the files.

    Raises:
        ConfigError: a file cannot be written, the template not filled in, or git refuses.
    """
    written = list[Path]()
    if (log := log_of(settings.results)) is None:
        return written
    for check in report.checks:
        one = replace(report, checks=(check,), n_statements=1)
        texts = {"yaml": to_yaml(values_of(data.record_of(one)))}
        if settings.results.markdown:
            own, words = settings.check.template_file, settings.check.texts
            texts["md"] = to_markdown(one, own, translation=words)
        written += log.keep(uid_of(check.statement, report.created), report.created, texts)
    return written
