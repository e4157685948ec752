"""Write the JSON Schemas of the three reports from the records that write and read them."""

from pathlib import Path
from typing import Any

from pincite import codec
from pincite.verbs.ask.report import AnswerReport
from pincite.verbs.check.report import CheckReport
from pincite.verbs.verify.report import SCHEMA, Report

DOCS = Path(__file__).parents[1] / "docs" / "schemas"
RECORDS: dict[Path, tuple[type[Any], str]] = {
    SCHEMA: (Report, "Pincite report"),
    DOCS / "check.schema.json": (CheckReport, "Pincite check report"),
    DOCS / "ask.schema.json": (AnswerReport, "Pincite answer report"),
}


def text_of(path: Path) -> str:
    """The content of one of the files."""
    return codec.to_json(codec.schema(*RECORDS[path]))


if __name__ == "__main__":
    for path in RECORDS:
        path.write_text(text_of(path), encoding="utf-8")
