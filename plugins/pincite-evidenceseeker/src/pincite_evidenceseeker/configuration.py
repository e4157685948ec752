"""Convert EvidenceSeeker's configuration (0.1.3): YAML files in, settings and notes out.

configuration.toml maps each option to a setting, or to a note on why there is none. Options are
those of the preprocessor, the confirmation analyser, the retriever and the demo application. A
value that may be a secret is never copied or quoted.
"""

import html
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import yaml

from pincite.errors import ConfigError
from pincite.llm import chat
from pincite.llm.client import EMBEDDINGS_KEY_VARIABLE, KEY_VARIABLE, check_url
from pincite.llm.templates import OPTIONS, VARIABLES
from pincite.settings import Settings, schema

MAX_CHARS = 1_000_000  # EvidenceSeeker's files with all prompts have some 20,000
MAX_ALIASES = 30  # aliases of aliases multiply: 30 make at most 3 ** 10 = 59,049 values
PAGE_LANGUAGES = ("en", "de")
CHOICE = "multiple_choice_confirmation_analysis"
CONFIRMATION = ("freetext_confirmation_analysis", CHOICE)
PREPROCESSING = (
    *(f"freetext_{kind}_analysis" for kind in ("descriptive", "ascriptive", "normative")),
    *(f"list_{kind}_statements" for kind in ("descriptive", "ascriptive", "normative")),
    "negate_claim",
)

TABLES = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
VALUES: Mapping[str, str] = TABLES["values"]
NOTES: Mapping[str, str] = TABLES["notes"]
# EvidenceSeeker's defaults for models that set none (`get_openai_llm`, llama-index-core 0.14).
DEFAULTS: Mapping[str, Any] = {"temperature": 0.1, "max_tokens": 1024}
# Encoder servers that Pincite can use too → the path there.
EMBEDDING_PATHS: Mapping[str, str] = {"tei": "/embed", "ollama": "/v1"}
# Parts of a database's address → EvidenceSeeker's defaults.
DATABASE: Mapping[str, str] = {
    "host": "localhost",
    "port": "5432",
    "database": "evidence_seeker",
    "table_name": "evse_embeddings",
    "user": "",
}
KNOWN = {*VALUES, *NOTES, *VARIABLES, "models", "used_model_key"}


class Note(NamedTuple):
    """An option that was not copied unchanged, and why or what to do instead."""

    file: str
    option: str
    message: str


@dataclass(slots=True)
class Imported:
    """The settings, notes about the rest, and prompts by file name.

    For the server: its settings, other files by name, and the texts of its pages.
    """

    values: dict[str, Any] = field(default_factory=dict)
    notes: list[Note] = field(default_factory=list)
    prompts: dict[str, str] = field(default_factory=dict)
    server: dict[str, Any] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)
    page_texts: dict[str, str] = field(default_factory=dict)


def import_files(files: Sequence[Path]) -> Imported:
    """Convert the configuration files of one EvidenceSeeker project.

    Raises:
        ConfigError: A file cannot be read, belongs to another program, or has an invalid value.
    """
    importer = _Importer()
    for path in files:
        importer.read(path)
    setup = importer.setup
    _choose_server(setup, {**importer.unnamed, **importer.models})
    schema.build(Settings, schema.convert(Settings, setup.values, "what was imported"))
    return setup


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


class _Importer:
    """What was found so far, and the file that is being read."""

    def __init__(self) -> None:
        self.setup = Imported()
        self.models: dict[str, Mapping[str, Any]] = {}  # by step
        self.unnamed: dict[str, Mapping[str, Any]] = {}  # of steps that a file leaves out
        self.path = Path()

    def note(self, option: str, message: str) -> None:
        self.setup.notes.append(Note(self.path.name, option, message))

    def put(self, name: str, value: Any, option: str) -> None:
        known = self.setup.values.setdefault(name, value)
        if known != value:
            self.note(option, f"{name} is already {known!r}, from elsewhere; that value is kept")

    def read(self, path: Path) -> None:
        self.path = path
        try:
            content = parsed_yaml(path.read_text(encoding="utf-8"), str(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"{path} cannot be read: {error}") from error
        values = {key: value for key, value in _table(content).items() if value is not None}
        if not KNOWN & values.keys():
            raise ConfigError(
                f"{path} is not an EvidenceSeeker configuration; expected keys like models, "
                "negate_claim or embed_model_name."
            )
        models = _table(values.pop("models", None))
        for key, model in models.items():
            self.model(f"models.{key}", _table(model))
        main = values.pop("used_model_key", "")
        steps = [step for step in VARIABLES if isinstance(values.get(step), dict)]
        used = {self.step(step, _table(values.pop(step)), models, values, main) for step in steps}
        components = self.components(steps, values) if models else []
        left = [step for of_one in components for step in of_one if step not in steps]
        if left and (model := self.model_of(main, models)):
            self.unnamed |= {step: model for step in left if step not in self.unnamed}
            self.note("prompt_template", "of steps that the file leaves out is Pincite's own")
            used.add(main)
        if components == [PREPROCESSING]:
            values.setdefault("language", "DE")  # EvidenceSeeker's default
        for key in models.keys() - used:
            self.note(f"models.{key}", "is not used by any step: left out")
        if values.get("use_postgres") is True:
            self.database(values)
        for key, value in values.items():
            self.option(key, value, values)
        self.application(values)

    def components(self, named: Sequence[str], values: Mapping[str, Any]) -> list[tuple[str, ...]]:
        """The components that a file with models is for: both if it does not say."""
        about = f"{self.path.name} {values.get('description', '')}".lower()
        return [
            component
            for component, word in ((PREPROCESSING, "preprocess"), (CONFIRMATION, "confirm"))
            if set(component) & set(named) or (not named and word in about)
        ] or [PREPROCESSING, CONFIRMATION]

    def model_of(self, key: str, models: Mapping[str, Any]) -> Mapping[str, Any]:
        """The model that a step uses; raises ConfigError if its address is invalid."""
        model = _table(models.get(key))
        if url := model.get("base_url"):
            check_url(str(url), f"{self.path}: models.{key}.base_url", KEY_VARIABLE)
        return model

    def application(self, values: Mapping[str, Any]) -> None:
        """Convert what the demo application shows, and what it asks of visitors."""
        setup, shown = self.setup, _table(values.get("ui_texts"))
        examples = {k: v for k, v in _table(values.get("example_inputs")).items() if v}
        if examples:
            chosen = examples.get(str(values.get("language")), next(iter(examples.values())))
            setup.files["examples.txt"] = "".join(f"{_one_line(line)}\n" for line in chosen)
            setup.server["examples"] = "examples.txt"
        terms: dict[str, str] = {}
        for language, given in _table(shown.get("ui_texts_lang_dict", shown)).items():
            if language not in PAGE_LANGUAGES:
                self.note(f"ui_texts.{language}", "the pages are in English and German: left out")
                continue
            texts = {name: _markdown(text) for name, text in _table(given).items()}
            names = {f"{language}.{TABLES['ui_texts'][n]}": n for n in TABLES["ui_texts"]}
            setup.page_texts |= {ours: texts[n] for ours, n in names.items() if texts.get(n)}
            if parts := list(filter(None, map(texts.get, TABLES["terms"]["ui_texts"]))):
                terms[language] = "\n\n".join(parts) + "\n"
        if setup.page_texts:
            setup.server["texts"] = "texts.toml"
        if values.get("password_protection"):
            setup.server |= {"mode": "server", "shared_account": "visitors"}
        if values.get("force_agreement") and terms:
            setup.server |= {"mode": "server", "consent": "consent.md"}
            setup.files["consent.md"] = terms.get("en") or terms["de"]
            if terms.keys() == {"en", "de"}:
                setup.files["consent.de.md"] = terms["de"]

    def option(self, key: str, value: Any, values: Mapping[str, Any]) -> None:
        if key not in VALUES:
            self.note(key, NOTES.get(key, "unknown to Pincite: left out"))
            return
        if key == "language":
            value = str(value).lower()
            # Another file's language is noted once, for `language`.
            self.setup.values.setdefault("chat.prompt_language", "de" if value == "de" else "en")
        elif key == "ignore_statement_types":
            value = [str(x).lower() for x in value] if isinstance(value, list) else [str(value)]
        elif key == "window_size":
            self.put("check.retrieval", "windows", key)
            self.note(key, 'check.retrieval = "windows" works as before; "hybrid" adds words')
            self.note(key, "check.count_copies = true counts overlapping windows, as before")
        elif key == "embed_model_name":
            value = self.encoder(str(value), values)
        self.put(VALUES[key], value, key)

    def encoder(self, name: str, values: Mapping[str, Any]) -> str:
        """Return the encoder's name, or NAME@URL; TEI is EvidenceSeeker's default server."""
        path = EMBEDDING_PATHS.get(str(values.get("embed_backend_type", "tei")).lower())
        url = str(values.get("embed_base_url", ""))
        if not url or not path:
            self.note("embed_model_name", f"get it with: pincite models fetch {name}")
            return name
        variable = EMBEDDINGS_KEY_VARIABLE
        message = f"is requested from that server; if it needs a key, set {variable}"
        self.note("embed_model_name", message)
        return f"{name}@{url.rstrip('/').removesuffix(path)}{path}"

    def database(self, values: dict[str, Any]) -> None:
        """Convert the parts of a database's address, which then need no notes."""
        given = {name: str(values.pop(f"postgres_{name}", "") or "") for name in DATABASE}
        host, port, database, table = (given[name] or DATABASE[name] for name in list(DATABASE)[:4])
        user = f"{quote(given['user'], safe='')}@" if given["user"] else ""
        name = re.sub(r"\W", "_", table, flags=re.ASCII)
        address = f"postgresql://{user}{host}:{port}/{quote(database, safe='')}/{name}"
        self.put("library.corpora", [address], "use_postgres")
        values.pop("use_postgres")
        self.note("use_postgres", f"fill it: pincite corpus update {address} PATHS")

    def model(self, place: str, model: Mapping[str, Any]) -> None:
        for option, value in model.items():
            if option not in TABLES["model"] and value is not None:
                reason = NOTES.get(option, "is not sent to any server by Pincite: left out")
                self.note(f"{place}.{option}", reason)

    def step(
        self,
        step: str,
        given: Mapping[str, Any],
        models: Mapping[str, Any],
        values: Mapping[str, Any],
        main: Any,
    ) -> str:
        """Convert the options of a step; returns the key of its model."""
        used = str(given.get("used_model_key") or main)
        if model := self.model_of(used, models):
            if self.models.setdefault(step, model) != model:
                self.note(step, "has a different model in another file, which is kept")
        elif used:
            self.note(f"{step}.used_model_key", f"{used!r} is not among the models")
        configs = _table(given.get("llm_specific_configs"))
        config = {**_table(configs.pop("default", None)), **_table(configs.pop(used, None))}
        for key in configs:
            message = f"is for a model other than the step's, {used}: left out"
            self.note(f"{step}.llm_specific_configs.{key}", message)
        system = config.pop("system_prompt", None) or values.get("system_prompt") or ""
        if self.prompt(step, str(system), config.pop("prompt_template", None)) and step == CHOICE:
            self.answers(config)
        for option, value in config.items():
            if value is not None:
                self.step_option(step, option, value)
        return used

    def step_option(self, step: str, option: str, value: Any) -> None:
        place, setting = f"{step}.{option}", TABLES["steps"].get(option)
        names: Mapping[str, str] = TABLES["names"].get(option, {})
        if not setting or (option == "answer_labels" and not isinstance(value, list)):
            self.note(place, TABLES["step_notes"].get(option, "unknown to Pincite: left out"))
        elif option == "guidance_type" and step in CONFIRMATION and step != CHOICE:
            self.note(place, "free text is not held to a format: left out")
        elif option == "guidance_type" and step in PREPROCESSING:
            if value != "pydantic":  # EvidenceSeeker refuses it too
                raise ConfigError(f"{place} is {value!r}; expected 'pydantic'.")
        elif names and str(value) not in names:
            raise ConfigError(f"{place} is {value!r}; expected one of {', '.join(names)}.")
        else:
            value = list(map(str, value)) if isinstance(value, list) else value
            value = str(value) if option == "delim_str" else value
            self.put(setting, names.get(str(value), value), place)

    def prompt(self, step: str, system: str, template: Any) -> bool:
        """Convert the step's prompt, renaming its values; returns whether it was converted."""
        if not isinstance(template, str):
            return False
        text = f"[system]\n{system.strip()}\n\n[user]\n{template.strip()}\n"
        for old, new in TABLES["prompts"].items():
            text = text.replace(old, new)
        place = f"{step}.prompt_template"
        if unknown := set(re.findall(r"\{([a-z_]+)\}", text)) - VARIABLES[step]:
            self.note(place, f"uses {{{min(unknown)}}}, which Pincite does not know: left out")
            return False
        if step == CHOICE and "{options}" not in text:
            self.note(place, "does not contain {options}, which Pincite needs: left out")
            return False
        if self.setup.prompts.setdefault(f"{step}.txt", text) != text:
            self.note(place, "differs in another file: that one is kept")
        return True

    def answers(self, config: dict[str, Any]) -> None:
        """Convert the options of the multiple choice to a file, the supporting one first."""
        options = config.get("answer_options")
        lines = list(map(_one_line, options)) if isinstance(options, list) else []
        first = _one_line(config.get("claim_option")) or next(iter(lines), "")
        if first in lines:
            self.setup.prompts[f"{OPTIONS}.txt"] = "\n".join(dict.fromkeys([first, *lines])) + "\n"
            config.pop("answer_options")
            config.pop("claim_option", None)


def _choose_server(setup: Imported, models: Mapping[str, Mapping[str, Any]]) -> None:
    """Choose the main server and model: the multiple choice's, else the most frequent.

    Other models and servers become `chat.step_models`, other temperatures
    `chat.step_temperatures`.
    """
    values, notes = setup.values, setup.notes
    given = {
        step: {**DEFAULTS, **{k: v for k, v in model.items() if v is not None}}
        for step, model in models.items()
    }
    servers = {s: (str(m.get("base_url", "")), str(m.get("model", ""))) for s, m in given.items()}
    usable = [server for server in servers.values() if all(server)]
    for step in (step for step, server in servers.items() if not all(server)):
        notes.append(Note("", step, "its model has no base_url or no model name: left out"))
    if not usable:
        return
    of_choice = servers.get(CHOICE, ("", ""))
    url, name = of_choice if all(of_choice) else max(usable, key=usable.count)
    values |= {"check.interpretation": "model", "check.confirmation": "model"}
    values |= {"chat.url": url, "chat.model": name}
    main = (url, name)
    others = {s: server for s, server in servers.items() if all(server) and server != main}
    if own := [f"{s}={m}" if at == url else f"{s}={m}@{at}" for s, (at, m) in others.items()]:
        values["chat.step_models"] = own
    values["chat.step_tokens"] = [f"{s}={model['max_tokens']}" for s, model in given.items()]
    for at in dict.fromkeys(at for at, _ in others.values() if at != url):
        message = f"if it needs a key, set {chat.key_variable(at, url)}"
        notes.append(Note("", f"chat.step_models: {at}", message))
    first = next(given[step] for step, server in servers.items() if server == main)
    values["chat.temperature"] = first["temperature"]
    temperatures = {s: m["temperature"] for s, m in given.items()}
    if own := [f"{s}={t}" for s, t in temperatures.items() if t != first["temperature"]]:
        values["chat.step_temperatures"] = own
    seconds = first.get("timeout")
    if dropped := {s: m.get("timeout") for s, m in given.items() if m.get("timeout") != seconds}:
        listed = ", ".join(f"{step}: {value}" for step, value in dropped.items())
        message = f"is the same for all steps here: {seconds} is kept; dropped: {listed}"
        notes.append(Note("", "timeout", message))
    if seconds is not None:
        values["chat.seconds"] = seconds
    # Pincite's own check raises only when the model is called.
    guidance = values.get("check.guidance", "json")
    if guidance not in ("prompted", *chat.ENFORCED["openai"]):
        values["check.guidance"] = "json"
        message = f"OpenAI's interface does not enforce {guidance}: json is used"
        notes.append(Note("", "guidance_type", message))
    elif guidance == "prompted":
        values["check.schema_for_lists"] = True  # only the choice is prompted


def _table(value: Any) -> dict[str, Any]:
    """Return a copy of a YAML table, whose keys may be anything, with text keys."""
    return {str(key): entry for key, entry in value.items()} if isinstance(value, dict) else {}


def _one_line(text: Any) -> str:
    return " ".join(str(text or "").split())


def _markdown(text: Any) -> str:
    """Return a text of a page without its HTML, which Pincite's pages do not render."""
    plain = html.unescape(re.sub(r"<[^>]*>", "", str(text or "")))
    return re.sub(r"\n{3,}", "\n\n", "\n".join(map(str.strip, plain.splitlines()))).strip()
