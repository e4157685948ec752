"""What is read of web pages, beside trafilatura's own settings and other extractors.

    python tools/bench_html.py FOLDER [--half choosing|held-back] [--rounds 3] [--worst 10]
    python tools/bench_html.py FOLDER --page NAME      # sentences that are lost, lines too many

FOLDER holds a folder a page, as Mozilla Readability's cases do: `source.html`, `expected.html` and
`expected-metadata.json` (`title`, `byline`, `publishedTime`), each of them perhaps with `.gz`. The
main figure is the share of the expected sentences that are in the text, word for word: a sentence
that is lost can support no claim. "time" is the median ratio of a round to Pincite's.

Pages of one site (the folder's name up to the first hyphen) are in the same half; rules were chosen
by looking at the pages of the choosing half alone.
"""

import argparse
import gzip
import hashlib
import json
import re
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import trafilatura
from lxml import etree
from lxml import html as lxml_html

from pincite.documents.body import Body
from pincite.documents.html import read_html
from pincite.text.sentences import sentences
from pincite.types import Document

MIN_WORDS = 5  # shorter "sentences" are headings, names and labels
BLOCKS = frozenset(
    "address article aside blockquote br caption dd div dl dt figcaption figure footer form h1 h2 "
    "h3 h4 h5 h6 header hr li main nav ol p pre section table tbody td th thead tr ul".split()
)
# A character of a script without spaces is a word: else a paragraph of Chinese would be one.
WORD = re.compile("[\u3040-\u30ff\u3400-\u9fff]|[^\\W\u3040-\u30ff\u3400-\u9fff]+")


@dataclass(frozen=True, slots=True)
class Case:
    """A page and what people expect of it; a field that they do not state is empty."""

    name: str
    source: bytes
    text: str
    title: str
    author: str
    day: str
    language: str

    @property
    def half(self) -> str:
        site = self.name.split("-")[0]
        return ("choosing", "held-back")[hashlib.sha256(site.encode()).digest()[0] % 2]


@dataclass(frozen=True, slots=True)
class Reading:
    """What a system makes of a page."""

    text: str = ""
    title: str = ""
    author: str = ""
    day: str = ""


@dataclass(frozen=True, slots=True)
class Score:
    """How near a text comes to the expected one; all shares are from 0 to 1."""

    sentences: float
    f1: float
    precision: float
    recall: float
    n_expected: int
    n_found: int


def words(text: str) -> list[str]:
    """Lower-cased words in order.

    >>> words("Don't stop, 東京!")
    ['don', 't', 'stop', '東', '京']
    """
    return WORD.findall(text.lower())


def score(expected: str, found: str, language: str = "en") -> Score:
    """Word-token F1 with multisets, and the share of the expected sentences that were kept.

    >>> score("One two three four five. Six.", "Menu One two three four five").sentences
    1.0
    """
    want, got = words(expected), words(found)
    common = (Counter(want) & Counter(got)).total()
    kept = [here for _, here in kept_sentences(expected, found, language)]
    return Score(
        sentences=share(sum(kept), len(kept)),
        f1=share(2 * common, len(want) + len(got)),
        precision=share(common, len(got)),
        recall=share(common, len(want)),
        n_expected=len(want),
        n_found=len(got),
    )


def share(part: int, whole: int) -> float:
    """`part / whole`; 1 where nothing was asked for."""
    return part / whole if whole else 1.0


def kept_sentences(expected: str, found: str, language: str) -> Iterator[tuple[str, bool]]:
    """The expected sentences of some length, and whether their words stand in a row in `found`."""
    text = f" {' '.join(words(found))} "
    for span in sentences(expected, language):
        sentence = words(span.of(expected))
        if len(sentence) >= MIN_WORDS:
            yield span.of(expected), f" {' '.join(sentence)} " in text


def text_of(source: str) -> str:
    """All text of an HTML fragment, blocks on lines of their own; knows nothing of Pincite.

    >>> text_of("<p>One <b>t</b>wo</p><script>x</script><p>three</p>").split("\\n\\n")
    ['One two', 'three']
    """
    pieces: list[str] = []
    root = lxml_html.fragment_fromstring(source or " ", create_parent="div")
    walk = etree.iterwalk(root, events=("start", "end"))
    for event, element in walk:
        border = "\n" if element.tag in BLOCKS else ""
        shown = isinstance(element.tag, str) and element.tag not in ("script", "style")
        piece = (element.text if shown else "") if event == "start" else element.tail
        pieces.append(border + re.sub(r"\s+", " ", piece or ""))
    return re.sub(r" *\n+ *", "\n\n", "".join(pieces)).strip()


def cases(folder: Path) -> list[Case]:
    """The pages below `folder`, by name; those without an expected text are left out."""
    found = []
    for sub in sorted(path for path in folder.iterdir() if path.is_dir()):
        source, expected = content(sub, "source.html"), content(sub, "expected.html")
        if source and expected:
            stated = json.loads(content(sub, "expected-metadata.json") or b"{}")
            text = text_of(expected.decode("utf-8"))
            day = re.match(r"\d{4}-\d\d-\d\d", stated.get("publishedTime") or "")
            found.append(
                Case(
                    name=sub.name,
                    source=source,
                    text=text,
                    title=stated.get("title") or "",
                    author=stated.get("byline") or "",
                    day=day[0] if day else "",
                    language=(stated.get("lang") or "en").split("-")[0],
                )
            )
    return found


def content(folder: Path, name: str) -> bytes:
    """The bytes of a file that may be packed; none if it is not there."""
    plain, packed = folder / name, folder / f"{name}.gz"
    if packed.is_file():
        return gzip.decompress(packed.read_bytes())
    return plain.read_bytes() if plain.is_file() else b""


def by_pincite(case: Case) -> Reading:
    found = read_html(Body("https://example.org/page", case.source))
    if not isinstance(found, Document):
        return Reading()
    return Reading(found.text, found.title, found.meta.get("author", ""), found.published or "")


def by_trafilatura(case: Case, **settings: Any) -> Reading:
    found = trafilatura.bare_extraction(decoded(case), with_metadata=True, **settings)
    if found is None or isinstance(found, dict):
        return Reading()
    return Reading(found.text or "", found.title or "", found.author or "", found.date or "")


def by_readability(case: Case) -> Reading:
    from readability import Document as Readable

    page = Readable(decoded(case))
    return Reading(text_of(page.summary(html_partial=True)), page.short_title())


def by_resiliparse(case: Case, main: bool) -> Reading:
    from resiliparse.extract.html2text import extract_plain_text

    return Reading(extract_plain_text(decoded(case), main_content=main))


def decoded(case: Case) -> str:
    """The page as text: Readability's cases are all in UTF-8."""
    return case.source.decode("utf-8", "replace")


ALL_SYSTEMS: dict[str, Callable[[Case], Reading]] = {
    "pincite": by_pincite,
    "trafilatura, its defaults": by_trafilatura,
    "trafilatura, favor_recall": lambda case: by_trafilatura(case, favor_recall=True),
    "trafilatura, favor_precision": lambda case: by_trafilatura(case, favor_precision=True),
    "readability-lxml": by_readability,
    "resiliparse, main content": lambda case: by_resiliparse(case, main=True),
    "resiliparse, all text": lambda case: by_resiliparse(case, main=False),
}
# Those whose library is not installed are left out.
NEEDS = {"readability-lxml": "readability", "resiliparse": "resiliparse"}
SYSTEMS = {
    name: system
    for name, system in ALL_SYSTEMS.items()
    if find_spec(NEEDS.get(name.split(",")[0], "trafilatura"))
}
WITH_METADATA = ("pincite", "trafilatura, its defaults")


def measured(found: Sequence[Case], rounds: int) -> tuple[dict[str, list[Reading]], Any]:
    """What each system reads, and its seconds a round; the systems take turns page by page."""
    readings: dict[str, list[Reading]] = {name: [] for name in SYSTEMS}
    seconds = {name: [0.0] * rounds for name in SYSTEMS}
    for system in SYSTEMS.values():  # what loads at the first call is no page's time
        system(found[0])
    for turn in range(rounds):
        for case in found:
            for name, system in SYSTEMS.items():
                begin = time.perf_counter()
                reading = system(case)
                seconds[name][turn] += time.perf_counter() - begin
                if not turn:
                    readings[name].append(reading)
    return readings, seconds


def print_texts(found: Sequence[Case], readings: dict[str, list[Reading]], seconds: Any) -> None:
    print(f"\n{'':30} sentences  below .5    F1   median  precision  recall  F1<.5  empty  time")
    for name, read in readings.items():
        scores = [score(c.text, r.text, c.language) for c, r in zip(found, read, strict=True)]
        kept = [s.sentences for s in scores]
        f1 = [s.f1 for s in scores]
        ratios = [a / b for a, b in zip(seconds[name], seconds["pincite"], strict=True)]
        print(
            f"{name:30} {statistics.mean(kept):9.3f} {sum(k < 0.5 for k in kept):9}"
            f" {statistics.mean(f1):6.3f} {statistics.median(f1):7.3f}"
            f" {statistics.mean(s.precision for s in scores):9.3f}"
            f" {statistics.mean(s.recall for s in scores):8.3f} {sum(f < 0.5 for f in f1):6}"
            f" {sum(not s.n_found for s in scores):6} {statistics.median(ratios):6.2f}"
        )


def print_metadata(found: Sequence[Case], readings: dict[str, list[Reading]]) -> None:
    print(f"\n{'':30} {'title':28} {'author':19} day")
    print(f"{'':30} {'exact  words  part  of':28} {'right wrong none':19} right wrong none")
    for name in WITH_METADATA:
        pairs = list(zip(found, readings[name], strict=True))
        titles = [(c.title, r.title) for c, r in pairs if c.title]
        counts = (
            sum(" ".join(a.split()) == b for a, b in titles),
            sum(words(a) == words(b) for a, b in titles),
            sum(part_of(a, b) for a, b in titles),
            len(titles),
        )
        authors = tally((names(c.author), names(r.author)) for c, r in pairs if c.author)
        days = tally((c.day, r.day) for c, r in pairs if c.day)
        print(f"{name:30} {'{:5} {:6} {:5} {:3}'.format(*counts):28} {authors:19} {days}")


def part_of(one: str, other: str) -> bool:
    """Whether one title is the other with something before or after it, such as a site's name."""
    a, b = sorted((f" {' '.join(words(title))} " for title in (one, other)), key=len)
    return bool(a.strip()) and a in b


def names(byline: str) -> str:
    """A byline's words without what introduces it."""
    return " ".join(w for w in words(byline) if w not in ("by", "par", "von", "written", "edited"))


def tally(pairs: Iterable[tuple[str, str]]) -> str:
    """How many are right, wrong and not there."""
    said = Counter("none" if not b else "right" if a == b else "wrong" for a, b in pairs)
    return f"{said['right']:5} {said['wrong']:5} {said['none']:4}"


def print_worst(found: Sequence[Case], read: Sequence[Reading], n: int) -> None:
    print(f"\nworst {n} of pincite:  sentences  precision  recall  words expected, found")
    scored = [(score(c.text, r.text, c.language), c) for c, r in zip(found, read, strict=True)]
    for s, case in sorted(scored, key=lambda pair: (pair[0].sentences, pair[0].f1))[:n]:
        print(
            f"{case.name:40} {s.sentences:.3f} {s.precision:9.3f} {s.recall:8.3f}"
            f" {s.n_expected:8} {s.n_found}"
        )


def print_page(case: Case) -> None:
    """What a page's text lacks and has too much, and its metadata."""
    read = by_pincite(case)
    for sentence, kept in kept_sentences(case.text, read.text, case.language):
        if not kept:
            print(f"- {sentence}")
    expected = f" {' '.join(words(case.text))} "
    for line in read.text.split("\n"):
        if f" {' '.join(words(line))} " not in expected and words(line):
            print(f"+ {line}")
    print(f"expected: {case.title!r} {case.author!r} {case.day!r}")
    print(f"read:     {read.title!r} {read.author!r} {read.day!r}")


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--half", choices=("choosing", "held-back"))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--worst", type=int, default=10)
    parser.add_argument("--page", help="show one page")
    given = parser.parse_args(arguments)
    found = cases(given.folder)
    if given.page:
        print_page(next(case for case in found if case.name == given.page))
        return
    for half in ("choosing", "held-back") if given.half is None else (given.half,):
        pages = [case for case in found if case.half == half]
        if not pages:
            sys.exit(f"{given.folder} has no pages of the {half} half")
        print(f"\n== {half}: {len(pages)} pages")
        readings, seconds = measured(pages, given.rounds)
        print_texts(pages, readings, seconds)
        print_metadata(pages, readings)
        print_worst(pages, readings["pincite"], given.worst)


if __name__ == "__main__":
    main()
