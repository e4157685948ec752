"""EvidenceSeeker's configuration as ours: its YAML files in, one `pincite.toml` and notes out.

Three kinds of file, told by their keys: of the preprocessor, of the confirmation analyser, of the
retriever. Each option has its place in the tables below, or a reason why it has none. A value that
may be a secret is never copied, shown or quoted.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pincite.errors import ConfigError
from pincite.models import chat
from pincite.pipeline import places, seed_yaml
from pincite.pipeline.check_settings import TABLE, CheckSettings, ModelSettings
from pincite.pipeline.seed_options import (
    GUIDANCE,
    MODEL_OPTIONS,
    NO_PLACE,
    PROBABILITY,
    SECRET,
    STEP_OPTIONS,
    STEPS,
    VALUES,
)
from pincite.pipeline.settings import Settings


class Note(NamedTuple):
    """An option that was not taken over as it stands, and why or what to do instead."""

    file: str
    option: str
    message: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The new file's text, and what it does not say."""

    toml: str
    notes: tuple[Note, ...]


@dataclass(slots=True)
class _Taken:
    """What was found so far."""

    settings: dict[str, Any] = field(default_factory=dict)
    check: dict[str, Any] = field(default_factory=dict)
    models: dict[str, dict[str, Any]] = field(default_factory=dict)
    steps: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)


def imported(files: Sequence[Path]) -> Imported:
    """Several files of one EvidenceSeeker as one of ours.

    Raises:
        ConfigError: a file cannot be read or is none of the three kinds; or two of them disagree.
    """
    taken = _Taken()
    for path in files:
        _File(path, taken).take()
    _name_models(taken)
    settings, check = taken.settings, dict(taken.check)
    check["models"], check["steps"] = taken.models, taken.steps
    place = "what was imported"
    Settings(**places.checked(Settings, settings, place))
    CheckSettings(**places.checked(CheckSettings, check, place))
    return Imported(_toml(taken), tuple(taken.notes))


class _File:
    """One YAML file on its way."""

    def __init__(self, path: Path, taken: _Taken) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        values = seed_yaml.parsed(text, str(path))
        known = {*VALUES, *NO_PLACE, *STEPS, *SECRET, "models", "used_model_key"}
        if not isinstance(values, dict) or not known & set(map(str, values)):
            raise ConfigError(
                f"{path} is no configuration of EvidenceSeeker; expected keys like models, "
                "negate_claim or embed_model_name."
            )
        self._name, self._values, self._taken = path.name, values, taken
        self._renamed: dict[str, str] = {}

    def take(self) -> None:
        """Each option to its place."""
        self._models()
        if "window_size" in self._values:
            self._taken.check["search"] = "window"
            self._note("window_size", 'search = "window" is as before; "hybrid" finds by words too')
        for key, value in self._values.items():
            if key in ("models", "used_model_key"):
                continue
            if key in STEPS and isinstance(value, dict):
                self._step(key, value)
            else:
                self._option(str(key), value)

    def _note(self, option: str, message: str) -> None:
        self._taken.notes.append(Note(self._name, option, message))

    def _option(self, key: str, value: Any) -> None:
        if value is None:
            return
        if key in SECRET:
            self._note(key, SECRET[key])
        elif key in NO_PLACE:
            self._note(key, NO_PLACE[key])
        elif key in VALUES:
            table, name, translated = VALUES[key]
            target = self._taken.check if table == TABLE else self._taken.settings
            self._put(target, name, translated(value), key)
        else:
            self._note(key, "unknown to us: left out")

    def _put(self, target: dict[str, Any], name: str, value: Any, key: str) -> None:
        if name in target and target[name] != value:
            self._note(key, f"{name} is {target[name]!r} already, from another file; that is kept")
            return
        target[name] = value
        if key == "embed_model_name":
            self._note(key, f"get it with: pincite models fetch {value}")

    # ── Models and steps ─────────────────────────────────────────────────────────────────────────

    def _models(self) -> None:
        """The models of the file; two of one name with other content get two names."""
        models = self._values.get("models")
        for key, given in models.items() if isinstance(models, dict) else ():
            if isinstance(given, dict):
                self._model(str(key), given)

    def _model(self, key: str, given: Mapping[str, Any]) -> None:
        model: dict[str, Any] = {}
        for option, value in given.items():
            place = f"models.{key}.{option}"
            if option == "api_key":
                self._note(place, f"is a secret and was not copied; set {chat.KEY_VARIABLE}")
            elif option in MODEL_OPTIONS and value is not None:
                model[MODEL_OPTIONS[option]] = value
            elif option in NO_PLACE:
                self._note(place, NO_PLACE[option])
            elif value is not None:
                self._note(place, "is sent to no server by Pincite: left out")
        if given.get("is_chat_model") is False:
            self._note(f"models.{key}.is_chat_model", "Pincite asks for chat completions only")
        model = places.checked(ModelSettings, model, f"{self._name}, models.{key}")
        name = key
        while name in self._taken.models and self._taken.models[name] != model:
            name += "_2"
        self._renamed[key] = name
        self._taken.models[name] = model

    def _step(self, key: str, given: Mapping[str, Any]) -> None:
        used = given.get("used_model_key") or self._values.get("used_model_key")
        step = STEPS[key]
        if used is not None:
            self._taken.steps[step] = self._renamed.get(str(used), str(used))
        for option, value in _of_model(given.get("llm_specific_configs"), used).items():
            place = f"{key}.{option}"
            if option in ("prompt_template", "system_prompt") and value:
                what = "prompt" if option == "prompt_template" else "system prompt"
                message = f"its {what} is not copied; it may replace {step} in the folder `prompts`"
                self._note(place, message)
            elif option == "n_repetitions_mcq":
                self._put(self._taken.check, "repetitions", value, place)
            elif option == "guidance_type" and value:
                if step == "confirmation_choice":
                    self._put(self._taken.check, "guidance", _one_of(GUIDANCE, value, place), place)
            elif option == "logprobs_type" and value:
                found = _one_of(PROBABILITY, value, place)
                self._put(self._taken.check, "probability", found, place)
            elif option in STEP_OPTIONS and value is not None:
                self._note(place, STEP_OPTIONS[option])
            elif value is not None:
                self._note(place, "unknown to us: left out")


def _one_of(known: Mapping[str, str], value: object, place: str) -> str:
    if str(value) not in known:
        raise ConfigError(f"{place} is {value!r}; expected one of {', '.join(known)}.")
    return known[str(value)]


def _of_model(configs: Any, used: object) -> dict[str, Any]:
    """What a step says for the model in use, else what it says for all."""
    if not isinstance(configs, dict):
        return {}
    default, own = configs.get("default"), configs.get(used)
    return {
        **(default if isinstance(default, dict) else {}),
        **(own if isinstance(own, dict) else {}),
    }


def _name_models(taken: _Taken) -> None:
    """The model of most steps is the one in use; only other steps name theirs."""
    known = {step: name for step, name in taken.steps.items() if name in taken.models}
    for step in taken.steps.keys() - known.keys():
        message = f"its model {taken.steps[step]!r} is described in none of the files"
        taken.notes.append(Note("", f"steps.{step}", message))
    names = sorted(known.values()) or sorted(taken.models)[:1]
    if not names:
        return
    main = max(names, key=names.count)
    taken.check["model"] = main
    taken.check.setdefault("probability", "logprobs")  # the seed's default
    taken.steps = {step: name for step, name in sorted(known.items()) if name != main}


# ── TOML ─────────────────────────────────────────────────────────────────────────────────────────


def _toml(taken: _Taken) -> str:
    tables = [("", taken.settings), (TABLE, taken.check), (f"{TABLE}.steps", taken.steps)]
    tables += [(f"{TABLE}.models.{_key(name)}", model) for name, model in taken.models.items()]
    return "\n".join(line for name, values in tables for line in _table(name, values))


def _table(name: str, values: Mapping[str, Any]) -> Iterator[str]:
    if not values:
        return
    if name:
        yield f"[{name}]"
    yield from (f"{_key(key)} = {_value(value)}" for key, value in values.items())
    yield ""


def _key(name: str) -> str:
    bare = name.isascii() and name.replace("_", "").replace("-", "").isalnum()
    return name if bare else _value(name)


def _value(value: Any) -> str:
    """TOML's strings, numbers, booleans and lists of strings are written as JSON's, but for DEL."""
    given = list(value) if isinstance(value, tuple) else value
    return json.dumps(given, ensure_ascii=False).replace("\x7f", "\\u007f")
