"""Why did raters find no evidence in a citation: the second stage of SIDE's evaluation.

Raters see one passage of a source. For each citation in which a majority of them found no evidence,
an auditor opens the whole source and notes whether that is so (Petroni et al. 2023, table 1).
`audit_sheet` writes the table for any spreadsheet program, `count_audit` counts its answers.
"""

import csv
import io
from collections import Counter
from typing import Any

from pincite.errors import InputError
from pincite.report.cells import csv_text
from pincite_study.agreement import majority, wilson
from pincite_study.preferences import PAIRS
from pincite_study.studies import Study, StudyStore

# What an auditor may find, and the share of SIDE's 136 citations.
KINDS = {
    "none": ("no evidence in the source", 0.413),
    "partial": ("evidence for a part of the statement", 0.182),
    "one passage": ("evidence in one passage", 0.167),
    "several passages": ("evidence spread over several passages", 0.135),
    "not in text": ("evidence that the stored text lacks, such as a picture", 0.071),
    "paywall": ("behind a paywall", 0.032),
}
COLUMNS = (
    "item claim_id article article_url section before claim source_url source_title score passage "
    "found note"
).split()


def audit_sheet(store: StudyStore, study: Study) -> str:
    """Return the citations without evidence as CSV, with the columns "found" and "note" empty.

    Of each item with enough ratings, the side that the article cites.

    Raises InputError: there is no such citation, or the study compares answers.
    """
    if study.compare == "answers":
        raise InputError("Only a study of citations can be audited; this one compares answers.")
    pair, rows = PAIRS[study.compare], list[list[Any]]()
    all_ratings = [given.rating for given in store.ratings(study.study_id)]
    for number, item in store.items(study.study_id).items():
        ratings = [rating for rating in all_ratings if rating.item == number]
        amounts = [r.evidence[pair.cited] for r in ratings if pair.cited in r.evidence]
        if len(ratings) < study.per_item or majority(amounts) != "none":
            continue
        source = item.baseline if pair.cited == pair.baseline else item.tested
        about = [number, item.claim_id, item.article, item.article_url, " › ".join(item.section)]
        row = [*about, item.before, item.claim, source.url, source.title, source.score]
        rows.append([*row, source.passage, "", ""])
    if not rows:
        raise InputError(
            "No citation has enough ratings with a majority that found no evidence. Expected a "
            "study whose raters said how much evidence there is."
        )
    return csv_text(COLUMNS, rows)


def count_audit(text: str) -> str:
    """Return how often a filled sheet has each of KINDS, beside SIDE's shares, as lines of text.

    Raises InputError: the text is no such sheet, an answer is not one of KINDS, or there is none.
    """
    rows = list(csv.DictReader(io.StringIO(text)))
    if not rows or "found" not in rows[0]:
        raise InputError("The sheet has no column `found`. Expected the file of --sheet, filled.")
    answers = [(row["found"] or "").strip().lower() for row in rows]
    for line, answer in enumerate(answers, 2):
        if answer and answer not in KINDS:
            raise InputError(
                f"Row {line} of the sheet has {answer!r} under `found`. Expected one of "
                f"{', '.join(KINDS)}."
            )
    counts = Counter(filter(None, answers))
    total = counts.total()
    if not total:
        raise InputError(f"Nothing is filled in under `found`. Expected one of {', '.join(KINDS)}.")
    lines = [f"{total} of {len(rows)} citations audited", f"{'':56}   n  share (95 %)        SIDE"]
    for kind, (words, share_of_side) in KINDS.items():
        low, high = wilson(counts[kind], total) or (0.0, 1.0)
        share = f"{counts[kind] / total:.0%} ({low:.0%}–{high:.0%})"
        lines.append(f"{words:56}{counts[kind]:4}  {share:18}{share_of_side:6.1%}")
    return "\n".join(lines) + "\n"
