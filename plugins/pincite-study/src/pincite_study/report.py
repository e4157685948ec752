"""The report of a study, counted from its ratings: as JSON, page, text and CSV."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pincite.report.cells import csv_text, one_line
from pincite_server import rendering
from pincite_server.tables import iso
from pincite_study import preferences
from pincite_study.preferences import NO_MAJORITY, PAIRS, Comparison, Side
from pincite_study.studies import Study, StudyStore

Translate: TypeAlias = Callable[[str], str]


def report_of(store: StudyStore, study: Study) -> dict[str, Any]:
    """Return the figures as JSON values, see `preferences.summary`."""
    items = store.items(study.study_id)
    compared = [item.comparison(number) for number, item in items.items()]
    ratings = [given.rating for given in store.ratings(study.study_id)]
    about = {
        "study_id": study.study_id,
        "name": study.name,
        "sample": study.sample,
        "seed": study.seed,
        "compare": study.compare,
        "n_without_text": study.n_without_text,
        "n_one_passage": study.n_one_passage,
        "created": iso(study.created),
        "closed": iso(study.closed) if study.closed else None,
    }
    counted = preferences.summary(compared, ratings, study.per_item, study.compare)
    return {"study": about, **counted}


def as_text(report: Mapping[str, Any]) -> str:
    counts, tests, agreed = report["counts"], report["sign_test"], report["agreement"]
    study, names = report["study"], names_of(report["study"]["compare"])
    baseline, tested = PAIRS[study["compare"]].sides
    lines = [
        f"{one_line(study['name'])}: {counts['ratings']} ratings by "
        f"{counts['raters']} raters; {counts['items_with_enough_ratings']} of {counts['items']} "
        f"statements have at least {report['per_item']}",
        "",
        f"{'':20}{'answers':>8}  {'share (95 %)':18}{'majorities':>10}  share (95 %)",
    ]
    for answer, name in names.items():
        given, decided = report["preferences"].get(answer), report["majorities"][answer]
        shown = f"{given['n']:>8}  {_share(given):18}" if given else " " * 28
        lines.append(f"{name:20}{shown}{decided['n']:>10}  {_share(decided)}")
    test, single = tests["majorities"], tests["ratings"]
    kappa, alpha = (agreed["preference"][name] for name in ("fleiss_kappa", "krippendorff_alpha"))
    lines += [
        "",
        f"{names[tested]} against {names[baseline]}: {test[tested]} to {test[baseline]} "
        f"majorities, sign test p = {_number(test['p'])}; {single[tested]} to {single[baseline]} "
        f"answers, p = {_number(single['p'])}",
        f"agreement: Fleiss' kappa {_number(kappa)}, Krippendorff's alpha {_number(alpha)}",
        f"median time: {_number(report['seconds']['median'])} s",
    ]
    for name, test in report["systems"].items():
        lines.append(
            f"{one_line(name)} against the first: {test[tested]} to {test[baseline]} majorities, "
            f"sign test p = {_number(test['p'])}"
        )
    if without := left_out(study["n_without_text"], study["n_one_passage"], study["compare"]):
        lines.append(without)
    return "\n".join(lines) + "\n"


def _share(counted: Mapping[str, Any]) -> str:
    if counted["share"] is None:
        return "–"
    low, high = counted["interval"]
    return f"{counted['share']:.0%} ({low:.0%}–{high:.0%})"


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:g}"


def as_page(report: Mapping[str, Any]) -> str:
    """The report as one HTML file that asks for no other, in English."""
    return rendering.page_alone("study_alone.html", "en", report=report, **template_names(report))


def template_names(report: Mapping[str, Any], translated: Translate = str) -> dict[str, Any]:
    """What `study_tables.html` calls the parts of a report."""
    return {
        "pair": PAIRS[report["study"]["compare"]],
        "preferences": names_of(report["study"]["compare"], translated),
        "evidence": {amount: translated(name) for amount, name in EVIDENCE.items()},
    }


def as_csv(store: StudyStore, study: Study) -> str:
    """A row for each rating, in the order in which they were given; no text can be a formula."""
    baseline, tested = PAIRS[study.compare].sides
    items = store.items(study.study_id)
    columns = (
        f"study item claim_id article claim {baseline}_url {tested}_url {baseline}_score "
        f"{tested}_score rater position {baseline}_side answer choice evidence_{baseline} "
        f"evidence_{tested} seconds n_answers answered"
    ).split()
    rows = []
    for given in store.ratings(study.study_id):
        item, evidence = items[given.item], given.rating.evidence
        about = study.study_id, given.item, item.claim_id, item.article, item.claim
        sources = item.baseline, item.tested
        scores = [None if x.score is None else round(x.score, 4) for x in sources]
        shown = given.rater, given.position, "a" if given.baseline_first else "b"
        answer = given.answer, given.choice, evidence.get(baseline), evidence.get(tested)
        times = round(given.seconds, 1), given.n_answers, iso(given.answered)
        rows.append([*about, *(x.url for x in sources), *scores, *shown, *answer, *times])
    return csv_text(columns, rows)


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


def names_of(compare: Comparison, translated: Translate = str) -> dict[str, str]:
    """Every answer and what it is called, in the order of tables and figures."""
    pair = PAIRS[compare]
    sides = {side: SIDES[side] for side in (pair.tested, pair.baseline)}
    return {answer: translated(name) for answer, name in (sides | OTHERWISE).items()}


def left_out(n_without_text: int, n_one_passage: int, compare: Comparison) -> str:
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
