"""Collect what the pages say, and compile what translators made of it: `make locale`.

`pincite.po` in the server's `locale/de/LC_MESSAGES` is the file to edit; texts that are new stand
in it with an empty `msgstr`. The `.mo` beside it is what the program reads; it is committed.
A plugin with a folder `locale` has its own, of what the server does not say.
"""

import io
import sys
from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain, product
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir, extract_from_file
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po, write_po

import pincite
from pincite import notes
from pincite.library.exclusions import LABELS as LISTED
from pincite.report import bibliography, cells
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.check import wording as check_wording
from pincite.verbs.verify import wording
from pincite_server import forms, languages, rendering

SERVER = languages.LOCALE.parent
CORE = Path(pincite.__file__).parent
PLUGINS = sorted({path.parent for path in SERVER.parents[2].glob("*/src/*/locale")} - {SERVER})
METHODS = [
    ("*.py", "python"),
    ("routes/**.py", "python"),
    ("templates/**.html", "jinja2"),
]
# Words that the pages share with the reports: they stand there, and are translated here.
SHARED: tuple[Iterable[str], ...] = (
    *(table.values() for table in (wording.LEGEND, wording.READS, cells.REASONS, cells.BARS)),
    *(table.values() for table in (rendering.STEPS, LISTED, forms.LABELS)),
    *([look.label for look in of.LOOKS.values()] for of in (wording, check_wording, ask_wording)),
    [look.label for look in cells.WORKS.values()],
    check_wording.KINDS.values(),
    check_wording.SOURCES.values(),
    (check_wording.OWN, check_wording.PRIMARY, check_wording.NEAREST),
    ask_wording.VERDICTS.values(),
    *(table.values() for table in (*wording.READ.values(), wording.ARCHIVED)),
    *(table.values() for table in (*wording.CHANGED.values(), wording.ON_PAGE)),
    *(table.values() for table in wording.ELSEWHERE.values()),
    wording.VERDICTS.values(),
    *(table.values() for table in (wording.OPINIONS, wording.UNCITED, wording.MISSING)),
    ("p.", "pp.", *wording.UNVERIFIABLE.values(), *wording.JOINED.values()),
    (*wording.STRENGTHS.values(), wording.NOT_LIVE, wording.NOT_LIVE_STATUS, wording.CHANGED_STEP),
    (wording.STALE_TAG, wording.MARKED_WRONG, wording.NO_QUOTE, wording.STRENGTH),
    (wording.ADVICE, wording.READ_FIRST, wording.SEVERAL, wording.SORTED, check_wording.ADVICE),
    (ask_wording.ADVICE, ask_wording.COPIED, ask_wording.NO_ANSWER, ask_wording.INHERITED),
    (ask_wording.LEFT_OUT, notes.QUOTED, ask_wording.ALSO_FOUND, ask_wording.CLOSEST),
    [mark for mark in bibliography.RETRACTIONS.values() if mark],
    [said for code, said in notes.ENGLISH.items() if code != notes.AS_WRITTEN],
)
CALLS: dict[str, tuple[int, ...] | None] = {"say": None, "plural": (1, 2)}
WIDTH = 100
SOME_DAY = datetime(2026, 1, 1, tzinfo=UTC)  # the time of making would differ with every run
HEADER = "# What Pincite's pages say. Apache-2.0, as the program."


def collected(folder: Path = SERVER) -> Catalog:
    """All texts, in a fixed order, without line numbers: they would change with every edit."""
    catalog = Catalog()
    found = extract_from_dir(
        folder, METHODS, {"templates/**.html": {"trimmed": "true", "silent": "false"}}
    )
    known = collected() if folder != SERVER else ()
    for file, _, message, _, _ in sorted(found, key=lambda each: (each[0], each[1])):
        if message not in known:
            catalog.add(message, locations=[(file, 0)])
    if folder != SERVER:
        return catalog
    options = {"*.j2": {"trimmed": "true", "silent": "false"}}
    macros = extract_from_dir(CORE / "report", [("*.j2", "jinja2")], options)
    for file, _, message, _, _ in sorted(macros, key=lambda each: (each[0], each[1])):
        catalog.add(message, locations=[(f"report/{file}", 0)])
    for verb in ("ask", "check"):  # what their wordings give to `say` and `plural`
        path = CORE / "verbs" / verb / "wording.py"
        for _, message, _, _ in extract_from_file("python", path, CALLS):
            catalog.add(message, locations=[(f"verbs/{verb}/wording.py", 0)])
    for text in chain.from_iterable(SHARED):
        catalog.add(text, locations=[("verbs/verify/wording.py", 0)])
    return catalog


def translated(language: str, folder: Path = SERVER) -> Catalog:
    """The translations of a language, brought to the texts of now; new ones are empty."""
    path = file_of(language, folder)
    with io.BytesIO(path.read_bytes() if path.exists() else b"") as stream:
        catalog = read_po(stream, locale=language, domain="pincite")
    catalog.update(collected(folder), no_fuzzy_matching=True, update_header_comment=False)
    catalog.obsolete.clear()
    catalog.header_comment, catalog.fuzzy = HEADER, False
    catalog.project, catalog.version, catalog.copyright_holder = "Pincite", "1", ""
    catalog.msgid_bugs_address = catalog.last_translator = ""
    return catalog


def file_of(language: str, folder: Path = SERVER) -> Path:
    return folder / "locale" / language / "LC_MESSAGES" / "pincite.po"


def as_po(catalog: Catalog) -> bytes:
    out = io.BytesIO()
    write_po(out, catalog, width=WIDTH, omit_header=False, include_lineno=False, sort_output=False)
    lines = out.getvalue().decode().splitlines(keepends=True)
    # Dates would differ with every run.
    kept = [line for line in lines if not line.startswith(('"POT-Creation', '"PO-Revision'))]
    return "".join(kept).encode()


def as_mo(catalog: Catalog) -> bytes:
    out = io.BytesIO()
    catalog.creation_date = catalog.revision_date = SOME_DAY
    write_mo(out, catalog)
    return out.getvalue()


def untranslated(catalog: Catalog) -> list[str]:
    return [
        str(message.id)
        for message in catalog
        if message.id and (not message.string or not all(message.string) or message.fuzzy)
    ]


def main() -> None:
    missing = 0
    others = [language for language in languages.LANGUAGES if language != "en"]
    for language, folder in product(others, (SERVER, *PLUGINS)):
        catalog, path = translated(language, folder), file_of(language, folder)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(as_po(catalog))
        path.with_suffix(".mo").write_bytes(as_mo(catalog))
        for text in untranslated(catalog):
            missing += 1
            print(f"{language}: to be translated: {text}")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main()
