"""Words and signs for the results of `check`."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pincite.judgement.confirmation import Outcome, Weighed, rank
from pincite.judgement.provenance import Source, SourceKind
from pincite.notes import IN_ENGLISH, Language
from pincite.report.cells import WORDS, Look, one_line, shorten, why_excluded, why_unchecked
from pincite.text import words as text_words
from pincite.types import Failed, StatementType

if TYPE_CHECKING:
    from pincite.verbs.check.report import ReadingResult

_WORDS = WORDS["check"]
LOOKS = {Outcome(name): Look(**look) for name, look in _WORDS["looks"].items()}
KINDS = {StatementType(name): words for name, words in _WORDS["kinds"].items()}
SOURCES = {SourceKind(name): words for name, words in _WORDS["sources"].items()}
OWN = "published by the subject of the statement"
PRIMARY = "primary source (published by the subject)"
NEAREST = "closest passages, counted neither for nor against: judge for yourself"
UNSETTLED = "not settled by the closest passages"
ADVICE = (
    "A knowledge base can be wrong, and something it does not contain may still be true: read the "
    "sources. Each reading is judged on its own; there is no overall verdict."
)

_NAMED = 3  # documents that could not be judged for one reason
_AUTHORS = 80  # characters of a list of authors or speakers


def legend(threshold: float, words: Language = IN_ENGLISH) -> str:
    text = words.say(
        "A degree runs from −1 (the document refutes the reading) to +1 (it confirms it). Within "
        "±%(threshold)s it counts as neither; the result is the mean of the other degrees."
    )
    return text % {"threshold": f"{threshold:g}"}


def only_by(result: "ReadingResult") -> str:
    """Name those who alone say what the result rests on; empty if a document itself states it."""
    level = rank(result.weight.outcome) or 0
    side = "for" if level > 0 else "against"
    sources = [item.source for item in result.items if item.side == side]
    own = {s: (s.publisher or s.author) if _is_own(s) and level > 0 else "" for s in sources}
    names = [source.speaker or own[source] for source in sources]
    return shorten(", ".join(dict.fromkeys(names)), _AUTHORS) if level and all(names) else ""


def look(result: "ReadingResult", words: Language = IN_ENGLISH) -> Look:
    """Return how an outcome is shown; its label says if one source alone says so.

    "No evidence found" is said only where no passage is near.
    """
    outcome = result.weight.outcome
    if names := only_by(result):
        for_it = words.say("only according to %(names)s")
        against = words.say("disputed only by %(names)s")
        text = for_it if (rank(outcome) or 0) > 0 else against
        return LOOKS[Outcome.BALANCED]._replace(sign="△", label=text % {"names": names})
    is_near = outcome is Outcome.NO_EVIDENCE and result.nearest
    return LOOKS[outcome]._replace(label=words.say(UNSETTLED if is_near else LOOKS[outcome].label))


def summary(result: "ReadingResult", words: Language = IN_ENGLISH) -> str:
    """Describe the result of one reading."""
    say, weight, n_passages = words.say, result.weight, len(result.items)
    if weight.outcome is Outcome.NOT_JUDGED:
        return say(KINDS[result.reading.kind])
    if weight.outcome is Outcome.NO_EVIDENCE and not n_passages:
        return say("nothing relevant was found")
    if weight.outcome is Outcome.NO_EVIDENCE:
        texts = _texts(weight.n_silent, words)
        return say("%(texts)s found; none seems to support or contradict it") % {"texts": texts}
    if weight.outcome is Outcome.FAILED and not n_passages:
        return say(LOOKS[Outcome.FAILED].label)
    if weight.outcome is Outcome.FAILED:
        text = say(
            "%(n)s of %(all)s passages could not be judged; none of the others supports or "
            "contradicts it"
        )
        return text % {"n": weight.n_failed, "all": n_passages}
    n_for, n_against = (
        len({item.text_id for item in result.items if item.side == side})
        for side in ("for", "against")
    )
    values = {"doc": format_degree(weight.doc), "texts": _texts(weight.n_texts, words)}
    values |= {"for": str(n_for), "against": str(n_against)}
    text = say("%(doc)s from %(texts)s, %(for)s for and %(against)s against") % values
    return text + _how_sure(result, words)


def mean_degree(result: "ReadingResult", words: Language = IN_ENGLISH) -> str:
    """Describe the mean degree and its uncertainty; empty without evidence."""
    if result.weight.doc is None:
        return ""
    text = words.say("mean degree %(doc)s") % {"doc": format_degree(result.weight.doc)}
    return text + _how_sure(result, words)


def _how_sure(result: "ReadingResult", words: Language) -> str:
    weight = result.weight
    unjudged = {"n": weight.n_failed, "all": len(result.items)}
    failed = words.say("; %(n)s of %(all)s passages could not be judged") % unjudged
    capped = words.say("; beyond ±0.6 is strong only from two documents, or one word for word")
    return failed * bool(weight.n_failed) + capped * weight.is_capped


def warning(result: "ReadingResult", words: Language = IN_ENGLISH) -> str:
    """Say what must not be overlooked next to the mean; empty if nothing."""
    weight, lacks = result.weight, result.reading.lacks
    items = enumerate(result.items)
    n, text = len({item.text_id for n, item in items if n in weight.contradictions}), ""
    if n > 1 and weight.outcome is Outcome.BALANCED:
        text = words.say("%(num)d documents strongly contradict each other")
    elif n and weight.outcome is Outcome.BALANCED:
        text = words.say("passages of one document strongly contradict each other")
    elif n:
        text = words.plural(
            "%(num)d document strongly contradicts this",
            "%(num)d documents strongly contradict this",
            n,
        )
    sources = [item.source for item in result.items if item.side == "for"]
    own = words.say("every document for it was published by the subject of the statement")
    is_own = bool(sources) and all(map(_is_own, sources))
    unknown = words.say("it depends on what is not given: %(names)s")
    needs = unknown % {"names": ", ".join(map(words.say, lacks))} if lacks else ""
    return "; ".join(filter(None, [text % {"num": n} if n else "", own if is_own else "", needs]))


def differs(reading: str, item: Weighed, words: Language = IN_ENGLISH) -> str:
    """Say which words of a reading neither a quote nor its title has; empty if none."""
    said = f"{item.passage.about} {item.quoted}"
    unsaid = text_words.unsaid(reading, said) if item.quoted else ()
    return words.say("not in it: %(words)s") % {"words": ", ".join(unsaid)} if unsaid else ""


def _is_own(source: Source) -> bool:
    return source.own and not source.primary


def group(source: Source) -> str:
    """The group of sources that a document is listed in."""
    if source.own:
        return PRIMARY if source.primary else OWN
    return str(SOURCES[source.kind])


def group_order(source: Source) -> int:
    """Where its group comes: independent sources first."""
    return [PRIMARY, *SOURCES.values(), OWN].index(group(source))


def published_by(item: Weighed, words: Language = IN_ENGLISH) -> str:
    """Publisher, author and date; for an own publication also its kind."""
    source = item.source
    names = [one_line(source.publisher), shorten(source.author, _AUTHORS)]
    if _is_own(source) and source.kind is not SourceKind.UNKNOWN:
        names.insert(0, words.say(SOURCES[source.kind]))
    date = item.published or words.say("undated")
    return " · ".join([*dict.fromkeys(filter(None, names)), date])


def interpreted_by(interpreter: str) -> str:
    """How the readings were found: by "rules", "user", a model, or "rules + user"."""
    known = {"rules": "generated automatically", "user": "edited by you"}
    first = interpreter.removesuffix(" + user")
    origin = known.get(first) or f"found by {one_line(first)}"
    return origin if first == interpreter else f"{origin} and {known['user']}"


def failure_lines(items: Sequence[Weighed]) -> list[str]:
    """Why documents could not be judged, after the names of the first ones."""
    names: dict[str, dict[str, None]] = {}
    for item in items:
        if isinstance(item.outcome, Failed):
            name = one_line(item.passage.title) or item.passage.url
            names.setdefault(item.outcome.detail, {})[name] = None
    return [
        f"{', '.join([*of][:_NAMED])}{', …' * (len(of) > _NAMED)}: {detail}"
        for detail, of in names.items()
    ]


def unused_pages(result: "ReadingResult", words: Language = IN_ENGLISH) -> list[tuple[str, str]]:
    """Return the addresses of pages that are not evidence, and why."""
    unread = [(page.url, why_unchecked(page, words.say)) for page in result.unread]
    return unread + [(page.url, why_excluded(page, words.say)) for page in result.excluded]


def format_degree(doc: float | None) -> str:
    """Format a degree with its sign and two decimals; empty for None."""
    if doc is None:
        return ""
    return f"{doc:+.2f}".replace("-", "−")


def _texts(n: int, words: Language) -> str:
    return words.plural("%(num)d document", "%(num)d documents", n) % {"num": n}
