"""Reads the parts of documents that are ZIP files: Word, PowerPoint, EPUB, spreadsheets.

The ZIP is untrusted, so the number, size and compression of its parts are bounded.
"""

import io
import posixpath
import re
import zipfile
import zlib
from collections.abc import Callable
from typing import Any

from pincite.documents.body import Body, too_large
from pincite.documents.markup import parsed_xml
from pincite.documents.tables import Cell, of_sheet
from pincite.documents.text import document_of
from pincite.types import Document, Reason, Unchecked

MAX_ENTRIES = 10_000  # a report with a picture on each of 1,000 pages has some 1,100
# The XML of real files compresses at most 30 times; deflate can reach 1,032.
MAX_RATIO = 200
SMALL = 1_000_000  # bytes: parts up to this size are exempt from MAX_RATIO
Found = Document | Unchecked


class Refused(Exception):
    """The file is invalid; converted to an `Unchecked` in this module."""

    def __init__(self, reason: Reason, detail: str) -> None:
        super().__init__(detail)
        self.reason = reason


class Parts:
    """The parts of a ZIP; `kind` names the file in messages: "Word file"."""

    def __init__(self, packed: zipfile.ZipFile, limit: int, kind: str) -> None:
        entries = packed.infolist()
        if len(entries) > MAX_ENTRIES:
            detail = f"{len(entries)} files in the {kind}; the limit is {MAX_ENTRIES}"
            raise Refused(Reason.TOO_LARGE, detail)
        self._packed, self._limit, self._left, self._kind = packed, limit, limit, kind
        self._entries = {entry.filename: entry for entry in entries}

    def tree(self, name: str) -> Any:
        """Parse a part, without namespaces of its tags; None if it is missing."""
        if not (data := self.read(name)):
            return None
        root = parsed_xml(data)
        if root is None:
            raise Refused(Reason.UNDECODABLE, f"{name} in the {self._kind} is not XML")
        for element in root.iter():  # Office uses two namespaces, transitional and strict
            element.tag = str(element.tag).rpartition("}")[2]
        return root

    def elements(self, name: str, tag: str = "*") -> list[Any]:
        root = self.tree(name)
        return [] if root is None else list(root.iter(tag))

    def related(self, name: str = "") -> dict[str, tuple[str, str]]:
        """The relationships of an Office part, or of the file, by id: type and the other's name."""
        folder, file = posixpath.split(name)
        return {
            each.get("Id", ""): (
                each.get("Type", "").rpartition("/")[2],
                resolved(folder, each.get("Target", "")),
            )
            for each in self.elements(f"{folder}/_rels/{file}.rels".lstrip("/"), "Relationship")
        }

    def main(self, default: str) -> str:
        """The name of the Office part that the file is about."""
        related = self.related().values()
        return next((name for kind, name in related if kind == "officeDocument"), default)

    def read(self, name: str) -> bytes:
        """Unpack a part; empty if it is missing."""
        if (entry := self._entries.get(name)) is None:
            return b""
        if entry.flag_bits & 1:
            raise Refused(Reason.ENCRYPTED, f"{entry.filename} is locked with a password")
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # Python decompresses other methods in whole chunks, whatever size is requested.
            detail = f"{entry.filename} is compressed by a method that the format does not allow"
            raise Refused(Reason.UNDECODABLE, detail)
        self._left -= entry.file_size  # as stated; Python unpacks no more than that
        if self._left < 0:
            size = self._limit - self._left
            unpacked = too_large("", size, self._limit, f"what is packed in the {self._kind}")
            raise Refused(Reason.TOO_LARGE, unpacked.detail)
        if entry.file_size > max(SMALL, MAX_RATIO * entry.compress_size):
            detail = f"{entry.filename} compresses {entry.file_size} bytes into"
            detail += f" {entry.compress_size}, which is implausible for a {self._kind}"
            raise Refused(Reason.TOO_LARGE, detail)
        return self._packed.read(entry)

    def copied(self, endings: tuple[str, ...], most_text: int) -> io.BytesIO:
        """Copy the parts with these endings to a ZIP without compression.

        For libraries that unpack a ZIP themselves, without limits. A part is refused if more than
        `most_text` bytes in a row have no tag; from half of that it may be.
        """
        copy, half = io.BytesIO(), most_text // 2
        with zipfile.ZipFile(copy, "w") as target:
            for name in filter(lambda name: name.endswith(endings), self._entries):
                data = self.read(name)
                for at in range(0, len(data) - half, half):
                    if data.find(b"<", at, at + half) < 0:
                        detail = f"a text in the {self._kind} has more than {half} bytes"
                        raise Refused(Reason.TOO_LARGE, detail)
                target.writestr(name, data)
        copy.seek(0)
        return copy


def resolved(folder: str, target: str) -> str:
    """The name of a part from a path relative to a folder."""
    return posixpath.normpath(posixpath.join("/", folder, target)).lstrip("/")


def packed_as(
    kind: str, factor: int = 1
) -> Callable[[Callable[[Body, Parts], Found]], Callable[[Body], Found]]:
    """Make a reader of parts a reader of ZIPs with at most `factor` times `max_bytes`."""

    def reader_of(read: Callable[[Body, Parts], Found]) -> Callable[[Body], Found]:
        def read_zip(body: Body) -> Found:
            try:
                with zipfile.ZipFile(io.BytesIO(body.data)) as packed:
                    return read(body, Parts(packed, factor * body.limits.max_bytes, kind))
            except Refused as refused:
                return Unchecked(body.url, refused.reason, str(refused))
            except (zipfile.BadZipFile, zlib.error, NotImplementedError, EOFError, ValueError) as e:
                return Unchecked(body.url, Reason.UNDECODABLE, f"not a readable {kind}: {e}")

        return read_zip

    return reader_of


# A spreadsheet has about 4 bytes of XML for a character of text, and more with formulas; a document
# with `max_chars` has 40 MB.
SHEET_FACTOR, SHEET_PARTS = 4, (".xml", ".rels", "mimetype")
CELL_BYTES = 1_000_000  # Excel's cells hold 32,767 characters, of at most 10 bytes each


@packed_as("spreadsheet", SHEET_FACTOR)
def read_sheets(body: Body, parts: Parts) -> Document | Unchecked:
    """Read a spreadsheet of Excel (.xlsx) or OpenDocument (.ods): what its cells show last."""
    from python_calamine import CalamineError, CalamineWorkbook, SheetTypeEnum, SheetVisibleEnum

    blocks = list[str]()
    try:
        with CalamineWorkbook.from_filelike(parts.copied(SHEET_PARTS, CELL_BYTES)) as book:
            for each in book.sheets_metadata:
                if (each.typ, each.visible) != (SheetTypeEnum.WorkSheet, SheetVisibleEnum.Visible):
                    continue
                sheet = book.get_sheet_by_name(each.name)
                rows = [[Cell(_cell_text(value)) for value in row] for row in sheet.to_python()]
                top, left = sheet.start or (0, 0)
                for (a, b), (c, d) in sheet.merged_cell_ranges or ():
                    for row in rows[max(0, a - top) : max(0, c - top + 1)]:
                        place = slice(max(0, b - left), max(0, d - left + 1))
                        row[place] = rows[max(0, a - top)][place][:1] * len(row[place])
                blocks += [] if re.fullmatch(r"\w+ ?\d+", each.name) else [each.name]
                blocks.append(of_sheet(rows))
    except CalamineError as error:
        return Unchecked(body.url, Reason.UNDECODABLE, f"not a readable spreadsheet: {error}")
    text = "\n\n".join(filter(None, blocks))
    first = text.partition("\n")[0]
    return document_of(body, "spreadsheet", text, {} if ": " in first else {"title": first})


def _cell_text(value: object) -> str:
    """Write a cell's value; numbers as readers write them, years without a comma."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return str(value)
    value = round(value, 6)
    return (f"{value:,}" if abs(value) >= 10_000 else str(value)).removesuffix(".0")
