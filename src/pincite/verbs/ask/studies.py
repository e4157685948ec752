"""What an abstract says of its study, by rules: design, population, patients and effects.

Every value is copied from the paper with its place. What it does not say, or says in words that no
rule knows, stays empty.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated, Literal

from pincite.documents.papers import in_own_words
from pincite.text.figures import ONES, SCALES, TENS
from pincite.text.sentences import source_sentences
from pincite.text.syntax import PREPOSITIONS
from pincite.types import Doc, Document, Span
from pincite.verbs.ask.parts import Part, parts

MOST_TEXT = 6_000  # characters read: an abstract, or the beginning of a longer text
MOST_EFFECTS = 3  # shown of a study; an abstract states its main outcome first
Field = Literal["text", "title", "publication_type"]
FULL_YEARS = 120.0  # upper end of an age range without one


@dataclass(frozen=True, slots=True)
class Stated:
    """Words of a paper, as written there."""

    text: str
    span: Annotated[Span, Doc("in the paper's text, or in its title or publication types")]
    within: Annotated[Span, Doc("of the sentence around it")]
    of: Field = "text"


@dataclass(frozen=True, slots=True)
class Study:
    """A study as its abstract describes it; None or empty where it does not say."""

    design: Stated | None = None
    population: Stated | None = None
    patients: Annotated[Stated | None, Doc("how many were studied")] = None
    effects: Annotated[tuple[Stated, ...], Doc("ratios and differences, with CI and p")] = ()


# ── Designs ──────────────────────────────────────────────────────────────────────────────────────

_HYPHEN = "[-‐‑ ]?"
_BLIND = (
    r"(?:(?:cluster|parallel[- ]group|open[- ]label|multi-?cent(?:re|er)|pragmatic|phase [1-4IV]+|"
    rf"(?:single|double|triple){_HYPHEN}(?:blind(?:ed)?|masked)|placebo{_HYPHEN}controlled|"
    rf"randomi[sz]ed|controlled|clinical|cross{_HYPHEN}over|factorial|non-?inferiority|pilot|"
    rf"sham{_HYPHEN}controlled|prospective|feasibility|field)[, ]+(?:and )?)*"
)
# In order of precedence: a meta-analysis of trials is no trial.
_DESIGNS = [
    re.compile(rf"\b(?:{pattern})\b", re.IGNORECASE)
    for pattern in (
        rf"(?:systematic review and )?(?:network |individual (?:patient|participant) data )?"
        rf"meta{_HYPHEN}analys[ie]s",
        r"(?:systematic|scoping|umbrella|Cochrane) reviews?",
        rf"{_BLIND}(?:n-of-1|randomi[sz]ed|cross{_HYPHEN}over)[, ]+{_BLIND}(?:trials?|study)"
        r"|n-of-1 trials?|randomly (?:assigned|allocated)|(?:were|was|we) randomi[sz]ed",
        r"(?:(?:nested|matched|population-based|hospital-based) )*"
        rf"case{_HYPHEN}control stud(?:y|ies)",
        r"(?:(?:prospective|retrospective|population-based|historical|birth|multi-?cent(?:re|er)|"
        r"community|matched|longitudinal|nationwide),? )*cohort(?: stud(?:y|ies))?",
        rf"(?:(?:population-based|nationwide) )?cross{_HYPHEN}sectional (?:study|survey|analysis)",
        rf"interrupted time{_HYPHEN}series|before[- ]and[- ]after study|case series",
        r"(?:(?:prospective|retrospective|longitudinal|qualitative|observational|pilot|ecological|"
        r"diagnostic accuracy|registry|Mendelian randomi[sz]ation),? )+(?:study|analysis|review)",
        rf"{_BLIND}(?:controlled|clinical)[, ]+trial",
    )
]
_TYPES = re.compile(
    r"Meta-Analysis|Systematic Review|Randomized Controlled Trial|Controlled Clinical Trial|"
    r"Clinical Trial|Observational Study|Case Reports"
)

# ── Who, and how many ────────────────────────────────────────────────────────────────────────────

_PEOPLE = (
    r"(?:patients?|participants?|subjects?|individuals?|persons?|people|adults?|volunteers?|"
    r"child(?:ren)?|adolescents?|teenagers?|infants?|newborns?|neonates?|babies|toddlers?|"
    r"bo(?:y|ys)|girls?|pupils?|students?|(?:wo)?m[ae]n|males?|females?|mothers?|residents?|"
    r"inpatients?|outpatients?|seniors?|veterans?|smokers?|survivors?|employees?|workers?|nurses?|"
    r"physicians?|controls|cases|pregnancies|births|twins?|families|households|rats?|mice|mouse|"
    r"rabbits?|dogs?|pigs?)"
)
# Those studied, without a word about who they are.
_VAGUE = re.compile(
    r"(?:(?:consecutive|eligible|enrolled|published|control|study) )*(?:patients?|participants?|"
    r"subjects?|individuals?|persons?|people|volunteers?|cases|controls|males?|females?|"
    r"(?:mean|median|average) age)",
    re.IGNORECASE,
)
_WORDS = "|".join([*TENS, *ONES])
_COUNT = (
    r"(?:\d{1,3}(?:[,\u00a0\u202f\u2009 ]\d{3})+|\d+"
    rf"|(?:{_WORDS})(?:[- ](?:{_WORDS}|and|{'|'.join(SCALES)}))*)"
)
_ADJECTIVES = (
    rf"(?:(?!(?:{'|'.join(sorted(PREPOSITIONS))}|and|the|were|was|or|than|all|these|those|other|both|"
    r"more|less|most|our|their|its)\b)[a-zé][\w-]+ ){0,4}?"
)
_YEARS = r"years?(?: of age|[- ]old)?"
_AGE = (
    r"(?:aged? )?(?:between )?(?P<low>\d{1,3})(?: years)?(?: ?[-–] ?| to | and )(?P<high>\d{1,3})"
    rf" {_YEARS}"
    r"|aged? (?:over|above|older than|at least|[>≥]|> ?or ?= ?)(?: the age of)? ?(?P<over>\d{2,3})"
    rf"(?: {_YEARS})?"
    r"|(?:over|above|older than|at least|[>≥]|> ?or ?= ?)(?: the age of)? ?(?P<above>\d{2,3})"
    rf" {_YEARS}"
    rf"|(?:aged? )?(?:under|below|younger than|up to|[<≤]) ?(?P<under>\d{{1,3}}) {_YEARS}"
    rf"|aged? (?P<from>\d{{2,3}})(?: {_YEARS})? (?:and|or) (?:over|older|above)"
    r"|(?:mean|median|average) age,?(?: \[?\(?SD\)?\]?,?)?(?: of| was|:|,)? ?"
    r"(?P<mean>\d{1,3}(?:[.·]\d+)?)(?: ?(?:years|yrs?))?"
)
_AGE_PATTERN = re.compile(_AGE, re.IGNORECASE)
_UNNAMED_AGE = re.sub(r"\(\?P<\w+>", "(?:", _AGE)
_ENDS = "was|were|is|are|received|underwent|to|into|by|between|during"
# What may follow those studied, up to what was done with them.
_TAIL = (
    rf"(?: ?\(?(?:{_UNNAMED_AGE})\)?"
    r"| (?:with|without|who|at|undergoing|receiving|treated|in|from|of)\b"
    rf"(?: (?!(?:{_ENDS}|at \d)\b)[\w'’/%-]+){{1,9}}?(?= ?[,.;:()]|\Z| (?:{_ENDS}|for|and|at)\b))"
)
_COUNTED = re.compile(
    # Not the number of a group or type, or the end of a longer one.
    r"(?<!group )(?<!type )(?<!stage )(?<!phase )(?<!grade )(?<!class )(?<![\w.,%-])"
    rf"(?P<count>{_COUNT}) (?P<who>{_ADJECTIVES}{_PEOPLE}\b(?: and (?:{_COUNT} )?{_PEOPLE}\b)?)"
    rf"(?P<tail>{_TAIL}{{0,3}})"
    r"|(?:\b(?:trials?|studies|sample|total|overall)[ ,:]{1,2}\(?|(?=(?-i:N)))"
    r"(?P<n>\bn ?= ?\d(?:[\d,]*\d)?)",
    re.IGNORECASE,
)
_ALSO = re.compile(rf" and {_COUNT} {_ADJECTIVES}{_PEOPLE}\b", re.IGNORECASE)
_GROUP = re.compile(
    rf"\b(?:in|of|among) (?P<who>{_ADJECTIVES}{_PEOPLE}\b(?P<tail>{_TAIL}{{0,2}}))", re.IGNORECASE
)
_AGES = re.compile(rf"(?P<who>{_UNNAMED_AGE})(?P<tail>)", re.IGNORECASE)
_NOT_TOLD = frozenset({Part.BACKGROUND, Part.AIM, Part.CONCLUSION})
# Sentences about the study itself, wherever they stand.
_OWN = re.compile(r"(?:we|in (?:this|a|an|our))\b", re.IGNORECASE)
_RECRUITS = re.compile(
    r"\b(?:randomi[sz]ed|randomly|enrol\w*|includ\w+|recruit\w*|assigned|allocated|examined|"
    r"followed|interviewed|studied|pooled|analy[sz]ed|surveyed|compris\w+|trials?|cohort|screened|"
    r"participants|given|underwent|compared|invited|reviewed|consecutive|identified|evaluated|"
    r"assessed|treated|received|in (?:a|this) )\b",
    re.IGNORECASE,
)

# ── Effects ──────────────────────────────────────────────────────────────────────────────────────

_NUMBER = r"[-−–+]?(?:\d+(?:[.·]\d+)?|[.·]\d+)"
_MEASURE = (
    r"(?:(?:adjusted|unadjusted|crude|pooled|summary|relative|standardi[sz]ed|weighted|incidence|"
    r"mean|absolute|multivariable) )*"
    r"(?:odds ratios?|risk ratios?|relative risks?|hazard ratios?|rate ratios?|prevalence ratios?|"
    r"mean differences?|risk differences?|risk reductions?|number needed to (?:treat|harm)|"
    r"between-group difference|correlation coefficients?)(?: ?[\[(][A-Za-z]{2,4}[\])])?"
    r"|(?-i:(?:adjusted |pooled )?\ba?(?:OR|RR|HR|IRR|S?MD|WMD|RD|ARR|NNT|NNH|SMR|PR)\b)"
)
_INTERVAL = (
    rf"[\[(,; ]{{0,3}}(?:9[059] ?% ?)?(?:CI|confidence intervals?|CrI|credible interval)\b"
    rf"(?: ?9[059] ?%)?[\]),:;= ]{{0,3}}(?:of |was )?[\[(]?{_NUMBER} ?(?:%|points)? ?"
    rf"(?:to|[-–−,;]) ?{_NUMBER} ?%?[\])]?"
)
_P = rf"[\[(,; ]{{0,3}}\b[Pp](?:[- ]?values?)?(?: for trend)? ?(?:[<>=≤≥]|of|was) ?{_NUMBER}"
_EFFECT = re.compile(
    rf"(?:{_MEASURE})(?:[ ,:=]|[^\d.;()]{{1,60}}?[ ,:=([]){_NUMBER}"
    rf"(?: ?%)?(?: [a-z]+)?(?:{_INTERVAL})?(?:{_P})?",
    re.IGNORECASE,
)
_SHARES = re.compile(
    r"\d+(?:[.·]\d+)? ?% (?:vs\.?|versus|compared with) \d+(?:[.·]\d+)? ?%"
    rf"(?:{_INTERVAL})?(?:{_P})?",
    re.IGNORECASE,
)


def study_of(document: Document) -> Study:
    """Read the abstract of a document, or its beginning.

    >>> text = "In this trial, 302 women aged 70 to 90 years took it (OR 0.6; 95% CI, 0.4-0.9)."
    >>> study = study_of(Document("https://a.example/", "", text))
    >>> study.patients.text, study.population.text, study.effects[0].text
    ('302 women', 'women aged 70 to 90 years', 'OR 0.6; 95% CI, 0.4-0.9')
    """
    types = document.meta.get("publication_type", "")
    return _read(document.title, document.text[:MOST_TEXT], types, document.language)


@lru_cache(maxsize=1024)  # every format asks, and so does the order of an answer
def _read(title: str, text: str, types: str, language: str | None) -> Study:
    own = in_own_words(text)
    spans = source_sentences(own, language)
    kinds = parts([span.of(own) for span in spans])
    found = _Found(
        title,
        own,
        types,
        [
            span
            for span, kind in zip(spans, kinds, strict=True)
            if kind not in _NOT_TOLD or _OWN.match(own, span.start)
        ],
    )
    patients, population = found.people()
    return Study(found.design(), population, patients, tuple(found.effects())[:MOST_EFFECTS])


@dataclass(frozen=True, slots=True)
class _Found:
    """Where the rules look: in the sentences of a paper that tell of its own study."""

    title: str
    text: str
    types: str
    told: Sequence[Span]

    def stated(self, start: int, end: int, within: Span, of: Field = "text") -> Stated:
        whole = {"text": self.text, "title": self.title, "publication_type": self.types}[of]
        return Stated(whole[start:end], Span(start, end), within, of)

    def design(self) -> Stated | None:
        """Find the design in the title, else in the publication types, else in the text."""
        title, types = Span(0, len(self.title)), Span(0, len(self.types))
        for pattern in _DESIGNS:
            if match := pattern.search(self.title):
                return self.stated(*match.span(), title, "title")
        if match := _TYPES.search(self.types):
            return self.stated(*match.span(), types, "publication_type")
        for pattern in _DESIGNS:
            for span in self.told:
                if match := pattern.search(self.text, *span):
                    return self.stated(*match.span(), span)
        return None

    def people(self) -> tuple[Stated | None, Stated | None]:
        """Return how many were studied, and who."""
        counted = (
            (match, span)
            for span in self.told
            if _RECRUITS.search(self.text, *span)
            for match in _COUNTED.finditer(self.text, *span)
        )
        first = next(counted, None)
        if first is None:
            return None, self.group()
        match, span = first
        start, end = match.span("n")
        if match["who"]:
            also = _ALSO.match(self.text, match.end(), span.end)  # "… and 1,317 controls"
            start, end = match.start("count"), also.end() if also else match.end("who")
        patients = self.stated(start, end, span)
        return patients, self._described(match, span) or self.group()

    def group(self) -> Stated | None:
        """Find those studied apart from their number, in the title first."""
        title = Span(0, len(self.title))
        for match in _GROUP.finditer(self.title):
            if found := self._described(match, title, "title"):
                return found
        for pattern in (_GROUP, _AGES):
            for span in self.told:
                for match in pattern.finditer(self.text, *span):
                    if found := self._described(match, span):
                        return found
        return None

    def _described(self, match: re.Match[str], within: Span, of: Field = "text") -> Stated | None:
        """Return those studied; None for "patients" without more."""
        if not match["who"] or _VAGUE.fullmatch(match["who"] + match["tail"]):
            return None
        return self.stated(match.start("who"), match.end("tail"), within, of)

    def effects(self) -> Iterator[Stated]:
        """Find ratios and differences; shares of two groups only where there are none."""
        for pattern in (_EFFECT, _SHARES):
            any_ = False
            for span in self.told:
                for match in pattern.finditer(self.text, *span):
                    any_, (start, end) = True, match.span()
                    closed = match[0].count("(") - match[0].count(")")
                    yield self.stated(start, end + closed if closed < 0 else end, span)
            if any_:
                return


# ── Ages ─────────────────────────────────────────────────────────────────────────────────────────

# In years, from to. WHO: adolescents 10 to 19, older people from 60.
_AGE_OF = {
    r"older|elderly|aged people|seniors?|geriatric|nursing homes?|frail|old age": (60, FULL_YEARS),
    r"infants?|newborns?|neonat\w+|bab(?:y|ies)|toddlers?": (0, 2),
    r"adolescen\w+|teenage\w*": (10, 19),
    r"child(?:ren|hood)?|p(?:a)?ediatric|pupils?|school\w*|kids?|bo(?:y|ys)|girls?": (1, 18),
    r"adults?|employees|workers|nurses|physicians|veterans": (18, FULL_YEARS),
}
_AGES_NAMED = {re.compile(rf"\b(?:{words})\b", re.I): ages for words, ages in _AGE_OF.items()}
MOST_OF_THEM = 0.5
_AROUND_MEAN = 15.0  # years; about two standard deviations in most samples of adults


def ages(text: str) -> tuple[float, float] | None:
    """Return the range of ages that a text names; None if it names none.

    >>> ages("adults aged 50 to 84 years"), ages("over 65 years of age"), ages("older people")
    ((50.0, 84.0), (65.0, 120.0), (60, 120.0))
    """
    for match in _AGE_PATTERN.finditer(text):
        found = {name: float(value) for name, value in match.groupdict().items() if value}
        if "low" in found and found["low"] < found["high"]:
            return found["low"], found["high"]
        if least := found.get("over") or found.get("above") or found.get("from"):
            return least, FULL_YEARS
        if "under" in found:
            return 0.0, found["under"]
        if "mean" in found:
            return max(0.0, found["mean"] - _AROUND_MEAN), found["mean"] + _AROUND_MEAN
    return next((range_ for words, range_ in _AGES_NAMED.items() if words.search(text)), None)


def without_ages(question: str) -> str:
    """Remove the words for an age from a question: a study may state its ages in figures."""
    for words in _AGES_NAMED:
        question = words.sub(" ", question)
    return _AGE_PATTERN.sub(" ", question)


def fits(question: str, document: Document) -> bool | None:
    """Whether most of a study's ages are those asked for; None if question or study names none."""
    asked, population = ages(question), study_of(document).population
    studied = (population and ages(population.text)) or ages(document.title)
    if not asked or not studied:
        return None
    shared = min(asked[1], studied[1]) - max(asked[0], studied[0])
    return shared / (studied[1] - studied[0]) >= MOST_OF_THEM
