"""Settings of a run in the forms: how much is read, how it is weighed, which model is asked.

A form shows those of the last run of its kind, of the same account: they are kept with its jobs.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from pincite.server.pages import forms
from pincite.server.pages.forms import Form
from pincite.server.people.identity import Identity
from pincite.server.site import Site
from pincite.server.tables import Kind
from pincite.settings import SHORT, Settings
from pincite.settings.values import flat

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


def given(form: Form, kind: Kind) -> dict[str, Any]:
    """Those that were filled in."""
    return {name: value for name in FIELDS[kind] if (value := forms.text(form, name))}


def kept(site: Site, who: Identity, kind: Kind) -> dict[str, Any]:
    """Those of the last run of this kind, for a form that nobody has sent yet."""
    last = next(iter(site.jobs.listed(who.account_id, 1, None, (kind,))), None)
    settings = last.request.get("settings", {}) if last else {}
    return {name: settings[name] for name in FIELDS[kind] if name in settings}
