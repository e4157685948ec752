"""What the verdicts would be at another threshold, from what was judged: nothing is judged anew.

Two things keep their first threshold: which passage speaks for a source that does not support a
claim (`aggregation.deciding_evidence`), and which better sources were listed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pincite.judgement import aggregation, fusion, parts
from pincite.types import CitationResult, Finding, Part

Atoms = Mapping[
    str, Sequence[Part]
]  # by citation; under "" those that no source of the group states


def relabelled(finding: Finding, threshold: float, atoms: Atoms) -> Finding:
    """The finding as it would have been decided at `threshold`.

    `atoms`: figures, names and quotations that no passage of the sources states. Of a citation that
    is not in it those are known that the finding names as missing.
    """
    results = tuple(_relabelled(result, threshold, atoms) for result in finding.citations)
    missing = atoms.get("", _atoms_in(finding.missing))
    of_group = parts.borne_out_by_any([result.clauses for result in results])
    label = aggregation.group_label(results, finding.together, threshold, missing)
    ours = replace(
        finding,
        citations=results,
        label=label,
        missing=aggregation.missing(label, of_group, missing),
    )
    return fusion.decided(ours, threshold)


def _relabelled(result: CitationResult, threshold: float, atoms: Atoms) -> CitationResult:
    missing = atoms.get(result.citation.citation_id, _atoms_in(result.missing))
    clauses = tuple(_judged(part, threshold) for part in result.clauses)
    label = aggregation.label_of(result.outcome, threshold, clauses, missing)
    named = aggregation.missing(label, clauses, missing)
    return replace(result, label=label, clauses=clauses, missing=named)


def _judged(clause: Part, threshold: float) -> Part:
    assert clause.evidence
    return replace(clause, supported=clause.evidence.prob_supported >= threshold)


def _atoms_in(missing: Sequence[Part]) -> list[Part]:
    return [part for part in missing if part.kind != "clause"]
