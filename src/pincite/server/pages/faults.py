"""What is wrong with a form that was sent, in words beside the field that it concerns."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from fastapi import Request
from starlette.datastructures import FormData

from pincite.server.pages import forms, languages
from pincite.server.problems import Problem

# Of pydantic: "too_…" of a text that a function of ours has looked at before.
MISSING = {"string_too_short", "too_short", "missing", "string_pattern_mismatch"}
TOO_LONG = {"string_too_long", "too_long"}
TUNING = frozenset("documents top_k confirmation_threshold dense_share temperature".split())
FORM = ""  # what concerns no field
SHOWN = {  # fields of requests, and those of forms beside which something is said
    "text": "article",
    "article": "article",
    "statement": "statement",
    "question": "question",
}


def faults_of(request: Request, problem: Problem) -> dict[str, str]:
    """By field of the form, what to write there.

    Raises:
        Problem: the same, if it is not about what the form says.
    """
    if problem.status != 422 or problem.code == "account_full":
        raise problem
    _ = languages.translations(languages.language_of(request)).gettext
    no_corpus = _("Choose a corpus that has documents in it.")
    of_code = {
        "offline": (
            "article",
            _(
                "This server fetches nothing from the web, so a title or an address is not "
                "enough. Paste the wikitext of the article, or choose a file."
            ),
        ),
        "unknown_corpus": ("corpus", no_corpus),
        "empty_corpus": ("corpus", no_corpus),
        "unknown_model": ("chat_model", _("Choose one of the models.")),
    }
    if problem.code in of_code:
        field, said = of_code[problem.code]
        return {field: said}
    missing = {
        "form": ("article", _("Paste an article, or choose a file with one.")),
        "statement": ("statement", _("Write the statement that should be checked.")),
        "question": ("question", _("Write your question.")),
        "corpus": ("corpus", no_corpus),
    }
    date = _("Write a date as 2019, 2019-05 or 2019-05-31.")
    found: dict[str, str] = {}
    for error in problem.errors or []:
        field = error["where"].rpartition(".")[2]
        if field in ("published_from", "published_to"):
            found[field] = date
        elif field in missing and (error.get("kind") in MISSING or field == "form"):
            field, said = missing[field]
            found[field] = said
        elif field in TUNING:
            found[field] = _("Write a number within the limits.")
        elif error.get("kind") in TOO_LONG and field in SHOWN:
            found[SHOWN[field]] = _("This is too long.")
        else:
            found[FORM] = problem.detail
    return found or {FORM: problem.detail}


class Back(NamedTuple):
    """A form that comes back: what is wrong with it by field, and what was written in it."""

    wrong: Mapping[str, str]
    given: Mapping[str, str]

    @property
    def values(self) -> dict[str, Any]:
        """What its page is made with."""
        return {"status": 422 if self.wrong else 200, "faults": self.wrong, "given": self.given}


FRESH = Back({}, {})  # a form that nobody has sent yet


def back(request: Request, problem: Problem, given: Mapping[str, str]) -> Back:
    """The form again, with what to write there; raises as `faults_of`."""
    return Back(faults_of(request, problem), given)


def kept(form: FormData) -> dict[str, str]:
    """The texts of a form, to be shown in it again."""
    found = {name: value for name, value in form.items() if isinstance(value, str)}
    return found | {"corpus": " ".join(forms.texts(form, "corpus"))}  # from a list, and by boxes
