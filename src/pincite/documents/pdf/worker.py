"""The lines of a PDF, as pdfium measures them. The one file that knows pypdfium2.

For `confined_worker` alone: pdfium is C++ code that has crashed on hand-made files before.
"""

import ctypes
import re
from bisect import bisect_left
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
FEW_LINES, SAMPLED = 12, 4  # of a page with more lines, every fourth is looked at first
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
    codes = _codes(text_page)
    ends = [i for i, code in enumerate(codes) if code == 10]
    bounds = list(zip([0, *(end + 1 for end in ends)], [*ends, len(codes)], strict=True))
    seen = [[i for i in range(*line) if codes[i] > 32] for line in bounds]
    # Looking at every gap takes as long as all else: of pages where none is wide, some are enough.
    sample = seen if len(seen) <= FEW_LINES else seen[1::SAMPLED]
    cut = any(_cuts(text_page, codes, each) for each in sample)
    lines = [
        _pieces(text_page, codes, line, each, _cuts(text_page, codes, each) if cut else [])
        for line, each in zip(bounds, seen, strict=True)
        if each
    ]
    text_page.close()
    page.close()
    return lines


def _codes(text_page: Any) -> list[int]:
    """The characters of a page; fetched one by one only where their number would not agree."""
    n_chars = text_page.count_chars()
    buffer = (ctypes.c_ushort * (2 * n_chars + 2))()
    n_written = raw.FPDFText_GetText(text_page, 0, n_chars, buffer)
    codes = buffer[: max(n_written - 1, 0)]
    if len(codes) != n_chars or any(0xD800 <= code < 0xE000 for code in codes):
        return [raw.FPDFText_GetUnicode(text_page, i) for i in range(n_chars)]
    return [JOINED if code == 0xFFFE else code for code in codes]


def _cuts(text_page: Any, codes: list[int], seen: list[int]) -> list[int]:
    """The characters of a line before which it may be cut: behind a wide gap, on another height."""
    if not seen:
        return []
    cuts, size = list[int](), raw.FPDFText_GetFontSize(text_page, seen[0])
    x, y = ctypes.c_double(), ctypes.c_double()
    for before, after in pairwise(seen):
        if after == before + 1 and codes[before] != JOINED:
            continue
        raw.FPDFText_GetCharOrigin(text_page, before, x, y)
        left, baseline = x.value, y.value
        raw.FPDFText_GetCharOrigin(text_page, after, x, y)
        if abs(y.value - baseline) > 0.7 * size or (
            x.value - left > GAP * size
            and x.value - _right(text_page, before) > GAP * size  # costly, and seldom needed
        ):
            cuts.append(after)
    return cuts


def _pieces(
    text_page: Any, codes: list[int], line: tuple[int, int], seen: list[int], cuts: list[int]
) -> list[Line]:
    """The pieces of a line between these cuts; their texts together are the line's."""
    found = list[Line]()
    for first, last in pairwise((line[0], *cuts, line[1])):
        inside = seen[bisect_left(seen, first) : bisect_left(seen, last)]
        left, first_baseline = _origin(text_page, inside[0])
        right, last_baseline = _origin(text_page, inside[-1])
        size = raw.FPDFText_GetFontSize(text_page, inside[0])
        text = "".join(chr(c) for c in codes[first:last] if 0 < c < 0x110000 and c != 13)
        if _POWER.search(text) and (raised := _exponents(text_page, codes, first, last)):
            text = "".join(
                raised.get(i, chr(codes[i]))
                for i in range(first, last)
                if 0 < codes[i] < 0x110000 and codes[i] != 13
            )
        found.append((_paired(text), first_baseline, last_baseline, left, right, size))
    return found


def _right(text_page: Any, index: int) -> float:
    """The right edge of what is drawn of a character."""
    left, right, bottom, top = (ctypes.c_double() for _ in range(4))
    raw.FPDFText_GetCharBox(text_page, index, left, right, bottom, top)
    return right.value


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
