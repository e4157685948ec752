"""The readings of a statement, by rules (English, German) or with a language model.

The rules find the statement itself, what it ascribes to a speaker, and the parts of “X and Y”. A
model takes EvidenceSeeker's steps for descriptive, ascriptive and normative readings:

    statement ─▶ free analysis ─▶ list ─▶ negation of each reading
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import partial

from pincite.completions import Completion, Guidance, Prompt
from pincite.judgement.confirmation import ReadingOrigin, StatementType
from pincite.llm import replies
from pincite.llm.calls import Calls, Progress, run_concurrently, scaled_progress
from pincite.llm.templates import Templates
from pincite.settings import Settings
from pincite.text import syntax
from pincite.text.clauses import clauses
from pincite.text.languages import identify
from pincite.text.sentences import sentences
from pincite.text.syntax import Sentence, Verb
from pincite.types import Failed, Span
from pincite.verbs.check.report import STOPPED, Interpretation, Reading

_SAY = (
    "say claim believe think deny doubt argue assert state maintain insist announce admit suggest "
    "report warn tweet declare"
)
_PASTS = {"say": "said", "think": "thought", "deny": "denied", "admit": "admitted"}
_SAYING = {  # present and past, by their infinitive
    form: verb
    for verb in _SAY.split()
    for form in (
        "denies" if verb == "deny" else f"{verb}s",
        _PASTS.get(verb) or f"{verb.removesuffix('e')}ed",
    )
}
_BELIEVING = frozenset("claim believe think deny doubt argue assert maintain insist".split())
_NO_SPEAKER = frozenset("who which that if when what how whether is are was were".split())
_HAVE = frozenset("has have had".split())
_ARTICLES = frozenset("the a an this that its his her their our".split())
_SAGEN = (
    "sagt sagte behauptet behauptete glaubt glaubte meint meinte bestreitet bestritt bezweifelt "
    "erklärt erklärte bekräftigt betont betonte schreibt schrieb warnt warnte"
)
_SPEAKER = r"(?P<who>[^,;:“\"„]{1,80}?)"  # a name or an office: everything up to the verb
_SAYS, _SAYS_SO = "|".join(_SAYING), _SAY.replace(" ", "|")
_ATTRIBUTIONS = {
    "en": (
        re.compile(rf"\s*{_SPEAKER}\s+(?P<verb>{_SAYS})\s+(?P<that>that\s+)?(?P<what>.+)"),
        # These verbs are nouns too ("a report"): see `_said_by`.
        re.compile(rf"\s*{_SPEAKER}\s+(?P<verb>{_SAYS_SO})\s+(?P<that>that\s+)?(?P<what>.+)"),
        re.compile(r"\s*According to (?P<who>[^,]{1,80}),\s*(?P<what>.+)", re.IGNORECASE),
        re.compile(rf"\s*{_SPEAKER}(?:\s+(?:{_SAYS}))?:\s*(?P<what>[“\"].+)"),
        re.compile(rf"\s*(?P<what>[“\"].+[”\"]),?\s+(?:{_SAYS})\s+(?P<who>.+)"),
    ),
    "de": (  # the verb of a “dass …” clause comes last, so the clause is not a sentence by itself
        re.compile(rf"\s*{_SPEAKER}\s+(?:{_SAGEN.replace(' ', '|')}),?\s+(?:dass|ob)\s+.+"),
        re.compile(rf"\s*{_SPEAKER}(?:\s+(?:{_SAGEN.replace(' ', '|')}))?:\s*(?P<what>[„“\"].+)"),
        re.compile(r"\s*(?:Laut|Nach Ansicht|Nach Angaben)\s+.+"),
        re.compile(r"\s*[^,]{1,80}\s+zufolge\s+.+"),
    ),
}
# Words that express a demand or a value. Words that are used as often to describe ("fair") are left
# out: a descriptive reading mistaken for a normative one would not be checked.
_NORMATIVE = {
    "en": frozenset(
        "should shouldn't ought must mustn't immoral unjust unfair unacceptable outrageous "
        "desirable undesirable deserve deserves disgraceful shameful irresponsible scandalous "
        "unjustified justified reprehensible unethical unforgivable inexcusable".split()
    ),
    "de": frozenset(
        "soll sollen sollte sollten muss müssen müsste müssten ungerecht unfair inakzeptabel "
        "verwerflich wünschenswert skandalös unverantwortlich unmoralisch gerechtfertigt".split()
    ),
}
_DOING = "run|managed|designed|planned|made|written|handled|governed"
# Opinions. "Good", "too high" and "the best" after "is" express a value; elsewhere they describe:
# "better survival", "in good shape", "too small to be seen".
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
# “It is wrong to …”: the following clause is what is valued.
_VALUED = {
    "en": re.compile(
        r"\b(?:[Ii]t|[Tt]his|[Tt]hat) (?:is|was|would be|would have been|seems|can be|has been)"
        r"(?: (?:\w+ly|very|so|not|never|far|much|quite|just))* (?:wrong|right|good|bad|better|best"
        r"|worse|worst|acceptable|moral|ethical|fair|wise|unwise|foolish|stupid|reasonable"
        r"|unreasonable|legitimate|illegitimate|permissible|impermissible|imperative|cruel|absurd"
        r"|a (?:shame|pity|scandal|disgrace|mistake|duty|sin|good idea|bad idea))"
        r" (?:to|that|of|when|if|for (?:\w+ ){1,4}to)\b"
        # "It is wrong to say that …" denies the statement.
        r"(?! (?:say|claim|conclude|assume|think|believe|suggest|call|describe|expect)\b)"
        r"|\b(?:is|are|was|were|be) (?:(?:\w+ly|very|so|not|a|an) )*(?:ethical|immoral|overrated"
        r"|underrated|disgusting|hideous|magnificent|ridiculous|absurd|evil|permissible"
        r"|impermissible|disgrace|scandal|shame|travesty|masterpiece|sin)(?=\W*$|[,;:])"
        r"|^(?:Let us|Let[’']s) "
    ),
    "de": re.compile(
        r"\b[Ee]s (?:ist|war|wäre) (?:\w+ )?(?:falsch|richtig|gut|schlecht|besser|klug|unklug|fair"
        r"|unfair|vernünftig|eine Schande|ein Fehler|ein Skandal),? (?:zu|dass|wenn|\w+)\b"
    ),
}
# Removed before looking for opinions: comparisons, guesses about the past, and conditions.
_NO_DEMAND = re.compile(
    r"\b(?:better|worse)\b.*\bthan\b|\b(?:besser|schlechter)\b.*\bals\b"
    r"|\bmust (?:\w+ly )?have\b|\b(?i:should) (?:it|they|he|she|there)\b"
    r"|\b(?i:it) (?:should|must) be (?:noted|said|added|emphasi[sz]ed)\b"
)
_QUANTIFIERS = frozenset(
    "all every each some any no none nobody nothing both either neither many most few several "
    "only always often sometimes".split()
)
# Where a statement of fact ends and a demand begins: "… in 1934 and should stand".
_DEMAND = {
    "en": re.compile(r",?\s+(?:and|but)\s+(?:\w+ly\s+)?(?:should|must|ought|shouldn't|mustn't)\b"),
    "de": re.compile(
        r",?\s+(?:und|aber)\s+(?:soll|sollen|sollte|sollten|muss|müssen|müsste|müssten)\b"
    ),
}
# Next to these, "not" would negate another part of the sentence, so the whole is negated.
_UNDENIABLE = _QUANTIFIERS | frozenset(
    "and but or nor not never hardly barely scarcely rarely seldom almost nearly if so neither "
    "nobody's except unless without".split()
)
# “The study shows tea is good”: the verb found may belong to the reported clause.
_REPORTING = frozenset(
    "show shows showed find finds found suggest suggests demonstrate demonstrates indicate "
    "indicates reveal reveals confirm confirms know knows knew hope hopes fear fears".split()
)
_BARE_AND = re.compile(r"(?<![,;])\s+(?:and|but)\s+")
# Function words of one language that are not words of the other, nor parts of names ("van der").
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUOTED = re.compile(r"[“\"„][^“”\"„]*[”\"“]")
_MARKS = ' \t\n“”"„.;'
_QUOTATION_MARKS = '"“”„'
_OF_PLURALS = frozenset("are were have do that who of in for with on from".split())
_SINGULAR = re.compile(r"\b(?:is|was|has|does)\b")
_NO_NAMES = frozenset(
    "according people women men children mice patients researchers scientists experts doctors "
    "studies high low new old young early late large small".split()
)
_NUMBERS = frozenset("one two three four five six seven eight nine ten half".split())
_SHORTEST = 2  # words of a statement
_LONGEST = 1_500  # characters; these rules were not written for anything longer
_NO_READING = "no reading: this says nothing that can be true or false; write it as a statement"
_NOT_SO = {"en": "It is not the case that ", "de": "Es trifft nicht zu: "}


def interpret_by_rules(statement: str, language: str = "en") -> Interpretation:
    if language == "en" and identify(statement) == "de":
        language = "de"
    result = () if is_question(statement) else readings(statement, language)
    failures = () if result else (Failed("statement", _NO_READING),)
    return Interpretation(tuple(result), "rules", failures)


def readings(statement: str, language: str = "en") -> list[Reading]:
    """Return the statement itself, then the readings that rules find in it.

    >>> [(str(r.kind), r.text) for r in readings("Holm says that the mill closed.")]
    [('ascriptive', 'Holm says that the mill closed.'), ('descriptive', 'the mill closed')]
    """
    text = " ".join(statement.split())
    if not _WORD.search(text):
        return []
    content = content_of(text, language)
    inside = _parts(text, language) if content is None else [content, *_parts(content, language)]
    origins: list[tuple[str, ReadingOrigin]] = [(text, "statement")]
    origins += [(part, "rule") for part in inside if part]
    return numbered(
        Reading("", each, kind_of(each, language), negation(each, language), origin)
        for each, origin in origins
    )


def is_question(text: str) -> bool:
    """Whether a text is a single sentence that ends in a question mark."""
    text = text.rstrip(_MARKS)
    return text.endswith("?") and len(text) <= _LONGEST and len(sentences(text)) == 1


def numbered(readings_found: Iterable[Reading]) -> list[Reading]:
    """Drop duplicates and assign the ids "r1", "r2", …."""
    distinct: dict[tuple[str, str], Reading] = {}
    for reading in readings_found:
        distinct.setdefault((reading.text.strip(_MARKS).casefold(), reading.kind), reading)
    return [replace(reading, reading_id=f"r{n}") for n, reading in enumerate(distinct.values(), 1)]


def user_reading(text: str, language: str = "en", kind: StatementType | None = None) -> Reading:
    """Make a reading worded by the user; its kind is found by rules unless given."""
    text = " ".join(text.split())
    return Reading("", text, kind or kind_of(text, language), negation(text, language), "user")


def kind_of(text: str, language: str = "en") -> StatementType:
    """Classify a text by rules."""
    if content_of(text, language) is not None:
        return StatementType.ASCRIPTIVE
    bare = _NO_DEMAND.sub(" ", _QUOTED.sub(" ", text))
    words = {match[0].replace("’", "'") for match in _WORD.finditer(bare)}
    valued = language in _VALUED and _VALUED[language].search(_QUOTED.sub(" ", text))
    opinion = language in _OPINION and _OPINION[language].search(bare)
    if valued or opinion or words & _NORMATIVE.get(language, frozenset()):
        return StatementType.NORMATIVE
    return StatementType.DESCRIPTIVE


def content_of(text: str, language: str = "en") -> str | None:
    """Return what the text ascribes to a speaker; "" if not a sentence, None if nothing is.

    >>> content_of("According to Holm, the mill closed."), content_of("The mill closed.")
    ('the mill closed', None)
    """
    for pattern in _ATTRIBUTIONS.get(language, ()) if len(text) <= _LONGEST else ():
        match = pattern.fullmatch(text)
        if match is None:
            continue
        what = match.groupdict().get("what") or ""
        bare = what.strip(_MARKS)
        if sum(bare.count(mark) for mark in _QUOTATION_MARKS) % 2:  # a quotation inside
            bare = what.strip(" \t\n.;")
        content = _said_by(match, bare) if "verb" in pattern.groupindex else bare
        if content is not None and (content == "" or len(content.split()) >= _SHORTEST):
            return content
    return None


def _said_by(match: re.Match[str], content: str) -> str | None:
    """Return what follows “X says”: a sentence, "" for a thing, None if nothing is ascribed."""
    who = match["who"].lower().split()
    if _NO_SPEAKER.intersection(who):
        return None  # "the man who said so", "if he thinks so"
    if who[-1] in _ARTICLES:
        return None  # "the report that …" is a thing
    if {"not", "never"}.intersection(who):
        return ""  # nothing is ascribed: "does not believe that …"
    quoted = match["what"].lstrip()[:1] in '“"'
    if match["that"]:
        return content
    of_many = who[-1].endswith("s") or who[-1] in _QUANTIFIERS | {"people", "they", "we"}
    if match["verb"] not in _SAYING and not (of_many and match["verb"] in _BELIEVING | {"say"}):
        return None
    if quoted or _read(content).verbs:
        return content
    # "denies all charges" ascribes something; "reported a loss" states an action.
    return "" if _SAYING.get(match["verb"], match["verb"]) in _BELIEVING else None


def _parts(text: str, language: str) -> list[str]:
    """Split “X and Y” into clauses; of “X did this and should do that”, only the fact is taken."""
    pieces = [clause.text for clause in clauses(text)] if language == "en" else []
    if len(pieces) > 1:
        return pieces
    demand = _DEMAND[language].search(text) if language in _DEMAND else None
    if demand:
        fact = text[: demand.start()]
        enough = len(fact.split()) > _SHORTEST and fact.count('"') % 2 == 0
        return [fact] if enough and kind_of(fact, language) is StatementType.DESCRIPTIVE else []
    return _halves(text) if language == "en" else []


def _halves(text: str) -> list[str]:
    """Split at a bare “and” or “but” if each half is clearly a sentence; else empty."""
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
    """Whether the text begins with a subject and an unambiguous finite verb."""
    sentence = _read(text)
    start = sentence.verbs[0].start if sentence.verbs else 0
    first = sentence.word(0)  # pronouns do not count: "it was closed" makes no sense alone
    named = first[:1].isupper() and first.lower() not in syntax.PRONOUNS
    opens = first.lower() in syntax.DETERMINERS or named
    before_a_stop = sentence.next_stop(0) > start
    sure = syntax.is_sure(sentence.word(start), sentence.word(start + 1))
    return start > 0 and opens and before_a_stop and sure


def _read(text: str) -> Sentence:
    return Sentence.read(text, Span(0, len(text)))


# ── Negation ─────────────────────────────────────────────────────────────────────────────────────


def negation(text: str, language: str = "en") -> str:
    """Negate a text; "" in a language that these rules do not cover.

    Where “not” could mean something else (“all … are not”, two clauses), the whole is negated. In
    “X believes Y”, the believing is negated.

    >>> negation("The bridge was built in 1911."), negation("All bridges were closed.")
    ('The bridge was not built in 1911.', 'It is not the case that all bridges were closed.')
    """
    if language not in _NOT_SO or not text:
        return ""
    if language != "en":
        return _NOT_SO[language] + text
    ascribed = content_of(text) is not None
    denied = _denied_saying(text) if ascribed else _denied_inside(text)
    return denied or _NOT_SO[language] + _lowered(text)


def _denied_saying(text: str) -> str | None:
    """Turn “X says Y” into “X does not say Y”; None for anything else."""
    match = next(filter(None, (each.fullmatch(text) for each in _ATTRIBUTIONS["en"][:2])), None)
    if match is None or sum(text.count(mark) for mark in '"“') > 1:
        return None
    who = match["who"].split()
    if _UNDENIABLE.intersection(map(str.lower, who)) - {"not", "never"}:
        return None
    at, verb = match.start("verb"), match["verb"]
    if who[-1] in ("not", "never"):
        if who[-2:] == ["does", "not"]:
            return f"{' '.join(who[:-2])} {syntax.third_person(verb)}{text[match.end('verb') :]}"
        return f"{' '.join(who[:-1])} {text[at:]}"
    if who[-1] in _HAVE | syntax.AUXILIARIES:
        return f"{text[:at]}not {text[at:]}"
    if syntax.is_adverb(who[-1]):
        return None
    do = "do" if verb not in _SAYING else "does" if verb.endswith("s") else "did"
    return f"{text[:at]}{do} not {_SAYING.get(verb, verb)}{text[match.end('verb') :]}"


def _denied_inside(text: str) -> str | None:
    spans = sentences(text)
    if len(spans) != 1:
        return None
    sentence = Sentence.read(text, spans[0])
    verb, end = _only_verb(sentence)
    if verb is None:
        return None
    before = [token.word.lower() for token in sentence.tokens[: verb.start]]
    # "A bridge was not built" and "two were not" leave open whether others were.
    some = before and (before[0] in ("a", "an") or before[0][0].isdigit() or before[0] in _NUMBERS)
    if not before or some or (_UNDENIABLE | _REPORTING).intersection(before):
        return None
    auxiliary = sentence.tokens[verb.start]
    following = sentence.tokens[verb.start + 1] if verb.start + 1 < len(sentence.tokens) else None
    takes_not = _takes_not(sentence, verb.start, verb.end)
    if takes_not and following and following.word in ("not", "never"):
        after = sentence.tokens[verb.start + 2 : verb.start + 3]
        if auxiliary.word in ("do", "does") and after:
            bare = after[0].word
            verb_form = syntax.third_person(bare) if auxiliary.word == "does" else bare
            return f"{text[: auxiliary.start]}{verb_form}{text[after[0].end :]}"
        return text[: auxiliary.end] + text[following.end :]
    if any(token.word.lower() in _UNDENIABLE for token in sentence.tokens[verb.start : end]):
        return None  # "was not built in 1911 and lies …" would negate only the first half
    if takes_not:
        joined = "not" if auxiliary.word == "can" else " not"  # cannot
        return text[: auxiliary.end] + joined + text[auxiliary.end :]
    if verb.end - verb.start > 1:
        return None
    base = syntax.base_of_present(auxiliary.word)
    if base:
        return f"{text[: auxiliary.start]}does not {base}{text[auxiliary.end :]}"
    plural = syntax.is_plural_present(auxiliary.word) and before[-1].endswith("s")
    return f"{text[: auxiliary.start]}do not {text[auxiliary.start :]}" if plural else None


def _only_verb(sentence: Sentence) -> tuple[Verb | None, int]:
    """Return the verb of a one-clause sentence, and the token where the clause ends."""
    end, verbs = len(sentence.tokens), sentence.verbs
    if not verbs:  # possible present forms: "coffee causes"
        words = [token.word for token in sentence.tokens]
        verbs = [
            Verb(n, n + 1)
            for n, word in enumerate(words[1:], 1)
            if (syntax.base_of_present(word) or syntax.is_plural_present(word))
            and words[n - 1].lower() not in syntax.DETERMINERS | syntax.PREPOSITIONS
        ]
    if not sentence.balanced:
        return None, end
    if sentence.subordinators:
        end = sentence.subordinators[0]
        verbs = sentence.verbs_in(0, end)
        if sentence.word(end) != "that" or not verbs or verbs[-1].end != end:
            return None, end
    return (verbs[0], end) if len(verbs) == 1 else (None, end)


def _takes_not(sentence: Sentence, start: int, end: int) -> bool:
    """Whether "not" after the verb's first word negates the sentence: "had built", "is"."""
    word = sentence.word(start)
    if word in syntax.BE:
        return True
    if word in ("has", "have", "had"):  # "had two arches" has no auxiliary
        return end - start > 1
    return word in syntax.AUXILIARIES


_COMMON = re.compile(  # endings of words that are hardly ever names
    r"[A-Z][a-z]+(?:tions?|ments?|ness|ities|ity|isms?|ists?|ings?|ances?|ences?|ships?|ures?|ogy"
    r"|gies|ical|ally|ous|ive|able|ible|less|ful)"
)


def _lowered(text: str) -> str:
    """Lower the first letter, as after "that", unless the word is a name."""
    first, second = (*text.split(" ", 2), "", "")[:2]
    word = first.lower().rstrip(",")
    known = syntax.DETERMINERS | syntax.PRONOUNS | syntax.PREPOSITIONS | syntax.SUBORDINATORS
    # "Articles are", "Vaccines cause": names are rarely plural.
    of_plural = second in _OF_PLURALS and not _SINGULAR.search(text)
    plural = first.endswith("s") and (of_plural or syntax.is_plural_present(second))
    common = word in known | _UNDENIABLE | _NO_NAMES | _NUMBERS
    if word == "i" or not (common or plural or _COMMON.fullmatch(first)):
        return text
    return text[:1].lower() + text[1:]


# ── By a language model ──────────────────────────────────────────────────────────────────────────

MOST_READINGS = 20  # per statement; each costs up to 2·k·(1 + repetitions) calls
ANALYSIS_TOKENS, LIST_TOKENS, NEGATION_TOKENS = 700, 500, 200
_CLAIMS = (
    '{"type":"object","properties":{"claims":{"type":"array","items":{"type":"string"}}},'
    '"required":["claims"],"additionalProperties":false}'
)
_NEGATION = (
    '{"type":"object","properties":{"negation":{"type":"string"}},'
    '"required":["negation"],"additionalProperties":false}'
)


@dataclass(frozen=True, slots=True)
class ModelInterpreter:
    """EvidenceSeeker's preprocessor."""

    calls: Calls
    templates: Templates
    settings: Settings = field(default_factory=Settings)
    on_progress: Progress | None = None  # calls done, total

    @property
    def fingerprint(self) -> str:
        steps = ("freetext_descriptive_analysis", "list_descriptive_statements", "negate_claim")
        return " + ".join(dict.fromkeys(self.calls.model(step).fingerprint for step in steps))

    def interpret(self, statement: str) -> Interpretation:
        """Return the model's readings with their negations; the rules' if it gave none."""
        at_once, language = self.settings.chat.at_once, self.settings.language
        tasks = [partial(self._listed, statement, kind) for kind in StatementType]
        lists = run_concurrently(tasks, at_once, self.calls, scaled_progress(self.on_progress, 2))
        readings_listed, failures = list[Reading](), list[Failed]()
        for kind, texts in zip(StatementType, lists, strict=True):
            if isinstance(texts, list):
                readings_listed += [Reading("", text, kind, "", "model") for text in texts]
            else:
                failures.append(texts or STOPPED)
        distinct, by = numbered(readings_listed), self.fingerprint
        if not distinct:
            distinct, by = readings(statement, language), "rules"
        if len(distinct) > MOST_READINGS:
            cut = f"the first {MOST_READINGS} of {len(distinct)} readings are kept"
            failures.append(Failed("budget", cut))
        result = list[Reading]()
        denials = [partial(self._negated, reading) for reading in distinct[:MOST_READINGS]]
        negations = run_concurrently(denials, at_once, self.calls, self.on_progress)
        for reading, answer in zip(distinct, negations, strict=False):
            if not isinstance(answer, str):
                why = (answer or STOPPED).detail
                failures.append(Failed("negation", f"negation of “{reading.text}” by rule: {why}"))
                answer = reading.negation or negation(reading.text, language)
            result.append(replace(reading, negation=answer))
        return Interpretation(tuple(result), by, tuple(failures))

    def _listed(self, text: str, kind: StatementType) -> list[str] | Failed:
        about = {"statement": text, "type": str(kind)}
        step = f"freetext_{kind}_analysis"
        prompt = self._prompt(step, ANALYSIS_TOKENS, claim=text)
        analysis = self.calls.read(step, prompt, about, lambda reply: reply.text)
        if isinstance(analysis, Failed):
            return analysis
        step = f"list_{kind}_statements"
        values = {"claim": text, f"{kind}_analysis": analysis}
        prompt = self._prompt(step, LIST_TOKENS, _CLAIMS, **values)
        return self.calls.read(step, prompt, about, lambda reply: replies.parse_list(reply.text))

    def _negated(self, reading: Reading) -> str | Failed:
        # A user's prompt states how it wants the answer; EvidenceSeeker's wants plain text.
        schema = "" if "negate_claim" in self.templates.own else _NEGATION
        prompt = self._prompt("negate_claim", NEGATION_TOKENS, schema, statement=reading.text)

        def read(reply: Completion) -> str | None:
            text = replies.parse_statement(reply.text, "negation")
            return None if text is None or text.casefold() == reading.text.casefold() else text

        return self.calls.read("negate_claim", prompt, {"reading": reading.text}, read)

    def _prompt(self, step: str, max_tokens: int, schema: str = "", **values: str) -> Prompt:
        chat = self.settings.chat
        system, user = self.templates.fill(step, **values)
        guided = schema and self.settings.check.guidance == "json"
        return Prompt(
            user,
            system,
            chat.tokens_of_steps.get(step, max_tokens),
            chat.temperature,
            guidance=Guidance("json", schema) if guided else None,
        )
