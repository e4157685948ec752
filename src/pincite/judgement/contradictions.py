"""Rules that find where a source contradicts a claim, in words that a reader can check.

A missing detail is not a contradiction. A passage contradicts a claim only if one of its sentences
says the same about the same thing and differs in one place: another value of the same kind
("source: 1889 · claim: 1886"), a negation of the same predicate, a word of the opposite meaning,
another name in the same place. `research/refutation.md` has the rules' precision.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import takewhile

from pincite.text import LEXICON, alternatives, antonyms, names, quantities, syntax, tables
from pincite.text import words as wording
from pincite.text.clauses import clauses
from pincite.text.figures import MONTHS
from pincite.text.finite import finite_verb, referents
from pincite.text.languages import NEGATIONS, common
from pincite.text.quantities import Value, with_hedge
from pincite.text.quantities import values as values_of
from pincite.text.sentences import n_words
from pincite.text.words import WORD, roots
from pincite.types import Span, Witness, WitnessKind

# Shares of the clause's other content words that the sentence (with the page's title) must have.
# Chosen on half of claims/train's sets, which the network never saw; research/refutation.md.
_REST_OF_VALUE, _REST_OF_NAME, _REST_OF_TURN = 0.75, 0.8, 0.8
_UNSAID = 0.2  # the same that a text may lack which is read alone beside an opposite word
_LEAST_WORDS = 2  # content words besides the value that must be shared
_NEGATION = re.compile(
    r"\b(?:not|never|cannot|neither|no)\b(?!-)|n['’]t\b|\b(?:failed|refused|declined) to\b",
    re.IGNORECASE,
)
_NO_DENIAL = re.compile(rf"\b(?:{alternatives('denials', 'no_denial')})(?![a-z])", re.IGNORECASE)
_DENIED_VERB = re.compile(r"not\b|never\b|cannot\b|\w*n['’]t\b", re.IGNORECASE)
_LONGEST = 45  # words of a sentence: longer ones are lists and menus, or make several statements
# "We examined whether", "If it closes, …", "Did it close?": these assert nothing.
_ASKS = re.compile(r"\A\W*if\b|\bwhether\b|\bhypothes[ei][sz]|\?[\"”’)]*\s*\Z", re.IGNORECASE)
# "Does not think that he is to blame" denies that he is.
_RAISED = re.compile(r" (?:believ|consider|find|found|think|thought|accept|agre)\w* that (?:the )?")
_MAX_QUOTED = 60  # characters of the words that a negation denies, as far as it reaches
_REACH = 4  # words after a negation that may be its predicate
_HALF_DENIED, _COMPARED = (
    re.compile(rf"\b(?:{alternatives('denials', name)})\b", re.IGNORECASE)
    for name in ("half_denied", "compared")
)


def contradiction(
    claim: str,
    passage: str,
    about: str = "",
    page: str = "",
    covered: Span | None = None,
    language: str = "",
) -> Witness | None:
    """Return what in the passage contradicts the claim; None if nothing does.

    In other languages than English only values are compared, and nothing across languages.

    Args:
        claim: the statement.
        passage: the text to check.
        about: title and date of the page.
        page: the whole page, which may state the claim elsewhere; "": not known.
        covered: the words of the claim that the passage is cited for; None: all.
        language: of the claim, used if its words do not tell.
    """
    found = contradictions(claim, passage, about, page, covered, language)
    return next((witness for _, witness in found), None)


def contradictions(
    claim: str,
    passage: str,
    about: str = "",
    page: str = "",
    covered: Span | None = None,
    language: str = "",
) -> Iterator[tuple[str, Witness]]:
    """Yield what each rule finds, with the rule's name; the arguments are as of `contradiction`."""
    words = covered.of(claim) if covered else claim
    language = common(claim, passage, language)
    if language != "en" and (language not in NEGATIONS or wording.is_negated(claim)):
        return
    sentences = [(span, span.of(passage)) for span in _assertions(passage)]
    known_referents = referents(passage) if language == "en" else ()
    subjects = {found.sentence.of(passage): found.names[0] for found in known_referents}
    known = f"{about}\n{page or passage}"
    source = _Source(passage, sentences, subjects, about, known, words, language)
    for part in _clauses(claim):
        # A negated claim is not contradicted by naming someone else.
        rules = _OF_DENIALS if _denials(part) else _RULES
        for rule in rules if language == "en" else [_of_value]:
            found = rule(part, claim, source)
            if found and (covered is None or _words(found.claim) <= _words(words)):
                yield rule.__name__.removeprefix("_of_"), found


@dataclass(frozen=True, slots=True)
class _Source:
    passage: str
    sentences: Sequence[tuple[Span, str]]  # of the passage, that assert something
    subjects: Mapping[str, str]  # what "It" at the start of a sentence stands for
    about: str
    page: str  # what is known of it, and its text
    covered: str  # the words of the claim that it is cited for
    language: str

    def with_context(self, sentence: str) -> str:
        return f"{self.about}\n{self.subjects.get(sentence, '')}\n{sentence}"


@lru_cache(maxsize=2048)
def _assertions(passage: str) -> tuple[Span, ...]:
    """Return the sentences that assert something: no headings, questions or overlong text."""
    return tuple(
        s
        for s in wording.sentences_of(passage)
        if not wording.is_heading(passage, s)
        and not tables.cells_of(s.of(passage))
        and n_words(s.of(passage)) <= _LONGEST
        and not _ASKS.search(s.of(passage))
    )


@lru_cache(maxsize=256)
def _clauses(claim: str) -> list[str]:
    found = [clause.text for clause in clauses(claim)]
    return found if len(found) > 1 else [claim]


# ── A value ──────────────────────────────────────────────────────────────────────────────────────


def _of_value(part: str, claim: str, source: _Source) -> Witness | None:
    """Find another value in its place: in a sentence, else in the cell that the clause names."""
    languages = (source.language, source.language)
    absent = tables.unstated(part, source.page, languages)
    absent = tuple(value for value in absent if value.span.of(part) in source.covered)
    claimed = values_of(claim, source.language) if absent else ()
    for value in absent:
        rest = f"{part[: value.span.start]} {part[value.span.end :]}"
        for span, sentence in source.sentences:
            rival = _rival(value, part, sentence, claimed, source.language)
            if rival is None or _is_sum(value, sentence) or _is_other_share(part, value, sentence):
                continue
            if _differs_elsewhere(part, value, sentence, rival, source.language):
                continue
            predicates = "", _predicate(sentence, rival.span)
            if not _is_opposite(value, rival) and _predicate(part, value.span) not in predicates:
                continue  # "opened in 1871" beside "closed in 1966", or the year of a photograph
            if _says(rest, sentence, source, _REST_OF_VALUE):
                pair = with_hedge(part, value), with_hedge(sentence, rival)
                return Witness(WitnessKind.VALUE, *pair, span)
    return _in_cell(part, source) if source.language == "en" else None


def _is_sum(claimed: Value | antonyms.Change, sentence: str) -> bool:
    """Whether a claim adds up what a sentence divides: "200 jobs in Varde and 100 in Moss"."""
    parts = [v for v in values_of(sentence) if v.measure == claimed.measure and not v.weak]
    low, high = sorted(map(abs, (claimed.low, claimed.high)))
    is_sum = sum(v.low for v in parts) <= high and low <= sum(v.high for v in parts)
    return is_sum and len(parts) > 1 and high > 0


def _is_other_share(part: str, value: Value, sentence: str) -> bool:
    """Whether a sentence lacks what a share of things does: "22 % of the boats are wooden"."""
    verb = finite_verb(part) if value.measure == "share" else None
    if verb is None or verb.start < value.span.end:
        return False
    return not {*roots(part[verb.start :])} <= {*roots(sentence)}


def _differs_elsewhere(part: str, value: Value, sentence: str, rival: Value, language: str) -> bool:
    """Whether another value of the clause differs too; then the topic is a different one."""
    others = [v for v in values_of(part, language) if v != value and not v.weak]
    of_sentence = [v for v in values_of(sentence, language) if v != rival]
    return any(
        any(quantities.conflict(v, other) for v in of_sentence)
        and not any(quantities.states(v, other) for v in of_sentence)
        for other in others
    )


def _rival(
    value: Value, part: str, sentence: str, claimed: Sequence[Value], language: str
) -> Value | None:
    """Return the single value of the sentence in the role that `value` has in the claim."""
    same = [v for v in values_of(sentence, language) if v.measure == value.measure and not v.weak]
    if any(not quantities.conflict(v, value) for v in same):
        return None
    if opposite := next((v for v in same if _is_opposite(value, v)), None):
        return opposite
    written = value.span.of(part)
    if any(_alike_in_thousands(v.span.of(sentence), written) for v in same):
        return None
    rivals = [
        v
        for v in same
        if not any(quantities.states(v, c) or quantities.states(c, v) for c in claimed)
    ]
    rivals = [v for v in rivals if _direction(v, sentence) == _direction(value, part)]
    role = _role(value, part) if rivals else None
    rivals = [v for v in rivals if _role(v, sentence) == role]
    beside = _beside(value, part, language)
    rivals = [v for v in rivals if beside & _beside(v, sentence, language)]
    if not value.measure:  # a bare number counts something: "77 lifts" are not "8 escalators"
        rivals = [v for v in rivals if _counts_same(value, part, v, sentence)]
    return rivals[0] if len(rivals) == 1 else None


def _is_opposite(value: Value, rival: Value) -> bool:
    """Whether one is less and the other more than a number: "over 90", "fewer than the 90"."""
    return value.sense * rival.sense < 0 and (value.low == rival.high or value.high == rival.low)


def _role(value: Value, text: str) -> type | None:
    """Return whether a value is that of a change or in a rank; None if it is a level."""
    others: list[antonyms.Change | antonyms.Rank] = [*antonyms.stated_changes(text)]
    others += antonyms.ranks(text)
    return next((type(one) for one in others if one.span.overlaps(value.span)), None)


_PUNCTUATION = re.compile(r"[^\w\s’'-]")
_NO_NOUN = syntax.PARTICLES | syntax.AUXILIARIES | {"and", "or", "but", "more"}


def _counts_same(value: Value, part: str, rival: Value, sentence: str) -> bool:
    """Whether two numbers count the same: "lifts"; or "new lifts", of which are too many.

    What narrows the claim's noun makes it a part of what the source counts: no more than the whole.
    """
    noun, rival_noun = part[value.span.end :], sentence[rival.span.end :]
    if roots(noun)[:1] == roots(rival_noun)[:1]:
        return True
    narrow, wide = (
        list(takewhile(lambda word: word.islower() and word not in _NO_NOUN, text.split()))
        for text in (_PUNCTUATION.split(noun)[0], _PUNCTUATION.split(rival_noun)[0])
    )
    is_part = 0 < len(wide) < len(narrow) and narrow[-len(wide) :] == wide
    return is_part and value.low > rival.high


_THOUSANDS = re.compile(r"\d{1,3}(?:[.,]\d{3})+(?!\d)")
_DIGITS = re.compile(r"\d+")


def _alike_in_thousands(number: str, rival: str) -> bool:
    """Whether "1.240 m" and "1240 m" are one number, if the texts are not English after all."""
    grouped = _THOUSANDS.search(number) or _THOUSANDS.search(rival)
    return bool(grouped) and "".join(_DIGITS.findall(number)) == "".join(_DIGITS.findall(rival))


def _predicate(text: str, span: Span) -> str:
    """Return the stem of the last verb before `span`, else the first after it; "" if none."""
    words = list(WORD.finditer(text))
    found = ""
    for n, word in enumerate(words):
        before = words[n - 1][0] if n else ""
        after = words[n + 1][0] if n + 1 < len(words) else ""
        if word[0] in syntax.AUXILIARIES or not (
            syntax.is_participle(word[0]) or syntax.is_finite(word[0], before, after)
        ):
            continue
        if found and word.start() > span.start:
            break
        found = (roots(word[0]) or [""])[0]
        if word.start() > span.start:
            break
    return _SAME_VERB.get(found, found)


_DIRECTION = re.compile(r"\b(until|till|since|before|after|by|from|to|between)\s(?:the\s)?\Z")


def _direction(value: Value, text: str) -> str:
    """Return the word before a value that sets its role: "until 1971", "by eight", "to eleven"."""
    found = _DIRECTION.search(text, max(0, value.span.start - 14), value.span.start)
    return found[1] if found else ""


def _beside(value: Value, text: str, language: str) -> set[str]:
    """Return the content words around a value, up to other values of its kind."""
    others = [v.span for v in values_of(text, language) if v.measure == value.measure]
    start = max((s.end for s in others if s.end <= value.span.start), default=0)
    end = min((s.start for s in others if s.start >= value.span.end), default=len(text))
    before, behind = text[start : value.span.start], text[value.span.end : end]
    return {*roots(before)[-3:], *roots(behind)[:2]}


_QUALIFIES = re.compile(r"\b(?:of|for|in|at|from|with|without|among|under|to|on) (?:the |an? )?\Z")


def _in_cell(part: str, source: _Source) -> Witness | None:
    for lookup in tables.look_up(part, source.page):
        row = lookup.rows[0]
        start = source.passage.find(row.line)
        found = tables.other_value(lookup) if start >= 0 else None
        if found and _is_all_known(part, row, source) and not names.missing(part, source.page):
            span = Span(start, start + len(row.line))
            return Witness(WitnessKind.VALUE, found.claimed.of(part), found.stated, span)
    return None


def _is_all_known(part: str, row: tables.Row, source: _Source) -> bool:
    """Whether a table has the clause's words but for one, such as "inhabitants" or a verb.

    A word that narrows what is counted must not be new: "3 primary schools for girls".
    """
    known = set(roots(f"{source.about}\n{row.caption}\n{row.line}"))
    new = [m for m in WORD.finditer(part) if set(roots(m[0])) - known]
    if len(new) != 1:
        return not new
    before, after = part[: new[0].start()], WORD.search(part, new[0].end())
    headers = {root for header in row.cells for root in roots(header)}
    counted = re.search(r"\d\S* \Z", before) and after and not headers.isdisjoint(roots(after[0]))
    return not _QUALIFIES.search(before) and not counted


# ── A change ─────────────────────────────────────────────────────────────────────────────────────

_UNREAL = re.compile(  # a forecast, a wish or a denial of a change
    r"\b(?:will|would|could|(?-i:may)|might|should|if|not|never|expect\w*|forecast\w*|predict\w*"
    r"|plan\w*|project(?:ed|ions?)|aim\w*|target\w*|estimat\w*|propos\w*)\b",
    re.IGNORECASE,
)
_AGAINST = re.compile(r"\b(?:against|without|outside|except|unlike|oppos\w+)\b")
_NARROWER = 1.0  # other words of the source for each that it shares with the claim, at most
_SLACK = 0.25  # the share of a change by which another must exceed it to contradict it


def _of_change(part: str, claim: str, source: _Source) -> Witness | None:
    """Find another change of the same: as stated, or as worked out from two values."""
    changes = antonyms.claimed_changes(part)
    if len(changes) != 1:
        return None
    change, found = changes[0], list[tuple[int, Witness | None]]()
    rest = change.rest_of(part)
    for span in antonyms.windows(source.passage, [span for span, _ in source.sentences]):
        sentence = span.of(source.passage)
        is_mixed = change.measure == "any" and antonyms.turns_both_ways(sentence)
        skips = is_mixed or _UNREAL.search(sentence)
        for other in () if skips else antonyms.changes_in(sentence):
            agrees = change.agrees(other, _SLACK)
            named = frozenset[str]() if other.than else change.than  # what "of them" stands for
            own = "".join(w for w in re.split(r"\b", rest) if named.isdisjoint(roots(w)))
            shared = len({*roots(rest)}.intersection(roots(other.about)))
            if agrees:
                found.append((shared, None))
            elif (
                agrees is False
                and not _is_sum(change, sentence)
                and _is_change_of(own, other, sentence, source)
            ):
                found.append((shared, Witness(WitnessKind.VALUE, change.words, other.words, span)))
    most = max((shared for shared, _ in found), default=0)  # fewer words: of another thing
    nearest = [witness for shared, witness in found if shared == most]
    return nearest[0] if all(nearest) and nearest else None


def _is_change_of(rest: str, change: antonyms.Change, sentence: str, source: _Source) -> bool:
    """Whether a change is of the subject and the times of a claim's other words."""
    start = sentence.find(change.about)
    subject = change.about[: max(0, change.span.start - start)]
    wanted = {*roots(rest)}
    others = {*roots(antonyms.without(subject, *values_of(subject)))} - {*roots(source.about)}
    words = antonyms.without(rest, *(v for v in values_of(rest) if v.measure == "time"))
    known = antonyms.LEVEL_WORDS.union(roots(source.about))
    own = " ".join(word for word in WORD.findall(words) if not {*roots(word)} <= known)
    words = own if change.is_computed and own else words
    return (
        bool(_AGAINST.search(rest)) == bool(_AGAINST.search(change.about))
        and len(others - wanted) <= _NARROWER * len(wanted & {*roots(change.about)})
        and not quantities.unstated(rest, f"{source.about}\n{sentence}")
        and not has_other_baseline(rest, sentence, change.is_computed)
        and (change.is_computed or _at_one_time(rest, sentence, source))
        and _says(words, change.about, source, _REST_OF_VALUE)
    )


# ── A rank ───────────────────────────────────────────────────────────────────────────────────────


def _of_rank(part: str, claim: str, source: _Source) -> Witness | None:
    """Find another place in the same order: "the second-highest" for "the highest"."""
    stated = antonyms.ranks(part)
    if len(stated) != 1:
        return None
    rank, contrary = stated[0], None
    for span, sentence in source.sentences:
        for other in antonyms.ranks(sentence):
            if other.order not in ("", rank.order):
                continue
            if other.place == rank.place:
                return None
            if not contrary and _is_same_order(rank, part, other, sentence, source):
                words = rank.span.of(part), other.span.of(sentence)
                contrary = Witness(WitnessKind.VALUE, *words, span)
    return contrary or _in_cell(part, source)


def _is_same_order(
    rank: antonyms.Rank, part: str, other: antonyms.Rank, sentence: str, source: _Source
) -> bool:
    """Whether two ranks are among the same things, by what follows them, and at the same time."""
    field = _FIELD_ENDS.split(sentence[other.span.end :])[0]
    wanted = {*roots(_FIELD.sub("", part))} - {*roots(rank.span.of(part)), "ever", "number"}
    known = {*roots(f"{source.about}\n{sentence}")}
    earlier = sentence[: other.span.start]
    # "The youngest of 24 starters" may come second of 24.
    measured = {*roots(part[rank.span.end :])} - {*roots(field)}
    is_comparable = other.order or rank.order == "most" or measured
    dated, own = ([v for v in values_of(text) if v.dates] for text in (earlier, part))
    return (
        bool(is_comparable)
        and wanted <= known
        and {*roots(field)} <= {*roots(part)}
        and all(any(not quantities.conflict(d, v) for v in own) for d in dated)
        and _at_one_time(part, sentence, source)
        and not names.missing(part, source.page)
        and bool(_denials(sentence)) <= bool(_denials(part))
    )


_FIELD = re.compile(r" (?:of|among) (?:the|all|its|their)\b[^,;]*\Z")
_FIELD_ENDS = re.compile(r"[,;:.(]| (?:after|behind|for|and|but|with) ")


# ── A negation ───────────────────────────────────────────────────────────────────────────────────


def _of_negation(part: str, claim: str, source: _Source) -> Witness | None:
    denials = _denials(part)
    for span, sentence in source.sentences:
        of_source = _denials(sentence)
        if bool(denials) == bool(of_source) or not _may_deny(part, sentence, source):
            continue
        stated = part if of_source else sentence
        words, stems = _matching(denials or of_source, stated)
        if not words or (of_source and _is_of_another(words, sentence, part)):
            continue
        whole = denials or _REASON.search(sentence)
        rest = _NEGATION.sub(" ", part if whole else _REASON.sub("", part))
        if _says(rest, sentence, source, _REST_OF_TURN):
            pair = _words_with(stems, stated), words
            return Witness(WitnessKind.DENIAL, *(pair if of_source else pair[::-1]), span)
    return None


def _may_deny(part: str, sentence: str, source: _Source) -> bool:
    """Whether a negation in one of two texts may deny the other whole."""
    if any(map(_HALF_DENIED.search, (part, sentence))):
        return False
    # "Not in 1886" allows "in 1889".
    absent = quantities.unstated(part, f"{source.about}\n{sentence}")
    compared = bool(_COMPARED.search(part)) == bool(_COMPARED.search(sentence))
    return compared and not absent and _is_of_denied(part, sentence)


def _is_of_denied(part: str, sentence: str) -> bool:
    """Whether a sentence's subject or verb is in what a claim denies: "no home was flooded"."""
    denied, own, stated = _NEGATION.search(part), finite_verb(part), finite_verb(sentence)
    if not (denied and own and stated) or denied.start() > own.start:
        return True
    subject = part[denied.end() : own.start]
    head = next((m.start() for m in WORD.finditer(subject) if m[0] in syntax.PREPOSITIONS), None)
    participle = WORD.search(sentence, stated.end) if stated.form == "auxiliary" else None
    opened = sentence[: participle.end() if participle else stated.end]
    said = {*roots(subject[:head]), *roots(part[own.start :])}
    return sentence.startswith("There ") or not said.isdisjoint(roots(opened))


def _matching(denials: Sequence[tuple[str, list[str]]], stated: str) -> tuple[str, list[str]]:
    """Return the first denial whose first word a text states, with most of the rest."""
    known = set(roots(stated))
    for words, stems in denials:
        if stems[0] in known and sum(stem in known for stem in stems) >= 0.6 * len(stems):
            return words, stems
    return "", []


def _words_with(stems: Sequence[str], text: str) -> str:
    """Return the words of a text from the first with one of the stems to the third."""
    words = [word for word in WORD.finditer(text) if not {*stems}.isdisjoint(roots(word[0]))][:3]
    quoted = text[words[0].start() : words[-1].end()]
    return quoted if len(quoted) <= _MAX_QUOTED else words[0][0]


def _is_of_another(denial: str, sentence: str, part: str) -> bool:
    """Whether a verb is denied of a subject that the clause does not name.

    "Distance to a road was not related to asthma" does not deny that "dust is related to asthma".
    """
    if not _DENIED_VERB.match(denial):
        return False  # "no association between …": the subject follows
    subject = set(roots(sentence[: sentence.find(denial)]))
    return bool(subject) and not subject & set(roots(part))


# "Blamed for neglecting it": who is not blamed is not blamed for that either.
_REASON = re.compile(r"\sfor \w+ing\b.*")
_IN_PART = re.compile(r"\b(?:\d+ (?:out )?of|until|till)\b")


def _denials(text: str) -> list[tuple[str, list[str]]]:
    found = []
    for match in _NEGATION.finditer(text):
        if _NO_DENIAL.match(text, match.start()):
            continue
        raised = _RAISED.match(text, match.end())
        start = raised.end() if raised else match.end()
        words = list(WORD.finditer(text, start, start + 60))[:_REACH]
        words = words[: max((i for i, word in enumerate(words, 1) if roots(word[0])), default=0)]
        stems = [stem for word in words for stem in roots(word[0])]
        # "No association with 8 of the 10" denies a part, "not built until 1991" an earlier time.
        if stems and not _IN_PART.search(text, match.end(), match.end() + 60):
            start = text.rfind(" ", 0, match.start()) + 1 if match[0][0] in "nN'" else match.start()
            found.append((text[start : words[-1].end()], stems))
    return found


_SAME_VERB = {
    stem: group.split()[0]
    for group in LEXICON["verbs"]["alike"].split(",")
    for stem in roots(group)
}


# ── A word of the opposite meaning ───────────────────────────────────────────────────────────────


def _of_contrary(part: str, claim: str, source: _Source) -> Witness | None:
    for span, sentence in source.sentences:
        word, opposite, agrees = antonyms.compare(part, sentence) or ("", "", True)
        if agrees or bool(_denials(part)) != bool(_denials(sentence)):
            continue
        # "Port Beach exceeds the limit" is not denied of another beach.
        elsewhere = names.missing(part, source.with_context(sentence))
        if elsewhere or not _at_one_time(part, sentence, source):
            continue
        if antonyms.are_events(word) and not any(v.dates for v in values_of(part)):
            continue  # what was opened once may be closed now
        object_of_rival = roots(re.split(rf"(?i)\b{opposite}\b", sentence)[-1])[:1]
        if opposite in ("gained", "lost", "won") and not {*object_of_rival} <= {*roots(part)}:
            continue  # "lost the election" beside "gained 4 seats"
        rest = re.sub(rf"\b{word}\b", " ", part, flags=re.IGNORECASE)
        if _says(rest, sentence, source, _REST_OF_TURN):
            return Witness(WitnessKind.VALUE, word, opposite, span)
    return None


def contrary_by_word(claim: str, text: str, about: str = "") -> Witness | None:
    """Return a word of the claim whose opposite a text has, read alone, beside nearly all else.

    It has the claim's subject in full; both compare, or the opposite reverses a sentence.

    >>> contrary_by_word("Sales of tin rose in May.", "In May, sales of tin fell.").source
    'fell'
    """
    own, verb = {*roots(claim)}, finite_verb(claim)
    known = {*roots(f"{about}\n{text}")}
    subject = {*roots(claim[: verb.start])} if verb else own
    compares = " than" in claim and " than" in text
    for word, opposite in antonyms.contrasts(claim, text) if subject <= known else ():
        missing = own - known - {*roots(word)}
        reverses = (compares or antonyms.reverses_sentence(word)) and not wording.is_negated(claim)
        near = len(missing) <= _UNSAID * len(own) and not has_other_baseline(claim, text)
        if reverses and near:
            return Witness(WitnessKind.VALUE, word, opposite, Span(0, len(text)))
    return None


_IN_MONTH = re.compile(rf"\b(?i:in|last|since|until|by) (?:early |late )?({'|'.join(MONTHS)})\b")


def _at_one_time(part: str, sentence: str, source: _Source) -> bool:
    """Whether the sentence is about the same times as the clause: none differs or is missing."""
    months = set(_IN_MONTH.findall(part)) - set(_IN_MONTH.findall(sentence))
    absent = quantities.unstated(part, f"{source.about}\n{sentence}")
    if (
        months
        or any(value.dates for value in absent)
        or of_another_time(part, sentence)
        or has_other_baseline(part, sentence)
    ):
        return False
    of_sentence, of_part = (
        {v.dates: _direction(v, text) for v in values_of(text) if v.dates}
        for text in (sentence, part)
    )
    return all(of_sentence.get(dates, word) == word for dates, word in of_part.items())


def of_another_time(claim: str, sentence: str) -> bool:
    """Whether both are dated, and none of their dates agree: a fall in 2020, a rise in 2024."""
    dated, others = ([v for v in values_of(text) if v.dates] for text in (claim, sentence))
    return bool(dated and others) and all(quantities.conflict(o, v) for v in dated for o in others)


_BASELINE = re.compile(r"\b(?:than|since)(?: (?:it|they) (?:was|were|had been))?(?: [a-z]+)? \Z")


def has_other_baseline(claim: str, sentence: str, is_computed: bool = False) -> bool:
    """Whether a sentence compares with a time that a claim does not state: "than in 2010".

    The year before is the one that a claim about a year means.
    """
    own = [value for value in values_of(claim) if value.dates]
    if is_computed and not own:
        return False  # what has grown without a stated time has grown lately
    baselines = [
        v
        for v in values_of(sentence)
        if v.dates and _BASELINE.search(sentence, max(0, v.span.start - 40), v.span.start)
    ]
    years, before = (
        {year + later for v in dated for day in v.dates for year in day.years or ()}
        for later, dated in enumerate((own, baselines))
    )
    stated = any(quantities.states(b, v) for b in baselines for v in own)
    return bool(baselines) and not stated and before.isdisjoint(years)


# ── A name ───────────────────────────────────────────────────────────────────────────────────────

# Where one name excludes another: who made, won or led something, where someone was born. "From"
# and "in" do not: support comes from two countries, and a town is in both a district and a state.
_SLOTS = frozenset({"by"})
_ONCE = re.compile(  # events that happen in one place only
    r"\b(?:(?:moved|transferred|relocated) (?:back )?to|(?:born|buried|died|interred) (?:in|at))\Z"
)
_RUN = r"[A-ZÀ-Þ][\w’'.-]*(?:\s(?:of\s|the\s|de\s|von\s|van\s)?[A-ZÀ-Þ][\w’'.-]*)*"
_SLOTTED = re.compile(rf"\b(?P<slot>[a-z]+)\s(?:the\s)?(?P<name>{_RUN})")


def _of_name(part: str, claim: str, source: _Source) -> Witness | None:
    absent = set(names.missing(part, source.page))
    slots = [
        (slot, name)
        for slot, name in (_slots(part) if absent else ())
        if {match[0] for match in WORD.finditer(name)} & absent
    ]
    if len(slots) != 1:
        return None
    slot, name = slots[0]
    rest = part.replace(name, " ")
    for span, sentence in source.sentences:
        others = [n for s, n in _slots(sentence) if s == slot and not names.is_in(n, claim)]
        if len(others) == 1 and _says(rest, sentence, source, _REST_OF_NAME):
            return Witness(WitnessKind.VALUE, name, others[0], span)
    return None


def _slots(text: str) -> Iterator[tuple[str, str]]:
    for match in _SLOTTED.finditer(text):
        slot = match["slot"]
        once = _ONCE.search(text, max(0, match.end("slot") - 30), match.end("slot"))
        if (slot in _SLOTS or once) and not values_of(match["name"]):
            yield slot, match["name"].rstrip(".,'’")


# ── About the same thing ────────────────────────────────────────────────────────────────────────


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text))


def _says(rest: str, sentence: str, source: _Source, share: float) -> bool:
    """Whether the sentence has enough of the clause's other words, and the page all its names."""
    wanted = roots(rest)
    shared = set(wanted) & set(roots(sentence))
    if len(shared) < min(_LEAST_WORDS, len(set(wanted))) or not shared:
        return False
    known = set(roots(source.with_context(sentence)))
    known |= {s for name in wording.names(rest) for s in roots(name)}
    if sum(word in known for word in wanted) < share * len(wanted):
        return False
    return not names.missing(rest, source.page)


_OF_DENIALS = [_of_rank, _of_negation, _of_contrary]
_RULES = [_of_value, _of_change, *_OF_DENIALS, _of_name]
