"""The invented tables of `tests/cases/tables` as files of seven formats, and their claims."""

import io
import re
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

CASES = Path(__file__).parents[1] / "cases/tables/tables.txt"
FILES = {
    "html": (".html", "text/html"),
    "wikitext": (".wiki", "text/x-wiki"),
    "csv": (".csv", "text/csv"),
    "docx": (".docx", None),
    "xlsx": (".xlsx", None),
    "ods": (".ods", None),
    "pdf": (".pdf", "application/pdf"),
}
_W = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
_S = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
_R = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_P = "http://schemas.openxmlformats.org/package/2006"
_O = "urn:oasis:names:tc:opendocument:xmlns"


@dataclass(frozen=True, slots=True)
class TableClaim:
    """A claim about a table: whether it is true, and of which kind it is."""

    text: str
    true: bool
    kind: str


@dataclass(slots=True)
class TableCase:
    """A table: rows of cells as written in the file, of which the first `n_headers` are headers."""

    id: str
    format: str
    title: str
    rows: list[list[str]] = field(default_factory=list)
    n_headers: int = 0
    caption: str = ""
    text: str = ""
    note: str = ""
    claims: list[TableClaim] = field(default_factory=list)

    @property
    def spans(self) -> list[list[tuple[str, int, int]]]:
        """Rows of (text, columns, rows), without the cells that another one covers."""
        found = list[list[tuple[str, int, int]]]()
        for i, row in enumerate(self.rows):
            found.append([])
            for j, text in enumerate(row):
                if text not in ("<", "^"):
                    below = [below[j] if j < len(below) else "" for below in self.rows[i + 1 :]]
                    found[-1].append((text, 1 + _run("<", row[j + 1 :]), 1 + _run("^", below)))
        return found


def _run(mark: str, cells: list[str]) -> int:
    return next((n for n, cell in enumerate(cells) if cell != mark), len(cells))


def read_cases(path: Path = CASES) -> list[TableCase]:
    cases = list[TableCase]()
    for line in path.read_text(encoding="utf-8").splitlines():
        mark, _, rest = line.partition(" ")
        if mark == "==":
            name, file_format, title = rest.split(" ", 2)
            cases.append(TableCase(name, file_format, title))
        elif mark in ("!", "|"):
            cases[-1].rows.append([cell.strip() for cell in rest.split(" | ")])
            cases[-1].n_headers += mark == "!"
        elif mark in ("+", "-"):
            text, _, kind = rest.rpartition(" [")
            cases[-1].claims.append(TableClaim(text, mark == "+", kind.rstrip("]")))
        elif mark in ("caption:", "text:", "note:"):
            setattr(cases[-1], mark.rstrip(":"), rest)
    return cases


def written(case: TableCase) -> bytes:
    """The file with the table."""
    content = globals()[f"_{case.format}"](case)
    return content.encode() if isinstance(content, str) else content


def _html(case: TableCase) -> str:
    rows = ""
    for n, row in enumerate(case.spans):
        tag = "th" if n < case.n_headers else "td"
        cells = (f'<{tag} colspan="{c}" rowspan="{r}">{escape(text)}</{tag}>' for text, c, r in row)
        rows += f"<tr>{''.join(cells)}</tr>\n"
    caption = f"<caption>{escape(case.caption)}</caption>" if case.caption else ""
    paragraphs = (f"<p>{escape(text)}</p>" if text else "" for text in (case.text, case.note))
    table = f"<table>{caption}{rows}</table>".join(paragraphs)
    title = escape(case.title)
    return f"<!doctype html><title>{title}</title><body><main><h1>{title}</h1>{table}</main>"


def _wikitext(case: TableCase) -> str:
    lines = [f"'''{case.title}''' is listed here.", "", '{| class="wikitable"']
    lines += [f"|+ {case.caption}"] if case.caption else []
    for n, row in enumerate(case.spans):
        lines.append("|-")
        mark = "!" if n < case.n_headers else "|"
        cells = [
            f'colspan="{c}" rowspan="{r}" | {text}' if (c, r) != (1, 1) else text
            for text, c, r in row
        ]
        lines.append(f"{mark} " + f" {mark}{mark} ".join(cells))
    return "\n".join([*lines, "|}", ""])


def _csv(case: TableCase) -> str:
    quoted = (",".join(f'"{c}"' if "," in c else c for c in row) for row in case.rows)
    return "\r\n".join(quoted) + "\r\n"


def _docx(case: TableCase) -> bytes:
    rows = ""
    for n, row in enumerate(case.rows):
        cells = ""
        for j, text in enumerate(row):
            if text == "<":
                continue
            wide = 1 + _run("<", row[j + 1 :])
            below = [r[j] for r in case.rows[n + 1 :]]
            merge = "<w:vMerge/>" if text == "^" else ""
            merge = '<w:vMerge w:val="restart"/>' if not merge and _run("^", below) else merge
            words = "" if text == "^" else escape(text)
            cells += (
                f'<w:tc><w:tcPr><w:gridSpan w:val="{wide}"/>{merge}</w:tcPr>'
                f"<w:p><w:r><w:t>{words}</w:t></w:r></w:p></w:tc>"
            )
        head = "<w:trPr><w:tblHeader/></w:trPr>" if n < case.n_headers else ""
        rows += f"<w:tr>{head}{cells}</w:tr>"
    before = [case.title, case.text, case.caption]
    paragraphs = "".join(f"<w:p><w:r><w:t>{escape(t)}</w:t></w:r></w:p>" for t in before if t)
    body = f"<w:body>{paragraphs}<w:tbl>{rows}</w:tbl></w:body>"
    return packed({"word/document.xml": f'<w:document xmlns:w="{_W}">{body}</w:document>'})


def _number(text: str) -> str | None:
    plain = text.replace(",", "").replace("−", "-")
    return plain if re.fullmatch(r"-?\d+(\.\d+)?", plain) else None


def _xlsx(case: TableCase) -> bytes:
    lines = [[case.title], *([[case.caption]] if case.caption else []), *case.rows]
    rows, strings = "", list[str]()
    for n, row in enumerate(lines, 1):
        cells = ""
        for j, text in enumerate(row):
            place = f"{chr(65 + j)}{n}"
            if (number := _number(text)) is not None:
                cells += f'<c r="{place}"><v>{number}</v></c>'
            else:
                cells += f'<c r="{place}" t="s"><v>{len(strings)}</v></c>'
                strings.append(text)
        rows += f'<row r="{n}">{cells}</row>'
    return workbook(rows, strings=strings)


def workbook(rows: str, behind: str = "", strings: Sequence[str] = ()) -> bytes:
    """An Excel file of one sheet with these rows in XML."""
    shared = "".join(f"<si><t>{escape(text)}</t></si>" for text in strings)
    relation = f'<Relationship Id="rId1" Type="{_R}/{{}}" Target="{{}}"/>'
    relations = f'<Relationships xmlns="{_P}/relationships">{{}}</Relationships>'
    sheet_relations = relation.format("worksheet", "worksheets/sheet1.xml") + relation.replace(
        "rId1", "rId2"
    ).format("sharedStrings", "sharedStrings.xml")
    return packed(
        {
            "[Content_Types].xml": f'<Types xmlns="{_P}/content-types"/>',
            "_rels/.rels": relations.format(relation.format("officeDocument", "xl/workbook.xml")),
            "xl/workbook.xml": f'<workbook xmlns="{_S}" xmlns:r="{_R}"><sheets>'
            '<sheet name="Sheet1" sheetId="1" r:id="rId1"/></sheets></workbook>',
            "xl/_rels/workbook.xml.rels": relations.format(sheet_relations),
            "xl/sharedStrings.xml": f'<sst xmlns="{_S}">{shared}</sst>',
            "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{_S}"><sheetData>{rows}</sheetData>'
            f"{behind}</worksheet>",
        }
    )


def _ods(case: TableCase) -> bytes:
    rows = ""
    for row in [[case.title], *([[case.caption]] if case.caption else []), *case.rows]:
        cells = ""
        for text in row:
            number = _number(text)
            kind = (
                f'office:value-type="float" office:value="{number}"'
                if number is not None
                else 'office:value-type="string"'
            )
            cells += f"<table:table-cell {kind}><text:p>{escape(text)}</text:p></table:table-cell>"
        rows += f"<table:table-row>{cells}</table:table-row>"
    return sheet(rows)


def _pdf(case: TableCase) -> bytes:
    """A file as another program laid it out."""
    return (CASES.parent / f"pdf/{case.id}.pdf").read_bytes()


def sheet(rows: str) -> bytes:
    """An OpenDocument file of one sheet with these rows in XML."""
    names = "".join(f' xmlns:{name}="{_O}:{name}:1.0"' for name in ("office", "table", "text"))
    mime = "application/vnd.oasis.opendocument.spreadsheet"
    manifest = f'xmlns:manifest="{_O}:manifest:1.0"'
    return packed(
        {
            "mimetype": mime,
            "content.xml": f"<office:document-content{names}><office:body><office:spreadsheet>"
            f'<table:table table:name="Sheet1">{rows}</table:table></office:spreadsheet>'
            "</office:body></office:document-content>",
            "META-INF/manifest.xml": f"<manifest:manifest {manifest}><manifest:file-entry "
            f'manifest:full-path="/" manifest:media-type="{mime}"/></manifest:manifest>',
        }
    )


def packed(files: dict[str, str]) -> bytes:
    """A ZIP file of these XML files; a `mimetype` is stored as it is."""
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            if name == "mimetype":
                archive.writestr(name, text, zipfile.ZIP_STORED)
            else:
                archive.writestr(name, f'<?xml version="1.0" encoding="UTF-8"?>{text}')
    return data.getvalue()
