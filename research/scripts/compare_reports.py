"""Where two versions' reports differ: python research/scripts/compare_reports.py OLD/ NEW/ [--but NAME …]

OLD and NEW hold JSON reports of the same names. Printed is each place (a path without indices)
that one of them lacks or that has another value, with how many reports it differs in and an
example; --but leaves out fields by name. `--run ARTICLES OUT` writes reports of the articles of a
JSON-lines file with the Pincite that PYTHONPATH names, so that both versions write the same ones.
"""

import argparse
import gzip
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SHOWN = 90  # characters of an example


def main() -> None:
    """Compare two folders, or write one."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--but", nargs="*", default=["created", "seconds"])
    parser.add_argument("--run", action="store_true", help="old: articles; new: the folder")
    given = parser.parse_args()
    if given.run:
        write(given.old, given.new)
    else:
        compare(given.old, given.new, frozenset(given.but))


def compare(old_folder: Path, new_folder: Path, but: frozenset[str]) -> None:
    """Print each place in which reports of the same name differ, with an example."""
    found: dict[str, list[str]] = {}
    names = sorted({p.name for folder in (old_folder, new_folder) for p in folder.glob("*.json")})
    for name in names:
        old, new = (json.loads((folder / name).read_text()) for folder in (old_folder, new_folder))
        of_report = dict(differences(old, new, but))
        for place, example in of_report.items():
            found.setdefault(place, []).append(f"{name}: {example}")
    print(f"{len(names)} reports")
    for place, examples in sorted(found.items()):
        print(f"{len(examples):4} {place}  {examples[0]}")


def differences(old: Any, new: Any, but: frozenset[str], at: str = "") -> Iterator[tuple[str, str]]:
    """(place, example) of each difference, depth first."""
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new} - but):
            if key not in new or key not in old:
                kept = old.get(key, new.get(key))
                yield f"{at}.{key}", f"{'gone' if key in old else 'new'}: {shown(kept)}"
            else:
                yield from differences(old[key], new[key], but, f"{at}.{key}")
    elif isinstance(old, list) and isinstance(new, list) and len(old) == len(new):
        for one, other in zip(old, new, strict=True):
            yield from differences(one, other, but, f"{at}[]")
    elif old != new:
        yield at, f"{shown(old)} → {shown(new)}"


def shown(value: Any) -> str:
    """The beginning of a value."""
    return json.dumps(value, ensure_ascii=False)[:SHOWN]


def write(articles: Path, out: Path) -> None:
    """A report of each article without sources: its claims, references and what was not checked."""
    out.mkdir(parents=True, exist_ok=True)
    with gzip.open(articles, "rt", encoding="utf-8") as lines:
        for n, line in enumerate(lines):
            article, page = json.loads(line), out / "article.wiki"
            page.write_text(article["wikitext"], encoding="utf-8")
            report = str(out / f"{n:03}.json")
            command = ["verify", str(page), "--title", article["title"], "--json", report, "-q"]
            subprocess.run([sys.executable, "-m", "pincite", *command], check=False)
            page.unlink()


if __name__ == "__main__":
    main()
