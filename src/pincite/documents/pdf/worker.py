"""The lines of a PDF, as pdfium measures them. The one file that knows pypdfium2.

For `confined_worker` alone: pdfium is C++ code that has crashed on hand-made files before.
"""

import ctypes
from typing import Any

import pypdfium2
from pypdfium2 import raw

# text, first baseline, last baseline, left, right, font size, in points from the lower left. A
# line that pdfium has joined with the next at a hyphen has two baselines.
Line = tuple[str, float, float, float, float, float]


def read(data: bytes, max_pages: int, max_chars: int) -> dict[str, Any]:
    """The lines of all pages, their labels and what the file says of itself; or an `error`."""
    try:
        document = pypdfium2.PdfDocument(data)
    except pypdfium2.PdfiumError as error:
        locked = error.err_code == raw.FPDF_ERR_PASSWORD
        return {"error": "password" if locked else "format", "detail": str(error)}
    n_pages = len(document)
    if n_pages > max_pages:
        return {"error": "pages", "n_pages": n_pages}
    pages, n_chars = [], 0
    for number in range(n_pages):
        lines = _page_lines(document, number)
        n_chars += sum(len(line[0]) for line in lines)
        if n_chars > max_chars:
            return {"error": "chars", "n_pages": n_pages}
        pages.append(lines)
    labels = [document.get_page_label(number) for number in range(n_pages)]
    return {"pages": pages, "labels": labels, "info": document.get_metadata_dict()}


def _page_lines(document: Any, number: int) -> list[Line]:
    """Lines of a page in reading order as the file has it; none for a page that cannot be read."""
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return []
    lines: list[Line] = []
    start = 0
    codes = [raw.FPDFText_GetUnicode(text_page, i) for i in range(text_page.count_chars())]
    for index, code in enumerate((*codes, 10)):
        if code == 10:
            if line := _line(text_page, codes, start, index):
                lines.append(line)
            start = index + 1
    text_page.close()
    page.close()
    return lines


def _line(text_page: Any, codes: list[int], start: int, end: int) -> Line | None:
    """The line of characters `start` to `end`; `None` if nothing of it can be seen."""
    seen = [i for i in range(start, end) if codes[i] > 32]
    if not seen:
        return None
    text = "".join(chr(code) for code in codes[start:end] if 0 < code < 0x110000 and code != 13)
    left, first = _origin(text_page, seen[0])
    right, last = _origin(text_page, seen[-1])
    size = raw.FPDFText_GetFontSize(text_page, seen[0])
    return _paired(text), first, last, left, right, size


def _origin(text_page: Any, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text_page, index, x, y)
    return x.value, y.value


def _paired(text: str) -> str:
    """Surrogate halves, which pdfium counts as two characters, as the one they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
