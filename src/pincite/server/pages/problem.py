"""An error as a page."""

from typing import Any

from fastapi import Request
from fastapi.responses import HTMLResponse

from pincite.server.pages import languages
from pincite.server.pages.rendering import page


def problem_page(request: Request, problem: Any) -> HTMLResponse:
    """What `problems.response` shows a browser.

    Args:
        request: could not be answered.
        problem: a `problems.ProblemBody`.
    """
    heading = _headings(request).get(problem.code) or _headings(request)["other"]
    who = getattr(request.state, "identity", None)
    return page(
        request, "problem.html", who, status=problem.status, problem=problem, heading=heading
    )


def _headings(request: Request) -> dict[str, str]:
    _ = languages.translations(languages.language_of(request)).gettext
    return {
        "not_found": _("There is nothing here"),
        "not_logged_in": _("You are not logged in"),
        "not_allowed": _("You may not do this"),
        "foreign_origin": _("This came from a page of another site"),
        "too_large": _("This is too large"),
        "queue_full": _("Too many jobs are waiting"),
        "too_many_of_yours": _("You have as many jobs as one account may"),
        "disk_full": _("The server's disk is nearly full"),
        "account_full": _("Your files have reached the limit of an account"),
        "too_many_requests": _("Too many requests"),
        "login_refused": _("You are not logged in"),
        "login_expired": _("This login has expired"),
        "csrf": _("This page has expired"),
        "offline": _("This server fetches nothing from the web"),
        "invalid_request": _("The request was not understood"),
        "internal": _("An error in the program"),
        "other": _("This did not work"),
    }
