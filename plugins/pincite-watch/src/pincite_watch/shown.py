"""A finding for readers: as JSON in their language, and as a row of a list in wikitext."""

from collections.abc import Callable, Iterable
from typing import Any

from pincite.notes import Note, phrase
from pincite.report.cells import shorten, why_unchecked
from pincite.types import Reason, Unchecked
from pincite.wiki.suggest import escape_parameter, escape_url
from pincite_server.tables import iso
from pincite_watch.carry import text_hash
from pincite_watch.gate import MEASURED, Kind, Measured

LONGEST = 300  # characters of a claim or a quote in a list
N_ = str  # marks a text for the translators
KINDS = {
    Kind.DATE: N_("the source has another value"),
    Kind.RETRACTED: N_("the source was retracted"),
    Kind.IDENTIFIER: N_("wrong identifier"),
    Kind.NOT_THE_PAGE: N_("the address leads to another page"),
    Kind.NUMBER: N_("the source has another value"),
    Kind.NAME: N_("the source has another value"),
    Kind.SHARED: N_("wrong identifier"),
    Kind.NETWORK: N_("contradicted?"),
    Kind.NOT_SUPPORTED: N_("not supported"),
    Kind.DISPUTED: N_("disputed"),
    Kind.PARTLY: N_("partly supported"),
    Kind.UNCHECKED: N_("could not check"),
    Kind.SUPPORTED: N_("supported"),
}


def reasons(record: dict[str, Any], say: Callable[[str], str] = str) -> list[str]:
    texts = [phrase(Note(code, _values(values)), say) for code, values in record["notes"]]
    if record["unread"]:
        reason, detail = record["unread"]
        texts.append(why_unchecked(Unchecked(record["source_url"], Reason(reason), detail), say))
    return texts


def public_record(row: Any) -> dict[str, Any]:
    """What may be published of a finding: nothing from a private copy of a source."""
    quoting: dict[str, Any] = {"quote": "", "notes": [], "unread": None, "proposed": ""}
    return row.record | quoting if row.private else dict(row.record)


def values(row: Any, say: Callable[[str], str] = str, *, is_public: bool = False) -> dict[str, Any]:
    """The values of a finding, as in README.md."""
    record = public_record(row) if is_public else row.record
    url = record["source_url"]
    kind = Kind(row.kind)
    measured = MEASURED.get(kind, Measured())
    return {
        "id": row.finding_id,
        "wiki": row.wiki,
        "title": row.title,
        "page_id": row.page_id,
        "revision_id": row.revision,
        "claim": row.claim,
        "claim_hash": row.claim_hash,
        "claim_sha256": row.claim_sha256,
        "span": [row.span_start, row.span_end],
        "span_sha256": row.span_sha256,
        "label": record["label"],
        "confidence": record["confidence"],
        "kind": kind,
        "precision": measured.precision,
        "precision_n": measured.n,
        "quote": record["quote"],
        "reasons": [say(KINDS[kind]), *reasons(record, say)],
        "ref_name": record["ref_name"],
        "source_url": url,
        "source_url_hash": text_hash(url) if url else None,
        "source_hash": row.source_hash,
        "proposed": record["proposed"],
        "model": row.verifier,
        "judge": row.judge,
        "state": row.state,
        "published": row.published,
        "hidden": row.hidden,
        "judged_at": iso(row.judged),
        "expires_at": iso(row.expires),
    }


def worklist(rows: Iterable[Any], say: Callable[[str], str] = str) -> str:
    """A sortable table in wikitext for a project page, so public; the rows stay in their order."""
    heads = " !! ".join(map(say, (N_("Article"), N_("Statement"), N_("Finding"), N_("Source"))))
    lines = ['{| class="wikitable sortable"', f"! {heads}"]
    for row in rows:
        record = public_record(row)
        why = "; ".join([say(KINDS[Kind(row.kind)]), *reasons(record, say)])
        quote = f": “{shorten(record['quote'], LONGEST)}”" if record["quote"] else ""
        claim = _cell(shorten(row.claim, LONGEST))
        lines += [
            "|-",
            f"| [[:{_cell(row.title)}]] || {claim} "
            f"|| {_cell(why + quote)} || {_link(record['source_url'])}",
        ]
    return "\n".join([*lines, "|}", ""])


def _link(url: str) -> str:
    try:
        return f"[{escape_url(url)}]".replace("|", "%7C")
    except ValueError:  # no web address
        return _cell(url)


def _cell(text: str) -> str:
    """Escape a text for a cell, where {{!}} would begin another one or end its attributes."""
    return escape_parameter(text).replace("{{!}}", "&#124;")


def _values(values: dict[str, Any]) -> dict[str, Any]:
    """The values of a note as they were before JSON."""
    return {k: tuple(v) if isinstance(v, list) else v for k, v in values.items()}
