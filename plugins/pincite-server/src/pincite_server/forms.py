"""HTML forms: parse them, validate them as API bodies, and respond with a redirect.

A form is another encoding of an API request. `body` parses it into the same model, and
`also_posted` lets a form call the function of an API route. A form with errors is shown again with
a message next to each invalid field.
"""

import inspect
import re
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Annotated, Any, NamedTuple, TypeVar, get_args, get_origin

from fastapi import APIRouter, Depends, Request, Response
from fastapi.responses import RedirectResponse
from pydantic import BaseModel, ValidationError
from starlette.datastructures import FormData, UploadFile

from pincite.settings import SHORT, Settings
from pincite.settings.schema import flat, settings_of
from pincite.text import pasted
from pincite_server.languages import language_of, translations
from pincite_server.problems import Problem, invalid_request
from pincite_server.requests import MOST_AT_ONCE, Body
from pincite_server.routing import FORMS, form_of, media_type
from pincite_server.site import Site
from pincite_server.tables import Kind

MAX_FIELDS = 200
AS_TYPED = {"password", "old", "new"}  # fields whose whitespace is significant
LISTED = {"statement", "question"}  # fields for one or more, see `text.pasted`
Model = TypeVar("Model", bound=BaseModel)
Route = TypeVar("Route", bound=Callable[..., Any])


async def _read(request: Request) -> AsyncIterator[FormData]:
    """Parse a form, including its files. Raises Problem: 422, not a form; 400, malformed."""
    if media_type(request) not in FORMS:
        raise Problem(422, "invalid_request", "Expected a form.")
    n_bytes = int(request.app.state.site.server.body_megabytes * 1e6)
    form = await form_of(request, max_files=10, max_fields=MAX_FIELDS, max_part_size=n_bytes)
    try:
        yield form
    finally:
        await form.close()


Form = Annotated[FormData, Depends(_read)]


def text(form: FormData, name: str) -> str:
    """A field without surrounding whitespace; empty if missing."""
    value = form.get(name)
    return value.strip() if isinstance(value, str) else ""


def validate(model: type[Model], values: Mapping[str, object]) -> Model:
    """Validate the values as an API body. Raises Problem: 422, naming the invalid fields."""
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise invalid_request(error.errors()) from error


def body(model: type[Model], form: FormData, **overrides: object) -> Model:
    """Validate a form as an API body; `overrides` replace its values. Raises like `validate`."""
    return validate(model, values_of(model, form) | overrides)


def values_of(model: type[BaseModel], form: FormData) -> dict[str, object]:
    """The form's values for a model's fields; fields of a nested model are at the same level.

    Empty fields of the nested model (settings) are left out. A list may be a comma-separated text.
    """
    values: dict[str, object] = {}
    for name, field in model.model_fields.items():
        kind = field.annotation
        if isinstance(kind, type) and issubclass(kind, BaseModel):
            values[name] = {key: value for key, value in values_of(kind, form).items() if value}
        elif name not in form:
            continue
        elif name in LISTED:
            file = form.get("file")
            sent = file.file.read() if isinstance(file, UploadFile) else b""
            items = pasted.items_of_file(sent.decode("utf-8-sig", "replace"))
            values[name] = [*pasted.items(text(form, name)), *items]
        elif _is_list(kind):
            texts = [entry for entry in form.getlist(name) if isinstance(entry, str)]
            values[name] = [part for entry in texts for part in re.split(r"[\s,]+", entry) if part]
        else:
            values[name] = form[name] if name in AS_TYPED else text(form, name)
    return {name: value for name, value in values.items() if value != []}


def _is_list(kind: object) -> bool:
    return get_origin(kind) in (list, tuple) or any(map(_is_list, get_args(kind)))


def also_posted(router: APIRouter, path: str, then: str) -> Callable[[Route], Route]:
    """Decorator: also accept an API route's request as a form at `path`, then redirect to `then`.

    The route's body is read from the form. `then` can contain path parameters, and `result` for
    what the function returned.
    """

    def register(function: Route) -> Route:
        signature = inspect.signature(function)
        parameters = [
            arg.replace(annotation=Annotated[arg.annotation, Depends(_reader(arg.annotation))])
            if inspect.isclass(arg.annotation) and issubclass(arg.annotation, Body)
            else arg
            for arg in signature.parameters.values()
        ]

        def post(**arguments: Any) -> RedirectResponse:
            answer = redirect(then.format(**arguments, result=function(**arguments)))
            response = arguments.get("response")
            for name, value in response.raw_headers if isinstance(response, Response) else ():
                if name == b"set-cookie":
                    answer.raw_headers.append((name, value))
            return answer

        post.__name__, post.__doc__ = function.__name__, function.__doc__
        post.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=parameters, return_annotation=RedirectResponse
        )
        router.post(path)(post)
        return function

    return register


def _reader(model: type[BaseModel]) -> Callable[[FormData], BaseModel]:
    def read(form: Form) -> BaseModel:
        return body(model, form)

    return read


def redirect(path: str) -> RedirectResponse:
    return RedirectResponse(path, 303)


def local(path: str) -> str:
    r"""The path if it leads to a page of this site, else the start page.

    >>> local("/jobs/x?k=1"), local("//evil.example"), local("/\\evil.example"), local("https:x")
    ('/jobs/x?k=1', '/', '/', '/')
    """
    inside = path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if inside and path.isprintable() and path.isascii() else "/"


# ── Settings of a run ────────────────────────────────────────────────────────────────────────────

N_ = str  # marks texts for translation; templates and `rejected_values` look them up
OF_A_MODEL = ("temperature", "chat_model")
FIELDS: Mapping[str, tuple[str, ...]] = {
    "check": ("top_k", "confirmation_threshold", "dense_share", *OF_A_MODEL),
    "ask": ("documents", "dense_share", *OF_A_MODEL),
}
LABELS = {key: settings_of(Settings)[SHORT[key]].help for keys in FIELDS.values() for key in keys}
SLIDERS = {"dense_share": 1, "temperature": 2}  # from 0 to this, as on Verif.ai's page


class Tunable(NamedTuple):
    """A setting that a form shows."""

    name: str
    label: str  # in English
    default: Any  # the server's value
    choices: tuple[str, ...]  # for a selection; empty for a number
    most: int  # end of a slider; 0 for a number field


def tunable(site: Site, kind: Kind) -> list[Tunable]:
    """Settings for this kind of run; those of a language model only if the run uses one."""
    settings, values = site.settings, flat(site.settings)
    lists = {"chat_model": site.server.models}
    asks = settings.check.asks_a_model if kind == "check" else settings.ask.answer == "model"
    return [
        Tunable(name, LABELS[name], values[SHORT[name]], lists.get(name, ()), SLIDERS.get(name, 0))
        for name in FIELDS[kind]
        if asks or name not in OF_A_MODEL
        if name != "chat_model" or site.server.models
    ]


# ── A form with an error ─────────────────────────────────────────────────────────────────────────

_DATE = N_("Enter a date as 2019, 2019-05 or 2019-05-31.")
_NUMBER = N_("Enter a number within the limits.")
_MESSAGES = {
    **dict.fromkeys((name for each in FIELDS.values() for name in each), _NUMBER),
    "article": N_("Paste an article, or choose a file with one."),
    "statement": N_("Enter the statement to check."),
    "question": N_("Enter your question."),
    "corpus": N_("Choose a corpus that contains documents."),
    "published_from": _DATE,
    "published_to": _DATE,
    "chat_model": N_("Choose one of the models."),
}
_OFFLINE = N_(
    "This server does not fetch pages from the web, so a title or an address is not enough. Paste "
    "the text of the article with its references, or choose a file."
)
_TOO_LONG = N_("This is too long.")
_TOO_MANY = N_("Too many: Pincite takes at most %(most)s at once.")
# Names of API fields, and codes of problems, that belong to a field of a form.
_FIELDS = {
    "form": "article",
    "text": "article",
    "offline": "article",
    "unknown_corpus": "corpus",
    "empty_corpus": "corpus",
    "unknown_model": "chat_model",
}


def rejected_values(
    request: Request, problem: Problem, form: FormData | Mapping[str, str]
) -> dict[str, Any]:
    """Template values for a rejected form. Raises the problem if the form did not cause it."""
    if not problem.of_values:
        raise problem
    say = translations(language_of(request)).gettext
    faults: dict[str, str] = {}
    for error in problem.errors or [{"where": problem.code}]:
        *_, field = (part for part in error["where"].split(".") if not part.isdigit())
        field = _FIELDS.get(field, field)
        message = say(_MESSAGES.get(field, problem.detail))
        if problem.code == "offline":
            message = say(_OFFLINE)
        elif field in _MESSAGES and error.get("kind") in ("string_too_long", "too_long"):
            is_list = field in LISTED and error["where"] == field
            message = say(_TOO_MANY) % {"most": MOST_AT_ONCE} if is_list else say(_TOO_LONG)
        faults.setdefault(field if field in _MESSAGES else "", message)
    return {"status": 422, "faults": faults, "given": typed_texts(form)}


def typed_texts(form: FormData | Mapping[str, str]) -> dict[str, str]:
    """The texts of a form, to be shown in it again."""
    texts = {name: value for name, value in form.items() if isinstance(value, str)}
    if isinstance(form, FormData):
        texts["corpus"] = " ".join(map(str, form.getlist("corpus")))  # from a list or checkboxes
    return texts
