"""How often `pincite check` is right on the gate set, with what is shipped and nothing else.

    python tools/gate_check.py [--half open|sealed|both] [--json OUT] [--reveal]

For each domain a corpus is made of its documents, and the statements of a half are checked against
it by the command itself. The first reading that was judged answers.
Right is any confirmation of what is true, any disconfirmation of what is false, and "no evidence"
or "balanced" for what the documents do not cover. Statements of the sealed half are only counted,
unless --reveal says that the work is done.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

SET = Path(__file__).parents[1] / "tests/cases/gate"
DOMAINS = ("news", "history", "medicine")
HALVES = ("open", "sealed")
FOR = ("strong_confirmation", "confirmation", "weak_confirmation")
AGAINST = ("weak_disconfirmation", "disconfirmation", "strong_disconfirmation")
NEITHER = ("no_evidence", "balanced")
RIGHT = {"confirmed": FOR, "disconfirmed": AGAINST, "none": NEITHER}
SHORT = {
    **dict(zip(FOR, ("++", "+", "(+)"), strict=True)),
    **dict(zip(AGAINST, ("(-)", "-", "--"), strict=True)),
    "balanced": "bal",
    "no_evidence": "no ev",
}
INCOMPLETE = 5  # exit code: something could not be judged; the rest counts


@dataclass(frozen=True, slots=True)
class Answer:
    """A statement of the set with what `check` says of it; `doc` is the mean degree."""

    id: str
    domain: str
    half: str
    statement: str
    expected: str
    how: str
    outcome: str
    doc: float | None
    readings: tuple[str, ...]  # outcomes of all readings
    quotes: tuple[str, ...]  # "for: sentence", "against: sentence", best first

    @property
    def right(self) -> bool:
        return self.outcome in RIGHT[self.expected]


def main() -> None:
    """Check the statements and print what came of them."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--half", choices=(*HALVES, "both"), default="open")
    parser.add_argument("--json", type=Path, metavar="OUT")
    parser.add_argument("--reveal", action="store_true", help="show sealed statements too")
    given = parser.parse_args()
    halves = HALVES if given.half == "both" else (given.half,)
    found = [each for domain in DOMAINS for each in answers(domain, halves)]
    for half in halves:
        report(half, [each for each in found if each.half == half])
    if len(halves) > 1:
        report("both", found)
    for half in halves:
        if half == "open" or given.reveal:
            show(half, [each for each in found if each.half == half])
    if given.json:
        kept = [row(each, reveal=given.reveal) for each in found]
        given.json.write_text(json.dumps(kept, indent=1, ensure_ascii=False), encoding="utf-8")


def answers(domain: str, halves: Sequence[str]) -> list[Answer]:
    """What the command says of a domain's statements, in the order of the files."""
    rows = [(half, each) for half in halves for each in statements(domain, half)]
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "statements.txt").write_text(
            "".join(f"{each['statement']}\n" for _, each in rows), encoding="utf-8"
        )
        run(folder, "corpus", "add", "kb", str(SET / domain / "documents"), "-q")
        said = run(
            folder, "check", "--file", "statements.txt", "--corpus", "kb", "--json", "-", "-q"
        )
    checks = json.loads(said)["checks"]
    assert [check["statement"] for check in checks] == [each["statement"] for _, each in rows]
    return [
        answer(domain, half, each, check) for (half, each), check in zip(rows, checks, strict=True)
    ]


def statements(domain: str, half: str) -> list[dict[str, str]]:
    text = (SET / domain / f"statements-{half}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def run(folder: Path, *arguments: str) -> str:
    """What the command prints; it runs elsewhere, so that no settings of this folder count."""
    command = [sys.executable, "-m", "pincite", *arguments]
    done = subprocess.run(
        command, cwd=folder, stdout=subprocess.PIPE, check=False, encoding="utf-8"
    )
    if done.returncode not in (0, INCOMPLETE):
        raise SystemExit(f"{' '.join(arguments[:2])} failed with {done.returncode}")
    return done.stdout


def answer(domain: str, half: str, row: dict[str, str], check: dict[str, Any]) -> Answer:
    results = check["readings"]
    judged = [each for each in results if each["outcome"] != "not_judged"]
    nothing: dict[str, Any] = {"outcome": "no reading", "doc": None, "evidence": []}
    first = (judged or results or [nothing])[0]
    return Answer(
        row["id"],
        domain,
        half,
        row["statement"],
        row["expected"],
        row["how"],
        first["outcome"],
        first["doc"],
        tuple(each["outcome"] for each in results),
        tuple(f"{each['side']}: {each.get('quote', '')}" for each in first["evidence"]),
    )


def report(half: str, found: Sequence[Answer]) -> None:
    """A row for each domain and kind with its outcomes, and the three figures of the gate."""
    print(f"\n## {half}\n\n| domain | kind | n | right | {' | '.join(SHORT.values())} | other |")
    print("|---|---|--:|--:|" + "--:|" * (len(SHORT) + 1))
    for domain in (*DOMAINS, "all"):
        for kind in RIGHT:
            those = [e for e in found if e.expected == kind and domain in (e.domain, "all")]
            print(f"| {domain} | {kind} | {cells(those)} |")
        print(f"| {domain} | all | {cells([e for e in found if domain in (e.domain, 'all')])} |")
    true = [each for each in found if each.expected == "confirmed"]
    false = [each for each in found if each.expected == "disconfirmed"]
    in_part = sum(not set(AGAINST).isdisjoint(each.readings) for each in true)
    against = count(true, AGAINST)
    print(f"\nright: {share(sum(each.right for each in found), len(found))}, at least 80 % wanted")
    print(f"true ones disconfirmed: {against} (in some reading: {in_part}), 0 wanted")
    print(f"false ones disconfirmed: {share(count(false, AGAINST), len(false))}, 60 % wanted")
    print(f"false ones confirmed: {share(count(false, FOR), len(false))}")
    none = [each for each in found if each.expected == "none"]
    print(f"not covered, given a verdict: {share(count(none, FOR + AGAINST), len(none))}")


def cells(those: Sequence[Answer]) -> str:
    outcomes = Counter(each.outcome for each in those)
    levels = [outcomes.pop(level, 0) for level in SHORT]
    right = sum(each.right for each in those)
    return " | ".join(str(n) for n in (len(those), right, *levels, outcomes.total()))


def count(those: Iterable[Answer], outcomes: Sequence[str]) -> int:
    return sum(each.outcome in outcomes for each in those)


def share(part: int, whole: int) -> str:
    return f"{part} of {whole} ({100 * part / whole:.0f} %)"


def show(half: str, found: Sequence[Answer]) -> None:
    """The statements behind the figures: those that must not be, and those that should."""
    lists = {
        "true, disconfirmed": ("confirmed", AGAINST),
        "true, neither": ("confirmed", NEITHER),
        "false, disconfirmed": ("disconfirmed", AGAINST),
        "false, neither": ("disconfirmed", NEITHER),
        "false, confirmed": ("disconfirmed", FOR),
        "not covered, given a verdict": ("none", FOR + AGAINST),
    }
    for name, (kind, outcomes) in lists.items():
        those = [e for e in found if e.expected == kind and e.outcome in outcomes]
        print(f"\n## {half}: {name} ({len(those)})\n")
        for each in those:
            print(f"* {each.id} {each.outcome} {each.doc}: {each.statement} [{each.how}]")
            print("".join(f"    {quote}\n" for quote in each.quotes[:1]), end="")
    others = [each for each in found if each.outcome not in SHORT]
    print(f"\n## {half}: left alone or failed ({len(others)})\n")
    for each in others:
        print(f"* {each.id} {each.expected}, {each.outcome}: {each.statement}")


def row(each: Answer, *, reveal: bool) -> dict[str, Any]:
    """For the JSON file: of a sealed statement only what cannot tell which one it is."""
    if each.half == "open" or reveal:
        return {**asdict(each), "right": each.right}
    return {
        "half": each.half,
        "domain": each.domain,
        "expected": each.expected,
        "outcome": each.outcome,
        "right": each.right,
    }


if __name__ == "__main__":
    main()
