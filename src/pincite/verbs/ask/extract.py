"""Answers made of sentences copied from the sources, so that nothing is invented."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from itertools import takewhile
from operator import or_

from pincite import containment
from pincite.documents.papers import in_own_words
from pincite.protocols import Encoder, Reader
from pincite.settings import LEAST_ANSWER
from pincite.text import words as wording
from pincite.text import words_of
from pincite.text.figures import figures
from pincite.text.sentences import joined, source_sentences
from pincite.text.syntax import AUXILIARIES, PREPOSITIONS
from pincite.types import Claim, Failed, Passage, Span
from pincite.verbs.ask.report import EXTRACT, WHOLE, Reference

# Share of common content words from which a sentence repeats another. Sentences that differ in a
# figure or in polarity never do: they may contradict each other.
REPEATS = 0.75
# Log-odds that a sentence answers its question, from a logistic regression on 30 of PubMedQA's dev
# questions: sentences of the right paper's conclusion against those of its background and methods
# and of other papers. `depth` weighs less than fitted (4.1); `is_open` and `goes_on` were set by
# reading answers; `lacks` and the bias were chosen on 70 other questions
# (research/check-and-ask.md).
BIAS = -7.8
WEIGHTS = {
    "relevance": 0.57,
    "likeness": 3.0,
    "of_document": 0.94,
    "depth": 3.0,
    "concludes": 1.5,
    "is_method": -1.8,
    "is_open": -1.5,
    "goes_on": -0.75,
    "lacks": -5.0,
}
# Chosen on the same half: sentences this far behind the best rarely answer.
BEHIND = 2.0
REPEATED = 1.0  # log-odds lost by a sentence whose words were all said before
MOST_OF_AN_ABSTRACT = 30  # sentences; in a longer text, their position means nothing
MIDDLE = 0.5
LATE = 0.75  # conclusions begin about here, usually with the results
READ = 100  # sentences that the network reads: the nearest to the question in meaning
# Passages whose sentences may be quoted: per long document, and in total, best first. On 20 full
# articles, 40 gave the same sentences as 100 (research/check-and-ask.md).
OF_ONE, OF_ALL = 40, 60
TOO_FAR = 5.0  # log-odds below the best document: its sentences would be further than `BEHIND`
UNREAD = -99.0  # log-odds of a sentence that could not be read
FEWEST_WORDS, MOST_WORDS = 6, 70  # in a sentence that can stand alone and is readable
OWN_WITHIN = 6  # words in which "this … study" must name the paper
# Words that refer to the previous sentence, which is missing in an extract.
_POINTS_BACK = frozenset(
    "this these those it its they their he his she her such both latter former".split()
)
# Openings that continue the previous sentence but can be read without it.
_GOES_ON = re.compile(
    r"(?:however|nevertheless|nonetheless|conversely|in contrast|in addition|moreover|furthermore|"
    r"similarly|also|but|yet|although|for example)\b",
    re.IGNORECASE,
)
# Open questions and recommendations are not findings.
_OPEN = re.compile(
    r"\b(?:(?:further|future|more|additional|larger|prospective) (?:\w+ )?(?:stud|research|data|"
    r"work|trial|campaign)\w*|needs? (?:to|for) further|(?:is|are) (?:needed|required|warranted)|"
    r"few (?:data|studies)|little is known|poorly understood|(?:remains?|is|are) (?:largely )?(?:"
    r"unknown|unclear|obscure|controversial|debated)|to date|among the first|limitations?|"
    r"needs? for (?:[\w-]+ ){0,6}?(?:trials?|stud\w+|research|investigations?)|"
    r"no (?:current|currently|clear|general) consensus|could be explained|deserves?|merits?|"
    r"needs? to be done)\b",
    re.IGNORECASE,
)
_THIS = frozenset({"this", "these", "those"})
_THOSE_WHO = re.compile(r"those (?:\w+ )?(?:who|whose|with|without)\b", re.IGNORECASE)
_POINT_BACK_TOGETHER = frozenset({("the", "latter"), ("the", "former"), ("the", "same")})
# Words in the labels that open a section of an abstract, with or without a colon.
_LABELS = frozenset(
    "abstract aim aims and background conclusion conclusions context data design discussion "
    "findings hypothesis importance interpretation intervention interventions introduction "
    "limitations main measure measures method methods objective objectives of outcome outcomes "
    "participants patients primary purpose rationale relevance result results setting settings "
    "significance study the".split()
)
# "This study shows that …" refers to the paper itself, which the answer names.
_OWN_PAPER = frozenset(
    "analyses analysis article audit case cohort data evidence experiment experiments finding "
    "findings investigation meta-analysis model observation observations paper report research "
    "result results review series study studies survey systematic trial work".split()
)
_NO_NOUN = AUXILIARIES | PREPOSITIONS | words_of("verbs", "modals")  # ends "this large database"
# The rest of a sentence split at an abbreviation, or a mark that belongs to the previous one.
_FRAGMENT = re.compile(r"[a-z]+[ ,;]|[\[,;)]")
# What a study set out to do is not what it found.
_STUDY = (
    r"(?:present |current |prospective |retrospective |pilot )?(?:study|paper|article|work|trial)"
)
_WE_ASK = (
    r"(?:aim(?:ed)?|sought|set out|wished|wanted|intend(?:ed)?|hypothesi[sz]ed?|(?:investigated?|"
    r"explored?|examined?|evaluated?|assess(?:ed)?|ask(?:ed)?|tested|test|determined?|stud(?:y|ied)|"
    r"compared?|analy[sz]ed?|measured?|addressed|describe|estimated?) (?:whether|if|how|the|to))\b"
)
_AIM = re.compile(
    r"(?:(?:(?:the|our|its|an?|one|another|study|main|primary|present|overall|specific) )+"
    r"(?:aims?|purposes?|objectives?|goals?|questions?|hypothes[ie]s)|aims?|objectives?|purposes?)\b(?!-)"
    rf"(?:.{{0,60}}?\b(?:was|were|is|are)\b|,? of (?:the|this|our) {_STUDY})"
    rf"|(?:(?:in|with) (?:this|the|our) {_STUDY},? |here,? |therefore,? |thus,? )?"
    rf"(?:we (?:therefore |also |thus |further |\w+ly )?|(?:this|the|our) {_STUDY} ){_WE_ASK}"
    rf"|(?:questions/ )?(?:this|the|our) {_STUDY} (?:investigat|explor|examin|evaluat|assess|"
    r"compar|measur|address|describ|analy[sz]|review|test)\w*\b"
    rf"|(?:this|the|our) {_STUDY} (?:was|is) (?:to|designed|conducted|performed|undertaken|aimed)\b"
    r"|whether\b",
    re.IGNORECASE,
)
# "To test whether it falls." is an aim; "To test this, we measured it." is not.
_TO_DO = re.compile(r"to [^,]+(?:,(?! (?:we|the|an?|this|our) ).*)?\Z", re.IGNORECASE)
_CONCLUDES = re.compile(
    r"\b(?:conclu\w+|suggest(?:s|ing)?|indicates?|demonstrates?|shows?|supports?|implies|confirms?|"
    r"appears?|seems?|should|recommend(?:ed)?|therefore|thus|overall|"
    r"our (?:results|findings|data))\b",
    re.IGNORECASE,
)
_DONE = re.compile(
    r"\b(?:were|was) (?:\w+ly |then )?(?:randomi[sz]ed|included|enrolled|recruited|collected|"
    r"measured|assessed|evaluated|performed|obtained|reviewed|analy[sz]ed|compared|examined|"
    r"interviewed|administered|conducted|carried out|studied|used|divided|assigned|determined|"
    r"calculated|recorded|selected|investigated|invited|asked|followed|screened|tested|given|"
    r"identified|undertaken|explored|allocated|categori[sz]ed|defined|applied|estimated)\b"
    r"|\bwe (?:\w+ly )?(?:reviewed|randomi[sz]ed|included|enrolled|recruited|collected|used|"
    r"performed|conducted|studied|surveyed|gave|interviewed|obtained|calculated|searched|compared|"
    r"evaluated|assessed|examined|investigated|explored|aimed|sought|measured)\b",
    re.IGNORECASE,
)
_FOUND = re.compile(
    r"signific|\bp ?[<=>≤≥]|\d ?%|\b(?:higher|lower|greater|less|fewer|better|worse|longer|shorter|"
    r"differences?|similar|increased|decreased|reduced|improved|associated|correlated|predict\w*|"
    r"effective|fell|rose|found|showed|revealed|compared with)\b",
    re.IGNORECASE,
)

# Statistics in a sentence: it reports a result, and a conclusion may say the same in words.
_FIGURES = re.compile(
    r"\b[pP] ?[<=>≤≥]|\bCI\b|[±%]|\b(?:OR|RR|HR) ?[=:,]|\bodds ratio\b|\d+ of (?:the )?\d+|"
    r"\(\d|\d\.\d"
)
_PAST = re.compile(r"\b(?:was|were|had|did)\b")
_PRESENT = re.compile(
    r"\b(?:is|are|may|might|can|could|should|would|must|suggest\w*|indicate\w*|conclude\w*)\b"
)
FEWEST_PLACED = 5  # sentences of an abstract in which place says what a sentence is
MOST_CONCLUSIONS = 3  # sentences at the end of an abstract without labels

# Words of most questions, whatever their subject; both forms if the first six letters differ.
_GENERAL = frozenset(
    wording.content_words(
        "affect affects associated benefit better best cause causes changes compared correlate "
        "decreases determine different effect effects enhances evidence factor factors good help "
        "helps impact important improves increases influences lead leads level levels link linked "
        "lower patients people play possible predicts prevents protects raise raises rate rates "
        "reduces related relationship results rise rises risk risks role safe study treat treats "
        "treatment use uses used useful value work works necessary need needed get gets make makes"
    )
)
_SHORT = ("al.", "vs.", "cf.", "e.g.", "i.e.", "Fig.", "approx.", "resp.")  # no sentence end


class Part(StrEnum):
    """The part of its paper that a sentence belongs to, by labels, wording and place."""

    BACKGROUND = "background"
    AIM = "aim"
    METHOD = "method"
    RESULT = "result"  # with its figures
    CONCLUSION = "conclusion"
    OTHER = "other"


_PARTS = {
    Part.BACKGROUND: "background context importance introduction",
    Part.RESULT: "results findings",
    Part.AIM: "aim aims hypothesis objective objectives purpose rationale goal goals question",
    Part.METHOD: "design intervention interventions measure measures method methods participants "
    "patients population setting settings procedure procedures subjects sample materials",
    Part.CONCLUSION: "conclusion conclusions interpretation",
}
_PART_OF = {word: part for part, words in _PARTS.items() for word in words.split()}


@dataclass(frozen=True, slots=True)
class Quotable:
    """A sentence of a source that may be quoted."""

    text: str
    source: int  # index of its document in order of relevance
    place: int  # start offset in its document
    relevance: float = 0.0  # log-odds, by the network, that it bears on the question
    likeness: float = 0.0  # cosine similarity to the question
    of_document: float = 0.0  # log-odds that the best passage of its document bears on the question
    depth: float = 0.0  # relative position in its document: 0 first, 1 last
    part: Part = Part.OTHER
    lacks: float = 0.0  # share of the question's subject that its document does not mention
    span: Span = field(default=Span(0, 0))  # in its document, without the section label

    @property
    def answers(self) -> float:
        """Log-odds that it answers the question, by `WEIGHTS`."""
        values = {
            "relevance": self.relevance,
            "likeness": self.likeness,
            "of_document": self.of_document,
            "depth": self.depth,
            "concludes": float(self.part is Part.CONCLUSION),
            "is_method": float(self.part in (Part.BACKGROUND, Part.AIM, Part.METHOD)),
            "is_open": float(bool(_OPEN.search(self.text))),
            "goes_on": float(bool(_GOES_ON.match(self.text))),
            "lacks": self.lacks,
        }
        return BIAS + sum(WEIGHTS[name] * value for name, value in values.items())


def lacks(question: str, source: str) -> float:
    """Return the share of a question's subject words that a source lacks."""
    words = set(wording.content_words(question))
    about = {_FORM.sub("", word) for word in words - _GENERAL or words}
    there = {_FORM.sub("", word) for word in wording.content_words(source)}
    return len(about - there) / len(about) if about else 0.0


_FORM = re.compile(r"(?:ie|y)\Z")  # in the first six letters: "carry" and "carried" are one word


def can_stand_alone(text: str, *, is_last: bool = False) -> bool:
    """Whether a sentence can be read without its context, by rules.

    `is_last`: it ends its document, where the full stop may be missing.
    """
    words, end = text.split(), text.rstrip()[-1:]
    if not FEWEST_WORDS <= len(words) <= MOST_WORDS:
        return False
    if end not in '.!)”"' and not (is_last and end.isalnum()):
        return False
    if _FRAGMENT.match(text):
        return False
    first, second = (word.strip("(,").casefold() for word in words[:2])
    if _TO_DO.match(text) or _AIM.match(text) or (first, second) in _POINT_BACK_TOGETHER:
        return False
    if first == "of" and second in _THIS:
        return False
    if _THOSE_WHO.match(text):
        return True
    if first not in _THIS:
        return first not in _POINTS_BACK
    # "This large database analysis suggests …"
    names = (word.strip("(,").casefold() for word in words[1:OWN_WITHIN])
    named = takewhile(lambda word: word not in _NO_NOUN, names)
    return any(word in _OWN_PAPER for word in named)


def is_cut(before: str, after: str) -> bool:
    """Whether two consecutive pieces on a line are one sentence.

    >>> is_cut("As shown by Holm et al.", "[3] for tea."), is_cut("It fell.", "It rose.")
    (True, False)
    """
    return bool(_FRAGMENT.match(after) and not after.startswith("[")) or before.endswith(_SHORT)


def depth(place: int, n_sentences: int) -> float:
    """Return a sentence's position in an abstract, 0 to 1; `MIDDLE` in longer texts."""
    if not 1 < n_sentences <= MOST_OF_AN_ABSTRACT:
        return MIDDLE
    return min(LATE, place / (n_sentences - 1))


def parts(sentences: Sequence[str], *, whole: bool = True) -> list[Part]:
    """Return the part that each sentence belongs to, by section labels, else by wording.

    In a `whole` abstract of a study without labels, place decides too: background stands before the
    first aim or method, and conclusions after the last method or figure.
    """
    within: Part | None = None  # of the current section, once one is labelled
    found = list[Part]()
    for sentence in sentences:
        rest = unlabelled(sentence)
        label = sentence[: len(sentence) - len(rest)].lower()
        if label:
            words = re.findall(r"\w+", label)
            known_parts = [_PART_OF[word] for word in words if word in _PART_OF]
            within = known_parts[0] if known_parts else Part.OTHER
        if within not in (None, Part.OTHER):
            found.append(within)
        elif _AIM.match(rest) or _TO_DO.match(rest):
            found.append(Part.AIM)
        elif _DONE.search(rest) and not _FOUND.search(rest):
            found.append(Part.METHOD)
        elif _FIGURES.search(rest):
            found.append(Part.RESULT)
        else:
            found.append(Part.CONCLUSION if _CONCLUDES.search(rest) else Part.OTHER)
    of_paper = Part.AIM in found or Part.METHOD in found
    if within is None and whole and of_paper and FEWEST_PLACED <= len(found) <= MOST_OF_AN_ABSTRACT:
        early = (n for n, part in enumerate(found) if part in (Part.AIM, Part.METHOD))
        begins = next(early, 0)
        late = (n for n, part in enumerate(found, 1) if part in (Part.METHOD, Part.RESULT))
        ends = max((*late, begins + 1, len(found) - MOST_CONCLUSIONS))
        past = [bool(_PAST.search(each) and not _PRESENT.search(each)) for each in sentences]
        open_ = [bool(_OPEN.search(each)) for each in sentences]
        found[:begins] = [Part.BACKGROUND] * begins
        found[ends:] = [
            # "Pain fell. Tea is effective.": results are in the past, conclusions need not be.
            Part.RESULT if past[n] and not all(map(or_, past[n:], open_[n:])) else Part.CONCLUSION
            for n in range(ends, len(found))
        ]
    return found


def unlabelled(sentence: str) -> str:
    """Remove the section label from a sentence of an abstract.

    >>> unlabelled("MAIN RESULTS The rate fell."), unlabelled("DNA repair fell in both groups.")
    ('The rate fell.', 'DNA repair fell in both groups.')
    """
    label, colon, rest = sentence.partition(": ")
    if colon and label.isupper():
        return rest
    words = sentence.split()
    n_label = 0
    while n_label < len(words) and words[n_label].isupper() and words[n_label].lower() in _LABELS:
        n_label += 1
    return " ".join(words[n_label:])


def choose(
    candidates: Sequence[Quotable], most: int, least: float = LEAST_ANSWER
) -> list[Quotable]:
    """Choose up to `most` sentences that answer the question without repetition.

    Documents come best first, and their sentences in their order. A conclusion stands for its
    document: what else it says is left out, such as results with their figures. A sentence must
    reach the log-odds `least`, and be at most `BEHIND` below the best. Repeated words lower its
    score (Carbonell & Goldstein 1998: maximal marginal relevance).
    """
    selected: list[Quotable] = []
    left = [c for c in candidates if c.answers >= least]
    best = max((c.answers for c in left), default=0.0)
    concluded = {c.source for c in left if c.part is Part.CONCLUSION and c.answers >= best - BEHIND}
    left = [c for c in left if c.part is Part.CONCLUSION or c.source not in concluded]

    def repeated(one: Quotable) -> float:
        words = set(wording.content_words(one.text))
        others = (set(wording.content_words(other.text)) for other in selected)
        shares = (len(words & other) / max(1, len(words)) for other in others)
        return REPEATED * max(shares, default=0.0)

    while left and len(selected) < most:
        worth = {id(c): c.answers - repeated(c) for c in left}
        first = min(left, key=lambda c: (-worth[id(c)], c.source, c.place))
        if worth[id(first)] < max(least, best - BEHIND):
            break
        selected.append(first)
        left = [c for c in left if c is not first and not repeats(c.text, first.text)]
    sources = list(dict.fromkeys(c.source for c in selected))
    ordered = sorted(selected, key=lambda c: (sources.index(c.source), c.place))
    opening = {c.source: c for c in reversed(ordered)}  # the first sentence of each document
    alone = Counter(c.source for c in ordered)
    # "However, …" needs what it continues, which was not chosen.
    return [
        c
        for c in ordered
        if alone[c.source] == 1 or opening[c.source] is not c or not _GOES_ON.match(c.text)
    ]


def repeats(one: str, other: str) -> bool:
    """Whether two sentences say the same in nearly the same words."""
    if wording.is_negated(one) != wording.is_negated(other):
        return False
    if {f.key for f in figures(one)} != {f.key for f in figures(other)}:
        return False
    a, b = set(wording.content_words(one)), set(wording.content_words(other))
    return len(a & b) >= REPEATS * min(len(a), len(b)) if a and b else a == b


# ── From references ──────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Extractor:
    """Quotes the sentences of the sources that best answer the question."""

    reader: Reader
    encoder: Encoder
    sentences: int = 4
    least: float = LEAST_ANSWER
    documents_read: bool = True  # whether a reference's relevance is the network's log-odds
    fingerprint: str = EXTRACT

    def quotes(
        self, question: str, references: Sequence[Reference]
    ) -> tuple[list[Quotable], list[Failed]]:
        """Return up to `sentences` quotes, best first, and why some could not be read."""
        best = max((each.relevance for each in references), default=0.0)
        near = [
            (source, reference)
            for source, reference in enumerate(references)
            if reference.relevance >= best - TOO_FAR or not self.documents_read
        ]
        n_long = sum(len(reference.document.text) > WHOLE for _, reference in near)
        most = min(OF_ONE, OF_ALL // max(1, n_long))
        failures, candidates = list[Failed](), list[Quotable]()

        def skipped(why: Failed) -> list[Quotable]:
            failures.append(why)
            return []

        for source, reference in near:
            read = partial(quotable, question, source, reference, most)
            candidates += containment.attempted(read, skipped)
        read_ones = self._read(question, references, candidates, failures)
        return choose(read_ones, self.sentences, self.least), failures

    def _read(
        self,
        question: str,
        references: Sequence[Reference],
        candidates: Sequence[Quotable],
        failures: list[Failed],
    ) -> list[Quotable]:
        """Score the candidates nearest to the question in meaning with the network."""
        if not candidates:
            return []
        query = self.encoder.encode([question], "query")[0]
        likeness = self.encoder.encode([c.text for c in candidates], "passage") @ query
        order = sorted(range(len(candidates)), key=lambda i: (-float(likeness[i]), i))[:READ]
        near = [replace(candidates[i], likeness=float(likeness[i])) for i in order]
        pairs = []
        for each in near:
            of = references[each.source].document
            passage = Passage(of.doc_id, of.url, of.title, each.text, each.span)
            pairs.append((Claim.alone(question), passage))

        def unread(_: tuple[Claim, Passage], why: Failed) -> float:
            failures.append(why)
            return UNREAD

        def relevance(of: Sequence[tuple[Claim, Passage]]) -> list[float]:
            return [float(score) for score in self.reader.relevance(of)]

        odds = containment.each(relevance, pairs, unread)
        best = dict[int, float]()  # best score of each document that was not read as a whole
        for each, score in zip(near, odds, strict=True):
            best[each.source] = max(score, best.get(each.source, score))
        if self.documents_read:
            best = {source: references[source].relevance for source in best}
        return [
            replace(each, relevance=score, of_document=best[each.source])
            for each, score in zip(near, odds, strict=True)
        ]


def quotable(question: str, source: int, reference: Reference, n_passages: int) -> list[Quotable]:
    """Return sentences that can stand alone, except those in other languages.

    Those of a long document are taken from its best `n_passages` passages.
    """
    document = reference.document
    text, within = in_own_words(document.text), list[Span]()
    if len(document.text) > WHOLE:
        within = sorted(passage.span for passage in reference.passages[: max(1, n_passages)])
    texts = [span.of(document.text) for span in within] or [document.text]
    lacking = lacks(question, "\n".join([document.title, *texts]))

    def cut(left: Span, right: Span) -> bool:
        on_one_line = "\n" not in text[left.end : right.start]
        return on_one_line and is_cut(left.of(text), right.of(text))

    candidates = []
    for piece in within or [Span(0, len(text))]:
        spans = source_sentences(piece.of(text), document.language)
        spans = joined([span.moved(piece.start) for span in spans], cut)
        kinds = parts([span.of(text) for span in spans], whole=not within)
        for n, (span, part) in enumerate(zip(spans, kinds, strict=True)):
            sentence = unlabelled(span.of(text))
            ends_it = span.of(text).endswith(sentence)
            own = Span(span.end - len(sentence), span.end) if ends_it else span
            far = MIDDLE if within else depth(n, len(spans))
            candidates.append(
                Quotable(sentence, source, own.start, depth=far, part=part, lacks=lacking, span=own)
            )
    end = len(text.rstrip())
    return [c for c in candidates if can_stand_alone(c.text, is_last=c.span.end == end)]
