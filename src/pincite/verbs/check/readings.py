"""How a statement may be read, by rules: what it says, who is said to say it, what it values.

EvidenceSeeker lets a language model find descriptive, ascriptive and normative interpretations
with the negation of each. These rules find fewer, but the same ones every time and without any
model: the statement itself, what somebody is said to say or believe, and the parts of “X and Y”.
They read English and German; of other languages the statement alone.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from pincite.judgement.confirmation import ReadingOrigin, StatementType
from pincite.text import verbs
from pincite.text.clauses import clauses
from pincite.text.sentences import sentences
from pincite.text.syntax import Sentence
from pincite.types import Span
from pincite.verbs.check.records import Reading

_SAYING = (
    "says said claims claimed believes believed thinks thought denies denied doubts doubted argues "
    "argued asserts asserted states stated maintains maintained insists insisted announced "
    "announces admits admitted suggests suggested reports reported warns warned tweeted declared"
)
_SAY = "say claim believe think argue assert insist maintain suggest report warn announce"
_BELIEVING = frozenset(
    "claims claimed believes believed thinks thought denies denied doubts doubted argues argued "
    "asserts asserted maintains maintained insists insisted".split()
)
_NO_SPEAKER = frozenset("who which that if when what how whether is are was were not".split())
_ARTICLES = frozenset("the a an this that its his her their our".split())
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
        # "say" and its like are nouns too ("a report"): only with "that".
        re.compile(
            rf"\s*{_SPEAKER}\s+(?P<verb>{_SAY.replace(' ', '|')})\s+"
            r"(?P<that>that\s+)(?P<what>.+)"
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
# What says how things should be, or values them. Words that as often describe ("fair")
# are left out: a descriptive reading lost to them would not be checked.
_NORMATIVE = {
    "en": frozenset(
        "should shouldn't ought must mustn't immoral unjust unfair unacceptable outrageous "
        "desirable undesirable deserve deserves disgraceful shameful irresponsible scandalous "
        "unjustified justified reprehensible".split()
    ),
    "de": frozenset(
        "soll sollen sollte sollten muss müssen müsste müssten ungerecht unfair inakzeptabel "
        "verwerflich wünschenswert skandalös unverantwortlich unmoralisch gerechtfertigt".split()
    ),
}
_DOING = "run|managed|designed|planned|made|written|handled|governed"
# Opinions in other words. "Good", "too high" and "the best" value what they are said of by "is";
# elsewhere they describe: "better survival", "in good shape", "too small to be seen".
_OPINION = {
    "en": re.compile(
        r"\b(?:brilliantly|admirably|sadly|unfortunately|foolish(?:ly)?|ugly|beautiful"
        rf"|(?:badly|poorly) (?:{_DOING})|(?:{_DOING}) (?:badly|poorly)"
        r"|(?:is|are|was|were|be|been) (?:"
        r"(?:far |much |simply )?too (?:dangerous|expensive|cheap|big|small|long|short|weak|strong"
        r"|slow|fast|hard|easy|late|early|little|much|many|few|soft|harsh|strict|lenient|risky"
        r"|costly|high|low)(?! (?:to|for)\b)"
        r"|the most (?:beautiful|important|impressive|interesting|exciting|boring|annoying)"
        r"|(?:by far )?(?:the )?(?:best|worst)(?![- ](?:known|selling|of\b))"
        r"|(?:(?:\w+ly|very|so|no|not|a) )*(?:good|bad|wrong|terrible|wonderful|acceptable|moral)"
        r"(?=\W*$|[,;:]| (?:that|if|because|when|idea|thing|decision|choice|policy|law|plan|man"
        r"|woman|person|leader)\b))"
        r"|(?:would|could|might) (?:be|have been) (?:better|worse))\b"
    ),
    "de": re.compile(
        r"\b(?:leider|hässlich\w*|wunderschön\w*|(?:ist|sind|war|waren|wäre|wären) (?:"
        r"(?:viel |einfach )?zu (?:gefährlich|teuer|billig|groß|klein|lang|kurz|schwach|stark"
        r"|langsam|schnell|streng|riskant|hoch|niedrig)(?!,? (?:um|für)\b)"
        r"|(?:(?:der|die|das|am) )?(?:beste[nrs]?|schlimmste[nrs]?)"
        r"|(?:\w+ )?(?:gut|schlecht|besser|schlechter|falsch|richtig)(?=\W*$|[,;:])))\b"
    ),
}
# Taken out before opinions are looked for: comparisons, guesses at what was, and conditions.
_NO_DEMAND = re.compile(
    r"\b(?:better|worse)\b.*\bthan\b|\b(?:besser|schlechter)\b.*\bals\b"
    r"|\bmust (?:\w+ly )?have\b|\b(?i:should) (?:it|they|he|she|there)\b"
    r"|\b(?i:it) (?:should|must) be (?:noted|said|added|emphasi[sz]ed)\b"
)
_QUANTIFIERS = frozenset(
    "all every each some any no none nobody nothing both either neither many most few several "
    "only always often sometimes".split()
)
# Where a statement of fact ends and a demand upon it begins: "… in 1934 and should stand".
_DEMAND = {
    "en": re.compile(r",?\s+(?:and|but)\s+(?:\w+ly\s+)?(?:should|must|ought|shouldn't|mustn't)\b"),
    "de": re.compile(
        r",?\s+(?:und|aber)\s+(?:soll|sollen|sollte|sollten|muss|müssen|müsste|müssten)\b"
    ),
}
_BARE_AND = re.compile(r"(?<![,;])\s+(?:and|but)\s+")
_CONJUNCTIONS = frozenset("and but or nor".split())
# Small words of one language that are none of the other, nor parts of names ("van der").
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUOTED = re.compile(r"[“\"„][^“”\"„]*[”\"“]")
_MARKS = ' \t\n“”"„.;'
_QUOTATION_MARKS = '"“”„'
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


def is_question(text: str) -> bool:
    """Whether a text only asks: one sentence with a question mark.

    >>> is_question("Who closed the mill?"), is_question("Who closed it? It was Holm.")
    (True, False)
    """
    text = text.rstrip(_MARKS)
    return text.endswith("?") and len(text) <= _LONGEST and len(sentences(text)) == 1


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
    bare = _NO_DEMAND.sub(" ", _QUOTED.sub(" ", text))
    words = {match[0].replace("’", "'") for match in _WORD.finditer(bare)}
    opinion = language in _OPINION and _OPINION[language].search(bare)
    if opinion or words & _NORMATIVE.get(language, frozenset()):
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
        bare = _bare(match.groupdict().get("what") or "")
        said = _said_by(match, bare) if "verb" in pattern.groupindex else bare
        if said is not None and (said == "" or len(said.split()) >= _SHORTEST):
            return said
    return None


def _bare(said: str) -> str:
    """What is said without the marks around it; those of a quotation inside of it stay."""
    bare = said.strip(_MARKS)
    if sum(bare.count(mark) for mark in _QUOTATION_MARKS) % 2:
        return said.strip(" \t\n.;")
    return bare


def _said_by(match: re.Match[str], said: str) -> str | None:
    """What stands behind “X says”: a sentence, "" of a thing, None where nothing is ascribed."""
    if {word.lower() for word in match["who"].split()} & _NO_SPEAKER:
        return None  # "the man who said so", "if he thinks so"
    if match["who"].split()[-1].lower() in _ARTICLES:
        return None  # "the report that …" is a thing
    quoted = match["what"].lstrip()[:1] in '“"'
    if match["that"] or quoted or _read(said).verbs:
        return said
    # "denies all charges" ascribes something; "reported a loss" says what was done.
    return "" if match["verb"] in _BELIEVING else None


def _parts(text: str, language: str) -> list[str]:
    """The clauses of “X and Y”; none of a single one. The rules that cut know English only.

    Of “X did this and should do that” the fact alone: the whole is normative, and would else take
    the fact with it where such readings are left alone.
    """
    found = [clause.text for clause in clauses(text)] if language == "en" else []
    if len(found) > 1:
        return found
    demand = _DEMAND[language].search(text) if language in _DEMAND else None
    if demand:
        fact = text[: demand.start()]
        enough = len(fact.split()) > _SHORTEST and fact.count('"') % 2 == 0
        return [fact] if enough and kind_of(fact, language) is StatementType.DESCRIPTIVE else []
    return _halves(text) if language == "en" else []


def _halves(text: str) -> list[str]:
    """The sides of a bare “and” or “but”, if each surely is a sentence; else none.

    `verify` does not cut there: a citation may stand for either side. A reading more costs little.
    """
    if len(text) > _LONGEST:
        return []
    sentence = _read(text)
    if not sentence.balanced or sentence.subordinators:
        return []
    starts, last = [0], 0
    ends = []
    for match in _BARE_AND.finditer(text):
        whole = len(_read(text[last : match.start()]).verbs) == 1
        if whole and _surely_opens_a_sentence(text[match.end() :]):
            ends.append(match.start())
            starts.append(last := match.end())
    pieces = [text[a:b].strip(_MARKS) for a, b in zip(starts, [*ends, len(text)], strict=True)]
    return pieces if len(pieces) > 1 else []


def _surely_opens_a_sentence(text: str) -> bool:
    """Whether a subject and its finite verb stand first, of which there is no doubt."""
    sentence = _read(text)
    start = sentence.verbs[0].start if sentence.verbs else 0
    first = sentence.word(0)  # no pronoun: "it was closed" alone speaks of nothing
    named = first[:1].isupper() and first.lower() not in verbs.PRONOUNS
    opens = first.lower() in verbs.DETERMINERS or named
    before_a_stop = sentence.next_stop(0) > start
    sure = verbs.is_sure(sentence.word(start), sentence.word(start + 1))
    return start > 0 and opens and before_a_stop and sure


def _read(text: str) -> Sentence:
    return Sentence.read(text, Span(0, len(text)))


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
    told = _QUANTIFIERS | _CONJUNCTIONS | {"not", "never"}
    if any(token.word.lower() in told for token in sentence.tokens[verb.start :]):
        return None  # "was not built in 1911 and lies …" would deny the first half alone
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
