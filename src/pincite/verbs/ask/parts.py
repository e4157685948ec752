"""The part of an abstract that a sentence belongs to, by labels, wording and place."""

import re
from collections.abc import Sequence
from enum import StrEnum
from operator import or_

MOST_OF_AN_ABSTRACT = 30  # sentences; in a longer text, their position means nothing
# Open questions and recommendations are not findings.
OPEN = re.compile(
    r"\b(?:(?:further|future|more|additional|larger|prospective) (?:\w+ )?(?:stud|research|data|"
    r"work|trial|campaign)\w*|needs? (?:to|for) further|(?:is|are) (?:needed|required|warranted)|"
    r"few (?:data|studies)|little is known|poorly understood|(?:remains?|is|are) (?:largely )?(?:"
    r"unknown|unclear|obscure|controversial|debated)|to date|among the first|limitations?|"
    r"needs? for (?:[\w-]+ ){0,6}?(?:trials?|stud\w+|research|investigations?)|"
    r"no (?:current|currently|clear|general) consensus|could be explained|deserves?|merits?|"
    r"needs? to be done)\b",
    re.IGNORECASE,
)
# Words in the labels that open a section of an abstract, with or without a colon.
_LABELS = frozenset(
    "abstract aim aims and background conclusion conclusions context data design discussion "
    "findings hypothesis importance interpretation intervention interventions introduction "
    "limitations main measure measures method methods objective objectives of outcome outcomes "
    "participants patients primary purpose rationale relevance result results setting settings "
    "significance study the".split()
)
# What a study set out to do is not what it found.
_STUDY = (
    r"(?:present |current |prospective |retrospective |pilot )?(?:study|paper|article|work|trial)"
)
_WE_ASK = (
    r"(?:aim(?:ed)?|sought|set out|wished|wanted|intend(?:ed)?|hypothesi[sz]ed?|(?:investigated?|"
    r"explored?|examined?|evaluated?|assess(?:ed)?|ask(?:ed)?|tested|test|determined?|stud(?:y|ied)|"
    r"compared?|analy[sz]ed?|measured?|addressed|describe|estimated?) (?:whether|if|how|the|to))\b"
)
AIM = re.compile(
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
TO_DO = re.compile(r"to [^,]+(?:,(?! (?:we|the|an?|this|our) ).*)?\Z", re.IGNORECASE)
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
            if {Part.METHOD, Part.RESULT} <= set(known_parts):
                within = Part.OTHER
        if within not in (None, Part.OTHER):
            found.append(within)
        elif AIM.match(rest) or TO_DO.match(rest):
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
        open_ = [bool(OPEN.search(each)) for each in sentences]
        found[:begins] = [Part.BACKGROUND] * begins
        found[ends:] = [
            # "Pain fell. Tea is effective.": results are in the past, conclusions need not be.
            Part.RESULT if past[n] and not all(map(or_, past[n:], open_[n:])) else Part.CONCLUSION
            for n in range(ends, len(found))
        ]
    return found


def unlabelled(sentence: str) -> str:
    """Remove the section label from a sentence of an abstract.

    >>> unlabelled("MAIN RESULTS The rate fell."), unlabelled("Main results: The rate fell.")
    ('The rate fell.', 'The rate fell.')
    """
    label, colon, rest = sentence.partition(": ")
    if colon and (label.isupper() or _LABELS.issuperset(re.findall(r"\w+", label.lower()))):
        return rest
    words = sentence.split()
    n_label = 0
    while n_label < len(words) and words[n_label].isupper() and words[n_label].lower() in _LABELS:
        n_label += 1
    return " ".join(words[n_label:])
