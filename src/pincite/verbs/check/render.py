"""Renders check reports as HTML, CSV, ClaimReview, Markdown and YAML; writes the log."""

import hashlib
import json
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any, TypeAlias

from pincite import durable
from pincite.codec import DIGITS, values_of
from pincite.documents.text import code_of
from pincite.errors import ConfigError, MissingExtra, install_command, usable
from pincite.judgement import confirmation
from pincite.judgement.confirmation import Weighed
from pincite.judgement.provenance import SourceKind
from pincite.notes import IN_ENGLISH, Language
from pincite.report import cells, templates
from pincite.report.cells import one_line, safe_link
from pincite.settings import ResultsSettings, Settings
from pincite.text.hosts import host_of
from pincite.text.page_numbers import PageNumber, number_at
from pincite.types import CopyKind, Document, Failed, Span
from pincite.verbs.check import wording
from pincite.verbs.check.report import Check, CheckReport, ReadingResult, render_parts
from pincite.verbs.check.spoken import Occasion

# ── HTML ─────────────────────────────────────────────────────────────────────────────────────────

_HEADLINE = 300  # characters of a statement in a heading; a click shows all of it
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
        n_readings=cells.n_of(n_readings, "reading"),
        advice=wording.ADVICE,
        legend=report.legend(),
        used=cells.usage_line(report.usage),
        css=templates.style("check.css"),
    )


def views(report: CheckReport, words: Language = IN_ENGLISH) -> list[dict[str, Any]]:
    return [
        render_parts(partial(_view, words=words, number=number), check)
        for number, check in enumerate(report.checks, 1)
    ]


def _view(check: Check, words: Language, number: int) -> dict[str, Any]:
    return {
        "statement": check.statement,
        "short": cells.shorten(check.statement, _HEADLINE),
        "interpreted_by": wording.interpreted_by(check.interpreted_by),
        "speaker": check.occasion.speaker,
        "failures": [failure.detail for failure in check.failures],
        "readings": [
            {**_reading(result, words), "item_id": f"{number}.{result.reading.reading_id}"}
            for result in check.results
        ],
    }


def _reading(result: ReadingResult, words: Language) -> dict[str, object]:
    look = wording.look(result, words)
    return {
        "reading_id": result.reading.reading_id,
        "number": result.reading.reading_id[1:],
        "text": result.reading.text,
        "meaning": words.say(wording.KINDS[result.reading.kind]),
        "negation": result.reading.negation,
        "outcome": result.weight.outcome.value,
        "tone": look.tone,
        "sign": look.sign,
        "label": look.label,
        "summary": wording.mean_degree(result, words) or wording.summary(result, words),
        "warning": wording.warning(result, words),
        "sides": sides(result, words),
        "failures": wording.failure_lines(result.items),
        "unused": wording.unused_pages(result, words),
        "nearest": words.say(wording.NEAREST) if result.nearest else "",
        "n_nearest": len(result.nearest),
    }


def sides(result: ReadingResult, words: Language = IN_ENGLISH) -> list[dict[str, Any]]:
    """Group the documents into for, against and neutral; empty if nothing was judged.

    Those for and against are ordered by kind of source, neutral ones by nearness, with the
    passages of `ReadingResult.nearest` first.
    """
    items = result.items
    for_it, against = confirmation.sides(items)
    neutral = [*dict.fromkeys([*result.nearest, *confirmation.nearest(result.reading.text, items)])]
    if not (for_it or against or neutral):
        return []
    for places in (for_it, against):
        places.sort(key=lambda n: wording.group_order(items[n].source))
    views = []
    for side, places in zip(_SIDES, (for_it, against, neutral), strict=True):
        by_document: dict[str, list[int]] = {}
        for place in places:
            by_document.setdefault(items[place].passage.doc_id, []).append(place)
        documents = [_document(result, of_one, words) for of_one in by_document.values()]
        views.append({**side, "documents": documents})
    return views


def _document(result: ReadingResult, places: Sequence[int], words: Language) -> dict[str, Any]:
    item = result.items[places[0]]
    passage, href = item.passage, safe_link(item.passage.url)
    return {
        "name": cells.one_line(passage.title) or passage.url,
        "href": href,
        "address": passage.url if href is None and passage.title else host_of(passage.url),
        "group": words.say(wording.group(item.source)),
        "published_by": wording.published_by(item, words),
        "corpus": item.corpus,
        "copies": item.copies,
        "online": item.origin is CopyKind.LIVE,
        "passages": [_passage(result, place, words) for place in places],
    }


def _passage(result: ReadingResult, place: int, words: Language) -> dict[str, Any]:
    item = result.items[place]
    outcome, text = item.outcome, item.passage.text
    assert not isinstance(outcome, Failed)
    start, end = outcome.quote or Span(0, 0)
    degree = item.doc or 0.0
    return {
        "degree": wording.format_degree(degree),
        "share": round(abs(degree) * 100),
        "strong": place in result.weight.contradictions,
        "page": page_of(item),
        "head": text[:start],
        "quote": text[start:end],
        "is_title": is_title(item),
        "speaker": item.source.speaker,
        "claim": result.reading.text,
        "tail": text[end:],
        "differs": wording.differs(result.reading.text, item, words),
        "notes": outcome.notes,
        "reasons": outcome.reasons_coded[len(outcome.notes) :],
        "analysis": outcome.analysis,
    }


def is_title(item: Weighed) -> bool:
    """Whether the quote is only the title of its document."""
    return bool(item.quoted) and one_line(item.quoted) == one_line(item.passage.title)


def page_of(item: Weighed) -> PageNumber | None:
    """Return the page of the quote, else of the passage; None for documents without pages."""
    quote = None if isinstance(item.outcome, Failed) else item.outcome.quote
    document = Document(item.passage.url, item.passage.title, "", meta=dict(item.meta))
    return number_at(document, item.passage.span.start + (quote.start if quote else 0))


# ── CSV ──────────────────────────────────────────────────────────────────────────────────────────

COLUMNS = (
    "statement reading_id reading kind reading_origin outcome label reading_doc n_texts n_failed "
    "side doc prob_supported prob_refuted strong_contradiction published url title author "
    "publisher source_kind own quote speaker copies failed origin corpus"
).split()
_Row: TypeAlias = dict[str, object]  # by column, and values without one


def to_csv(report: CheckReport) -> str:
    return cells.csv_text(COLUMNS, rows(report))


def rows(report: CheckReport) -> Iterator[list[object]]:
    """Yield the values of `COLUMNS`. A reading without evidence has one row."""
    for check in report.checks:
        for row in render_parts(_rows_of, check):
            yield [None if row.get(name) == "" else row.get(name) for name in COLUMNS]


def _rows_of(check: Check) -> list[_Row]:
    rows = list[_Row]()
    for result in check.results:
        reading, weight = values_of(result.reading), values_of(result.weight, DIGITS)
        head = {
            **reading,
            **weight,
            "statement": check.statement,
            "reading": reading["text"],
            "reading_origin": reading["origin"],
            "reading_doc": weight["doc"],
            "label": result.label,
            **dict.fromkeys(("doc", "origin")),  # of a passage
        }
        rows += [head | row for row in [*_evidence_rows(result), *_unused_rows(result)] or [{}]]
    return rows


def _evidence_rows(result: ReadingResult) -> Iterator[_Row]:
    """Yield a row per passage for or against; of a silent document, only its best."""
    speaking = {i.passage.doc_id for i in result.items if i.side in ("for", "against")}
    seen = set[str]()
    for n, item in enumerate(result.items):
        doc_id, source, failed = item.passage.doc_id, item.source, item.failed
        if item.side in ("for", "against") or doc_id not in speaking | seen:
            yield {
                **values_of(item, DIGITS),
                **values_of(source),
                "kind": result.reading.kind,
                "source_kind": source.kind,
                "strong_contradiction": n in result.weight.contradictions,
                "copies": " ".join(item.copies),
                "failed": f"{failed.step}: {failed.detail}" if failed else None,
            }
        seen.add(doc_id)


def _unused_rows(result: ReadingResult) -> Iterator[_Row]:
    unused = [(page.url, f"{page.reason}: {page.detail}") for page in result.unread]
    unused += [(page.url, f"{page.bar}: {page.detail}") for page in result.excluded]
    for url, why in unused:
        yield {"side": "unused", "url": url, "failed": why, "origin": CopyKind.LIVE}


# ── ClaimReview ───────────────────────────────────────────────────────────────────────────────────


def to_claimreview(report: CheckReport) -> str:
    """Render ClaimReview, a review per reading with evidence, safe inside a `<script>` element."""
    reviews = [
        review
        for n, check in enumerate(report.checks, 1)
        for review in render_parts(partial(_reviews, report=report, number=n), check)
    ]
    document = {"@context": "https://schema.org", "@graph": reviews}
    # ASCII without "<": text from a page cannot end a script element.
    return json.dumps(document, ensure_ascii=True, indent=1).replace("<", "\\u003c") + "\n"


def _reviews(check: Check, report: CheckReport, number: int) -> list[dict[str, Any]]:
    return [
        _review(result, report, check.occasion, f"reading-{number}-{result.reading.reading_id[1:]}")
        for result in check.results
        if confirmation.rank(result.weight.outcome) is not None
    ]


_REVIEW = (
    "Software compared this claim, as worded here, with a collection of documents. Both can be "
    "wrong or incomplete: read the sources."
)
_PUBLISHER = ("claimreview.author", "claimreview.author_url", "claimreview.url")


def before_publishing(report: CheckReport) -> Iterator[str]:
    """Yield what to know before publishing the ClaimReview: a caution, and settings to add."""
    results = (result for check in report.checks for result in check.results)
    if all(confirmation.rank(result.weight.outcome) is None for result in results):
        yield "claimreview: no reading has a rating, so the file holds no review."
        return
    yield "claimreview: publish it only if you agree with the ratings."
    if absent := [name for name in _PUBLISHER if not report.settings.get(name)]:
        yield f"claimreview: not set: {', '.join(absent)}. Set them before you publish."


def _review(
    result: ReadingResult, report: CheckReport, said: Occasion, anchor: str
) -> dict[str, Any]:
    settings, rank = report.settings, confirmation.rank(result.weight.outcome)
    assert rank is not None
    name, site, page = (str(settings.get(key) or "") for key in _PUBLISHER)
    href = site if safe_link(site) else None
    url = page if "#" in page else f"{page}#{anchor}"
    text = one_line(result.reading.text)
    works = [_work(item) for item in result.items if item.side in ("for", "against")]
    return _thing(
        "ClaimReview",
        inLanguage=code_of(str(settings.get("language") or "")) or None,
        claimReviewed=text,
        datePublished=report.created[:10],
        itemReviewed=_thing(
            "Claim",
            name=text,
            author=_thing("Person", name=one_line(said.speaker)) if said.speaker else None,
            datePublished=said.date or None,
        ),
        reviewRating=_thing(
            "Rating",
            # schema.org's Rating needs a scale; 4 is the middle
            ratingValue=4 if wording.only_by(result) else rank + 4,
            worstRating=1,
            bestRating=7,
            alternateName=result.label,
            ratingExplanation="; ".join(filter(None, (result.summary, result.warning))),
        ),
        reviewBody=_REVIEW,
        citation=list({json.dumps(work): work for work in works}.values()),
        author=_thing("Organization", name=name or None, url=href) if name or href else None,
        url=url if safe_link(page) else None,
    )


def _work(item: Weighed) -> dict[str, Any]:
    publisher = one_line(item.source.publisher)
    return _thing(
        "CreativeWork",
        name=one_line(item.passage.title or item.passage.url),
        url=safe_link(item.passage.url),
        datePublished=item.published or None,
        publisher=_thing("Organization", name=publisher) if item.source.publisher else None,
    )


def _thing(kind: str, **fields: object) -> dict[str, Any]:
    """Return an object of schema.org, without the fields that are None."""
    known = {name: value for name, value in fields.items() if value is not None}
    return {"@type": kind, **known}


# ── Markdown ──────────────────────────────────────────────────────────────────────────────────────


class LenientDict(dict[str, Any]):
    """A table whose missing keys are empty: not every document has a page."""

    def __missing__(self, key: str) -> str:
        return ""


# Values that EvidenceSeeker's templates name; pincite-evidenceseeker supplies them.
_EVIDENCESEEKER = re.compile(
    r"\b(?:average_confirmation|confirmation_by_document|confirmation_level|evidential_uncertainty"
    r"|evse_result|n_evidence|statement_type|verbalized_confirmation)\b"
)
# Entry points: functions that take the values of a check, and the check, and return more values.
TEMPLATES = "pincite.check_templates"
_Values = dict[str, Any]


def more_values(template: Path | None) -> Callable[[_Values, Check], _Values] | None:
    """Return what adds EvidenceSeeker's values, if a template names any.

    Raises:
        ConfigError: the template cannot be read.
        MissingExtra: the plugin is not installed.
    """
    if not template or not _EVIDENCESEEKER.search(templates.source(template)):
        return None
    if points := [*entry_points(group=TEMPLATES, name="evidenceseeker")]:
        add_values: Callable[[_Values, Check], _Values] = points[0].load()
        return add_values
    command = install_command("evidenceseeker")
    raise MissingExtra(f"{template} has values of EvidenceSeeker. Install with: {command}")


def to_markdown(
    report: CheckReport,
    template: Path | None = None,
    *,
    translation: Mapping[str, str] | None = None,
    feedback: str = "",
    shipped: str = "check.md.j2",
) -> str:
    """Render all checks, one after another, with a template that a user can replace.

    `translation` has texts that a template may refer to. `feedback` is "positive", "negative" or
    empty.

    Raises:
        ConfigError: the template cannot be read or filled in.
        MissingExtra: as in `more_values`.
    """
    more = more_values(template)
    given = {"feedback": feedback, "translation": LenientDict(translation or {})}

    def fill(check: Check, number: int) -> str:
        values = _values(check, report, number) | given
        if more:
            values |= more(values, check)
        return templates.markdown(template, values, shipped=shipped)

    return "\n".join(
        render_parts(partial(fill, number=number), check)
        for number, check in enumerate(report.checks, 1)
    )


def to_footnotes(report: CheckReport) -> str:
    return to_markdown(report, shipped="check_footnotes.md.j2")


def uid_of(statement: str, created: str) -> str:
    return hashlib.sha256(f"{created}\0{statement}".encode("utf-8", "replace")).hexdigest()[:16]


def _values(check: Check, report: CheckReport, number: int) -> _Values:
    n_checks = len(report.checks)
    return {
        "statement": check.statement,
        "time": report.created,
        "uid": uid_of(check.statement, report.created),
        "claims": list(map(_claim, check.results)),
        "show_documents": True,
        "failures": values_of(check.failures),
        "interpreted_by": check.interpreted_by,
        "readings_are": wording.interpreted_by(check.interpreted_by),
        "speaker": check.occasion.speaker,
        "complete": check.complete,
        "warnings": list(report.warnings),
        "versions": dict(report.versions),
        "advice": wording.ADVICE if number == n_checks else "",  # once is enough
        # Footnotes of several statements in one text need distinct marks.
        "prefix": f"{number}-" if n_checks > 1 else "",
    }


def _claim(result: ReadingResult) -> _Values:
    reading, weight = result.reading, result.weight
    documents = [
        _as_document(str(n), item) | {"differs": wording.differs(reading.text, item)}
        for n, item in enumerate(result.items)
    ]
    nearest = [documents[n] for n in result.nearest]
    cited = [d for side in ("against", "for") for d in documents if d["side"] == side]
    return {
        **values_of(reading),
        **values_of(weight, DIGITS),
        "label": result.label,
        "summary": result.summary,
        "warning": result.warning,
        "unused": wording.unused_pages(result),
        "documents": documents,
        "nearest": nearest,
        "cited": cited or nearest,
    }


def _as_document(uid: str, item: Weighed) -> dict[str, Any]:
    passage = item.passage
    source = {"title": passage.title, "url": passage.url, "published": item.published}
    address = passage.url if passage.title and passage.url != passage.title else ""
    known = {name: value for name, value in source.items() if value}
    return {
        **source,
        "uid": uid,
        "text": passage.text,
        "side": item.side,
        "doc": None if item.doc is None else round(item.doc, DIGITS),
        "degree": wording.format_degree(item.doc),
        "quote": item.quoted,
        "quoted": item.quoted and cells.in_quotes(item.quoted),
        "failed": item.failed and values_of(item.failed),
        "is_title": is_title(item),
        "group": wording.group(item.source),
        "known_kind": item.source.own or item.source.kind is not SourceKind.UNKNOWN,
        "group_order": wording.group_order(item.source),
        "published_by": wording.published_by(item),
        "speaker": item.source.speaker,
        "address": address,
        "corpus": item.corpus,
        "metadata": LenientDict(
            {**known, "file_name": passage.url.rpartition("/")[2], **item.meta}
        ),
    }


# ── YAML ──────────────────────────────────────────────────────────────────────────────────────────

# YAML 1.1 reads y and n as booleans; PyYAML does not, and would not quote them.
_BARE_KEY = re.compile(r"(?![yn]$)[a-z]\w*", re.ASCII | re.IGNORECASE)


def to_yaml(value: Any) -> str:
    """Return the values as a YAML document, every text on one line.

    Texts are quoted, so that none can become a number, a date, a tag or another document in any
    version of YAML.

    >>> print(to_yaml({"a": [1, {"b": "no"}], "c": {}}), end="")
    a:
    - 1
    - b: "no"
    c: {}
    """
    import yaml

    # In Python, not in C: libyaml takes UTF-8, which cannot encode lone surrogates.
    class Dumper(yaml.SafeDumper):
        """Repeats duplicate values instead of using aliases."""

        def ignore_aliases(self, data: Any) -> bool:
            return True

    def text(dumper: Any, value: str) -> Any:
        return dumper.represent_scalar("tag:yaml.org,2002:str", value, style='"')

    def mapping(dumper: Any, value: dict[str, Any]) -> Any:
        node = dumper.represent_dict(value)
        for key, _ in node.value:
            key.style = None if _BARE_KEY.fullmatch(key.value) else '"'
        return node

    Dumper.add_representer(str, text)
    Dumper.add_representer(dict, mapping)
    written: str = yaml.dump(
        value, Dumper=Dumper, allow_unicode=True, sort_keys=False, width=math.inf
    )
    return written.removesuffix("...\n")  # added after a bare number


# ── Log ───────────────────────────────────────────────────────────────────────────────────────────


# The folder of a result, by its date, and the file's name by day and id, as in EvidenceSeeker
# (`SubdirConstruction`). A result with a known id is replaced, in whichever folder it is.
FOLDERS = {
    "": "",
    "daily": "%Y_%m_%d",
    "weekly": "y%Y_w%W",
    "monthly": "y%Y_m%m",
    "yearly": "y%Y",
}


def log_checks(report: CheckReport, settings: Settings, feedback: str = "") -> list[Path]:
    """Write each check to the results log, if enabled; returns the files.

    `feedback` on the whole result, "positive" or "negative", is written over a log without it.

    Raises:
        ConfigError: a file cannot be written, the template cannot be filled in, or git fails.
        MissingExtra: as in `more_values`.
    """
    written = list[Path]()
    for check in report.checks if settings.results.folder else ():
        one = replace(report, checks=(check,), n_statements=1)
        rated = {"feedback": {"binary": feedback}} if feedback else {}
        texts = {"yaml": to_yaml({**one.to_values(), **rated})}
        if settings.results.markdown:
            own, words = settings.check.template_file, settings.check.texts
            texts["md"] = to_markdown(one, own, translation=words, feedback=feedback)
        uid = uid_of(check.statement, report.created)
        written += log_result(settings.results, uid, report.created, texts)
    return written


def log_result(
    settings: ResultsSettings, uid: str, created: str, texts: Mapping[str, str]
) -> list[Path]:
    """Write the texts of a result, by file ending, into the log; returns their paths.

    `uid` is unique to this result; `created` is an ISO date or timestamp.

    Raises:
        ConfigError: A file cannot be written; what was written stays.
    """
    folder, day = Path(settings.folder).expanduser(), datetime.fromisoformat(created)
    written = list[Path]()
    for ending, text in texts.items():
        name = f"{day:%Y_%m_%d}_{uid}.{ending}"
        usual = folder / day.strftime(FOLDERS[settings.by]) / name
        path = next(iter(sorted(folder.rglob(name))), usual)
        with usable(path, "written (results.folder)", ConfigError):
            path.parent.mkdir(parents=True, exist_ok=True)
            durable.write_text(path, text)
        written.append(path)
    return written
