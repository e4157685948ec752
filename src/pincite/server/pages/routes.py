"""All pages, in one place."""

from fastapi import FastAPI

from pincite.server.pages import home, static, welcome
from pincite.server.pages.problem import problem_page
from pincite.server.routes.accounts import account_pages as account
from pincite.server.routes.accounts import admin_pages as admin
from pincite.server.routes.accounts import login_pages as login
from pincite.server.routes.corpora import corpora_pages as corpora
from pincite.server.routes.jobs import jobs_pages as jobs
from pincite.server.routes.jobs import shared
from pincite.server.routes.results import ask, check, verified, verify
from pincite.server.routes.results import copies_pages as copies
from pincite.server.routes.results import feedback_pages as feedback
from pincite.server.routes.results.verify_view import Results
from pincite.server.routes.studies import rating_pages as rating
from pincite.server.routes.studies import studies_pages as studies


def install(app: FastAPI) -> None:
    """Serve the pages, and show errors as one."""
    app.state.problem_page = problem_page
    app.state.results = Results()
    asked = (verify, verified, copies, check, ask, corpora, feedback, jobs, shared)
    mine = (login, account, admin)
    for module in (static, home, welcome, *asked, studies, rating, *mine):
        app.include_router(module.router)
