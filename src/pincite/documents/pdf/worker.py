"""The lines of a PDF, as pdfium measures them. The one file that knows pypdfium2.

For `confined_worker` alone: pdfium is C++ code that has crashed on hand-made files before.
"""

import ctypes
import re
from itertools import pairwise
from typing import Any

import pypdfium2
from pypdfium2 import raw

# text, first baseline, last baseline, left, right, font size, in points from the lower left. A
# line that pdfium has joined with the next at a hyphen has two baselines.
Line = tuple[str, float, float, float, float, float]
JOINED = 2  # what pdfium writes for a hyphen at a line's end, when it goes on with the next line
# Times the font size. Spaces between words have 0.25, up to 1 in justified lines; gaps between
# columns 1 and more. What is cut in vain is put together again by `layout.in_columns`.
GAP = 0.9
_POWER = re.compile(
    r"(?<![\d.,])(10|(?<![A-Za-z])(?:[cdkm]?m|km|s|kg)) ?([-\u2212\u2013]?\d{1,3})(?!\d)"
)
_SUPERSCRIPT = str.maketrans("0123456789-\u2212\u2013", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁻⁻")


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
        n_chars += sum(len(piece[0]) for line in lines for piece in line)
        if n_chars > max_chars:
            return {"error": "chars", "n_pages": n_pages}
        pages.append(lines)
    labels = [document.get_page_label(number) for number in range(n_pages)]
    return {"pages": pages, "labels": labels, "info": document.get_metadata_dict()}


def _page_lines(document: Any, number: int) -> list[list[Line]]:
    """Lines of a page in reading order as the file has it; none for a page that cannot be read.

    A line comes in pieces, cut where it may reach over the gap between two columns.
    """
    try:
        page = document[number]
        text_page = page.get_textpage()
    except pypdfium2.PdfiumError:
        return []
    lines: list[list[Line]] = []
    start = 0
    codes = [raw.FPDFText_GetUnicode(text_page, i) for i in range(text_page.count_chars())]
    for index, code in enumerate((*codes, 10)):
        if code == 10:
            if pieces := _pieces(text_page, codes, start, index):
                lines.append(pieces)
            start = index + 1
    text_page.close()
    page.close()
    return lines


def _pieces(text_page: Any, codes: list[int], start: int, end: int) -> list[Line]:
    """The pieces of characters `start` to `end`: empty if nothing of it can be seen.

    Their texts together are the line's.
    """
    seen = [i for i in range(start, end) if codes[i] > 32]
    if not seen:
        return []
    starts = [start]
    for before, after in pairwise(seen):
        if (after > before + 1 or codes[before] == JOINED) and _is_gap(text_page, before, after):
            starts.append(after)
    raised = _exponents(text_page, codes, start, end)
    found = []
    for first, last in pairwise((*starts, end)):
        inside = [i for i in seen if first <= i < last]
        left, first_baseline = _origin(text_page, inside[0])
        right, last_baseline = _origin(text_page, inside[-1])
        size = raw.FPDFText_GetFontSize(text_page, inside[0])
        text = "".join(
            raised.get(i, chr(codes[i]))
            for i in range(first, last)
            if 0 < codes[i] < 0x110000 and codes[i] != 13
        )
        found.append((_paired(text), first_baseline, last_baseline, left, right, size))
    return found


def _is_gap(text_page: Any, before: int, after: int) -> bool:
    """Whether two characters stand on different lines, or further apart than words mostly do."""
    size = raw.FPDFText_GetFontSize(text_page, before)
    (left, baseline), (_, previous) = _origin(text_page, after), _origin(text_page, before)
    if abs(baseline - previous) > 0.7 * size:
        return True
    box = [ctypes.c_double() for _ in range(4)]  # left, right, bottom, top
    raw.FPDFText_GetCharBox(text_page, before, *box)
    return bool(left - box[1].value > GAP * size)


def _exponents(text_page: Any, codes: list[int], start: int, end: int) -> dict[int, str]:
    """What stands for digits that are set higher than the ten or the unit before them.

    A number set high behind another word is a note's.
    """
    text = "".join(chr(code) if code < 0xFFFF else "\ufffd" for code in codes[start:end])
    found = dict[int, str]()
    for match in _POWER.finditer(text):
        base, digits = start + match.end(1) - 1, range(start + match.start(2), start + match.end(2))
        height = _origin(text_page, digits[-1])[1] - _origin(text_page, base)[1]
        if 0.1 * raw.FPDFText_GetFontSize(text_page, base) < height:
            found |= dict.fromkeys(range(base + 1, digits[0]), "")
            found |= {i: chr(codes[i]).translate(_SUPERSCRIPT) for i in digits}
    return found


def _origin(text_page: Any, index: int) -> tuple[float, float]:
    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(text_page, index, x, y)
    return x.value, y.value


def _paired(text: str) -> str:
    """Surrogate halves, which pdfium counts as two characters, as the one they stand for."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
