"""What somebody thinks of one item of a result, sent by a form."""

from fastapi import Request
from fastapi.responses import HTMLResponse

from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.pages.rendering import page
from pincite.server.people.identity import Runner
from pincite.server.routes.results import feedback as api_feedback
from pincite.server.routes.results.feedback import NewFeedback
from pincite.server.routing import Router
from pincite.server.site import Stores

router = Router(include_in_schema=False)


@router.post("/jobs/{job_id}/feedback")
def give(job_id: str, request: Request, form: Form, who: Runner, site: Stores) -> HTMLResponse:
    """Keep it, and say so: in the form's place where scripts run, else on a page."""
    names = ("item", "verdict", "label", "quote", "note")
    given = {name: value for name in names if (value := forms.text(form, name))}
    body = forms.checked(NewFeedback, {"job_id": job_id, **given})
    said = api_feedback.given(site, who, body)
    back = forms.local(forms.text(form, "back") or f"/jobs/{job_id}")
    piece = request.headers.get("hx-request") == "true"
    name = "thanks.html" if piece else "thanks_page.html"
    return page(request, name, who, said=said, back=back)
