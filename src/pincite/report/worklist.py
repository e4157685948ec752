"""The work-list of many articles: which one to look at first, as JSON, CSV and one HTML page.

Risk is the expected number of claims that their sources do not bear out: the sum of
1 − P(supported) over the claims that could be checked. The probabilities are the verifier's,
calibrated on test sets; they rank articles, and promise nothing about one.
"""

import csv as spreadsheet
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from pincite.report import templates, wording
from pincite.report.csv import cell
from pincite.report.html import safe_link
from pincite.types import Label, Reliability

FLAGS = (Label.REFUTED, Label.NOT_SUPPORTED)
_POOR = (Reliability.UNRELIABLE, Reliability.DEPRECATED, Reliability.BLACKLISTED)


@dataclass(frozen=True, slots=True)
class Row:
    """One article. `problem` says why nothing was checked; then the counts are zero."""

    title: str
    risk: float = 0.0
    n_claims: int = 0
    n_checked: int = 0
    n_flagged: int = 0
    n_partly: int = 0
    n_poor_sources: int = 0  # citations whose site a list calls unreliable or worse
    worst: str = ""  # the claim that ranks first
    revision_id: str = ""
    url: str = ""
    report: str = ""  # name of the article's own report, beside the list
    problem: str = ""


def row_of(report: Mapping[str, Any], name: str) -> Row:
    """The row of an article, from its JSON report; `name` is that of its page."""
    findings = report["findings"]
    checked = [f for f in findings if f["label"] != Label.UNCHECKED]
    supported = [f["prob_supported"] or 0.0 for f in checked]
    sources = [c["reliability"] for f in findings for c in f["citations"] if c["reliability"]]
    article, labels = report["article"], report["counts"]["labels"]
    return Row(
        title=article["title"],
        risk=round(sum(1 - share for share in supported), 2),
        n_claims=report["counts"]["claims"],
        n_checked=len(checked),
        n_flagged=sum(labels[label] for label in FLAGS),
        n_partly=labels[Label.PARTLY_SUPPORTED],
        n_poor_sources=sum(source["label"] in _POOR for source in sources),
        worst=checked[0]["claim"] if checked else "",
        revision_id=article["revision_id"] or "",
        url=article["url"] or "",
        report=name,
    )


def ranked(rows: Sequence[Row]) -> list[Row]:
    """Riskiest first; what could not be checked comes last."""
    return sorted(rows, key=lambda row: (bool(row.problem), -row.risk, row.title))


def to_json(rows: Sequence[Row]) -> str:
    """The list as JSON."""
    return (
        json.dumps({"articles": [asdict(row) for row in rows]}, ensure_ascii=True, indent=1) + "\n"
    )


def to_csv(rows: Sequence[Row]) -> str:
    """The list for a spreadsheet; no text becomes a formula."""
    out = io.StringIO()
    writer = spreadsheet.writer(out, lineterminator="\n")
    writer.writerow(Row.__dataclass_fields__)
    for row in rows:
        writer.writerow([cell(value) for value in asdict(row).values()])
    return out.getvalue()


def to_html(rows: Sequence[Row]) -> str:
    """The list as one page."""
    shown = [
        asdict(row) | {"href": safe_link(row.url), "worst": wording.shortened(row.worst, 200)}
        for row in rows
    ]
    page = templates.page("worklist.html.j2")
    return page.render(rows=shown, css=templates.style(), advice=wording.ADVICE)
