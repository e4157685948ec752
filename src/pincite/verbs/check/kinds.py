"""What a statement does by its words: describe, value, or ascribe something to a speaker.

Word lists and patterns, for English and German. In doubt a statement describes: one taken for a
valuation would not be checked.

Negations by rule: "not" beside the verb of a plain sentence, else "it is not the case that".

German: “nicht”, else “es trifft nicht zu, dass …”; with a colon if the verb is in doubt.
"""

import re
from typing import NamedTuple

from pincite.text import syntax, words_of
from pincite.text.finite import INDICATIVE, finite_verb, is_plural, main_clause, main_order
from pincite.text.languages import NEGATIONS, identify
from pincite.types import Span, StatementType


class Ascription(NamedTuple):
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
_FINDING, _HOPING = (sorted(words_of("readings", name)) for name in ("finding", "hoping"))
_BELIEVING, _NO_SPEAKER, _NOBODY, _MANY, _ARTICLES, _NOT_SO, _SAGEN = (
    words_of("readings", name)
    for name in "believing no_speaker nobody many articles untruly sagen".split()
)
_MANY_SAY = _BELIEVING | {"say", "show", "suggest", "indicate", "find"}  # "critics say"
_BUT = re.compile(r"[,;] but [^“”\"]+$")
# A name or an office: everything up to the verb, or to "Holm, who leads the union, said".
_SPEAKER = r"(?P<who>[^,;:“\"„]{1,80}?)(?:, [^,;:“\"„]{1,80},)?"
SAYS = "|".join(_SAYING)
# "Mayor Holm: The mill closed." `_LABELS` name no speaker; after `_DENIED`, it is not so.
_CAPITALISED = r"(?:[A-ZÀ-Þ][\w.’'-]*|of|the|for|de|von|van)"
_PREFIX = re.compile(
    rf"(?P<who>[A-ZÀ-Þ][\w.’'-]*(?:,? {_CAPITALISED}){{0,7}}(?: \([^()]{{1,40}}\))?): "
    r"(?P<what>[^“\"„].+)"
)
_LABELS = {"Fact", "Claim", "Statement", "Breaking", "Update", "News", "Note", "Study", "Report"}
_DENIED = {"Myth", "False", "Wrong", "Hoax", "Rumour", "Rumor", "Fake", "Lie", "Untrue"}
_SAID = (
    r"(?P<said>said|believed|claimed|thought|alleged|reported|assumed|argued|known|rumoured|rumored"
    r"|suggested|estimated|accepted|agreed|asserted|announced|held|considered)"
)
_FEARED = _SAID.replace("said|", "feared|hoped|expected|shown|found|proven|established|said|")
_ATTRIBUTIONS = (
    re.compile(rf"{_SPEAKER}\s+(?P<verb>{SAYS})\s+(?P<that>that\s+)?(?P<what>.+)"),
    re.compile(
        rf"{_SPEAKER}\s+(?P<verb>tells|told|asks?|asked)\s+(?:[^,;:]{{1,40}}?\s+)?"
        r"(?P<that>(?:that|whether)\s+)(?P<what>.+)"
    ),
    re.compile(  # "the report warns that"
        rf"(?P<who>(?:The|A|This|That|His|Her) (?:report|claim)s?)\s+(?P<verb>{SAYS})\s+"
        r"(?P<that>that\s+)?(?P<what>.+)"
    ),
    re.compile(
        rf"{_SPEAKER}\s+(?P<verb>{'|'.join(_FINDING + _HOPING)})\s+(?P<that>that\s+)?"
        r"(?P<what>.+)"
    ),
    re.compile(r"(?i:According to|In the words of) (?P<by>[^,]{1,80}),\s*(?P<what>.+)"),
    re.compile(r"(?P<what>[^“\"]+?),? (?:according to|in the words of) (?P<by>[^,]{1,80})"),
    re.compile(
        r"(?:In (?:my|our|his|her|their|[^,]{1,60}[’']s?|the) (?:view|opinion|judge?ment|eyes)"
        r"(?: of [^,]{1,60})?"
        r"|From (?:[^,]{1,60}[’']s?|the) point of view(?: of [^,]{1,60})?),\s*(?P<what>.+)"
    ),
    re.compile(
        rf"(?P<what>(?:[^,;:“\"]|\d,\d)+), (?P<by>[^,;:“\"]{{1,60}}?) (?:{SAYS})(?: \w+day)?"
        r"(?:,(?P<rest> [^“\"]+))?"
    ),
    re.compile(rf"It (?:is|was|has been)(?P<how>(?: \w+)?) {_FEARED} that (?P<what>.+)"),
    re.compile(
        rf"(?P<what>[^,;:]{{1,80}}) (?:is|are|was|were)(?P<how>(?: \w+ly| often)?) {_SAID}"
        r" to (?P<do>have been|be|have|[a-z]+)(?P<rest> .+)"
    ),
    re.compile(rf"{_SPEAKER}(?:\s+(?:{SAYS}))?:\s*(?P<what>[“\"].+)"),
    re.compile(rf"(?P<what>[“\"].+[”\"]),?\s+(?:{SAYS})\s+(?P<who>.+)"),
)
_REGULAR = (f"{verb[:-2] if verb.endswith('en') else verb[:-1]}(?:e?te?n?|e?n)" for verb in _SAGEN)
_SAGT = "|".join([*_REGULAR, *words_of("readings", "sagt")])
_HOFFEN, _LEUGNEN = (
    re.compile(rf"\b(?:{'|'.join(words_of('readings', name))})") for name in ("hoffen", "leugnen")
)
_GERMAN = re.compile(
    rf"(?P<who>[^,;:“\"„]{{1,80}}?)(?:, [^,;:“\"„]{{1,80}},)? "
    rf"(?P<verb>{_SAGT})(?: [^,;:„“\"]{{0,60}})?,? (?P<that>(?:dass|ob) )?(?P<what>[^„“\"]+)"
    rf"|(?P<by>[^,;:“\"„]{{1,80}}?)(?: (?:{_SAGT}))?: ?(?P<turn>[„“\"].+)"
    rf"|(?P<tag>[„“\"].+[“”\"]),? (?:{_SAGT}) (?P<name>.+)"
)
_BY = re.compile(
    r"(?:Laut|Gemäß|Nach (?:Ansicht|Angaben|Auffassung|Meinung|Worten)) (.+)|(.+) zufolge"
)
# Words that express a demand or a value. Words that are used as often to describe ("fair") are left
# out: a descriptive reading mistaken for a normative one would not be checked.
_NORMATIVE = {name: words_of("readings", f"normative_{name}") for name in ("en", "de")}
_DOING = "run|managed|designed|planned|made|written|handled|governed"
# Opinions. "Good", "too high" and "the best" after "is" express a value; elsewhere they describe:
# "better survival", "in good shape", "too small to be seen".
_OPINION = {
    "en": re.compile(
        r"\b(?:brilliantly|admirably|[Ss]adly|[Uu]nfortunately|[Ff]ortunately|[Rr]egrettably"
        r"|[Ss]hamefully|[Dd]isgracefully|[Tt]hankfully|foolish(?:ly)?|ugly|beautiful"
        r"|(?:costs?|takes?|spends?|pays?) (?:far |much )?too (?:much|many|little|long)"
        rf"|(?:badly|poorly) (?:{_DOING})|(?:{_DOING}) (?:badly|poorly)"
        r"|(?:is|are|was|were|be|been) (?:"
        r"(?:far |much |simply )?too (?:dangerous|expensive|cheap|big|small|long|short|weak|strong"
        r"|slow|fast|hard|easy|late|early|little|much|many|few|soft|harsh|strict|lenient|risky"
        r"|costly|high|low)(?! (?:to|for)\b)"
        r"|the most (?:beautiful|important|impressive|interesting|exciting|boring|annoying)"
        r"|(?:by far )?(?:the )?(?:best|worst)(?![- ](?:known|selling|of\b))"
        r"|(?:(?:\w+ly|very|so|no|not|a) )*(?:good|bad|wrong|terrible|wonderful|acceptable|moral)"
        r"(?=\W*$|[,;:]| (?:and|but|that|if|because|when|idea|thing|decision|choice|policy|law|plan"
        r"|man|woman|person|leader)\b))"
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
    r"|\bmust (?:\w+ly )?have\b"
    # An order or a law states what must be done, mostly with a figure.
    r"|\bmust\b(?=[^.,;]*(?:\d|\b(?:by law|court|costs|damages|compensation|sentence|tribunal)\b))"
    r"|\bmuss(?=[^.,;]*\d)"
    # What must be so for something else, or somewhere: "must be expressed in endothelial cells".
    r"|\bmust (?:\w+ly )?be \w+(?= (?:in|by|on|within|before) \w)|\bmust\b(?=[^.,;]* for .+ to \w)"
    r"|\b(?i:should) (?:it|they|he|she|there)\b"
    r"|\b(?i:it) (?:should|must) be (?:noted|said|added|emphasi[sz]ed)\b"
)
WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_QUOTED = re.compile(r"[“\"„][^“”\"„]*[”\"“]")
MARKS = ' \t\n“”"„.;'
_QUOTATION_MARKS = '"“”„'
_SHORTEST = 2  # words of a statement
LONGEST = 1_500  # characters; these rules were not written for anything longer


def kind_of(text: str, language: str = "en") -> StatementType:
    """Classify a text by rules."""
    if ascription(text, language):
        return StatementType.ASCRIPTIVE
    bare = _NO_DEMAND.sub(" ", _QUOTED.sub(" ", text))
    words = {match[0].replace("’", "'") for match in WORD.finditer(bare)}
    valued = language in _VALUED and _VALUED[language].search(_QUOTED.sub(" ", text))
    opinion = language in _OPINION and _OPINION[language].search(bare)
    if valued or opinion or words & _NORMATIVE.get(language, frozenset()):
        return StatementType.NORMATIVE
    return StatementType.DESCRIPTIVE


def without_speaker(text: str) -> tuple[str, str]:
    """Return the speaker named before a colon, or "", and the statement.

    >>> without_speaker("Mayor Holm: The mill closed.")
    ('Mayor Holm', 'The mill closed.')
    """
    match = _PREFIX.fullmatch(text) if len(text) <= LONGEST else None
    if match is None or match["who"].split()[0] in _DENIED:
        return "", text
    german = identify(match["what"]) == "de"
    if not german and not finite_verb(match["what"]):
        return "", text
    statement = match["what"][0].upper() + match["what"][1:]
    return "" if match["who"] in _LABELS else match["who"], statement


def ascription(text: str, language: str = "en") -> Ascription | None:
    """Return what the text ascribes to a speaker; None if nothing.

    >>> ascription("Berg falsely claims that the mill closed.")[:4]
    ('the mill closed', 'Berg falsely', False, True)
    """
    text = text.strip().removesuffix(".")
    if language == "de":
        return _german(text) if len(text) <= LONGEST else None
    if _BUT.search(text):
        return None  # "X claims that Y, but Z"
    for pattern in _ATTRIBUTIONS if language == "en" and len(text) <= LONGEST else ():
        match = pattern.fullmatch(text)
        if match is None:
            continue
        named = match.groupdict()
        what = named.get("what") or ""
        bare = what.strip(MARKS)
        if sum(bare.count(mark) for mark in _QUOTATION_MARKS) % 2:  # a quotation inside
            bare = what.strip(" \t\n.;")
        rest = (named.get("rest") or "").rstrip(" .")
        content: str | None = bare + rest
        if "verb" in named:
            content = _said_by(match, bare)
        elif "said" in named:
            content = _reported(match, bare, rest)
        elif named.get("by") and not finite_verb(bare + rest):
            continue
        if content is not None and (content == "" or len(content.split()) >= _SHORTEST):
            lead = text[: match.start("what")] if "verb" in named else ""
            denied = bool(content) and not _NOT_SO.isdisjoint(lead.lower().split())
            speaker = (named.get("by") or named.get("who") or "").strip(" .")
            return Ascription(content, speaker, bool(named.get("by")), denied)
    return None


def _german(text: str) -> Ascription | None:
    """As `ascription`; the content is empty if its order is in doubt."""
    main = main_clause(text)
    if match := _GERMAN.fullmatch(text):
        if quoted := match["turn"] or match["tag"]:
            return Ascription(quoted.strip(MARKS), match["by"] or match["name"])
        lead, what, that = text[: match.start("what")].lower(), match["what"], match["that"]
        said = None if that else main_clause(what)
        content = main_order(what) if that else str(said.indicative() if said else "")
        if that or (said and ", " in lead):
            open_ = that == "ob " or NEGATIONS["de"] & {*lead.split()} or _HOFFEN.search(lead)
            denied = bool(_LEUGNEN.search(lead))
            content, unread = ("", False) if open_ else (content, not content)
            return Ascription(content, match["who"], denied=denied, unread=unread)
    if main and (by := _BY.fullmatch(" ".join(main.before))):
        return Ascription(main_order(str(main._replace(before=[]))), by[1] or by[2], beside=True)
    hearsay = main and main.verb.startswith("soll") and main.indicative() != main
    return Ascription(str(main.indicative())) if main and hearsay else None


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
    plain = verb == infinitive  # a noun as often, as in "a report"
    if plain and not (verb in _MANY_SAY and (is_plural(match["who"]) or who[-1] in _MANY)):
        return None
    sure = bool(syntax.Sentence.read(content, Span(0, len(content))).verbs)
    if match["what"].lstrip()[:1] in '“"' or sure:
        return content
    if infinitive in _MANY_SAY and finite_verb(content):
        return content
    # "denies all charges" ascribes something; "reported a loss" states an action.
    return "" if infinitive in ("deny", "doubt", "believe") else None


def _reported(match: re.Match[str], what: str, rest: str) -> str | None:
    """The content of “It is said that …” and “X is said to be …”."""
    if "not" in match["how"].split() or "never" in match["how"].split():
        return ""
    if "do" not in match.groupdict():
        return "" if match["said"] in ("feared", "hoped", "expected") else what
    plural, do = is_plural(what), match["do"]
    if do == "be":
        return f"{what} {'are' if plural else 'is'}{rest}"
    if do == "have been":
        return f"{what} {'were' if plural else 'was'}{rest}"
    return f"{what} {do if plural else syntax.third_person(do)}{rest}"


# ── Negations by rule: "not" beside the verb of a plain sentence, else "it is not the case that" ──

_NOT_THE_CASE = {"en": "It is not the case that ", "de": "Es trifft nicht zu: "}
# Where "not" might deny less than the whole: "all", "because", "may not"; before it, "two" too.
_UNPLAIN = frozenset("may might must shall cannot due owing thanks , ; :".split()).union(
    syntax.SUBORDINATORS - {"that"},
    *(words_of("readings", key) for key in ("quantifiers", "undeniable")),
)
_UNPLAIN_BEFORE = _UNPLAIN | words_of("readings", "amounts") | frozenset("a an do does did".split())
_GERMAN_QUOTE = re.compile(r"[„“\"”:;?]")
_SUBORDINATE = re.compile(  # also “sagt, die Steuer sei …”
    rf", (?:(?:dass|ob|weil|obwohl|da|wenn)\b|.* (?:{'|'.join(INDICATIVE)})\b)[^,]*"
)
_WORD = re.compile(r"[a-z]+(?:[’']t)?|\d+|[,;:]")


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
    known = first in (syntax.PARTICLES | syntax.DETERMINERS | _UNPLAIN_BEFORE) - {"i"}
    whole = text[:1].lower() + text[1:] if known else text
    return _plain(text) or _NOT_THE_CASE["en"] + whole


def _german_negation(text: str) -> str:
    clause = None if _GERMAN_QUOTE.search(text) else main_clause(text)
    if clause is None or (clause.tail and not _SUBORDINATE.fullmatch(clause.tail)):
        return _NOT_THE_CASE["de"] + text
    plain = "" if "weil" in clause.tail else clause.denied()
    return (plain or f"Es trifft nicht zu, dass {clause.verb_last()}") + "." * text.endswith(".")


def _plain(text: str) -> str:
    own = text.partition(" that ")[0]
    verb = finite_verb(own)
    if verb is None:
        return ""
    before, after = text[: verb.start], text[verb.end :]
    ahead = _WORD.findall(before.lower())
    unplain = _UNPLAIN.intersection(_WORD.findall(own[verb.start :].lower()))
    counted_or_so = _UNPLAIN_BEFORE.intersection(ahead) or any(
        word.isdigit() or word.endswith("ly") for word in ahead
    )
    if not ahead or unplain or counted_or_so:
        return ""
    if verb.base:
        do = {"third": "does", "base": "do", "past": "did"}[verb.form]
        return f"{before}{do} not {verb.base}{after}"
    deny = "cannot" if verb.word == "can" else f"{verb.word} not"
    return "" if verb.word.endswith("n't") else f"{before}{deny}{after}"
