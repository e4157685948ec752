"""What a statement says by its words: its kind, whom it ascribes its content to, its negation.

Word lists and patterns, for English and German. In doubt a statement describes: one taken for a
valuation would not be checked.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass, replace

from pincite.text import patterns, syntax, tables_beside, words_of
from pincite.text.finite import finite_verb, is_plural
from pincite.text.german import INDICATIVE, main_clause, main_order
from pincite.text.languages import NEGATIONS, identify
from pincite.types import Span, StatementType

WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
MARKS = ' \t\n“”"„.;'
LONGEST = 1_500  # characters; these rules were not written for anything longer
_SHORTEST = 2  # words of a statement
_QUOTATION_MARKS = '"“”„'

_TABLES = tables_beside(__file__)
_NO_DEMAND, _OPINION, _VALUED = (
    patterns(__file__, name) for name in ("no_demand", "opinion", "valued")
)
_NORMATIVE = {language: words_of("readings", f"normative_{language}") for language in ("en", "de")}


def kind_of(text: str, language: str = "en") -> StatementType:
    """Classify a text by rules."""
    if ascription(text, language):
        return StatementType.ASCRIPTIVE
    unquoted = _P["quoted"].sub(" ", text)
    bare = _NO_DEMAND["any"].sub(" ", unquoted)
    if language not in _NORMATIVE:
        return StatementType.DESCRIPTIVE
    words = {match[0].replace("’", "'") for match in WORD.finditer(bare)}
    is_opinion = _OPINION[language].search(bare)
    is_valued = _VALUED[language].search(unquoted)
    if is_opinion or is_valued or not words.isdisjoint(_NORMATIVE[language]):
        return StatementType.NORMATIVE
    return StatementType.DESCRIPTIVE


# ── What is ascribed to a speaker ────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Ascription:
    """A text that says what someone says; `content` is empty if that is no sentence."""

    content: str
    speaker: str = ""
    beside: bool = False  # the speaker is named beside the sentence: "According to Holm, …"
    denied: bool = False  # "denies that …", "falsely claims that …"
    unread: bool = False  # the content is a clause whose order is in doubt


_SAYING = {  # each form → its infinitive
    form: forms.partition("/")[0]
    for forms in words_of("readings", "saying")
    for form in forms.split("/")
}
SAYS = "|".join(_SAYING)
_FINDING, _HOPING = (sorted(words_of("readings", name)) for name in ("finding", "hoping"))
_BELIEVING, _NO_SPEAKER, _NOBODY, _MANY, _ARTICLES, _NOT_SO, _SAGEN, _LABELS, _DENIED = (
    words_of("readings", name)
    for name in "believing no_speaker nobody many articles untruly sagen labels denying".split()
)
_MANY_SAY = _BELIEVING | {"say", "show", "suggest", "indicate", "find"}  # "critics say"


def without_speaker(text: str) -> tuple[str, str]:
    """Return the speaker named before a colon, or "", and the statement.

    >>> without_speaker("Mayor Holm: The mill closed.")
    ('Mayor Holm', 'The mill closed.')
    """
    match = _P["prefix"].fullmatch(text) if len(text) <= LONGEST else None
    if match is None or match["who"].split()[0] in _DENIED:
        return "", text
    if identify(match["what"]) != "de" and not finite_verb(match["what"]):
        return "", text
    statement = match["what"][0].upper() + match["what"][1:]
    return "" if match["who"] in _LABELS else match["who"], statement


def ascription(text: str, language: str = "en") -> Ascription | None:
    """Return what the text ascribes to a speaker; None if nothing.

    >>> said = ascription("Berg falsely claims that the mill closed.")
    >>> said.content, said.speaker, said.denied
    ('the mill closed', 'Berg falsely', True)
    """
    text = text.strip().removesuffix(".")
    if len(text) > LONGEST:
        return None
    if language == "de":
        return _german(text)
    if language != "en" or _P["but"].search(text):
        return None  # "X claims that Y, but Z"
    for pattern, content_of in _FORMS:
        match = pattern.fullmatch(text)
        content = content_of(match, _without_marks(match["what"])) if match else None
        if match is None or content is None or 0 < len(content.split()) < _SHORTEST:
            continue
        named = {"by": "", "who": ""} | match.groupdict()
        words_before = text[: match.start("what")].lower().split()
        return Ascription(
            content,
            (named["by"] or named["who"]).strip(" ."),
            beside=bool(named["by"]),
            denied="verb" in named and bool(content) and not _NOT_SO.isdisjoint(words_before),
        )
    return None


def _without_marks(text: str) -> str:
    bare = text.strip(MARKS)
    has_quotation = sum(bare.count(mark) for mark in _QUOTATION_MARKS) % 2  # inside
    return text.strip(" \t\n.;") if has_quotation else bare


def _said_by(match: re.Match[str], content: str) -> str | None:
    """Return what follows “X says”: a sentence, "" for a thing, None if nothing is ascribed."""
    who, verb, that = match["who"].lower().split(), match["verb"], bool(match["that"])
    if _NO_SPEAKER.intersection(who) or who[-1] in _ARTICLES:
        return None  # "the man who said so", "the report that …"
    if verb.startswith("ask"):
        return ""
    infinitive = _SAYING.get(verb, verb)
    if _NOBODY.intersection(who) or (verb in _HOPING and that):
        return "" if that or infinitive in _BELIEVING - {"maintain"} else None
    if that:
        return content
    may_be_noun = verb == infinitive  # as in "a report"
    are_many = is_plural(match["who"]) or who[-1] in _MANY
    if may_be_noun and not (verb in _MANY_SAY and are_many):
        return None
    has_verb = syntax.Sentence.read(content, Span(0, len(content))).verbs
    if match["what"].lstrip()[:1] in '“"' or has_verb:
        return content
    if infinitive in _MANY_SAY and finite_verb(content):
        return content
    # "denies all charges" ascribes something; "reported a loss" states an action.
    return "" if infinitive in ("deny", "doubt", "believe") else None


def _beside(match: re.Match[str], content: str) -> str | None:
    sentence = content + _rest(match)
    return sentence if finite_verb(sentence) else None


def _believed_that(match: re.Match[str], content: str) -> str:
    is_open = _is_denied(match) or match["said"] in ("feared", "hoped", "expected")
    return "" if is_open else content


def _believed_to(match: re.Match[str], subject: str) -> str:
    """Return “X is so” for “X is said to be so”."""
    if _is_denied(match):
        return ""
    are_many, do = is_plural(subject), match["do"]
    if do == "be":
        verb = "are" if are_many else "is"
    elif do == "have been":
        verb = "were" if are_many else "was"
    else:
        verb = do if are_many else syntax.third_person(do)
    return f"{subject} {verb}{_rest(match)}"


def _is_denied(match: re.Match[str]) -> bool:
    return not {"not", "never"}.isdisjoint(match["how"].split())


def _rest(match: re.Match[str]) -> str:
    return (match.groupdict().get("rest") or "").rstrip(" .")


_PARTS = {**_TABLES["form_parts"], "saying": SAYS, "finding": "|".join(_FINDING + _HOPING)}
_READERS: dict[str, Callable[[re.Match[str], str], str | None]] = {
    "said_by": _said_by,
    "beside": _beside,
    "whole": lambda match, content: content,
    "believed_that": _believed_that,
    "believed_to": _believed_to,
}
# Patterns, each with what returns the content of its match: "" if no sentence, None if nothing.
_FORMS = [
    (
        re.compile(re.sub(r"\{([a-z]+)\}", lambda part: _PARTS[part[1]], form["pattern"])),
        _READERS[form["reads"]],
    )
    for form in _TABLES["forms"]
]

_REGULAR = (f"{verb[:-2] if verb.endswith('en') else verb[:-1]}(?:e?te?n?|e?n)" for verb in _SAGEN)
_SAGT = "|".join([*_REGULAR, *words_of("readings", "sagt")])
_P = patterns(__file__, "kinds", sagt=_SAGT, indicative="|".join(INDICATIVE))


def _german(text: str) -> Ascription | None:
    """As `ascription`; the content is empty if its order is in doubt."""
    main = main_clause(text)
    if match := _P["german"].fullmatch(text):
        if quoted := match["turn"] or match["tag"]:
            return Ascription(quoted.strip(MARKS), match["by"] or match["name"])
        if said := _german_content(match, text[: match.start("what")].lower()):
            return said
    if main and (by := _P["by"].fullmatch(" ".join(main.before))):
        content = main_order(str(replace(main, before=[])))
        return Ascription(content, by[1] or by[2], beside=True)
    is_hearsay = main and main.verb.startswith("soll") and main.indicative() != main
    return Ascription(str(main.indicative())) if main and is_hearsay else None


def _german_content(match: re.Match[str], lead: str) -> Ascription | None:
    """Return what follows “X sagt, dass …” or “X sagt, es sei …”; `lead`: the words before."""
    if match["that"]:
        content = main_order(match["what"])
    else:
        clause = main_clause(match["what"])
        if clause is None or ", " not in lead:
            return None
        content = str(clause.indicative())
    denied = bool(_P["leugnen"].search(lead))
    if match["that"] == "ob " or NEGATIONS["de"] & {*lead.split()} or _P["hoffen"].search(lead):
        return Ascription("", match["who"], denied=denied)
    return Ascription(content, match["who"], denied=denied, unread=not content)


# ── Negation ─────────────────────────────────────────────────────────────────────────────────────

_NOT_THE_CASE = {"en": "It is not the case that ", "de": "Es trifft nicht zu: "}
# Where "not" might deny less than the whole: "all", "because", "may not"; before it, "two" too.
_UNPLAIN = frozenset("may might must shall cannot due owing thanks , ; :".split()).union(
    syntax.SUBORDINATORS - {"that"},
    *(words_of("readings", key) for key in ("quantifiers", "undeniable")),
)
_UNPLAIN_BEFORE = _UNPLAIN | words_of("readings", "amounts") | frozenset("a an do does did".split())


def negation(text: str, language: str = "en") -> str:
    """Negate a text; "" in a language that these rules do not cover.

    >>> negation("The bridge was built in 1911."), negation("All bridges were closed.")
    ('The bridge was not built in 1911.', 'It is not the case that all bridges were closed.')
    """
    if language not in _NOT_THE_CASE or not text:
        return ""
    if language == "de":
        return _german_negation(text)
    first = text.split(maxsplit=1)[0].lower() if text.split() else ""
    is_no_name = first in (syntax.PARTICLES | syntax.DETERMINERS | _UNPLAIN_BEFORE) - {"i"}
    whole = text[:1].lower() + text[1:] if is_no_name else text
    return _negate_verb(text) or _NOT_THE_CASE["en"] + whole


def _german_negation(text: str) -> str:
    clause = None if _P["german_quote"].search(text) else main_clause(text)
    if clause is None or (clause.tail and not _P["subordinate"].fullmatch(clause.tail)):
        return _NOT_THE_CASE["de"] + text
    plain = "" if "weil" in clause.tail else clause.negation()
    return (plain or f"Es trifft nicht zu, dass {clause.verb_last()}") + "." * text.endswith(".")


def _negate_verb(text: str) -> str:
    """Put "not" beside the verb; "" unless that certainly denies the whole."""
    own = text.partition(" that ")[0]
    verb = finite_verb(own)
    if verb is None:
        return ""
    before, after = text[: verb.start], text[verb.end :]
    subject, predicate = (_P["token"].findall(part.lower()) for part in (before, own[verb.start :]))
    if not subject or not _UNPLAIN_BEFORE.isdisjoint(subject) or not _UNPLAIN.isdisjoint(predicate):
        return ""
    if any(word.isdigit() or word.endswith("ly") for word in subject):
        return ""
    if verb.base:
        do = {"third": "does", "base": "do", "past": "did"}[verb.form]
        return f"{before}{do} not {verb.base}{after}"
    deny = "cannot" if verb.word == "can" else f"{verb.word} not"
    return "" if verb.word.endswith("n't") else f"{before}{deny}{after}"
