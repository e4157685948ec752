"""How often claims about tables are judged right, with what is shipped and nothing else.

    python tools/gate_tables.py [--show] [--format html]

The tables and claims are invented: tests/cases/tables/tables.txt. A true claim is right if its
label is "supported", a false one if it is neither that nor "partly supported".
"""

import argparse
import sys
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from support.table_files import CASES, FILES, TableCase, read_cases, written

from pincite.documents.read import read_bytes
from pincite.judgement import decide
from pincite.judgement.atoms import unstated_atoms
from pincite.judgement.contradictions import discard_rebutted
from pincite.models import weights
from pincite.models.verifier import CrossEncoderVerifier
from pincite.text.passages import cited_passages
from pincite.types import Claim, Document, Evidence, Label, Unchecked

FOR = (Label.SUPPORTED, Label.PARTLY_SUPPORTED)


def main() -> None:
    """Print the counts, by format and by kind of claim."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--show", action="store_true", help="the claims judged wrong, with quotes")
    parser.add_argument("--texts", action="store_true", help="print only the text of each file")
    parser.add_argument("--fresh", action="store_true", help="use the cases of fresh.txt")
    parser.add_argument("--format", choices=FILES)
    given = parser.parse_args()
    cases = read_cases(CASES.with_name("fresh.txt") if given.fresh else CASES)
    cases = [case for case in cases if given.format in (None, case.format)]
    if given.texts:
        for case in cases:
            text = document_of(case)
            print(f"== {case.id} {case.format}", getattr(text, "text", text), sep="\n")
        return
    verifier = CrossEncoderVerifier(weights.locate(weights.VERIFIER))
    right, n = Counter[str](), Counter[str]()
    accused = refuted = 0
    for case in cases:
        document = document_of(case)
        for claim in case.claims:
            found, label = judged(claim.text, document, verifier)
            good = label is Label.SUPPORTED if claim.true else label not in FOR
            accused += claim.true and label is Label.REFUTED
            refuted += not claim.true and label is Label.REFUTED
            for group in (case.format, claim.kind, "true" if claim.true else "false", "all"):
                n[group] += 1
                right[group] += good
            if given.show and not good:
                quoted = _quoted(found) if isinstance(found, Evidence) else found.detail
                print(f"{case.id} {'+' if claim.true else '-'} {label}: {claim.text}\n   {quoted}")
    for group, count in n.items():
        print(f"{group:10}{right[group]:4} of {count:3}  {right[group] / count:.3f}")
    print(f"true claims called refuted: {accused}; false ones: {refuted} of {n['false']}")


def document_of(case: TableCase) -> Document | Unchecked:
    """The file of a table as the product reads it."""
    ending, content_type = FILES[case.format]
    url = f"https://example.org/{case.title.replace(' ', '_')}{ending}"
    return read_bytes(written(case), url=url, content_type=content_type)


def judged(
    text: str, document: Document | Unchecked, verifier: CrossEncoderVerifier
) -> tuple[Evidence | Unchecked, Label]:
    """The deciding evidence in a document, and the label that `verify` gives a claim."""
    if isinstance(document, Unchecked):
        return document, Label.UNCHECKED
    claim, passages = Claim("", text), cited_passages(document)
    evidence = verifier.verify([(claim, passage) for passage in passages])
    evidence = [discard_rebutted(claim, e, document.text) for e in evidence]
    best = decide.deciding_evidence(evidence)
    assert best is not None
    atoms = unstated_atoms(text, passages)
    return best, decide.label_of(best, atoms=atoms)


def _quoted(found: Evidence) -> str:
    quote = found.quote.of(found.passage.text) if found.quote else ""
    notes = [(note.code, dict(note.values)) for note in found.reasons_coded]
    return f"{found.prob_supported:.2f} {found.prob_refuted:.2f} {quote!r} {notes}"


if __name__ == "__main__":
    main()
