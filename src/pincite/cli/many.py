"""`pincite verify --titles/--category`: many articles, a report each, and a work-list over them.

An article is done when its report lies in the folder under its wiki and revision id, complete, made
with the same settings and versions. So the same command goes on where it was stopped or killed.
"""

import json
import re
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import click

from pincite.cli import options
from pincite.errors import InputError
from pincite.types import Report
from pincite.wiki.addresses import Site


def check_many(
    settings: Any,
    titles: Path | None,
    category: str | None,
    out: Path,
    *,
    corpus: Path | None,
    sources: Path | None,
    quiet: bool,
) -> None:
    """Check every article of the list; the work-list is written even if the run is cut short."""
    from pincite.pipeline import articles, build, web_pages
    from pincite.wiki.pages import Refused

    lines = options.lines_of(titles) if titles else []
    with web_pages.open_web(settings) as web:
        wikis = articles.wikis_of(web, settings, lambda line: options.say(line, quiet))
        addresses = articles.listed(wikis, settings, lines, category)
        with build.verifying(settings, corpus, sources, own_copies=True) as run:
            folder = Folder(out, build.report_settings(settings), dict(run.versions))
            options.say(f"{len(addresses)} articles, reports in {out}", quiet)
            try:
                for number, address in enumerate(addresses, 1):
                    page = articles.page_of(wikis, address, folder.is_done)
                    if page is None:
                        continue
                    head = f"{number}/{len(addresses)}"
                    if isinstance(page, Refused):
                        options.say(f"{head} {page}", quiet)
                        folder.not_checked(str(address), str(page))
                        continue
                    options.say(f"{head} {articles.about(page)}", quiet)
                    article = wikis.article(page)
                    run.prepare(article)
                    findings = list(run.pipeline.findings(article))
                    report = build.report_of(article, findings, settings, run)
                    folder.keep(page.site, page.revision_id, report)
            except KeyboardInterrupt:
                folder.write_list()
                options.say("Stopped. The same command goes on from here.")
                raise click.exceptions.Exit(130) from None
    folder.write_list()
    options.say(f"work-list: {(out / 'worklist.html').resolve()}", quiet)


class Folder:
    """Where the reports of many articles lie, and the list over them."""

    def __init__(self, path: Path, settings: dict[str, Any], versions: dict[str, str]) -> None:
        """Raises InputError if the folder cannot be made."""
        from pincite.report.worklist import Row

        self._path, self._settings, self._versions = path, settings, versions
        self._rows: list[Row] = []
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path} cannot be made a folder: {error.strerror}.") from error

    def is_done(self, site: Site, revision_id: str) -> bool:
        """Whether a report of it, made as this run would, is there; then it is listed."""
        name = _name(site, revision_id)
        try:
            found = json.loads((self._path / f"{name}.json").read_text(encoding="utf-8"))
            same = (found["settings"], found["versions"]) == (self._settings, self._versions)
            if not (found["complete"] and same):
                return False
            self._add(found, name)
        except (OSError, ValueError, KeyError, TypeError):  # not there, cut, of another version
            return False
        return True

    def keep(self, site: Site, revision_id: str, report: Report) -> None:
        """Write an article's report, its page first: the JSON says that it is done."""
        from pincite.report import data, html

        name = _name(site, revision_id)
        options.write(html.to_html(report, datetime.now(UTC).date()), self._path / f"{name}.html")
        text = data.to_json(report)
        options.write(text, self._path / f"{name}.json")
        self._add(json.loads(text), name)

    def not_checked(self, title: str, why: str) -> None:
        """List an article that could not be read, with the reason."""
        from pincite.report.worklist import Row

        self._rows.append(Row(title, problem=why))

    def write_list(self) -> None:
        """The work-list in three forms."""
        from pincite.report import worklist

        rows = worklist.ranked(self._rows)
        options.write(worklist.to_json(rows), self._path / "worklist.json")
        options.write(worklist.to_csv(rows), self._path / "worklist.csv")
        options.write(worklist.to_html(rows), self._path / "worklist.html")

    def _add(self, report: dict[str, Any], name: str) -> None:
        from pincite.report.worklist import row_of

        self._rows.append(row_of(report, f"{name}.html"))


def _name(site: Site, revision_id: str) -> str:
    """A file's name: a revision id is one page's alone, on its wiki."""
    return re.sub(r"[^a-z0-9.-]", "_", f"{site.host}.{revision_id}".lower())
