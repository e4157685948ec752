"""A million passages of real text that anybody can fetch: python research/scripts/make_text.py OUT FOLDER…

The Internet's standards (RFCs), manuals, and the descriptions of Debian's packages, as JSONL
documents that `pincite corpus add` reads. Each FOLDER is searched for what is known by its name:
`rfc*.txt.gz`, `Translation-en`, other `.txt`, `.rst` and `.md` files (or these with .gz), and
`*.jsonl.gz` files of documents. What docs/benchmarks.md was measured on is fetched, without
installing anything, with

    for p in std std-proposed old-std informational experimental fyi-bcp others misc; do
        apt-get download doc-rfc-$p && dpkg -x doc-rfc-${p}_*.deb text; done   # section non-free
    curl https://deb.debian.org/debian/dists/bookworm/main/i18n/Translation-en.xz | xz -d \\
        > text/Translation-en
    for p in linux-doc-6.1 python3.11-doc; do apt-get download $p && dpkg -x ${p}_*.deb text; done
    for r in cpp-docs win32 windows-powershell-docs; do
        git clone --depth 1 https://github.com/MicrosoftDocs/$r text/$r; done
"""

import gzip
import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path

# A page break of an RFC: the footer's line, a form feed, the header's line.
_BREAK = re.compile(r"\n+[^\n]*\[Page \d+\]\s*\f?\s*(?:RFC \d+[^\n]*\n)?\n*")
_SPACE = re.compile(r"[ \t]+")
LEAST_WORDS = 5  # shorter descriptions say nothing


def main() -> None:
    out, *folders = map(Path, sys.argv[1:])
    seen: set[int] = set()  # one text may lie in several packages
    n_words = 0
    with out.open("w", encoding="utf-8") as lines:
        for document in (d for folder in folders for d in found(folder)):
            words = document["text"].split()
            if len(words) < LEAST_WORDS or hash(document["text"]) in seen:
                continue
            seen.add(hash(document["text"]))
            n_words += len(words)
            lines.write(json.dumps(document) + "\n")
    print(f"{len(seen)} documents, {n_words} words")


def found(folder: Path) -> Iterator[dict[str, str]]:
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and not p.is_symlink()):
        name = path.name
        if name == "Translation-en":
            yield from descriptions(path)
        elif name.endswith(".jsonl.gz"):
            yield from map(json.loads, gzip.decompress(path.read_bytes()).splitlines())
        elif name.removesuffix(".gz").endswith((".txt", ".rst", ".md")):
            yield page(path)


def descriptions(path: Path) -> Iterator[dict[str, str]]:
    """One document a package: its name and its long description."""
    for entry in path.read_text(encoding="utf-8").split("\n\n"):
        match = re.search(r"^Package: (\S+)$.*?^Description-en: (.*)", entry, re.M | re.S)
        if match:
            name, text = match.groups()
            text = _SPACE.sub(" ", text.replace("\n .\n", "\n\n")).replace("\n ", "\n")
            yield {"url": f"https://packages.debian.org/{name}", "title": name, "text": text}


def page(path: Path) -> dict[str, str]:
    data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    text, url, title = data.decode("utf-8", "replace"), path.resolve().as_uri(), path.name
    title = title.split(".")[0]
    if re.fullmatch(r"rfc\d+", title):
        text = _BREAK.sub("\n", text)
        url, title = f"https://www.rfc-editor.org/rfc/{title}", title.upper()
    return {"url": url, "title": title, "text": _SPACE.sub(" ", text)}


if __name__ == "__main__":
    main()
