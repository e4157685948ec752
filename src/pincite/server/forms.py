"""What browsers send with a form: read, checked, and answered by going to another page.

A form that is wrong comes back with words beside the fields that they concern. The settings of a
run that a form shows are those of the last run of its kind, of the same account: they are kept with
its jobs.
"""

from collections.abc import Mapping
from typing import Annotated, Any, NamedTuple, TypeVar

from fastapi import Depends, Request
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile

from pincite.server.identity import Identity
from pincite.server.problems import Problem
from pincite.server.rendering import language_of, translations
from pincite.server.site import Site
from pincite.server.tables import Kind
from pincite.settings import SHORT, Settings
from pincite.settings.schema import flat

MAX_FIELDS = 200
Model = TypeVar("Model", bound=BaseModel)


async def _read(request: Request) -> FormData:
    """The fields of a form; a file is one of them.

    Raises:
        Problem: 422, it is no form.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind not in ("application/x-www-form-urlencoded", "multipart/form-data"):
        raise Problem(422, "invalid_request", "Expected a form.")
    return await request.form(
        max_files=10, max_fields=MAX_FIELDS, max_part_size=_part_bytes(request)
    )


def _part_bytes(request: Request) -> int:
    return int(request.app.state.site.server.body_megabytes * 1e6)


Form = Annotated[FormData, Depends(_read)]


def text(form: FormData, name: str) -> str:
    """A field without space around it; empty if it is not there."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def texts(form: FormData, name: str) -> list[str]:
    """All that was chosen under a name, without what is empty."""
    return [each for each in form.getlist(name) if isinstance(each, str) and each]


def file(form: FormData, name: str) -> tuple[str, bytes] | None:
    """Name and content of a file that was chosen; None if there is none."""
    value = form.get(name)
    if not isinstance(value, UploadFile) or not value.filename:
        return None
    return value.filename, value.file.read()


def checked(model: type[Model], values: dict[str, object]) -> Model:
    """The values as a body of the API wants them.

    Raises:
        Problem: 422, and which of them is wrong.
    """
    try:
        return model.model_validate(values)
    except ValidationError as error:
        errors = [
            {
                "where": ".".join(map(str, each["loc"])) or "form",
                "what": str(each["msg"]),
                "kind": each["type"],
            }
            for each in error.errors()
        ]
        first = errors[0]
        detail = f"{first['where']}: {first['what']}."
        raise Problem(422, "invalid_request", detail, errors=errors) from error


def to(path: str) -> RedirectResponse:
    """The answer to a form: look there."""
    return RedirectResponse(path, 303)


def local(path: str) -> str:
    r"""The path if it leads to a page of this site, else the start.

    >>> local("/jobs/x?k=1"), local("//evil.example"), local("/\\evil.example"), local("https:x")
    ('/jobs/x?k=1', '/', '/', '/')
    """
    inside = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if inside and path.isprintable() and path.isascii() else "/"


OF_EVERY = ("dense_share",)
OF_A_MODEL = ("temperature", "chat_model")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "check": ("top_k", "confirmation_threshold", *OF_EVERY, *OF_A_MODEL),
    "ask": ("documents", *OF_EVERY, *OF_A_MODEL),
}


class Tuned(NamedTuple):
    """What a form shows of them."""

    names: tuple[str, ...]
    usual: Mapping[str, Any]  # the server's, by name
    models: tuple[str, ...]  # that one may choose


def tuned(site: Site, kind: Kind) -> Tuned:
    """The fields of a kind of run; those of a model only where one is asked."""
    values = flat(site.settings)
    asked = asks_a_model(site.settings, kind)
    names = [n for n in FIELDS[kind] if asked or n not in OF_A_MODEL]
    if not site.server.models:
        names = [name for name in names if name != "chat_model"]
    usual = {name: values[SHORT[name]] for name in names}
    return Tuned(tuple(names), usual, site.server.models)


def asks_a_model(settings: Settings, kind: Kind) -> bool:
    """Whether such a run asks a language model."""
    return settings.check.asks_a_model if kind == "check" else settings.ask.answer == "model"


def settings_given(form: Form, kind: Kind) -> dict[str, Any]:
    """Those that were filled in."""
    return {name: value for name in FIELDS[kind] if (value := text(form, name))}


def last_used(site: Site, who: Identity, kind: Kind) -> dict[str, Any]:
    """Those of the last run of this kind, for a form that nobody has sent yet."""
    last = next(iter(site.jobs.listed(who.account_id, 1, None, (kind,))), None)
    settings = last.request.get("settings", {}) if last else {}
    return {name: settings[name] for name in FIELDS[kind] if name in settings}


# Of pydantic: "too_…" of a text that a function of ours has looked at before.
MISSING = {"string_too_short", "too_short", "missing", "string_pattern_mismatch"}
TOO_LONG = {"string_too_long", "too_long"}
TUNING = frozenset("documents top_k confirmation_threshold dense_share temperature".split())
NO_FIELD = ""  # what concerns no field
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
    _ = translations(language_of(request)).gettext
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
            found[NO_FIELD] = problem.detail
    return found or {NO_FIELD: problem.detail}


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


def kept_texts(form: FormData) -> dict[str, str]:
    """The texts of a form, to be shown in it again."""
    found = {name: value for name, value in form.items() if isinstance(value, str)}
    return found | {"corpus": " ".join(texts(form, "corpus"))}  # from a list, and by boxes
