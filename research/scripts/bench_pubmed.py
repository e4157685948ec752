"""How fast PubMed files are read, on one core: records a second, reading and nothing else.

python research/scripts/bench_pubmed.py pubmed26n0001.xml.gz  # of https://ftp.ncbi.nlm.nih.gov/pubmed
"""

import argparse
import resource
import time
from collections import Counter
from pathlib import Path

from pincite.documents import sandbox
from pincite.documents.read import read_path
from pincite.types import Document


def main() -> None:
    """Read each file once and print what it took."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("paths", type=Path, nargs="+")
    for path in parser.parse_args().paths:
        counts: Counter[str] = Counter()
        n_chars, wall, cpu = 0, time.perf_counter(), cpu_seconds()
        for found in read_path(path):
            if isinstance(found, Document):
                counts["documents"] += 1
                n_chars += len(found.text)
            else:
                counts[found.reason.value] += 1
        sandbox._POOL.end()  # a process counts once it has ended
        wall, cpu = time.perf_counter() - wall, cpu_seconds() - cpu
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        n, per_document = counts.total(), n_chars / max(counts["documents"], 1)
        print(
            f"{path.name}: {n:,} records ({dict(counts)}), {per_document:,.0f} "
            f"characters a document, {path.stat().st_size / n:,.0f} bytes a record in the file; "
            f"{wall:.1f} s, {cpu:.1f} s of processor time: {n / cpu:,.0f} records a CPU-second; "
            f"peak {peak:.0f} MB"
        )


def cpu_seconds() -> float:
    """Of this process and of those that read for it."""
    both = map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(used.ru_utime + used.ru_stime for used in both)


if __name__ == "__main__":
    main()
