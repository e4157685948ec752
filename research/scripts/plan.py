"""How many machines a corpus needs: size, queries a second and recall in, a table out.

    python research/scripts/plan.py
    python research/scripts/plan.py --passages 1e8 --rate 50 --recall 0.99 --bits 1 --memory 128 --cores 16

Every constant was measured on up to a million passages (docs/benchmarks.md, "A million passages",
"Verifier speed") or is quoted with its source. Every step beyond that follows a law that stands
beside it. No machine of the size that comes out was tried.
"""

import argparse
import math
from dataclasses import dataclass

# Bytes a passage of 90 words and 384 dimensions: SQLite 1,187, of it a vector in half precision
# with checksum and row 780; words 115; codes of 8 bits 398, of 1 bit with 8 bits to refine 451.
# Law: linear, as every passage has its own rows.
TEXT, STORED_VECTOR, WORDS = 407, 780, 115
CODES = {8: (398, 0), 1: (64, 387)}  # bits → in memory, read from the disk to refine
# Processor milliseconds of a query at a million passages. By words; law: the power of the size
# that leads from 1.8 ms at 13,955 passages to 21 ms at a million, all words of a query searched.
WORDS_MS, WORDS_POWER = 22.3, math.log(21 / 1.8) / math.log(1_000_675 / 13_955)
# By meaning, by recall@100. Law: the square root of the size, as lists and vectors in a list both
# grow by it; that recall stays the same with it is assumed.
MEANING_MS = {0.978: 3.7, 0.992: 4.3, 0.999: 10.7}
# `corpus add`, start included: passages a CPU-second. Law: linear.
ENCODED = 21.7
# All but network, tokens and language of a passage: what only the writer does, in milliseconds.
WRITTEN_MS = 0.7
# CPU-seconds a citation, two looks at a page. 44.7 million citations in the English Wikipedia of
# February 2024 (arXiv 2406.19291), in 6.8 million articles.
VERIFIED, CITATIONS = 1.8, 44.7e6
FREE = 0.7  # of memory and of processors, used at most: indexes are built beside those that serve
SIDE = {"passages": 906_000_000, "nodes": 16, "memory": 500}  # Petroni et al. 2023; GB
DAY = 86_400


@dataclass(frozen=True, slots=True)
class Plan:
    """A corpus on nodes of one kind, its passages spread evenly; every node answers every query."""

    passages: float
    rate: float  # queries a second
    recall: float
    bits: int
    memory: float  # GB a node
    cores: int
    least: int = 1  # nodes, however few would do

    def __post_init__(self) -> None:
        """Refuse what no measurement supports."""
        if self.bits not in CODES or self.recall > max(MEANING_MS) or self.passages < 1:
            raise ValueError(f"bits is one of {sorted(CODES)}, recall at most {max(MEANING_MS)}")

    @property
    def in_memory(self) -> float:
        """Bytes: codes and words, which every query reads."""
        return self.passages * (CODES[self.bits][0] + WORDS)

    @property
    def on_disk(self) -> float:
        """Bytes: all of it."""
        return self.passages * (TEXT + STORED_VECTOR + WORDS + sum(CODES[self.bits]))

    def query_ms(self, nodes: int) -> float:
        """Processor milliseconds of one node for a query."""
        millions = self.passages / nodes / 1e6
        by_meaning = MEANING_MS[min(r for r in MEANING_MS if r >= self.recall)]
        return float(WORDS_MS * millions**WORDS_POWER + by_meaning * math.sqrt(millions))

    @property
    def nodes_for_memory(self) -> int:
        """So many hold the indexes."""
        return max(self.least, math.ceil(self.in_memory / (FREE * self.memory * 1e9)))

    @property
    def nodes(self) -> int:
        """The fewest that hold the indexes and answer at the rate."""
        nodes = self.nodes_for_memory
        while self.rate * self.query_ms(nodes) / 1_000 > FREE * self.cores:
            nodes += 1
        return nodes

    @property
    def encoding_days(self) -> float:
        """With every core of these nodes."""
        return self.passages / ENCODED / (self.nodes * self.cores) / DAY

    @property
    def writing_days(self) -> float:
        """What one writer takes at least, however many workers encode."""
        return self.passages * WRITTEN_MS / 1_000 / DAY

    @property
    def verifying_days(self) -> float:
        """Every citation of the English Wikipedia, with every core of these nodes."""
        return CITATIONS * VERIFIED / (self.nodes * self.cores) / DAY

    def rows(self) -> list[tuple[str, str]]:
        """What the table says."""
        ms = self.query_ms(self.nodes)
        return [
            ("passages", f"{self.passages:,.0f}"),
            ("codes", f"{self.bits} bit, recall@100 {self.recall}"),
            ("in memory; on disk", f"{_size(self.in_memory)}; {_size(self.on_disk)}"),
            ("nodes for memory; for the rate too", f"{self.nodes_for_memory}; **{self.nodes}**"),
            ("a query, on each node", f"{ms:,.0f} ms of one core"),
            ("most queries a second", f"{self.cores * FREE * 1_000 / ms:,.1f}"),
            ("encoding, all cores", f"{self.encoding_days:,.1f} days"),
            ("of it one writer alone", f"{self.writing_days:,.1f} days"),
            ("6.8 million articles verified", f"{self.verifying_days:,.1f} days"),
        ]


def _size(n_bytes: float) -> str:
    return f"{n_bytes / 1e12:,.2f} TB" if n_bytes >= 1e12 else f"{n_bytes / 1e9:,.1f} GB"


def table(plans: list[Plan]) -> str:
    """The plans side by side, in Markdown."""
    columns = [plan.rows() for plan in plans]
    heads = [f"{p.rate:g} a second, {p.memory:g} GB, {p.cores} cores a node" for p in plans]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(plans) + 1) + "|"]
    rows = (
        f"| {parts[0][0]} | {' | '.join(value for _, value in parts)} |"
        for parts in zip(*columns, strict=True)
    )
    return "\n".join([*lines, *rows])


def main() -> None:
    """Print the plan that was asked for, or SIDE's size with both kinds of codes."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--passages", type=float, default=SIDE["passages"])
    parser.add_argument("--rate", type=float, default=1, help="queries a second")
    parser.add_argument("--recall", type=float, default=0.992, choices=sorted(MEANING_MS))
    parser.add_argument(
        "--bits", type=int, choices=sorted(CODES), help="of a code; both if left out"
    )
    parser.add_argument("--memory", type=float, default=SIDE["memory"], help="GB a node")
    parser.add_argument("--cores", type=int, default=32, help="a node")
    parser.add_argument("--nodes", type=int, default=1, help="at least")
    given = parser.parse_args()
    size = given.passages, given.rate, given.recall
    node = given.memory, given.cores
    chosen = [given.bits] if given.bits else sorted(CODES, reverse=True)
    plans = [Plan(*size, bits, *node, given.nodes) for bits in chosen]
    if given.passages == SIDE["passages"]:
        plans.append(Plan(*size, 8, *node, SIDE["nodes"]))
    print(table(plans))


if __name__ == "__main__":
    main()
