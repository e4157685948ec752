"""All pages, in one place."""

from fastapi import FastAPI

from pincite.server.pages import home, jobs, rating, static, studies, verify
from pincite.server.pages.problem import problem_page


def install(app: FastAPI) -> None:
    """Serve the pages, and show errors as one."""
    app.state.problem_page = problem_page
    for module in (static, home, verify, jobs, studies, rating):
        app.include_router(module.router)
