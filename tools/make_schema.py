"""Write the JSON Schemas of the three reports from the records that write and read them."""

from pathlib import Path
from typing import Any

from pincite.contract import codec
from pincite.contract.ask import AnswerReportRecord
from pincite.contract.check import CheckReportRecord
from pincite.verbs.verify.report import SCHEMA, Report

DOCS = Path(__file__).parents[1] / "docs" / "schemas"
RECORDS: dict[Path, tuple[type[Any], str]] = {
    SCHEMA: (Report, "Pincite report"),
    DOCS / "check.schema.json": (CheckReportRecord, "Pincite check report"),
    DOCS / "ask.schema.json": (AnswerReportRecord, "Pincite answer report"),
}


def text_of(path: Path) -> str:
    """The content of one of the files."""
    return codec.to_json(codec.schema(*RECORDS[path]))


if __name__ == "__main__":
    for path in RECORDS:
        path.write_text(text_of(path), encoding="utf-8")
