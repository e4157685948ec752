"""The API that editors' tools read: findings by page, and editors' verdicts."""

import hashlib
import json
from typing import Annotated, Any

from fastapi import Depends, Query, Request, Response
from pydantic import BaseModel, Field

from pincite import codec
from pincite.library.feedback import Opinion
from pincite_server.feedback import Verdict
from pincite_server.identity import Admin, Guest, Identity, Permission, Runner
from pincite_server.languages import language_of, translations
from pincite_server.problems import Problem, not_found
from pincite_server.requests import Body, IdPath, Text, page_of, read_cursor
from pincite_server.routing import Router
from pincite_server.site import Stores
from pincite_server.tables import iso, now
from pincite_watch.shown import values
from pincite_watch.store import Hidden, Watch

PUBLIC = "public"  # a note of a wiki: its findings can be read without a login
# Editors' tools run on other sites. Answers depend on no cookie, so any site may read them.
_ANY_SITE = {"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "ETag"}
router = Router(prefix="/api/v1/findings", tags=["findings"])


class Wanted(BaseModel):
    """Which findings to list; without a title those of all watched pages."""

    wiki: Annotated[Text, Field(min_length=1, max_length=255, examples=["en.wikipedia.org"])]
    title: Annotated[Text, Field(max_length=255)] = ""
    revision: Annotated[int, Field(ge=1, le=2**53)] | None = None
    limit: Annotated[int, Field(ge=1, le=200)] = 100
    cursor: Annotated[Text, Field(max_length=500)] | None = None
    hidden: bool = False


def _store(site: Stores) -> Watch:
    return Watch(site.database)


Store = Annotated[Watch, Depends(_store)]


@router.get("", operation_id="list_findings")
def list_findings(
    request: Request, store: Store, who: Guest, wanted: Annotated[Wanted, Query()]
) -> Response:
    """The published findings of a page, or of all watched pages, worst first.

    `revision`: the one that the reader has; `current` says whether the spans refer to it.
    `hidden`: those that editors hid instead, for administrators.
    """
    is_public = _check_access(store, who, wanted)
    title = wanted.title.replace("_", " ") or None
    after: Any = read_cursor(wanted.cursor, (int, str))
    rows = store.published_rows(wanted.wiki, title, after, wanted.limit + 1, hidden=wanted.hidden)
    shown_rows, following = page_of(list(rows), wanted.limit, lambda r: (r.rank, r.finding_id))
    say = translations(language_of(request)).gettext
    checked = store.revision(wanted.wiki, title) if title else None
    answer = {
        "wiki": wanted.wiki,
        "title": title,
        "revision": checked,
        "current": None if wanted.revision is None else wanted.revision == checked,
        "findings": [values(row, say, is_public=is_public) for row in shown_rows],
        "next": following,
    }
    return _answer(request, answer, any_site=is_public)


def _check_access(store: Watch, who: Identity | None, wanted: Wanted) -> bool:
    """Whether everyone may read these findings. Raises Problem: 401, 403, this user may not."""
    if wanted.hidden and not (who and Permission.ADMIN in who.may):
        raise Problem(403, "not_allowed", "Only administrators see hidden findings.")
    if not wanted.hidden and store.note(wanted.wiki, PUBLIC):
        return True
    if not (who and Permission.READ in who.may and _is_of(who, wanted.wiki)):
        raise Problem(401, "not_logged_in", "The findings of this wiki need a login.")
    return False


def _is_of(who: Identity, wiki: str) -> bool:
    """Whether a request may be about a wiki: the script of one gets no findings of another."""
    return who.wiki.partition("://")[2] in ("", wiki.partition("/")[0])


def _answer(request: Request, answer: dict[str, Any], *, any_site: bool) -> Response:
    body = codec.to_json(answer, None)
    tag = f'"{hashlib.sha256(body.encode("utf-8", "surrogatepass")).hexdigest()[:32]}"'
    headers = {"ETag": tag, "Vary": "Accept-Language", "Cache-Control": "no-cache"}
    headers |= _ANY_SITE if any_site else {}
    if tag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(body, media_type="application/json", headers=headers)


@router.get("/metrics", operation_id="watch_metrics")
def metrics(store: Store, who: Admin) -> Response:
    """What was watched, found and used, for Prometheus."""
    return Response(metrics_text(store.status()), media_type="text/plain; version=0.0.4")


def metrics_text(status: dict[str, Any]) -> str:
    """The figures of `Watch.status` in Prometheus' text format."""
    lines = [f'pincite_watch_pages{{state="{what}"}} {n}' for what, n in status["pages"].items()]
    for row in status["findings"]:
        labels = f'state="{row["state"]}",kind="{row["kind"]}"'
        lines.append(f"pincite_watch_findings{{{labels}}} {row['n']}")
        lines.append(f"pincite_watch_published{{{labels}}} {row['published']}")
    for what, n in sorted(status["today"].items()):
        lines.append(f'pincite_watch_today{{what="{what}"}} {n:g}')
    return "\n".join(lines) + "\n"


class EditorsVerdict(Body):
    """What an editor says of a finding."""

    verdict: Hidden
    note: Annotated[Text, Field(max_length=2_000)] = ""


@router.post("/{finding_id}/feedback", status_code=204, operation_id="give_finding_feedback")
def give_feedback(
    finding_id: IdPath, body: EditorsVerdict, who: Runner, site: Stores, store: Store
) -> None:
    """Hide a finding from all readers, and store why as feedback."""
    row = store.get(finding_id)
    if row is None or not _is_of(who, row.wiki):
        raise not_found()
    # Whoever mends the article agrees with the finding.
    verdict: Verdict = "right" if body.verdict is Hidden.FIXED else "wrong"
    site.feedback.add(who.account_id, None, verdict, _opinion_of(row, verdict, body))
    store.hide(finding_id, body.verdict)


def _opinion_of(row: Any, verdict: Verdict, body: EditorsVerdict) -> Opinion:
    record = row.record
    return Opinion(
        created=iso(now()),
        given="up" if verdict == "right" else "down",
        note=f"{body.verdict}: {body.note}".removesuffix(": "),
        who="",
        correction="",
        kind="verify",
        item_id=row.claim_hash,
        statement=row.claim,
        statement_type="",
        said=record["label"],
        passage=record["quote"],  # the passage around it is not stored
        quote=record["quote"],
        url=record["source_url"],
        result=row.inputs[:16],
        result_created=iso(row.judged),
        versions=json.dumps({"verifier": row.verifier, "judge": row.judge}),
    )


@router.delete("/{finding_id}/feedback", status_code=204, operation_id="unhide_finding")
def unhide(finding_id: IdPath, store: Store, who: Admin) -> None:
    """Show a finding again that editors hid. Their feedback stays."""
    if store.get(finding_id) is None:
        raise not_found()
    store.unhide(finding_id)
