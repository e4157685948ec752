"""Recognises the text of scanned pages and of pictures, if `pincite[ocr]` is installed.

RapidOCR runs PaddleOCR's PP-OCRv6 networks, which are in its wheel, on ONNX Runtime. The readers
run in `sandbox`, under limits of their own; `read.read_scan` caches what they find.
"""

import io
import json
import math
import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from statistics import median
from typing import Any

from pincite.documents.body import SCANNED_PAGES, Body
from pincite.documents.columns import in_reading_order
from pincite.documents.page_lines import Line
from pincite.documents.paragraphs import running_text
from pincite.documents.plain import document_of
from pincite.text.page_numbers import PAGES, RECOGNISED, UNREAD
from pincite.types import Document, Reason, Unchecked

# Below this mean confidence more than one word in ten was wrong on pages of our own
# (tests/documents/test_ocr.py); fewer characters are the noise of a picture without text.
READABLE, FEW_CHARACTERS = 0.95, 40
# RapidOCR reduces pictures to 2,000 pixels a side. Scans of A3 at 600 dpi have 70 million pixels.
SIDE, DPI, MAX_PIXELS = 2_000, 200, 100_000_000
POINTS = 595.0  # the width of A4, assumed for a picture, whose resolution is unknown
OTHER_SIZE = 1.4  # a line's box varies with its letters; a heading's is taller
# The networks often miss the space between two sentences.
_GLUED = re.compile(r"(?<=[a-z\d]{2}[.!?])(?=[A-Z][a-z])")
Box = Sequence[Sequence[float]]  # the corners of a line in pixels, clockwise from the upper left


def read_scanned_pdf(body: Body) -> Document | Unchecked:
    from pincite.documents.pdf import read_pdf

    scans = _Scans()
    return scans.described(read_pdf(body, scans.of_pdf))


def read_image(body: Body) -> Document | Unchecked:
    """Read a PNG, JPEG or TIFF, whose pages are the pages of the document."""
    from PIL import Image, ImageSequence

    scans, pages = _Scans(), list[list[Line]]()
    Image.MAX_IMAGE_PIXELS = None  # checked by `_Scans`
    try:
        with Image.open(io.BytesIO(body.data), formats=("PNG", "JPEG", "TIFF")) as image:
            for n, frame in enumerate(ImageSequence.Iterator(image)):
                is_16_bit = frame.mode.startswith("I;")  # Pillow cannot average it
                shrink = 1 if is_16_bit else max(1, max(frame.size) // SIDE)
                points = POINTS / math.ceil(frame.width / shrink)
                upright = partial(_upright, frame, shrink)
                lines = scans.lines(n, math.prod(frame.size), upright, points)
                pages.append(in_reading_order(lines))
    except (OSError, ValueError, SyntaxError) as error:  # as Pillow raises for broken files
        why = str(error).partition(" <")[0]  # without the file object
        return Unchecked(body.url, Reason.UNDECODABLE, f"not a readable picture: {why}")
    text, starts = running_text(pages)
    return scans.described(document_of(body, "image", text, {}, **{PAGES: json.dumps(starts)}))


def _upright(frame: Any, shrink: int) -> Any:
    """Shrink a picture and turn it as its camera says; the engine makes several copies of it."""
    from PIL import ExifTags, ImageOps

    if shrink == 1:
        return ImageOps.exif_transpose(frame)
    orientation = frame.getexif().get(ExifTags.Base.Orientation, 1)
    if frame.mode in ("1", "P"):  # cannot be averaged
        frame = frame.convert("L" if frame.mode == "1" else "RGB")
    small = frame.reduce(shrink)
    small.getexif()[ExifTags.Base.Orientation] = orientation
    return ImageOps.exif_transpose(small)


@cache
def _engine() -> Any:
    from rapidocr import RapidOCR

    return RapidOCR(
        params={
            "Global.log_level": "error",
            "Global.use_cls": False,  # whether lines stand upside down
            "Global.max_side_len": SIDE,
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        }
    )


class _Scans:
    """Recognises pages, and keeps how sure the engine is of each, or why it was not read."""

    def __init__(self) -> None:
        self._sure, self._unread = dict[int, int](), defaultdict[str, list[int]](list)
        self._n_read = 0

    def of_pdf(self, number: int, page: Any) -> list[Line]:
        from pincite.documents.pdf import pictures_of

        n_pixels = max(math.prod(picture.get_px_size()) for picture in pictures_of(page))
        scale = min(DPI / 72, SIDE / max(page.get_size()))
        return self.lines(number, n_pixels, lambda: page.render(scale=scale).to_pil(), 1 / scale)

    def lines(
        self, number: int, n_pixels: int, picture: Callable[[], Any], points: float
    ) -> list[Line]:
        """The lines of a page, `points` a pixel; empty if it has none, or they are unreadable."""
        if n_pixels > MAX_PIXELS or self._n_read == SCANNED_PAGES:
            large, many = f"over {MAX_PIXELS:,} pixels", f"after {SCANNED_PAGES} scanned pages"
            self._unread[large if n_pixels > MAX_PIXELS else many].append(number)
            return []
        self._n_read += 1
        reading = _engine()(picture())
        texts = [_GLUED.sub(" ", text) for text in reading.txts or ()]
        n_chars = sum(map(len, texts))
        sure = sum(len(text) * of for text, of in zip(texts, reading.scores or (), strict=True))
        if sure < READABLE * max(n_chars, 1):
            if n_chars >= FEW_CHARACTERS:
                self._unread["the letters cannot be recognised"].append(number)
            return []
        self._sure[number] = round(100 * sure / n_chars)
        return straighten_lines(texts, reading.boxes.tolist(), points)

    def described(self, outcome: Document | Unchecked) -> Document | Unchecked:
        """Add the confidence of each page, and which pages were not read."""
        unread = "; ".join(
            f"page {pages[0] + 1}{f' and {len(pages) - 1} more' if pages[1:] else ''}: {why}"
            for why, pages in self._unread.items()
        )
        if isinstance(outcome, Document):
            percents = [self._sure.get(n) for n in range(max(self._sure, default=-1) + 1)]
            meta = {RECOGNISED: json.dumps(percents) if percents else "", UNREAD: unread}
            return replace(outcome, meta={**outcome.meta, **{k: v for k, v in meta.items() if v}})
        if outcome.reason not in (Reason.EMPTY, Reason.UNREADABLE_SCAN):
            return outcome
        reason = Reason.UNREADABLE_SCAN if unread else Reason.EMPTY
        return replace(outcome, reason=reason, detail=unread or "no text was recognised")


def straighten_lines(texts: Sequence[str], boxes: Sequence[Box], points: float) -> list[Line]:
    """The lines from top to bottom, as if the page lay straight."""
    wide = [b for b in boxes if b[1][0] - b[0][0] > 3 * (b[3][1] - b[0][1])]
    slope = median([(b[1][1] - b[0][1]) / (b[1][0] - b[0][0]) for b in wide] or [0.0])
    heights = [((b[3][1] + b[2][1]) - (b[0][1] + b[1][1])) / 2 for b in boxes]
    usual, lines = median(heights), list[Line]()
    for text, box, height in zip(texts, boxes, heights, strict=True):
        y = sum(y - slope * x for x, y in box) / 4
        left, right = (x + slope * y for x, y in box[:2])
        size = usual if usual / OTHER_SIZE < height < usual * OTHER_SIZE else height
        if text := text.strip():
            lines.append(Line(text, -points * y, points * left, points * right, points * size))
    return sorted(lines, key=lambda line: -line.baseline)
