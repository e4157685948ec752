"""Counts the claims of a collection of articles that a stranger cannot read alone, by kind.

    python research/scripts/count_claims.py articles.jsonl.gz                # a table
    python research/scripts/count_claims.py articles.jsonl.gz --show cut 20  # examples of one kind
    python research/scripts/count_claims.py articles.jsonl.gz --read 100     # 100 for a person to read

The collection is what `pincite claims` reads: JSON lines with `title` and `wikitext` (.gz), or a
dump. The claims come from the parser; what is wrong with them is looked for in the source and by
closed lists of words, so the counts are estimates: a list does not know every verb.
"""

import argparse
import random
import re
import sys
import time
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from pincite.text.clauses import Standing, standing
from pincite.types import Article, Claim
from pincite.wiki.article import read_articles
from pincite.wiki.flat import BlockKind
from pincite.wiki.wikitext import read_wikitext
from pincite.wiki.wikitext_tree import Kind, Node, parse

KINDS = {
    "fragment": "no finite verb, and no whole sentence",
    "no subject": "begins with its verb or with who, which, where",
    "lower case": "begins in lower case (clauses with a conjunction included)",
    "markup": "the span begins or ends within a link, a template, quotes or a tag",
    "heading": "a heading or the heading of a column",
    "caption": "the caption of a picture or a table, without a verb",
    "no context": "a cell or a parameter that does not say what it is about",
    "cut": "cut at a full stop that ends no sentence",
    "short": "one or two words",
}
_ABBREVIATION = re.compile(
    r"\b(?:[A-Z]|St|Dr|Mr|Mrs|Ms|Prof|Gen|Col|Lt|Sgt|Sen|Gov|Rev|No|Nos|[Vv]ol|[Cc]h|ca?|approx|vs|"
    r"cf|al|[Ff]ig|[Ee]st|[Pp]p?|[Ss]pp?|vz|e\.g|i\.e)\.$"
)
_OPENINGS, _CLOSINGS = ("[[", "{{", "<", "''"), ("]]", "}}", ">", "''")


def kinds_of(claim: Claim, places: "Places", article: Article) -> Iterator[str]:
    """What is wrong with `claim`."""
    text, words = claim.text, re.findall(r"\w+", claim.text)
    prose = claim.origin in ("prose", "list", "caption")
    kind = standing(text)
    whole = text[:1].isupper() and text.rstrip("\"'”’)").endswith((".", "!", "?"))
    block = places.kind_of(claim)
    about = claim.origin == "list" and ": " in text  # "Artillery: 48 guns"
    if prose and not about and kind is Standing.FRAGMENT and not (whole and len(words) > 6):
        yield "caption" if block is BlockKind.CAPTION else "fragment"
    if prose and kind is Standing.PREDICATE and not whole:
        yield "no subject"
    if prose and text[:1].islower():
        yield "lower case"
    if places.crosses(claim):
        yield "markup"
    if block is BlockKind.HEADING or places.in_column_heading(claim):
        yield "heading"
    if not prose and len(words) <= 12 and _parts(text) < 2 + (claim.origin == "table"):
        yield "no context"
    if _is_cut(claim, article.source):
        yield "cut"
    if len(words) < 3:
        yield "short"


def _parts(text: str) -> int:
    """How many of row, column and value a cell states."""
    return len(re.split(r": |; | — ", text))


def _is_cut(claim: Claim, source: str) -> bool:
    assert claim.span
    start, end = claim.span
    behind = source[end : end + 200]
    goes_on = re.match(r"[ ]?[a-z0-9]", behind) if _ABBREVIATION.search(claim.text) else None
    within = re.match(r"\w", behind) and re.search(r"\.$", claim.text)
    front = source[max(0, start - 40) : start]
    begins_late = claim.text[:1].islower() and re.search(r"[.!?] ?$", front)
    return claim.origin == "prose" and bool(goes_on or within or begins_late)


class Places:
    """What stands where in an article's source."""

    def __init__(self, article: Article) -> None:
        self.source = article.source
        self.blocks = [b for b in read_wikitext(article.source).blocks if b.text]
        self.blocks.sort(key=lambda block: min(block.starts))
        self.starts = [min(block.starts) for block in self.blocks]
        nodes, _ = parse(article.source)
        self.nodes = sorted(_inline(nodes, article.source))
        self.headings = set(_column_headings(article.source))

    def kind_of(self, claim: Claim) -> BlockKind | None:
        """The kind of the block that the claim ends in."""
        assert claim.span
        n = bisect_right(self.starts, claim.span.start)
        for block in reversed(self.blocks[max(0, n - 4) : n]):
            if min(block.starts) <= claim.span.start and claim.span.end <= max(block.ends) + 4:
                return block.kind
        return None

    def crosses(self, claim: Claim) -> bool:
        """Whether a boundary of the span lies in a link or a template that it does not hold."""
        assert claim.span
        start, end = claim.span
        if claim.origin == "table":  # from one cell to another: between them is markup
            return any(_within(position, self.nodes) for position in (start, end))
        n = bisect_right(self.nodes, (end, end))
        for a, b in self.nodes[max(0, n - 60) : n]:
            if a < start < b < end or start < a < end < b or (a < start and end < b):
                return True
        return self._unbalanced(start, end)

    def _unbalanced(self, start: int, end: int) -> bool:
        inside = re.sub(r"<ref\b[^>]*/>|<ref\b.*?</ref>", "", self.source[start:end], flags=re.S)
        runs = re.findall(r"(?<!')(?:'{2,3}|'{5})(?!')", inside)
        enclosed = self.source.startswith("''", end) and self.source[:start].endswith("''")
        return len(runs) % 2 == 1 or (enclosed and not runs)

    def in_column_heading(self, claim: Claim) -> bool:
        """Whether the claim's span lies in a row of nothing but heading cells."""
        assert claim.span
        return any(a <= claim.span.start and claim.span.end <= b for a, b in self.headings)


def _within(position: int, nodes: Sequence[tuple[int, int]]) -> bool:
    n = bisect_right(nodes, (position, position))
    return any(a < position < b for a, b in nodes[max(0, n - 20) : n])


def _inline(nodes: Sequence[Node], source: str) -> Iterator[tuple[int, int]]:
    """Links, and templates of one line that stand in a text."""
    for node in nodes:
        text = source[node.start : node.end]
        link = node.kind in (Kind.LINK, Kind.EXTERNAL) and not re.match(
            r"\[\[\s*(File|Image):", text
        )
        template = node.kind is Kind.TEMPLATE and "\n" not in text and len(text) < 500
        template = template and not re.match(
            r"\{\{\s*(info|quote|block|cquote|ubl|plainl|efn|refn|note|#tag|cnote)", text, re.I
        )
        if link or template:
            yield node.span
        elif not (node.kind is Kind.EXTENSION and node.name == "ref"):
            for part in node.parts:
                yield from _inline(part, source)


def _column_headings(source: str) -> Iterator[tuple[int, int]]:
    """Where rows of `!` cells alone stand."""
    for row in re.finditer(r"(?<=\n)(?:\{\|[^\n]*|\|-[^\n]*)\n((?:![^\n]*\n)+)(?=\|[-}])", source):
        yield row.span(1)


def main() -> None:
    """Read, count, print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("articles")
    parser.add_argument("--show", nargs=2, metavar=("KIND", "N"), help="examples of one kind")
    parser.add_argument("--read", type=int, metavar="N", help="claims to be read by a person")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    chance = random.Random(given.seed)  # noqa: S311  # a sample, no secret
    counted: dict[str, Counter[str]] = defaultdict(Counter)
    examples: dict[str, list[str]] = defaultdict(list)
    began = time.process_time()
    articles = list(read_articles(given.articles))
    seconds = time.process_time() - began
    for article in articles:
        places = Places(article)
        for claim in article.claims:
            counted["claims"][claim.origin] += 1
            examples["all"].append(_line(claim))
            for kind in kinds_of(claim, places, article):
                counted[kind][claim.origin] += 1
                examples[kind].append(_line(claim))
    _print(counted, len(articles), seconds)
    shown, n = given.show or (("all", given.read) if given.read else ("", 0))
    for line in chance.sample(examples[shown], min(int(n), len(examples[shown]))):
        sys.stdout.write(f"{line}\n")


def _line(claim: Claim) -> str:
    """The claim, and its sentence with the judged part marked."""
    sentence, part = getattr(claim, "sentence", ""), getattr(claim, "part", None)
    text = claim.text
    if part and sentence != text:
        marked = f"{sentence[: part.start]}⟦{part.of(sentence)}⟧{sentence[part.end :]}"
        text = f"{text}   ◂ {marked}"
    return f"[{claim.origin}] {' '.join(text.split())}"


def _print(counted: dict[str, Counter[str]], n_articles: int, seconds: float) -> None:
    origins = ["prose", "list", "table", "template", "caption"]
    out = [f"{n_articles} articles, read in {seconds:.1f} s of processor time\n"]
    out.append(f"{'':<12}" + "".join(f"{origin:>16}" for origin in origins) + "\n")
    for kind in ("claims", *KINDS):
        cells = []
        for origin in origins:
            n, of = counted[kind][origin], counted["claims"][origin]
            share = "" if kind == "claims" or not of else f" ({n / of:.1%})"
            cells.append(f"{f'{n}{share}':>16}")
        out.append(f"{kind:<12}" + "".join(cells) + f"   {KINDS.get(kind, '')}\n")
    sys.stdout.write("".join(out))


if __name__ == "__main__":
    main()
