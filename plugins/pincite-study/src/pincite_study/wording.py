"""What reports of studies call the answers; the pages have the same in other languages."""

from collections.abc import Callable, Mapping

from pincite_study.preferences import NO_MAJORITY, PAIRS, Comparison, Side

N_ = str  # marks a text for the translators
SIDES: Mapping[Side, str] = {
    "suggested": N_("suggested citation"),
    "existing": N_("existing citation"),
    "chosen": N_("chosen passage"),
    "random": N_("random passage"),
    "first": N_("answer of the first"),
    "other": N_("answer of another"),
}
OTHERWISE = {
    "neither": N_("neither"),
    "both": N_("both alike"),
    "unsure": N_("cannot tell"),
    NO_MAJORITY: N_("no majority"),
}
EVIDENCE = {
    "enough": N_("enough"),
    "partial": N_("partial"),
    "none": N_("none"),
    NO_MAJORITY: N_("no majority"),
}


def preferences(compare: Comparison, translated: Callable[[str], str] = str) -> dict[str, str]:
    """Every answer and what it is called, in the order of tables and figures."""
    pair = PAIRS[compare]
    sides = {side: SIDES[side] for side in (pair.tested, pair.baseline)}
    return {answer: translated(name) for answer, name in (sides | OTHERWISE).items()}


def evidence(translated: Callable[[str], str] = str) -> dict[str, str]:
    """Every amount of evidence, in the same way."""
    return {amount: translated(name) for amount, name in EVIDENCE.items()}


def left_out(n_without_text: int, n_one_passage: int, compare: Comparison = "passages") -> str:
    """Of how many citations no two passages could be compared; empty: of none."""
    if not n_without_text and not n_one_passage:
        return ""
    if compare == "answers":
        return (
            f"Left out: {n_without_text} answers to questions that the first report does not have, "
            f"{n_one_passage} that are the same as the first report's."
        )
    return (
        f"Left out: {n_without_text} citations whose source's text was not at hand, "
        f"{n_one_passage} whose source has no other passage to compare with."
    )
