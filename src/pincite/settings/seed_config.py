"""EvidenceSeeker's configuration as ours: its YAML files in, one `pincite.toml` and notes out.

Four kinds of file, told by their keys: of the preprocessor, of the confirmation analyser, of the
retriever, and of the demo application, which names the other three. Each option has its place in
`seed_options` or `seed_app`, or a reason why it has none. A value that may be a secret is never
copied, shown or quoted.
"""

import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pincite.errors import ConfigError
from pincite.llm import chat
from pincite.llm.chat_fields import ENFORCED
from pincite.llm.templates import OPTIONS, VARIABLES
from pincite.settings import Settings, places, seed_app, seed_yaml
from pincite.settings.seed_options import (
    DEFAULTS,
    DIALECTS,
    EMBEDDING_PATHS,
    GUIDANCE,
    MODEL_OPTIONS,
    NO_PLACE,
    PROBABILITIES,
    PROMPT_NAMES,
    SECRET,
    STEP_OPTIONS,
    VALUES,
)
from pincite.settings.values import made

CHOICE = "multiple_choice_confirmation_analysis"


class Note(NamedTuple):
    """An option that was not taken over as it stands, and why or what to do instead."""

    file: str
    option: str
    message: str


@dataclass(frozen=True, slots=True)
class Imported:
    """The new file's values, what they do not say, and the prompts by their files' names."""

    values: Mapping[str, Any]
    notes: tuple[Note, ...]
    prompts: Mapping[str, str]
    texts: Mapping[str, str] = field(default_factory=dict)  # of the application, by file


@dataclass(slots=True)
class _Taken:
    """What was found so far."""

    values: dict[str, Any] = field(default_factory=dict)
    steps: dict[str, Mapping[str, Any]] = field(default_factory=dict)  # the model of each
    prompts: dict[str, str] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    paths: list[str] = field(default_factory=list)  # of the knowledge base


def imported(files: Sequence[Path]) -> Imported:
    """Several files of one EvidenceSeeker as one of ours.

    Raises:
        ConfigError: a file cannot be read, is none of the three kinds, or holds what means nothing.
    """
    taken = _Taken()
    waiting, seen = list(files), set[Path]()
    while waiting:
        path = waiting.pop(0)
        if path.resolve() not in seen:
            waiting += _File(path, taken).take()
        seen.add(path.resolve())
    _one_server(taken)
    _knowledge_base(taken)
    ours = {name: v for name, v in taken.values.items() if not name.startswith("server.")}
    made(Settings, places.checked(Settings, ours, "what was imported"))
    return Imported(taken.values, tuple(taken.notes), taken.prompts, taken.texts)


class _File:
    """One YAML file on its way."""

    def __init__(self, path: Path, taken: _Taken) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        values = seed_yaml.parsed(text, str(path))
        known = {*VALUES, *NO_PLACE, *VARIABLES, *SECRET, *seed_app.KNOWN}
        known |= {"models", "used_model_key"}
        if not isinstance(values, dict) or not known & set(map(str, values)):
            raise ConfigError(
                f"{path} is no configuration of EvidenceSeeker; expected keys like models, "
                "negate_claim or embed_model_name."
            )
        self._name, self._values, self._taken, self._path = path.name, values, taken, path
        models = values.get("models")
        self._models: Mapping[Any, Any] = models if isinstance(models, dict) else {}
        self._used = set[Any]()

    def take(self) -> list[Path]:
        """Each option to its place; the files to read besides."""
        if seed_app.KNOWN & set(map(str, self._values)):
            return self._application()
        for key, given in self._models.items():
            self._tell_of_model(f"models.{key}", given if isinstance(given, dict) else {})
        for key, value in self._values.items():
            if key in ("models", "used_model_key"):
                continue
            if key in VARIABLES and isinstance(value, dict):
                self._step(key, value)
            else:
                self._option(str(key), value)
        for key in self._models.keys() - self._used:
            self._note(f"models.{key}", "is used by no step: left out")
        return []

    def _application(self) -> list[Path]:
        found = seed_app.taken(self._values, self._path.parent)
        for name, value in found.values.items():
            self._put(name, value, name)
        self._taken.texts |= found.texts
        for option, message in found.notes:
            self._note(option, message)
        return seed_app.others(self._values, self._path)

    def _note(self, option: str, message: str) -> None:
        self._taken.notes.append(Note(self._name, option, message))

    def _option(self, key: str, value: Any) -> None:
        if value is None:
            return
        if key in VALUES:
            name, translated = VALUES[key]
            self._put(name, translated(value), key)
        else:
            self._note(key, SECRET.get(key) or NO_PLACE.get(key) or "unknown to us: left out")
        if key in ("document_input_dir", "document_input_files", "meta_data_file"):
            self._taken.paths += map(str, value if isinstance(value, list) else [value])
        if key == "window_size":
            self._put("check.retrieval", "windows", key)
            self._note(
                key, 'check.retrieval = "windows" is as before; "hybrid" searches by words too'
            )
            self._note(key, "check.count_copies = true counts windows that overlap each, as before")
        if key == "language":
            self._put("chat.prompt_language", "de" if str(value).lower() == "de" else "en", key)
        if key == "embed_model_name":
            self._encoder(str(value))

    def _encoder(self, name: str) -> None:
        """On this machine, or on the server that it names; TEI is EvidenceSeeker's default."""
        key, kind = "embed_model_name", str(self._values.get("embed_backend_type") or "tei").lower()
        url = str(self._values.get("embed_base_url") or "").rstrip("/")
        if not url or kind not in EMBEDDING_PATHS:
            self._note(key, f"get it with: pincite models fetch {name}")
            return
        path = EMBEDDING_PATHS[kind]
        self._taken.values["models.encoder"] = f"{name}@{url.removesuffix(path)}{path}"
        variable = chat.EMBEDDINGS_KEY_VARIABLE
        self._note(key, f"is asked of that server; if it wants a key, set {variable}")

    def _put(self, name: str, value: Any, key: str) -> None:
        known = self._taken.values.setdefault(name, value)
        if known != value:
            self._note(key, f"{name} is {known!r} already, from another place; that is kept")

    def _tell_of_model(self, place: str, given: Mapping[str, Any]) -> None:
        """What of a model is not taken over, whichever is used."""
        for option, value in given.items():
            if option in SECRET:
                self._note(f"{place}.{option}", SECRET[option])
            elif option not in MODEL_OPTIONS and value is not None:
                reason = NO_PLACE.get(option, "is sent to no server by Pincite: left out")
                self._note(f"{place}.{option}", reason)
        if given.get("is_chat_model") is False:
            self._note(f"{place}.is_chat_model", "Pincite asks for chat completions only")

    def _step(self, step: str, given: Mapping[str, Any]) -> None:
        used = given.get("used_model_key") or self._values.get("used_model_key")
        model = self._models.get(used)
        self._used.add(used)
        if isinstance(model, dict):
            if self._taken.steps.get(step, model) != model:
                self._note(step, "has another model in another file: this one is kept")
            self._taken.steps[step] = model
        elif used is not None:
            self._note(f"{step}.used_model_key", f"{used!r} is described in none of the models")
        configs = given.get("llm_specific_configs")
        for key in configs.keys() - {"default", used} if isinstance(configs, dict) else ():
            place = f"{step}.llm_specific_configs.{key}"
            self._note(place, f"is for another model than the step's, {used}: left out")
        config = _of_model(configs, used)
        taken = {"prompt_template", "system_prompt"}
        if self._prompt(step, config) and step == CHOICE:
            taken |= self._options(config)
        for option, value in config.items():
            if option not in taken and value is not None:
                self._step_option(step, option, value)

    def _step_option(self, step: str, option: str, value: Any) -> None:
        place = f"{step}.{option}"
        if option == "n_repetitions_mcq":
            self._put("check.repetitions", value, place)
        elif option == "answer_labels" and isinstance(value, list):
            self._put("check.answer_labels", list(map(str, value)), place)
        elif option == "delim_str":
            self._put("check.label_delimiter", str(value), place)
        elif option == "logprobs_type":
            self._put("check.probabilities", _one_of(PROBABILITIES, value, place), place)
        elif option == "guidance_type":
            if step == CHOICE:  # of other steps it can only be pydantic
                self._put("check.guidance", _one_of(GUIDANCE, value, place), place)
        else:
            self._note(place, STEP_OPTIONS.get(option, "unknown to us: left out"))

    def _options(self, config: Mapping[str, Any]) -> set[str]:
        """The answers as a file of ours, the one that counts first; which options stand in it."""
        options, counts = config.get("answer_options"), config.get("claim_option")
        if not isinstance(options, list):
            return set()
        lines = [" ".join(str(option).split()) for option in options]
        first = " ".join(str(counts or lines[0]).split())
        if first not in lines:
            return set()
        others = [line for line in dict.fromkeys(lines) if line != first]
        self._taken.prompts[f"{OPTIONS}.txt"] = "\n".join([first, *others]) + "\n"
        return {"answer_options", "claim_option"}

    def _prompt(self, step: str, config: Mapping[str, Any]) -> bool:
        """The step's prompt as one of ours, which name the same values; whether it is taken."""
        template = config.get("prompt_template")
        if not isinstance(template, str):
            return False
        system = str(config.get("system_prompt") or self._values.get("system_prompt") or "")
        text = f"[system]\n{_renamed(system)}\n\n[user]\n{_renamed(template)}\n"
        strange = set(re.findall(r"\{([a-z_]+)\}", text)) - VARIABLES[step]
        place = f"{step}.prompt_template"
        if strange:
            self._note(place, f"names {{{min(strange)}}}, which a prompt of ours cannot: left out")
        elif step == CHOICE and "{options}" not in text:
            self._note(place, "does not name the options, as a prompt of ours must: left out")
        else:
            if self._taken.prompts.setdefault(f"{step}.txt", text) != text:
                self._note(place, "is another one in another file: that is kept")
            return True
        return False


def _renamed(text: str) -> str:
    for theirs, ours in PROMPT_NAMES.items():
        text = text.replace(theirs, ours)
    return text.strip()


def _one_of(known: Mapping[str, str], value: object, place: str) -> str:
    if str(value) not in known:
        raise ConfigError(f"{place} is {value!r}; expected one of {', '.join(known)}.")
    return known[str(value)]


def _of_model(configs: Any, used: object) -> dict[str, Any]:
    """What a step says for the model in use, before what it says for all."""
    if not isinstance(configs, dict):
        return {}
    of_all, own = configs.get("default"), configs.get(used)
    return {
        **(of_all if isinstance(of_all, dict) else {}),
        **(own if isinstance(own, dict) else {}),
    }


def _one_server(taken: _Taken) -> None:
    """The server and model of the multiple choice, else of most steps; others by `step_models`."""
    asked = {s: (_text(m, "base_url"), _text(m, "model")) for s, m in taken.steps.items()}
    for step in (step for step, place in asked.items() if not all(place)):
        taken.notes.append(Note("", step, "its model has no base_url and model: left out"))
    usable = [place for place in asked.values() if all(place)]
    if not usable:
        return
    of_choice = asked.get(CHOICE, ("", ""))
    url, name = of_choice if all(of_choice) else max(usable, key=usable.count)
    values = taken.values
    values |= {"check.interpretation": "model", "check.confirmation": "model"}
    values |= {"chat.url": url, "chat.model": name}
    others = [f"{s}={own}" for s, (at, own) in asked.items() if at == url and own != name]
    if others:
        values["chat.step_models"] = others
    models = {step: {**DEFAULTS, **_given(model)} for step, model in taken.steps.items()}
    values["chat.step_tokens"] = [f"{s}={model['max_tokens']}" for s, model in models.items()]
    for step in (step for step, (at, _) in asked.items() if at != url):
        taken.notes.append(Note("", step, f"asks another server; all steps of ours ask {url}"))
    main = next(models[step] for step, place in asked.items() if place == (url, name))
    for option, setting in _OF_ALL_STEPS.items():
        _tell_of_merged(taken, option, models, main.get(option))
        if setting and main.get(option) is not None:
            values[setting] = main[option]
    _choose_guidance(taken, DIALECTS.get(_text(main, "backend_type"), "openai"))


# What has one value here and may have one for each step there; the dialect is chosen below.
_OF_ALL_STEPS = {"temperature": "chat.temperature", "timeout": "chat.seconds", "backend_type": ""}


def _tell_of_merged(
    taken: _Taken, option: str, models: Mapping[str, Mapping[str, Any]], kept: Any
) -> None:
    """Name the steps whose models have another value than the one that is kept for all."""
    others = {s: m.get(option) for s, m in models.items() if m.get(option) != kept}
    if others:
        said = ", ".join(f"{step}: {value}" for step, value in others.items())
        message = f"is one for all steps here: {kept} is kept, and these are dropped: {said}"
        taken.notes.append(Note("", option, message))


def _choose_guidance(taken: _Taken, dialect: str) -> None:
    """What that kind of server can enforce: theirs raises an error only when it is asked."""
    taken.values["chat.dialect"] = dialect
    wanted, can = taken.values.get("check.guidance", "json"), ENFORCED[dialect]
    if wanted != "prompted" and wanted not in can:
        taken.values["check.guidance"] = can[0]
        message = f"a server of the kind {dialect} does not enforce {wanted}: {can[0]} is written"
        taken.notes.append(Note("", "guidance_type", message))


def _given(model: Mapping[str, Any]) -> dict[str, Any]:
    return {option: value for option, value in model.items() if value is not None}


def _knowledge_base(taken: _Taken) -> None:
    """The command that makes the corpus of the files that were indexed."""
    if taken.paths:
        command = shlex.join(["pincite", "corpus", "update", "kb/", *taken.paths])
        taken.notes.append(Note("", "the knowledge base", f"make it with: {command}"))


def _text(model: Mapping[str, Any], option: str) -> str:
    value = model.get(option)
    return str(value) if value is not None else ""
