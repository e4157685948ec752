"""Pictures of the pages for the documents: `make pictures`. Needs Debian's Chromium.

Each is taken of `pincite serve --demo`, light beside dark, 1200 pixels wide and 320.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, sync_playwright

TESTS = Path(__file__).parents[1] / "tests"
sys.path.insert(0, str(TESTS))
from server.browser.watched import CHROMIUM, FLAGS, Served  # noqa: E402

OUT = Path(__file__).parents[1] / "docs" / "pictures"
WIDE, NARROW = (1200, 900), (320, 900)
SHRUNK = 0.62  # of the wide ones, which stand two side by side
COLOURS = 128


def places(served: Served) -> dict[str, str]:
    """Address of each page, by the name of its picture."""
    corpora = {c["name"]: c["corpus_id"] for c in served.api("/api/v1/corpora")["corpora"]}
    web = next(key for name, key in corpora.items() if "Varrowmouth" in name)
    article = served.verified(example="article", corpus=web, settings={"depth": 25})
    report = served.api(f"/api/v1/jobs/{article}/result")
    better = next(f["claim_id"] for f in report["findings"] if f["suggestions"])
    return {
        "start": "/",
        "verify": f"/jobs/{article}",
        "finding": f"/jobs/{article}/findings/{better}#finding",
        "check": "/check",
        "ask": "/ask",
        "corpora": "/corpora",
        "history": "/history",
        "help": "/help",
    }


def taken(browser: Browser, url: str, size: tuple[int, int]) -> Iterator[Path]:
    """The page in light and in dark, as files that the next one replaces."""
    width, height = size
    for scheme in ("light", "dark"):
        page: Page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page.goto(url)
        page.wait_for_timeout(400)
        path = Path(tempfile.gettempdir()) / f"pincite-{scheme}.png"
        page.screenshot(path=path)
        page.close()
        yield path


def beside(paths: list[Path], out: Path, scale: float) -> None:
    """Two pictures as one, small."""
    pictures = [Image.open(path).convert("RGB") for path in paths]
    width = sum(picture.width for picture in pictures) + 16
    both = Image.new("RGB", (width, pictures[0].height), "#888888")
    left = 0
    for picture in pictures:
        both.paste(picture, (left, 0))
        left += picture.width + 16
    both = both.resize(
        (round(both.width * scale), round(both.height * scale)), Image.Resampling.LANCZOS
    )
    # Median cut would give all colours to the greys, and verdicts none.
    palette = both.quantize(COLOURS, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)
    palette.save(out, optimize=True)


def main() -> None:
    OUT.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        served = Served(Path(folder), "--demo")
        try:
            for name, path in places(served).items():
                for kind, size, scale in (("wide", WIDE, SHRUNK), ("narrow", NARROW, 1.0)):
                    shots = list(taken(browser, served.url + path, size))
                    beside(shots, OUT / f"{name}-{kind}.png", scale)
        finally:
            served.end()
    for picture in sorted(OUT.iterdir()):
        print(f"{picture.name:24} {picture.stat().st_size / 1000:6.0f} kB")


if __name__ == "__main__":
    main()
