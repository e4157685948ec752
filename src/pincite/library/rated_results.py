"""Results that Pincite wrote as JSON, read back as what a person can have an opinion on.

An *item* is a statement with one passage that was judged for it; of `check` also a reading with its
outcome, of `ask` a sentence with its standing and an answer as a whole. Each kind of result has one
function here; another kind needs one more.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from pincite.contract import codec
from pincite.contract.ask import AnswerReportRecord, QuotedRecord
from pincite.contract.check import CheckReportRecord, WeighedRecord
from pincite.contract.verify import EvidenceRecord, ReportRecord
from pincite.errors import InputError

Kind = Literal["verify", "check", "ask"]
_SUGGESTED = re.compile(r"s\d+")  # the end of a better source's id
MAX_BYTES = 200_000_000  # a report of 1,000 claims with all passages has some 20 MB


@dataclass(frozen=True, slots=True)
class Item:
    """A statement and what was said of it; without `passage` it is a reading as a whole."""

    item_id: str  # unique in its result; one that ends earlier stands for all that begin so
    statement: str
    said: str  # verify: a label; check: an outcome, or a side; ask: a standing, or a support
    passage: str = ""
    quote: str = ""
    url: str = ""
    statement_type: str = ""  # descriptive, ascriptive, normative; of a reading


@dataclass(frozen=True, slots=True)
class Result:
    """What a result file says, as far as opinions need it."""

    kind: Kind
    created: str
    versions: Mapping[str, str]
    items: tuple[Item, ...]

    def chosen(self, item_id: str, *, passage: bool = False) -> Item:
        """The one item whose id is, or begins with, `item_id`.

        `passage`: one with a passage is meant; of a sentence or reading, its only one.

        Raises:
            InputError: none is, or several are; lists them.
        """
        found = [item for item in self.items if item.item_id == item_id]
        if not found or (passage and not found[0].passage):
            below = [i for i in self.items if i.item_id.startswith(f"{item_id}/")]
            found = below or found
        # A claim with one citation is that citation, whatever better sources stand beside it.
        cited = [i for i in found if not _SUGGESTED.fullmatch(i.item_id.rpartition("/")[2])]
        if len(cited) == 1:
            return cited[0]
        if len(found) == 1:
            return found[0]
        what = "begins several items" if found else "is no item"
        known = ", ".join(item.item_id for item in (found or self.items)[:20])
        raise InputError(f"{item_id!r} {what} of this result; expected one of: {known}.")


def read_result(path: Path) -> Result:
    """The result in a JSON file.

    Raises:
        InputError: it cannot be read, or is no result of `verify`, `check` or `ask`.
    """
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InputError(f"{path} is larger than any result: over {MAX_BYTES} bytes.")
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    return result_in(data, str(path))


def result_in(data: bytes, name: str) -> Result:
    """The result in JSON, which messages call `name`; raises as `read_result` does."""
    try:
        value = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name} is no JSON: {error}") from error
    for key, read in _KINDS.items():
        if isinstance(value, dict) and key in value:
            try:
                return read(value)
            except InputError as error:
                raise InputError(f"{name} is no result that Pincite wrote: {error}") from error
    raise InputError(f"{name} is no result of `pincite verify`, `check` or `ask` with --json.")


def _of_verify(value: object) -> Result:
    """`CLAIM/CITATION` for each citation that could be checked, `CLAIM/sN` for suggestions."""
    report, items = codec.from_values(ReportRecord, value), list[Item]()
    for finding in report.findings:
        claim_id, claim = finding.claim_id, finding.claim
        for citation in finding.citations:
            if citation.evidence:
                item_id = f"{claim_id}/{citation.citation_id}"
                items.append(_item(item_id, claim, citation.label, citation.evidence))
        for number, suggestion in enumerate(finding.suggestions, start=1):
            items.append(_item(f"{claim_id}/s{number}", claim, "supported", suggestion.evidence))
    return Result("verify", report.created, report.versions, tuple(items))


def _of_check(value: object) -> Result:
    """`N.READING` for each reading of the N-th statement, and `N.READING/eM` for its evidence."""
    report, items = codec.from_values(CheckReportRecord, value), list[Item]()
    for number, check in enumerate(report.checks, start=1):
        for reading in check.readings:
            place, text = f"{number}.{reading.reading_id}", reading.text
            items.append(Item(place, text, str(reading.outcome), statement_type=str(reading.kind)))
            for n, evidence in enumerate(reading.evidence, start=1):
                items.append(_item(f"{place}/e{n}", text, evidence.side, evidence))
    return Result("check", report.created, report.versions, tuple(items))


def _of_ask(value: object) -> Result:
    """`N` for the N-th answer, `N.sM` for a sentence, `N.sM/rK` for it with reference K."""
    report, items = codec.from_values(AnswerReportRecord, value), list[Item]()
    for number, answer in enumerate(report.answers, start=1):
        said = "abstained" if answer.abstained else "answered"
        items.append(Item(str(number), answer.question, said))
        for n, sentence in enumerate(answer.sentences, start=1):
            place, text = f"{number}.s{n}", sentence.text
            items.append(Item(place, text, str(sentence.standing)))
            for verdict in sentence.verdicts:
                if verdict.evidence:
                    name = f"{place}/r{verdict.number}"
                    items.append(_item(name, text, verdict.support, verdict.evidence))
    return Result("ask", report.created, report.versions, tuple(items))


def _item(
    item_id: str, statement: str, said: str, evidence: EvidenceRecord | WeighedRecord | QuotedRecord
) -> Item:
    quote = evidence.quote or ""
    return Item(item_id, statement, str(said), evidence.passage, quote, evidence.url)


_KINDS: Mapping[str, Callable[[object], Result]] = {
    "findings": _of_verify,
    "checks": _of_check,
    "answers": _of_ask,
}
