"""Who speaks: in a quote, and in the statement itself.

Words that a document ascribes to a speaker are not its own. A speaker who is not named counts as
unnamed: a wrong name would be worse. A statement as it was spoken is made to stand alone: what only
addresses the listener is left out ("Look, let me be clear: …"), and "I", "our council", "last year"
and "here" become what its speaker, date and place say. English, and what `ascription` knows of
other languages.
"""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from typing import Annotated

from pincite.judgement.attribution import subject_name
from pincite.judgement.provenance import named_speaker
from pincite.text import syntax, words_of
from pincite.text.finite import NOT, finite_verb, lemmas
from pincite.text.sentences import n_words, source_sentences
from pincite.text.times import resolved
from pincite.text.words import names, shared
from pincite.types import Doc, Span
from pincite.verbs.check.kinds import LONGEST, SAYS, ascription

UNNAMED = "an unnamed speaker"
_PRONOUNS = frozenset("he she they him her them we us i me it".split())
# "The results suggest that" and "we found that" are the document's own words.
_ITSELF, _NO_SPEAKER = (words_of("readings", name) for name in ("own_words", "no_turn"))
_SHORTEST = 3  # words of a quotation; shorter ones are terms and titles
_NEAR, _BACK = 2_000, 8  # characters before a quote, and sentences, searched for a name
_FOLLOWING = 600  # characters behind it
_QUOTATION = re.compile(
    r"“[^“”\n]*(?:”|$)|^[^“”„\n]*”|(?<!\w)\"(?=\S)[^\"\n]*(?:\"|$)|„[^“”\n]*[“”]|«[^«»\n]*»"
    r"|(?<!\w)‘(?=\w)[^‘\n]*?[,.?!…]’(?!\w)",
    re.MULTILINE,
)
_VERBS = "|".join([SAYS, *words_of("readings", "finding"), *words_of("readings", "tags")])
_CAPITAL = r"[A-ZÀ-Þ][\w’'-]{0,40}\.?"
_NAME = rf"{_CAPITAL}(?: (?:(?:of|the|de|von|van|du) )?{_CAPITAL}){{0,6}}"
_ADVERB = r"(?:(?:\w+ly|also|then|later|has|have|had|once) )*"
# "The candidate in the Harbour ward, Judith Amory, said", "Mr Thole, who leads the group, told"
_SAYER = re.compile(
    rf"(?:\A|(?<=[\s(]))(?P<who>{_NAME})(?:,[^,;“”]{{1,80}},)?,? {_ADVERB}(?:{_VERBS})\b"
)
_NO_VERB = "|".join([*syntax.PREPOSITIONS, *syntax.BE, "and", "or", "but", "who", "which", "as"])
_TAG = re.compile(  # behind a quotation
    rf",?\s+(?:(?P<who>{_NAME}),? (?:[^,;“”]{{1,80}}, )?(?!(?:{_NO_VERB})\b)[a-z]+"
    rf"|(?P<any>(?:the|an?|its|their|his|her|one) [\w’' -]{{1,40}}?|he|she|they|I|we) "
    rf"{_ADVERB}(?:{_VERBS})\b"
    rf"|(?!(?:{_NO_VERB})\b)[a-z]+ "
    rf"(?P<after>(?:(?:the|an?|its|their|his|her) )?(?:[a-z]+,? ){{0,3}}?{_NAME}|he|she|they)"
    rf"|(?:{SAYS}) (?P<office>(?:the|an?|its|their|his|her|one) [\w’' -]{{1,40}}))"
)
# "TOM BELSEY: And the list is longer than ever." A label that recurs is a speaker's.
_TURN = re.compile(
    rf"^[*_#]{{0,3}}(?P<who>{_CAPITAL}(?: {_CAPITAL}){{0,4}})[*_]{{0,3}}:[*_]{{0,3}}"
    r"\s+\S.*[.?!…”\"’)]$",
    re.MULTILINE,
)


def speaker_in(reading: str, text: str, quote: Span, language: str = "en") -> str:
    """Return to whom `text` ascribes the words of a quote that state a reading; "" if to none.

    >>> text = "Ada Holm left. “The debt has doubled,” he told a crowd."
    >>> speaker_in("The debt has doubled.", text, Span(15, len(text)))
    'Ada Holm'
    """
    weights = dict[str, float]()
    for sentence in source_sentences(quote.of(text), language):
        span = sentence.moved(quote.start)
        who = _who(reading, text, span, language)
        weights[who] = max(shared(reading, span.of(text)), weights.get(who, 0.0))
    own = weights.pop("", -1.0)
    return "; ".join(weights) if own <= max(weights.values(), default=-2.0) else ""


def _who(reading: str, text: str, span: Span, language: str) -> str:
    sentence, turns = span.of(text), _turns(text)
    if turns and turns[0][0] < span.end:
        return max(turn for turn in turns if turn[0] < span.end)[1]
    if len(sentence) > LONGEST:
        return ""
    said = ascription(sentence, language)
    name = named_speaker(said.speaker) if said else ""
    if name and _ITSELF.isdisjoint(name.lower().split()):
        return _named(text, span, name)
    start = max(0, text.rfind("\n", 0, span.start) + 1, span.start - _NEAR)
    near = text[start : span.end + _FOLLOWING]
    quotations = (Span(*found.span()).moved(start) for found in _QUOTATION.finditer(near))
    inside = [each for each in quotations if each.overlaps(span)]
    quoted = " ".join(text[max(a, span.start) : min(b, span.end)] for a, b in inside)
    rest = _QUOTATION.sub(" ", sentence) if quoted != sentence else ""
    if n_words(quoted) >= _SHORTEST and shared(reading, quoted) > shared(reading, rest):
        whole = Span(inside[0].start, inside[-1].end)
        return _named(text, whole, _tag(text, start, whole))
    return ""


def _tag(text: str, start: int, quotation: Span) -> str:
    """The name beside a quotation in its paragraph: behind it, else before it."""
    if tag := _TAG.match(text, quotation.end):
        return str(next(filter(None, tag.groups())))
    before = _QUOTATION.sub("\n", text[start : quotation.start])
    found = [*_SAYER.finditer(before)]
    return found[-1]["who"] if found else ""


def _named(text: str, span: Span, name: str) -> str:
    """Return a speaker's name; for a pronoun or none, the one who spoke before."""
    name = named_speaker(name)
    if name and not _PRONOUNS & {*name.lower().split()[:1]}:
        return name
    before = text[max(0, span.start - _NEAR) : span.start]
    for n, each in enumerate(reversed(source_sentences(before, "en")[-_BACK:])):
        sentence = _QUOTATION.sub(" ", each.of(before)).strip()
        found = _SAYER.search(sentence)
        if found and found["who"].lower() not in _PRONOUNS:
            return named_speaker(found["who"])
        subject = "" if n else subject_name(sentence)
        # "Applause followed": one word with a capital because it opens the sentence.
        opens = " " not in subject and sentence.startswith(subject)
        if subject and (not opens or subject in names(before)):
            return subject
    return UNNAMED


@lru_cache(maxsize=16)
def _turns(text: str) -> tuple[tuple[int, str], ...]:
    """The turns of a transcript with their speakers: two labels or more recur."""
    found = [(turn.start(), turn["who"]) for turn in _TURN.finditer(text)]
    often = Counter(who for _, who in found if _NO_SPEAKER.isdisjoint(who.lower().split()))
    recurring = {who for who, n in often.items() if n > 1}
    known = {who: who.title() if who.isupper() and len(who) > 3 else who for who in recurring}
    return tuple((n, known[who]) for n, who in found if who in known) if len(known) > 1 else ()


# ── In the statement ────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class Occasion:
    """Who said a statement, when and where; empty if unknown."""

    speaker: Annotated[str, Doc("given, or named before a colon, as in “Mayor Holm: …”")] = ""
    date: Annotated[str, Doc("of the statement: 2019-05-14, 2019-05 or 2019")] = ""
    place: Annotated[str, Doc("that “here” and “our town” mean")] = ""


UNKNOWN = Occasion()
_CALLS, _FACTS, _PLACES, _HOPES = (
    words_of("spoken", name) for name in ("calls", "facts", "places", "hopes")
)
_PIECE = r"(?P<what>[^,:;“”\"]{1,60}?)"
_OPENING = re.compile(rf"{_PIECE}(?P<mark>[,:–—]| that\b),? ?(?P<rest>[^\s].*)", re.DOTALL)
_CLOSING = re.compile(rf"(?P<rest>.+)[,–—] ?{_PIECE}[.!]?", re.DOTALL)
_LISTENER = frozenset("i me my you your us".split())
_JOINING = frozenset("and but or so who which whose as".split())
_COPULA = re.compile(
    rf"(?:the|that|this)\b.*? (?:is)(?: (?:a|the) (?:\w+ )?(?:{'|'.join(_FACTS)}))?", re.IGNORECASE
)
_SHORT = {"'m": " am", "'re": " are", "'ve": " have", "'ll": " will"}
_CONTRACTED = re.compile(r"(?<=\b[Ii])['’](?:m|ve|ll)\b|\b(?<=[Ww]e|ou)['’](?:re|ve|ll)\b")
_ORGANISATION = re.compile(r"\b(?:of|at|for|from) (?:the )?(?P<name>[A-ZÀ-Þ].*)")
_PLACE = rf"(?:{'|'.join(_PLACES)})"
_THERE = re.compile(
    rf"\b(?:(?i:our|this) {_PLACE}\b(?! \w*(?:council|team))|(?i:around |round |in )?\b[Hh]ere\b)"
)
_OWN = re.compile(r"\b[Oo]ur (?P<noun>(?:[a-z]+ ){0,2}?[a-z]+)\b")
_DOER = re.compile(
    r"\b(?P<who>I|[Ww]e)(?P<how>(?: (?:\w+ly|all|also|always|never|still|just))*)"
    r" (?P<verb>[a-z]+)\b"
)
_AGREES = {"am": "is", "are": "is", "were": "was", "have": "has", "do": "does"}
_LEFT = {"speaker": re.compile(r"\b(?:I|[Ww]e|me|[Mm]y|[Oo]ur|us)\b"), "place": _THERE}
_AGO, _PREPOSED = (
    re.compile(r"\bago\b"),
    re.compile(r"(?:on|in|since|until|by|from|early|late) ", re.I),
)
_ANY_DAY = "2000-01-01"
SHORTEST = 3  # words of what is left


def alone(text: str, occasion: Occasion) -> tuple[str, tuple[str, ...]]:
    """Return the statement without the words to the listener, and what of its occasion it lacks.

    >>> alone("Look, our council froze tax.", Occasion("Ada Holm, mayor of Varde"))
    ("Varde's council froze tax.", ())
    >>> alone("I can tell you that we opened it last year.", Occasion())
    ('We opened it last year.', ('speaker', 'date'))
    """
    text = re.sub(r"\A(It|That)['’]s (?=(?:an? )?\w+ that\b)", r"\1 is ", plain(text))
    text = _expanded(text)
    text, dated = _dated(text, occasion.date)
    text = _resolved(text, occasion)
    lacks = [name for name, words in _LEFT.items() if words.search(text)]
    return text[:1].upper() + text[1:], (*lacks, *(() if dated else ("date",)))


def plain(text: str) -> str:
    """Drop openings and closings that say nothing but that something is being said.

    >>> plain("Look, let me be clear: the mill has closed, and that's a fact.")
    'the mill has closed.'
    """
    while True:
        start, end = _OPENING.fullmatch(text), _CLOSING.fullmatch(text)
        first = text.partition(" ")
        if start and _is_shell(start["what"], start["mark"], start["rest"]):
            text = start["rest"]
        elif end and _is_shell(end["what"], "", end["rest"]):
            text = f"{end['rest'].rstrip(' ,')}."
        elif first[0] in ("And", "But", "So") and len(first[2].split()) >= SHORTEST:
            text = first[2]
        else:
            return text


def _is_shell(what: str, mark: str, rest: str) -> bool:
    """Whether words beside a statement only address the listener; `mark`: "" behind it."""
    spoken = re.sub(r"(?i)\b(that)['’]s\b", r"\1 is", _expanded(what))
    spoken = re.sub(r"(?i)\b(let)['’]s\b", r"\1 us", spoken)
    spoken = re.sub(rf"\A(?:(?:{'|'.join(_JOINING)}) )+", "", spoken, flags=re.IGNORECASE)
    lower = spoken.lower().split()
    named = re.search(r"(?<!\A)\b(?!I\b)[A-ZÀ-Þ]|\d", spoken)
    goes_on = bool(mark) and rest.split(maxsplit=1)[0].lower() in _JOINING
    if named or not lower or goes_on or len(rest.split()) < SHORTEST:
        return False
    if mark != " that" and _CALLS.issuperset(lower):
        return True
    if _COPULA.fullmatch(spoken) and _FACTS.intersection(lower):
        return True
    if _HOPES.union(NOT).intersection(lower[1:]) and lower[0] != "let":
        return False
    if not _LISTENER.intersection(lower):
        return False
    if lower[0] not in ("i", "you", "we"):  # "let me be clear", "mark my words"
        asks = lower[0] in ("would", "can", "let")
        return asks or (mark != " that" and lower[0] in lemmas(lower[0]).get("VERB", ()))
    verb = finite_verb(spoken)
    past = (
        verb is None or verb.form == "past" or verb.word in ("was", "were", "will", "have", "had")
    )
    return not past and (
        mark != "" or lower[-1] in (verb.word if verb else "", "that", "it", "you")
    )


def _expanded(text: str) -> str:
    return _CONTRACTED.sub(lambda match: _SHORT[match[0].replace("’", "'")], text)


def _dated(text: str, date: str) -> tuple[str, bool]:
    """Write out "last year" by the date; also whether nothing of the kind is left."""
    known = [
        each for each in resolved(text, date or _ANY_DAY) if not _AGO.search(each.span.of(text))
    ]
    for span, meant in reversed(known if date else ()):
        given = _PREPOSED.match(span.of(text))
        lead = given[0] if given else "on " if meant[0].isdigit() and " " in meant else "in "
        before = text[: span.start].rstrip().rpartition(" ")[2].lower()
        lead = "" if before in syntax.PREPOSITIONS and not given else lead
        lead = lead.capitalize() if span.start == 0 else lead
        text = f"{text[: span.start]}{lead}{meant}{text[span.end :]}"
    return text, bool(date) or not known


def _resolved(text: str, occasion: Occasion) -> str:
    speaker, _, office = occasion.speaker.partition(",")
    speaker = speaker.strip()
    of = _ORGANISATION.search(office or "")
    group = of["name"].strip() if of else occasion.place
    place = occasion.place or ("" if " " in group else group)

    def own(match: re.Match[str]) -> str:
        ends = group.lower().endswith(f" {match['noun']}")
        return group if ends else f"{group}'s {match['noun']}"

    def does(match: re.Match[str]) -> str:
        who, verb = speaker if match["who"] == "I" else group, match["verb"]
        if not who:
            return match[0]
        base = verb in lemmas(verb).get("VERB", ()) and verb not in syntax.AUXILIARIES
        verb = _AGREES.get(verb) or (syntax.third_person(verb) if base else verb)
        return f"{who}{match['how']} {verb}"

    if place:
        text = _THERE.sub(lambda m: place if m[0][0] in "OoTt" else f"in {place}", text)
    if group:
        text = _OWN.sub(own, text)
    text = _DOER.sub(does, text)
    if speaker:
        text = re.sub(r"\b[Mm]y\b", f"{speaker}'s", re.sub(r"\bme\b", speaker, text))
    return re.sub(r"\bus\b", group, text) if group else text
