"""Scanned pages: text drawn on a page, turned, made noisy and compressed as a scanner does."""

import io
from collections.abc import Sequence

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Font = ImageFont.FreeTypeFont | ImageFont.ImageFont
PAPER, INK, MARGIN, POINTS = 245, 25, 0.9, 11


def scan(paragraphs: Sequence[str], *, dpi: int = 150, angle: float = 0.5) -> Image.Image:
    """An A4 page with a heading and paragraphs as a scanner sees it, `angle` degrees askew."""
    width, height = int(8.27 * dpi), int(11.69 * dpi)
    page = Image.new("L", (width, height), PAPER)
    draw, size, left = ImageDraw.Draw(page), POINTS * dpi / 72, MARGIN * dpi
    font = ImageFont.load_default(size)
    lines = [
        line for text in paragraphs for line in [*_wrapped(draw, text, font, width - 2 * left), ""]
    ]
    for row, line in enumerate(lines):
        draw.text((left, left + row * 1.35 * size), line, INK, font)
    turned = page.rotate(angle, Image.Resampling.BICUBIC, fillcolor=PAPER)
    noise = np.random.default_rng(7).normal(0, 8, (height, width))
    seen = np.clip(np.asarray(turned) + noise, 0, 255).astype(np.uint8)
    return Image.open(io.BytesIO(as_bytes(Image.fromarray(seen), "JPEG", quality=70)))


def as_bytes(image: Image.Image, kind: str, **options: object) -> bytes:
    packed = io.BytesIO()
    image.save(packed, kind, **options)
    return packed.getvalue()


def _wrapped(draw: ImageDraw.ImageDraw, text: str, font: Font, width: float) -> list[str]:
    lines = [""]
    for word in text.split():
        longer = f"{lines[-1]} {word}".strip()
        if draw.textlength(longer, font) > width:
            lines.append(word)
        else:
            lines[-1] = longer
    return lines
