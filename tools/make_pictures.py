"""Screenshots for the documentation: `make pictures`. Needs Debian's Chromium.

Each shows a page of `pincite serve --demo`, light beside dark, or the user script on an article of
the tests.
"""

import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, expect, sync_playwright

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "report")]
from server.browser import wiki_pages  # noqa: E402
from server.browser.test_gadget import Wiki, checked, served_to_the_wiki  # noqa: E402
from server.browser.watched import CHROMIUM, FLAGS  # noqa: E402
from server.processes import Served  # noqa: E402

from pincite_server import demo, wikis  # noqa: E402

OUT = Path(__file__).parents[1] / "docs" / "pictures"
WIDTH, HEIGHT = 1200, 900
SCRIPT_WIDTH, SCRIPT_HEIGHT = 1000, 640
SCALE = 0.62  # two pictures stand side by side
COLOURS = (128, 64, 32)  # as many as fit
MAX_BYTES = 150_000
STATEMENT = "The Orrest tram carried 2.14 million passengers in 2022."
QUESTION = "Does velorin reduce the number of migraine days?"


def places(served: Served) -> dict[str, str]:
    """Address of each page, by the name of its picture."""
    corpora = {c["name"]: c["corpus_id"] for c in served.get("/api/v1/corpora")["corpora"]}
    web = corpora[demo.WEB]
    article = served.ran("verify", example="article", corpus=web, settings={"depth": 25})
    report = served.get(f"/api/v1/jobs/{article}/result")
    better = next(f["claim_id"] for f in report["findings"] if f["suggestions"])
    checked = served.ran("check", statement=STATEMENT, corpus=corpora[demo.KNOWLEDGE])
    answered = served.ran("ask", question=QUESTION, corpus=corpora[demo.ABSTRACTS])
    return {
        "start": "/",
        "verify": f"/jobs/{article}",
        "finding": f"/jobs/{article}?claim={better}#finding",
        "checked": f"/jobs/{checked}",
        "answered": f"/jobs/{answered}",
        "corpora": "/corpora",
    }


def taken(browser: Browser, url: str) -> Iterator[Path]:
    """Screenshots of the page in light and in dark."""
    for scheme in ("light", "dark"):
        page = browser.new_page(
            viewport={"width": WIDTH, "height": HEIGHT},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page.goto(url)
        page.wait_for_timeout(400)
        path = Path(tempfile.gettempdir()) / f"pincite-{scheme}.png"
        page.screenshot(path=path)
        page.close()
        yield path


def script(browser: Browser, folder: Path) -> None:
    """The user script beside an article, with one of its citations looked at."""
    served = served_to_the_wiki(folder)
    try:
        wiki = Wiki(browser, served, wikis.browser_token(served.data))
        page = checked(wiki.open("vector-2022", wiki_pages.PICTURED, SCRIPT_WIDTH))
        page.locator(".pincite-dot").nth(1).click()
        page.set_viewport_size({"width": SCRIPT_WIDTH, "height": SCRIPT_HEIGHT})
        path = Path(tempfile.gettempdir()) / "pincite-script.png"
        page.screenshot(path=path)
        page.context.close()
        shrunk(Image.open(path).convert("RGB"), OUT / "gadget.png")
    finally:
        served.end()


def shrunk(shot: Image.Image, out: Path) -> None:
    """A small picture, in few colours: median cut would give all to the greys, verdicts none."""
    for colours in COLOURS:
        few = shot.quantize(colours, Image.Quantize.MAXCOVERAGE, kmeans=4, dither=Image.Dither.NONE)
        few.save(out, optimize=True)
        if out.stat().st_size < MAX_BYTES:
            return


def beside(paths: list[Path], out: Path) -> None:
    """Two pictures as one, small."""
    pictures = [Image.open(path).convert("RGB") for path in paths]
    width = sum(picture.width for picture in pictures) + 16
    both = Image.new("RGB", (width, pictures[0].height), "#888888")
    left = 0
    for picture in pictures:
        both.paste(picture, (left, 0))
        left += picture.width + 16
    both = both.resize(
        (round(both.width * SCALE), round(both.height * SCALE)), Image.Resampling.LANCZOS
    )
    shrunk(both, out)


def made(folder: str, name: str) -> Path:
    path = Path(folder) / name
    path.mkdir()
    return path


def main() -> None:
    OUT.mkdir(exist_ok=True)
    expect.set_options(timeout=120_000)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=str(CHROMIUM), args=FLAGS)
        script(browser, made(folder, "wiki"))
        served = Served(made(folder, "one"), "--demo")
        try:
            for name, path in places(served).items():
                shots = list(taken(browser, served.url + path))
                beside(shots, OUT / f"{name}.png")
        finally:
            served.end()
    for each in sorted(OUT.iterdir()):
        print(f"{each.name:24} {each.stat().st_size / 1000:6.0f} kB")


if __name__ == "__main__":
    main()
