"""How a statement may be read, by rules: what it says, who is said to say it, what it values.

EvidenceSeeker lets a language model find descriptive, ascriptive and normative interpretations
with the negation of each. These rules find fewer, but the same ones every time and without any
model: the statement itself, what somebody is said to say or believe, and the parts of “X and Y”.
They read English and German; of other languages the statement alone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pincite.checks import Reading, ReadingOrigin, StatementType
from pincite.core import verbs
from pincite.core.clauses import clauses
from pincite.core.reading import Sentence
from pincite.core.sentences import sentences
from pincite.types import Span

_SAYING = (
    "says said claims claimed believes believed thinks thought denies denied doubts doubted argues "
    "argued asserts asserted states stated maintains maintained insists insisted announced "
    "announces admits admitted suggests suggested reports reported warns warned tweeted declared"
)
_BELIEVING = frozenset(
    "claims claimed believes believed thinks thought denies denied doubts doubted argues argued "
    "asserts asserted maintains maintained insists insisted".split()
)
_NO_SPEAKER = frozenset("who which that if when what how whether is are was were not".split())
_SAGEN = (
    "sagt sagte behauptet behauptete glaubt glaubte meint meinte bestreitet bestritt bezweifelt "
    "erklärt erklärte bekräftigt betont betonte schreibt schrieb warnt warnte"
)
_SPEAKER = r"(?P<who>[^,;:“\"„]{1,80}?)"  # a name, an office: up to the verb
_ATTRIBUTIONS = {
    "en": (
        re.compile(
            rf"\s*{_SPEAKER}\s+(?P<verb>{_SAYING.replace(' ', '|')})\s+"
            r"(?P<that>that\s+)?(?P<what>.+)"
        ),
        re.compile(r"\s*According to (?P<who>[^,]{1,80}),\s*(?P<what>.+)", re.IGNORECASE),
        re.compile(rf"\s*{_SPEAKER}(?:\s+(?:{_SAYING.replace(' ', '|')}))?:\s*(?P<what>[“\"].+)"),
        re.compile(rf"\s*(?P<what>[“\"].+[”\"]),?\s+(?:{_SAYING.replace(' ', '|')})\s+(?P<who>.+)"),
    ),
    "de": (  # the verb of “dass …” stands at its end: what is said is no sentence by itself
        re.compile(rf"\s*{_SPEAKER}\s+(?:{_SAGEN.replace(' ', '|')}),?\s+(?:dass|ob)\s+.+"),
        re.compile(rf"\s*{_SPEAKER}(?:\s+(?:{_SAGEN.replace(' ', '|')}))?:\s*(?P<what>[„“\"].+)"),
        re.compile(r"\s*(?:Laut|Nach Ansicht|Nach Angaben)\s+.+"),
        re.compile(r"\s*[^,]{1,80}\s+zufolge\s+.+"),
    ),
}
# What says how things should be, or values them. Words that as often describe ("right", "best
# known", "fair") are left out: a descriptive reading lost to them would not be checked.
_NORMATIVE = {
    "en": frozenset(
        "should shouldn't ought must mustn't good bad better worse worst wrong immoral moral "
        "unjust unfair unacceptable acceptable outrageous desirable undesirable deserve deserves "
        "disgraceful shameful irresponsible scandalous unjustified justified terrible wonderful "
        "reprehensible".split()
    ),
    "de": frozenset(
        "soll sollen sollte sollten muss müssen müsste müssten gut schlecht besser schlechter "
        "falsch richtig ungerecht unfair inakzeptabel verwerflich wünschenswert skandalös "
        "unverantwortlich unmoralisch gerechtfertigt".split()
    ),
}
_QUANTIFIERS = frozenset(
    "all every each some any no none nobody nothing both either neither many most few several "
    "only always often sometimes".split()
)
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUOTED = re.compile(r"[“\"„][^“”\"„]*[”\"“]")
_MARKS = ' \t\n“”"„.;'
_SHORTEST = 2  # words of something that can be said
_LONGEST = 1_500  # characters: what is longer is no sentence that these rules were written for
_NOT_SO = {"en": "It is not the case that ", "de": "Es trifft nicht zu: "}


def readings(statement: str, language: str = "en") -> list[Reading]:
    """The statement itself first, then what rules find in it; none of a statement without words.

    >>> [(str(r.kind), r.text) for r in readings("Holm says that the mill closed.")]
    [('ascriptive', 'Holm says that the mill closed.'), ('descriptive', 'the mill closed')]
    """
    text = " ".join(statement.split())
    if not _WORD.search(text):
        return []
    found: list[tuple[str, ReadingOrigin]] = [(text, "statement")]
    said = content_of(text, language)
    if said is not None:
        found += [(part, "rule") for part in (said, *_parts(said, language)) if part]
    else:
        found += [(part, "rule") for part in _parts(text, language)]
    return numbered(
        Reading("", each, kind_of(each, language), negation(each, language), origin)
        for each, origin in found
    )


def numbered(found: Sequence[Reading] | Iterator[Reading]) -> list[Reading]:
    """The readings with ids "r1", "r2", …, each text and kind once."""
    kept: dict[tuple[str, str], Reading] = {}
    for reading in found:
        kept.setdefault((reading.text.strip(_MARKS).casefold(), reading.kind), reading)
    return [replace(reading, reading_id=f"r{n}") for n, reading in enumerate(kept.values(), 1)]


def of_user(text: str, language: str = "en", kind: StatementType | None = None) -> Reading:
    """A reading that a person worded; its kind by rule where none is given."""
    text = " ".join(text.split())
    return Reading("", text, kind or kind_of(text, language), negation(text, language), "user")


def kind_of(text: str, language: str = "en") -> StatementType:
    """What kind of statement a text is.

    >>> [str(kind_of(t)) for t in ("Coal must be banned.", "She said: “It must be banned.”")]
    ['normative', 'ascriptive']
    """
    if content_of(text, language) is not None:
        return StatementType.ASCRIPTIVE
    words = {match[0].replace("’", "'") for match in _WORD.finditer(_QUOTED.sub(" ", text))}
    if words & _NORMATIVE.get(language, frozenset()):
        return StatementType.NORMATIVE
    return StatementType.DESCRIPTIVE


def content_of(text: str, language: str = "en") -> str | None:
    """What somebody is said to say; "" where it is no sentence by itself; None of no ascription.

    >>> content_of("According to Holm, the mill closed."), content_of("The mill closed.")
    ('the mill closed', None)
    """
    for pattern in _ATTRIBUTIONS.get(language, ()) if len(text) <= _LONGEST else ():
        match = pattern.fullmatch(text)
        if match is None:
            continue
        said = (match.groupdict().get("what") or "").strip(_MARKS)
        if "verb" in pattern.groupindex:
            said = _said_by(match, said)
        if said is not None and (said == "" or len(said.split()) >= _SHORTEST):
            return said
    return None


def _said_by(match: re.Match[str], said: str) -> str | None:
    """What stands behind “X says”: a sentence, "" of a thing, None where nothing is ascribed."""
    if {word.lower() for word in match["who"].split()} & _NO_SPEAKER:
        return None  # "the man who said so", "if he thinks so"
    quoted = match["what"].lstrip()[:1] in '“"'
    if match["that"] or quoted or Sentence.read(said, Span(0, len(said))).verbs:
        return said
    # "denies all charges" ascribes something; "reported a loss" says what was done.
    return "" if match["verb"] in _BELIEVING else None


def _parts(text: str, language: str) -> list[str]:
    """The clauses of “X and Y”; none of a single one. The rules that cut know English only."""
    found = clauses(text) if language == "en" else []
    return [clause.text for clause in found] if len(found) > 1 else []


# ── Negation ─────────────────────────────────────────────────────────────────────────────────────


def negation(text: str, language: str = "en") -> str:
    """The text denied; "" in a language that these rules do not know.

    “not” stands behind the first auxiliary, or goes if it is there already; where that may say
    something else (“all … are not”, two clauses), the whole is denied.

    >>> negation("The bridge was built in 1911."), negation("All bridges were closed.")
    ('The bridge was not built in 1911.', 'It is not the case that all bridges were closed.')
    """
    if language not in _NOT_SO or not text:
        return ""
    inside = _denied_inside(text) if language == "en" else None
    return inside or _NOT_SO[language] + (_lowered(text) if language == "en" else text)


def _denied_inside(text: str) -> str | None:
    spans = sentences(text)
    if len(spans) != 1:
        return None
    sentence = Sentence.read(text, spans[0])
    if not sentence.balanced or len(sentence.verbs) != 1 or sentence.subordinators:
        return None
    verb = sentence.verbs[0]
    before = {token.word.lower() for token in sentence.tokens[: verb.start]}
    auxiliary = sentence.tokens[verb.start]
    if not before or before & _QUANTIFIERS or not _takes_not(sentence, verb.start, verb.end):
        return None
    following = sentence.tokens[verb.start + 1] if verb.start + 1 < len(sentence.tokens) else None
    if following and following.word in ("not", "never"):
        return text[: auxiliary.end] + text[following.end :]
    if any(token.word.lower() in _QUANTIFIERS | {"not", "never"} for token in sentence.tokens):
        return None
    return _inserted(text, Span(auxiliary.start, auxiliary.end))


def _inserted(text: str, auxiliary: Span) -> str:
    joined = "not" if auxiliary.of(text) == "can" else " not"  # cannot
    return text[: auxiliary.end] + joined + text[auxiliary.end :]


def _takes_not(sentence: Sentence, start: int, end: int) -> bool:
    """Whether "not" behind the first word of the verb denies the sentence: "had built", "is"."""
    word = sentence.word(start)
    if word in verbs.BE:
        return True
    if word in ("has", "have", "had"):  # "had two arches" has no auxiliary
        return end - start > 1
    return word in verbs.AUXILIARIES


def _lowered(text: str) -> str:
    """The text as it stands behind "that": a small letter, but for names."""
    first = text.split(" ", 1)[0].lower()
    known = verbs.DETERMINERS | verbs.PRONOUNS | verbs.PREPOSITIONS | _QUANTIFIERS
    return text[:1].lower() + text[1:] if first in known and first != "i" else text
