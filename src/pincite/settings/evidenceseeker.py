"""Convert EvidenceSeeker's configuration (0.1.3): YAML files in, settings and notes out.

evidenceseeker.toml maps each option. There are four kinds of file, recognised by their keys:
preprocessor, confirmation analyser, retriever, and the demo application, which names the other
three. Each option has a setting here or a note that explains why not. An application's texts are
taken in its language, or in English, and become files next to the settings that name them. A value
that may be a secret is never copied or quoted.
"""

import re
import shlex
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import yaml

from pincite.errors import ConfigError
from pincite.llm import chat
from pincite.llm.templates import OPTIONS, VARIABLES
from pincite.settings import Settings, schema

MAX_CHARS = 1_000_000  # EvidenceSeeker's files with all prompts have some 20,000
MAX_ALIASES = 30  # aliases of aliases multiply: 30 make at most 3 ** 10 = 59,049 values
CHOICE = "multiple_choice_confirmation_analysis"

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
VALUES: Mapping[str, str] = TABLES["values"]
NOTES: Mapping[str, str] = TABLES["notes"]
# EvidenceSeeker's values for a model without them (`get_openai_llm`, llama-index-core 0.14).
DEFAULTS: Mapping[str, Any] = {"temperature": 0.1, "max_tokens": 1024}
DIALECTS = ("openai", "tgi", "nim")
# Encoder servers that Pincite can use too → the path there.
EMBEDDING_PATHS: Mapping[str, str] = {"tei": "/embed", "ollama": "/v1"}
# Keys of an application that name other configuration files.
FILES = ("preprocessing_config_file", "confirmation_analysis_config_file", "retrieval_config_file")
APPLICATION = frozenset(
    {*FILES, "ui_texts", "example_inputs", "markdown_template", "force_agreement"}
)
KNOWN = {*VALUES, *NOTES, *VARIABLES, *APPLICATION, "models", "used_model_key"}


class Note(NamedTuple):
    """An option that was not copied unchanged, and why or what to do instead."""

    file: str
    option: str
    message: str


@dataclass(slots=True)
class Imported:
    """The settings, notes about the rest, and prompts and texts by file name."""

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)


def imported(files: Sequence[Path]) -> Imported:
    """Convert the files of one EvidenceSeeker.

    Raises:
        ConfigError: A file cannot be read, is of none of the four kinds, or has an invalid value.
    """
    found, models, paths = Imported(), dict[str, Mapping[str, Any]](), list[str]()
    waiting, seen = list(files), set[Path]()
    while waiting:
        path = waiting.pop(0)
        if path.resolve() not in seen:
            seen.add(path.resolve())
            file = _File(path, found, models, paths)
            waiting += file.application() if APPLICATION & file.values.keys() else file.options()
    _one_server(found, models)
    if paths:
        command = shlex.join(["pincite", "corpus", "update", "kb/", *paths])
        found.notes.append(Note("", "the knowledge base", f"make it with: {command}"))
    ours = {name: v for name, v in found.values.items() if not name.startswith("server.")}
    schema.made(Settings, schema.checked(Settings, ours, "what was imported"))
    return found


def parsed_yaml(text: str, place: str) -> Any:
    """Parse a YAML text safely.

    Raises:
        ConfigError: It is not YAML, requests objects, is too large, or has too many aliases.
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
        raise ConfigError(f"{place} is not YAML ({type(error).__name__}).") from None


class _File:
    """One YAML file. Results are added to `found`, `models` (by step) and `paths`."""

    def __init__(
        self, path: Path, found: Imported, models: dict[str, Mapping[str, Any]], paths: list[str]
    ) -> None:
        self.path, self.found, self.models, self.paths = path, found, models, paths
        try:
            values = parsed_yaml(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        if not isinstance(values, dict) or not KNOWN & set(map(str, values)):
            raise ConfigError(
                f"{path} is not a configuration of EvidenceSeeker; expected keys like models, "
                "negate_claim or embed_model_name."
            )
        self.values: Mapping[str, Any] = {str(key): value for key, value in values.items()}

    def note(self, option: str, message: str) -> None:
        self.found.notes.append(Note(self.path.name, option, message))

    def put(self, name: str, value: Any, option: str) -> None:
        known = self.found.values.setdefault(name, value)
        if known != value:
            self.note(option, f"{name} is {known!r} already, from another place; that is kept")

    def options(self) -> list[Path]:
        """Convert the options of the preprocessor, the confirmation analyser or the retriever."""
        models = _table(self.values.get("models"))
        for key, model in models.items():
            self._note_model(f"models.{key}", _table(model))
        used = set[Any]()
        for key, value in self.values.items():
            if key in VARIABLES and isinstance(value, dict):
                used.add(self._step(key, value, models))
            elif key not in ("models", "used_model_key") and value is not None:
                self._option(key, value)
        for key in models.keys() - used:
            self.note(f"models.{key}", "is used by no step: left out")
        return []

    def _option(self, key: str, value: Any) -> None:
        if key not in VALUES:
            self.note(key, NOTES.get(key, "unknown to Pincite: left out"))
            if key in ("document_input_dir", "document_input_files", "meta_data_file"):
                self.paths += map(str, value if isinstance(value, list) else [value])
            return
        if key == "language":
            value = str(value).lower()
            self.put("chat.prompt_language", "de" if value == "de" else "en", key)
        elif key == "ignore_statement_types":
            value = [str(x).lower() for x in value] if isinstance(value, list) else [str(value)]
        elif key == "window_size":
            self.put("check.retrieval", "windows", key)
            self.note(key, 'check.retrieval = "windows" is as before; "hybrid" adds words')
            self.note(key, "check.count_copies = true counts overlapping windows, as before")
        elif key == "embed_model_name":
            value = self._encoder(str(value), key)
        self.put(VALUES[key], value, key)

    def _encoder(self, name: str, key: str) -> str:
        """Return the encoder's name, or NAME@URL; TEI is EvidenceSeeker's default server."""
        kind = str(self.values.get("embed_backend_type") or "tei").lower()
        url, path = str(self.values.get("embed_base_url") or ""), EMBEDDING_PATHS.get(kind)
        if not url or not path:
            self.note(key, f"get it with: pincite models fetch {name}")
            return name
        variable = chat.EMBEDDINGS_KEY_VARIABLE
        self.note(key, f"is requested from that server; if it needs a key, set {variable}")
        return f"{name}@{url.rstrip('/').removesuffix(path)}{path}"

    def _note_model(self, place: str, model: Mapping[str, Any]) -> None:
        for option, value in model.items():
            if option not in TABLES["model"] and value is not None:
                reason = NOTES.get(option, "is not sent to any server by Pincite: left out")
                self.note(f"{place}.{option}", reason)
        if model.get("is_chat_model") is False:
            self.note(f"{place}.is_chat_model", "Pincite asks for chat completions only")

    def _step(self, step: str, given: Mapping[str, Any], models: Mapping[str, Any]) -> Any:
        """Convert the options of a step; returns the key of its model."""
        used = given.get("used_model_key") or self.values.get("used_model_key")
        model = models.get(used)  # type: ignore[arg-type]  # a YAML key may be anything
        if isinstance(model, dict):
            if self.models.get(step, model) != model:
                self.note(step, "has another model in another file: this one is kept")
            self.models[step] = model
        elif used is not None:
            self.note(f"{step}.used_model_key", f"{used!r} is described in none of the models")
        configs = _table(given.get("llm_specific_configs"))
        for key in configs.keys() - {"default", used}:
            place = f"{step}.llm_specific_configs.{key}"
            self.note(place, f"is for another model than the step's, {used}: left out")
        config = {**_table(configs.get("default")), **_table(configs.get(used))}  # type: ignore[arg-type]
        taken = {"prompt_template", "system_prompt"}
        if self._prompt(step, config) and step == CHOICE:
            taken |= self._answers(config)
        for option, value in config.items():
            if option not in taken and value is not None:
                self._step_option(step, option, value)
        return used

    def _step_option(self, step: str, option: str, value: Any) -> None:
        place, setting = f"{step}.{option}", TABLES["steps"].get(option)
        names: Mapping[str, str] = TABLES["names"].get(option, {})
        if not setting or (option == "answer_labels" and not isinstance(value, list)):
            self.note(place, TABLES["step_notes"].get(option, "unknown to Pincite: left out"))
        elif option == "guidance_type" and step != CHOICE:
            pass  # it can only be pydantic
        elif names and str(value) not in names:
            raise ConfigError(f"{place} is {value!r}; expected one of {', '.join(names)}.")
        else:
            value = list(map(str, value)) if isinstance(value, list) else value
            value = str(value) if option == "delim_str" else value
            self.put(setting, names.get(str(value), value), place)

    def _prompt(self, step: str, config: Mapping[str, Any]) -> bool:
        """Convert the step's prompt, renaming its values; returns whether it was converted."""
        template = config.get("prompt_template")
        if not isinstance(template, str):
            return False
        system = str(config.get("system_prompt") or self.values.get("system_prompt") or "")
        text = f"[system]\n{system.strip()}\n\n[user]\n{template.strip()}\n"
        for theirs, ours in TABLES["prompts"].items():
            text = text.replace(theirs, ours)
        strange = set(re.findall(r"\{([a-z_]+)\}", text)) - VARIABLES[step]
        place = f"{step}.prompt_template"
        if strange:
            self.note(place, f"names {{{min(strange)}}}, which Pincite does not know: left out")
        elif step == CHOICE and "{options}" not in text:
            self.note(place, "does not name the options, as Pincite's prompt must: left out")
        else:
            if self.found.prompts.setdefault(f"{step}.txt", text) != text:
                self.note(place, "differs in another file: that one is kept")
            return True
        return False

    def _answers(self, config: Mapping[str, Any]) -> set[str]:
        """Convert the options of the multiple choice to a file, the supporting one first."""
        options, counts = config.get("answer_options"), config.get("claim_option")
        if not isinstance(options, list) or not options:
            return set()
        lines = list(map(_one_line, options))
        first = _one_line(counts) or lines[0]
        if first not in lines:
            return set()
        others = [line for line in dict.fromkeys(lines) if line != first]
        self.found.prompts[f"{OPTIONS}.txt"] = "\n".join([first, *others]) + "\n"
        return {"answer_options", "claim_option"}

    def application(self) -> list[Path]:
        """Convert the demo application; returns the configuration files that it names."""
        given, language = self.values, str(self.values.get("language") or "en")

        def of(by_language: Any) -> Any:
            return _table(by_language).get(language) or _table(by_language).get("en")

        examples = self._text("example_inputs_file")
        if examples is None:
            listed = of(given.get("example_inputs"))
            examples = "\n".join(map(_one_line, listed if isinstance(listed, list) else []))
        template = self._text("markdown_template_file")
        if template is None:
            template = str(of(given.get("markdown_template")) or "")
        for name, setting, text in (
            ("examples.txt", "server.examples", examples),
            ("result.tmpl", "check.template", template),
        ):
            if text.strip():
                self.found.texts[name] = text.rstrip("\n") + "\n"
                self.put(setting, name, setting)
        if words := of(given.get("translations")):
            texts = [f"{name}={_one_line(text)}" for name, text in words.items()]
            self.put("check.translation", texts, "translations")
        self._log()
        if given.get("password_protection"):
            message = 'no shared password; give people accounts, with server.mode = "server"'
            self.note("password_protection", message)
        ui = _table(of(_table(given.get("ui_texts")).get("ui_texts_lang_dict")))
        if others := sorted(name for name in ui if ui[name]):
            message = "the pages have their own texts, in English and German"
            self.note(f"ui_texts: {', '.join(others)}", message)
        named = [self._found(str(given[name])) for name in FILES if given.get(name)]
        return [path for path in named if path]

    def _log(self) -> None:
        """Convert the log of results; disabled if users of the application could refuse it."""
        given = self.values
        if given.get("logging") is False or not given.get("result_dir"):
            return
        folder = str(Path(str(given.get("local_base") or ".")) / str(given["result_dir"]))
        by = given.get("subdirectory_construction")
        known = by in ("daily", "weekly", "monthly", "yearly")
        self.put("results.by", by if known else "", "subdirectory_construction")
        self.put("results.markdown", given.get("save_markdown") is not False, "save_markdown")
        if given.get("write_on_github"):
            self.put("results.git", "push", "write_on_github")
            repository = f"https://github.com/{given.get('repo_name') or 'OWNER/NAME'}"
            message = f"clone it first, with git's own credentials: git clone {repository} {folder}"
            self.note("write_on_github", message)
        if given.get("force_agreement"):
            message = "users could refuse it there, and cannot here. Once you have told them that "
            message += f"results are kept, set results.folder = {folder!r}"
            self.note("logging", message)
        else:
            self.put("results.folder", folder, "result_dir")

    def _text(self, option: str) -> str | None:
        if not self.values.get(option):
            return None
        path = self._found(str(self.values[option]))
        try:
            if path:
                return path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            pass
        self.note(option, "the file cannot be read: left out")
        return ""

    def _found(self, name: str) -> Path | None:
        """Find a file: here, in this file's folder, or in the one above, where `evse` runs."""
        named, folder = Path(name), self.path.parent
        places = (named, folder / named, folder.parent / named, folder / named.name)
        return next((place for place in places if place.is_file()), None)


def _one_server(found: Imported, models: Mapping[str, Mapping[str, Any]]) -> None:
    """Choose one server and model for all steps: the multiple choice's, else the most frequent.

    Other models of the same server become `chat.step_models`.
    """
    values, notes = found.values, found.notes
    given = {
        step: {**DEFAULTS, **{k: v for k, v in model.items() if v is not None}}
        for step, model in models.items()
    }
    asked = {
        step: (str(m.get("base_url", "")), str(m.get("model", ""))) for step, m in given.items()
    }
    for step in (step for step, place in asked.items() if not all(place)):
        notes.append(Note("", step, "its model has no base_url and model: left out"))
    usable = [place for place in asked.values() if all(place)]
    if not usable:
        return
    of_choice = asked.get(CHOICE, ("", ""))
    url, name = of_choice if all(of_choice) else max(usable, key=usable.count)
    values |= {"check.interpretation": "model", "check.confirmation": "model"}
    values |= {"chat.url": url, "chat.model": name}
    if others := [f"{s}={own}" for s, (at, own) in asked.items() if at == url and own != name]:
        values["chat.step_models"] = others
    values["chat.step_tokens"] = [f"{s}={model['max_tokens']}" for s, model in given.items()]
    for step in (step for step, (at, _) in asked.items() if at != url):
        notes.append(Note("", step, f"uses another server; all steps here use {url}"))
    main = next(given[step] for step, place in asked.items() if place == (url, name))
    for option in ("temperature", "timeout", "backend_type"):
        kept = main.get(option)
        if dropped := {s: m.get(option) for s, m in given.items() if m.get(option) != kept}:
            listed = ", ".join(f"{step}: {value}" for step, value in dropped.items())
            message = f"is the same for all steps here: {kept} is kept, and dropped: {listed}"
            notes.append(Note("", option, message))
        if kept is not None and option != "backend_type":
            values[TABLES["model"][option]] = kept
    dialect = str(main.get("backend_type", ""))
    dialect = dialect if dialect in DIALECTS else "openai"
    values["chat.dialect"] = dialect
    # Pincite's own check raises only when the model is called.
    wanted, can = values.get("check.guidance", "json"), chat.ENFORCED[dialect]
    if wanted != "prompted" and wanted not in can:
        values["check.guidance"] = can[0]
        message = f"a server of the kind {dialect} does not enforce {wanted}: {can[0]} is used"
        notes.append(Note("", "guidance_type", message))


def _table(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}


def _one_line(text: Any) -> str:
    return " ".join(str(text or "").split())
