"""The configuration of EvidenceSeeker's demo application (0.1.3) as settings of ours.

Its texts, examples and template are for one language, the one that it is set to, English where that
lacks them. They become files of their own, beside the settings that name them.
"""

import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

# Other configuration files that it names.
FILES = ("preprocessing_config_file", "confirmation_analysis_config_file", "retrieval_config_file")
KNOWN = frozenset({*FILES, "ui_texts", "example_inputs", "markdown_template", "force_agreement"})
TEMPLATE, EXAMPLES, NOTICE, CONSENT = "result.tmpl", "examples.txt", "notice.txt", "consent.txt"
_OF_CONSENT = ("privacy_title", "disclaimer_text", "data_policy_text", "consent_info")
_PLACED = frozenset({"title", "info", "description", "consent_text", *_OF_CONSENT})
_BY = ("daily", "weekly", "monthly", "yearly")
_BREAK = re.compile(r"<br\s*/?>|</(?:p|div|li|ul|ol|h[1-6]|tr|table)>", re.IGNORECASE)
_TAG = re.compile(r"</?[a-z!][^>]*>", re.IGNORECASE)


class App(NamedTuple):
    """What of the application is taken over."""

    values: Mapping[str, Any]  # by our names; of files their names
    texts: Mapping[str, str]  # by file
    notes: tuple[tuple[str, str], ...]  # option, what to do


def taken(given: Mapping[str, Any], folder: Path) -> App:
    """Its options as ours; files that it names are looked for in `folder` and where we are."""
    language = str(given.get("language") or "en")
    values: dict[str, Any] = {}
    texts: dict[str, str] = {}
    notes: list[tuple[str, str]] = []
    ui = _words(given, language)
    if title := _one_line(ui.get("title")):
        values["server.title"] = title
    for name, setting, text in (
        (NOTICE, "server.notice", _plain(ui.get("info"), ui.get("description"))),
        (EXAMPLES, "server.examples", _examples(given, language, folder, notes)),
        (TEMPLATE, "check.template", _template(given, language, folder, notes)),
        (CONSENT, "server.consent", _consent(given, ui)),
    ):
        if text.strip():
            texts[name], values[setting] = text.rstrip("\n") + "\n", name
    if words := _of(given.get("translations"), language):
        values["check.translation"] = [f"{name}={_one_line(text)}" for name, text in words.items()]
    values |= _log(given, ui, notes)
    if given.get("password_protection"):
        variable = given.get("password_env_name") or "EVSE_APP_HASH"
        message = f"set server.gate_password to the hash in {variable}: it has the same form"
        notes.append(("password_protection", message))
    if others := sorted(name for name in ui if name not in _PLACED and ui[name]):
        message = "the pages word these themselves, in English and German"
        notes.append((f"ui_texts: {', '.join(others)}", message))
    return App(values, texts, tuple(notes))


def others(given: Mapping[str, Any], path: Path) -> list[Path]:
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


def _consent(given: Mapping[str, Any], ui: Mapping[str, Any]) -> str:
    if not given.get("force_agreement"):
        return ""
    return _plain(*(ui.get(name) for name in _OF_CONSENT), ui.get("consent_text"))


def _log(
    given: Mapping[str, Any], ui: Mapping[str, Any], notes: list[tuple[str, str]]
) -> dict[str, Any]:
    """The log of results. Where people could refuse it, it is left to whoever runs the server."""
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
        message = "could be refused there; here whoever goes on agrees to the whole text. "
        message += f"Once consent.txt says that results are kept, set results.folder = {folder!r}"
        notes.append(("logging", message))
    return values


def _plain(*texts: Any) -> str:
    """HTML and Markdown as paragraphs of text: the pages show text."""
    return "\n\n".join(part for part in map(_without_tags, texts) if part)


def _without_tags(text: Any) -> str:
    marked = _TAG.sub("", _BREAK.sub("\n\n", str(text or "")))
    lines = [line.strip().lstrip("#").strip().replace("**", "") for line in marked.splitlines()]
    return re.sub(r"\n{3,}", "\n\n", html.unescape("\n".join(lines))).strip()


def _one_line(text: Any) -> str:
    return " ".join(str(text or "").split())
