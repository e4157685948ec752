"""Does `verify` read claims in context? Counts right labels, and which way the wrong ones fail.

    python research/scripts/measure_context.py tests/cases/judgement/context/as_of.tsv... [--show]

A row has the labels that are right, a claim, and the source's text or (column `page`) the name of a
saved page in the folder beside the file. A true claim is accused if it is called unsupported or
refuted, a faulty one believed if it is called supported. Do not use `--show` on a sealed file.
"""

import argparse
import csv
import tempfile
from pathlib import Path

from pincite import api
from pincite.settings import load
from pincite.types import Label


def labels(rows: list[dict[str, str]], pages: Path) -> list[str]:
    """Return the labels of `verify` on an article with all claims, in order."""
    with tempfile.TemporaryDirectory() as place:
        manifest, article, urls = ["url,file"], list[str](), list[str]()
        for n, row in enumerate(rows):
            url = f"https://a.example/{row.get('page') or n}"
            name = f"{row['page']}.html" if "page" in row else f"{n}.txt"
            text = row["passage"].encode() if "passage" in row else (pages / name).read_bytes()
            Path(place, name).write_bytes(text.replace(b"\\n", b"\n"))
            urls.append(url)
            manifest.append(f"{url},{name}")
            article.append(f"{row['claim']}<ref>{{{{cite web |url={url} |title=Page}}}}</ref>\n")
        Path(place, "manifest.csv").write_text("\n".join(dict.fromkeys(manifest)), "utf-8")
        report = api.verify("\n".join(article), sources=place, title="Text", settings=load({}))
    read = {(f.claim.text, c.citation.url): f.label for f in report.results for c in f.citations}
    return [str(read[row["claim"], url]) for row, url in zip(rows, urls, strict=True)]


def main() -> None:
    parser = argparse.ArgumentParser(description="Judge rows as verify does.")
    parser.add_argument("files", nargs="+", type=Path)
    parser.add_argument("--show", action="store_true", help="print the rows that are wrong")
    given = parser.parse_args()
    for file in given.files:
        with file.open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        found = labels(rows, file.parent / "article")
        pairs = [(each, row["outcomes"].split("|")) for each, row in zip(found, rows, strict=True)]
        true = [label for label, want in pairs if "supported" in want]
        faulty = [label for label, want in pairs if "supported" not in want]
        accused = sum(label in (Label.REFUTED, Label.NOT_SUPPORTED) for label in true)
        right, believed = sum(a in b for a, b in pairs), faulty.count("supported")
        print(f"{file.stem}: right {right} of {len(rows)}; true accused {accused} of {len(true)};")
        print(f"  faulty believed {believed} of {len(faulty)}")
        for row, (label, want) in zip(rows, pairs, strict=True):
            if given.show and label not in want:
                print(f"  {label} ({row['outcomes']})  {row['claim']}  <  {list(row.values())[2]}")


if __name__ == "__main__":
    main()
