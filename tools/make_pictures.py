"""Pictures of the pages for the documents: `make pictures`. Needs Debian's Chromium.

Each is taken of `pincite serve --demo`, light beside dark, 1200 pixels wide and 320; those of
people and of a study with `mode = "server"`, where a script answered for two raters, by chance.
The user script stands on an article of the tests.
"""

import random
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, StorageState, expect, sync_playwright

TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "report")]
from pincite_study.rating import ANSWERS, Answered, RatingStore  # noqa: E402
from pincite_study.studies import StudyStore  # noqa: E402
from server.browser import wiki_pages  # noqa: E402
from server.browser.furnished import OPEN, log_in  # noqa: E402
from server.browser.test_gadget import Wiki, checked, served_to_the_wiki  # noqa: E402
from server.browser.watched import CHROMIUM, FLAGS  # noqa: E402
from server.people_of_tests import PASSWORD  # noqa: E402
from server.processes import Served  # noqa: E402

from pincite.server import demo, wikis  # noqa: E402
from pincite.server.identity import May, Role  # noqa: E402
from pincite.server.settings import ServerSettings  # noqa: E402
from pincite.server.site import Site, opened  # noqa: E402
from pincite.settings import Settings  # noqa: E402

OUT = Path(__file__).parents[1] / "docs" / "pictures"
WIDE, NARROW = (1200, 900), (320, 900)
SCRIPT_WIDTH, SCRIPT_HEIGHT = 1000, 640
SHRUNK = 0.62  # of the wide ones, which stand two side by side
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
        "finding": f"/jobs/{article}/findings/{better}#finding",
        "check": "/check",
        "checked": f"/jobs/{checked}",
        "ask": "/ask",
        "answered": f"/jobs/{answered}",
        "corpora": "/corpora",
        "history": "/history",
        "help": "/help",
    }


def people(served: Served, browser: Browser) -> tuple[dict[str, str], StorageState]:
    """Pages of accounts and of a study, and the cookies of who may see them."""
    site = opened(ServerSettings(mode="server", data=str(served.data)), Settings())
    accounts = site.people.accounts
    ada = accounts.add("Ada", Role.ADMIN, PASSWORD)
    for name, role in (("Grace", Role.EDITOR), ("Linus", Role.RATER), ("Mary", Role.READER)):
        accounts.add(name, role, PASSWORD)
    group = site.people.groups.add("History project")
    site.people.groups.join(group.group_id, ada.account_id)
    site.people.keys.add(ada.account_id, "nightly run", [May.READ, May.RUN], 90)
    page = browser.new_page(base_url=served.url)
    log_in(page, "Ada", "/")
    page.locator("button[value=article]").click()
    page.locator("#board").wait_for(timeout=120_000)
    page.goto("/studies")
    page.get_by_role("textbox", name="Name", exact=True).fill("Better sources for Varrowmouth")
    page.locator("[name=job]").first.check()
    page.locator("[name=sample]").select_option("random")
    page.get_by_role("button", name="Make the study").click()
    [study] = StudyStore(site.database).listed(None, 1)
    by_chance(site, study.study_id)
    page.goto(f"/studies/{study.token}")
    page.get_by_label("I have read this").check()
    page.get_by_role("button", name="Begin").click()
    page.wait_for_url("**/tasks/1")
    cookies = page.context.storage_state()
    page.context.close()
    site.database.close()
    return {
        "login": "/login",
        "account": "/account",
        "admin": "/admin/accounts",
        "rating": f"/studies/{study.token}/tasks/1",
        "study": f"/studies/{study.study_id}/report",
    }, cookies


def by_chance(site: Site, study_id: str) -> None:
    """Two raters who read nothing; the third is to come."""
    chance = random.Random(4)  # noqa: S311 - no secret
    ratings = RatingStore(site.database)
    for _ in range(2):
        rater, _key = ratings.join(study_id)
        while task := ratings.next(rater):
            said = Answered(chance.choice(ANSWERS), "enough", "partial")
            ratings.answer(rater, task.position, said, chance.uniform(20, 60))
        ratings.finish(rater)


def taken(
    browser: Browser, url: str, size: tuple[int, int], cookies: StorageState | None
) -> Iterator[Path]:
    """The page in light and in dark, as files that the next one replaces."""
    width, height = size
    for scheme in ("light", "dark"):
        page = browser.new_page(
            viewport={"width": width, "height": height},
            color_scheme="dark" if scheme == "dark" else "light",
            storage_state=cookies,
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
    shrunk(both, out)


def picture(browser: Browser, name: str, url: str, cookies: StorageState | None = None) -> None:
    """A page in both widths."""
    for kind, size, scale in (("wide", WIDE, SHRUNK), ("narrow", NARROW, 1.0)):
        shots = list(taken(browser, url, size, cookies))
        beside(shots, OUT / f"{name}-{kind}.png", scale)


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
                picture(browser, name, served.url + path)
        finally:
            served.end()
        served = Served(made(folder, "many"), "--demo", mode="server", **OPEN)
        try:
            found, cookies = people(served, browser)
            for name, path in found.items():
                picture(browser, name, served.url + path, None if name == "login" else cookies)
        finally:
            served.end()
    for each in sorted(OUT.iterdir()):
        print(f"{each.name:24} {each.stat().st_size / 1000:6.0f} kB")


if __name__ == "__main__":
    main()
