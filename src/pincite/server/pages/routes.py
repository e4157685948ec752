"""All pages, in one place."""

from fastapi import FastAPI

from pincite.server.pages import (
    copies,
    corpora,
    feedback,
    home,
    jobs,
    rating,
    shared,
    static,
    studies,
    welcome,
)
from pincite.server.pages.people import account, admin, login
from pincite.server.pages.problem import problem_page
from pincite.server.pages.results import ask, check, verified, verify
from pincite.server.pages.results.verify_view import Results


def install(app: FastAPI) -> None:
    """Serve the pages, and show errors as one."""
    app.state.problem_page = problem_page
    app.state.results = Results()
    asked = (verify, verified, copies, check, ask, corpora, feedback, jobs, shared)
    mine = (login, account, admin)
    for module in (static, home, welcome, *asked, studies, rating, *mine):
        app.include_router(module.router)
