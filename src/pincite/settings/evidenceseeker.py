"""EvidenceSeeker's configuration (0.1.3) as ours: YAML files in, a `pincite.toml` and notes out.

Four kinds of file, told by their keys: of the preprocessor, of the confirmation analyser, of the
retriever, and of the demo application, which names the other three. Each option has its place in
Pincite or a reason why it has none, and what is merged or dropped is named. The texts, examples and
template of an application are for one language, the one that it is set to, English where that lacks
them; they become files beside the settings that name them. A value that may be a secret is never
copied, shown or quoted.
"""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from pincite.errors import ConfigError
from pincite.llm import chat
from pincite.llm.chat import ENFORCED
from pincite.llm.templates import OPTIONS, VARIABLES
from pincite.settings import Settings, schema
from pincite.settings.schema import made

MAX_CHARS = 1_000_000  # EvidenceSeeker's files with all prompts have some 20,000
# Aliases of aliases multiply: with 30 of them at best 3 ** 10 = 59,049 values.
MAX_ALIASES = 30


def parsed_yaml(text: str, place: str) -> Any:
    """The value in a YAML text.

    Raises:
        ConfigError: it is no YAML, asks for objects, is too large, or has too many aliases.
    """
    if len(text) > MAX_CHARS:
        raise ConfigError(f"{place} has {len(text)} characters; expected at most {MAX_CHARS}.")
    try:
        aliases = sum(isinstance(event, yaml.AliasEvent) for event in yaml.parse(text))
        if aliases > MAX_ALIASES:
            raise ConfigError(f"{place} has {aliases} aliases; expected at most {MAX_ALIASES}.")
        return yaml.safe_load(text)
    except yaml.MarkedYAMLError as error:
        line = f" line {error.problem_mark.line + 1}" if error.problem_mark else ""
        raise ConfigError(f"{place}{line} cannot be read as YAML: {error.problem}") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise ConfigError(f"{place} is no YAML ({type(error).__name__}).") from None


def _same(value: Any) -> Any:
    return value


def _language(value: Any) -> str:
    return str(value).lower()


def _types(value: Any) -> list[str]:
    return [str(item).lower() for item in value] if isinstance(value, list) else [str(value)]


# Option → (our name, how its value is written there).
VALUES: Mapping[str, tuple[str, Callable[[Any], Any]]] = {
    "language": ("language", _language),
    "confirmation_threshold": ("check.threshold", _same),
    "top_k": ("check.top_k", _same),
    "window_size": ("check.window_size", _same),
    "ignore_statement_types": ("check.ignore_statement_types", _types),
    "embed_model_name": ("models.encoder", _same),
    "embed_batch_size": ("embeddings.batch", _same),
}
# Of the model that most steps use.
MODEL_OPTIONS: Mapping[str, str] = {
    "base_url": "chat.url",
    "model": "chat.model",
    "temperature": "chat.temperature",
    "timeout": "chat.seconds",
    "backend_type": "chat.dialect",
    "max_tokens": "chat.step_tokens",
}
# What it sends for a model that says nothing of them (its `get_openai_llm`, llama-index-core 0.14).
DEFAULTS: Mapping[str, Any] = {"temperature": 0.1, "max_tokens": 1024}
DIALECTS: Mapping[str, str] = {"openai": "openai", "tgi": "tgi", "nim": "nim"}
GUIDANCE: Mapping[str, str] = {
    "json": "json",
    "pydantic": "json",
    "structured_llm": "json",
    "regex": "regex",
    "grammar": "grammar",
    "prompted": "prompted",
}
PROBABILITIES: Mapping[str, str] = {"openai_like": "logprobs", "estimate": "estimate"}
# In prompts. Doubled braces stay so: its library, llama-index-core 0.14, sends them as they are.
PROMPT_NAMES: Mapping[str, str] = {
    "{answer_options}": "{options}",
    "{answer_labels}": "{labels}",
    "{freetext_confirmation_analysis}": "{analysis}",
}

_DERIVED = "follows from the labels, and is computed for each question"
STEP_OPTIONS: Mapping[str, str] = {
    "answer_options": "should be a list: left out",
    "claim_option": "is none of the answer_options: left out",
    "answer_labels": "should be a list: left out",
    "json_schema": _DERIVED,
    "constrained_decoding_regex": _DERIVED,
    "constrained_decoding_grammar": _DERIVED,
    "validation_regex": _DERIVED,
}
_VARIABLE = "is set in the variable itself; files of variables are not read"
_ENCODER = "stands in models.encoder: NAME@URL of one on a server, NAME of one on this machine"
# Which of its servers of encoders Pincite asks too, and at which path; the others' answers differ.
EMBEDDING_PATHS: Mapping[str, str] = {"tei": "/embed", "ollama": "/v1"}
_TOKEN = "set HF_TOKEN while `pincite models fetch` runs; nothing else asks Hugging Face"  # noqa: S105
_FOLDER = "a corpus is a folder, named when it is used: pincite corpus update FOLDER PATHS"
_SQLITE = "the corpus keeps its own SQLite file: no server to run"
_PLAIN = "says nothing that changes a result"
NO_PLACE: Mapping[str, str] = {
    "config_version": _PLAIN,
    "description": _PLAIN,
    "name": _PLAIN,
    "verbose": "progress is shown on a terminal, --quiet silences it, --trace keeps everything",
    "env_file": _VARIABLE,
    "system_prompt": "goes into each prompt that has none of its own: --prompts",
    "timeout": "a run has no limit of time but of calls, tokens and cost ([budget])",
    "context_window": "a passage has about 100 words, and a prompt always fits",
    "is_chat_model": "every model is asked for chat completions",
    "is_local": _PLAIN,
    "is_function_calling_model": _PLAIN,
    "api_key_name": f"the key of the server stands in {chat.KEY_VARIABLE}: set that instead",
    "embed_backend_type": _ENCODER,
    "embed_base_url": _ENCODER,
    "trust_remote_code": "code that comes with a model is never run",
    "bill_to": "no such header is sent",
    "hub_key_name": _TOKEN,
    "document_input_dir": "give it to: pincite corpus update FOLDER PATHS",
    "document_input_files": "give them to: pincite corpus update FOLDER PATHS",
    "document_file_metadata": "write what it returns as JSON by file name, as for meta_data_file",
    "meta_data_file": "give it to the same command as it is: pincite corpus update FOLDER PATHS",
    "index_id": _FOLDER,
    "index_persist_path": _FOLDER,
    "index_hub_path": "pincite corpus pack makes one file of a corpus; put it where you like",
    "use_postgres": _SQLITE,
    **{
        f"postgres_{name}": _SQLITE
        for name in "host port database user table_name schema_name embed_dim".split()
    },
    "postgres_llamaindex_table_name_prefix": _SQLITE,
    "postgres_password_env_var": "no server, no password",
}
# Never copied, whatever stands there.
SECRET: Mapping[str, str] = {
    "postgres_password": "is a secret and was not copied; no server, no password",
    "api_key": f"is a secret and was not copied; set {chat.KEY_VARIABLE}",
}


# Other configuration files that it names.
FILES = ("preprocessing_config_file", "confirmation_analysis_config_file", "retrieval_config_file")
APPLICATION = frozenset(
    {*FILES, "ui_texts", "example_inputs", "markdown_template", "force_agreement"}
)
TEMPLATE, EXAMPLES = "result.tmpl", "examples.txt"
_BY = ("daily", "weekly", "monthly", "yearly")


class App(NamedTuple):
    """What of the application is taken over."""

    values: Mapping[str, Any]  # by our names; of files their names
    texts: Mapping[str, str]  # by file
    notes: tuple[tuple[str, str], ...]  # option, what to do


def application(given: Mapping[str, Any], folder: Path) -> App:
    """Its options as ours; files that it names are looked for in `folder` and where we are."""
    language = str(given.get("language") or "en")
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    notes: list[tuple[str, str]] = []
    ui = _words(given, language)
    for name, setting, text in (
        (EXAMPLES, "server.examples", _examples(given, language, folder, notes)),
        (TEMPLATE, "check.template", _template(given, language, folder, notes)),
    ):
        if text.strip():
            texts[name], values[setting] = text.rstrip("\n") + "\n", name
    if words := _of(given.get("translations"), language):
        values["check.translation"] = [f"{name}={_one_line(text)}" for name, text in words.items()]
    values |= _log(given, notes)
    if given.get("password_protection"):
        message = 'no shared password; give people accounts, with server.mode = "server"'
        notes.append(("password_protection", message))
    if others := sorted(name for name in ui if ui[name]):
        message = "the pages have their own texts, in English and German"
        notes.append((f"ui_texts: {', '.join(others)}", message))
    return App(values, texts, tuple(notes))


def files_of_application(given: Mapping[str, Any], path: Path) -> list[Path]:
    """The other configuration files that an application names, as far as they are there."""
    named = [Path(str(given[name])) for name in FILES if given.get(name)]
    found = [_found(name, path.parent) for name in named]
    return [each for each in found if each]


def _found(named: Path, folder: Path) -> Path | None:
    """A file: as it is named here, in the folder, or in the folder above, where `evse` runs."""
    places = (named, folder / named, folder.parent / named, folder / named.name)
    return next((place for place in places if place.is_file()), None)


def _of(by_language: Any, language: str) -> Any:
    """What a table has for a language, else for English."""
    table = by_language if isinstance(by_language, dict) else {}
    return table.get(language) or table.get("en")


def _words(given: Mapping[str, Any], language: str) -> Mapping[str, Any]:
    texts = given.get("ui_texts")
    found = _of(texts.get("ui_texts_lang_dict") if isinstance(texts, dict) else None, language)
    return found if isinstance(found, dict) else {}


def _read(
    given: Mapping[str, Any], option: str, folder: Path, notes: list[tuple[str, str]]
) -> str | None:
    """The text of the file that an option names; None where it names none."""
    if not given.get(option):
        return None
    path = _found(Path(str(given[option])), folder)
    try:
        return path.read_text(encoding="utf-8") if path else _missing(option, notes)
    except (OSError, UnicodeDecodeError):
        return _missing(option, notes)


def _missing(option: str, notes: list[tuple[str, str]]) -> str:
    notes.append((option, "the file cannot be read: left out"))
    return ""


def _examples(
    given: Mapping[str, Any], language: str, folder: Path, notes: list[tuple[str, str]]
) -> str:
    of_file = _read(given, "example_inputs_file", folder, notes)
    listed = _of(given.get("example_inputs"), language)
    lines = listed if isinstance(listed, list) else []
    return "\n".join(map(_one_line, lines)) if of_file is None else of_file


def _template(
    given: Mapping[str, Any], language: str, folder: Path, notes: list[tuple[str, str]]
) -> str:
    of_file = _read(given, "markdown_template_file", folder, notes)
    inline = _of(given.get("markdown_template"), language)
    return str(inline or "") if of_file is None else of_file


def _log(given: Mapping[str, Any], notes: list[tuple[str, str]]) -> dict[str, Any]:
    """The log of results; off where the application let people refuse it."""
    if given.get("logging") is False or not given.get("result_dir"):
        return {}
    folder = str(Path(str(given.get("local_base") or ".")) / str(given["result_dir"]))
    by = given.get("subdirectory_construction")
    values: dict[str, Any] = {"results.folder": folder, "results.by": by if by in _BY else ""}
    values["results.markdown"] = given.get("save_markdown") is not False
    if given.get("write_on_github"):
        values["results.git"] = "push"
        repository = f"https://github.com/{given.get('repo_name') or 'OWNER/NAME'}"
        message = f"clone it first, with git's own credentials: git clone {repository} {folder}"
        notes.append(("write_on_github", message))
    if given.get("force_agreement"):
        del values["results.folder"]
        message = "users could refuse it there, and cannot here. Once you have told them that "
        message += f"results are kept, set results.folder = {folder!r}"
        notes.append(("logging", message))
    return values


def _one_line(text: Any) -> str:
    return " ".join(str(text or "").split())


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
    made(Settings, schema.checked(Settings, ours, "what was imported"))
    return Imported(taken.values, tuple(taken.notes), taken.prompts, taken.texts)


class _File:
    """One YAML file on its way."""

    def __init__(self, path: Path, taken: _Taken) -> None:
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        values = parsed_yaml(text, str(path))
        known = {*VALUES, *NO_PLACE, *VARIABLES, *SECRET, *APPLICATION}
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
        if APPLICATION & set(map(str, self._values)):
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
        found = application(self._values, self._path.parent)
        for name, value in found.values.items():
            self._put(name, value, name)
        self._taken.texts |= found.texts
        for option, message in found.notes:
            self._note(option, message)
        return files_of_application(self._values, self._path)

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
