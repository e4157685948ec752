"""Who speaks in a quote: words that a document ascribes to a speaker are not its own.

English, and what `ascription` knows of other languages. A speaker who is not named counts as
unnamed: a wrong name would be worse.
"""

import re
from collections import Counter
from functools import lru_cache

from pincite.judgement.attribution import subject_name
from pincite.judgement.provenance import named_speaker
from pincite.text import syntax, words_of
from pincite.text.sentences import n_words, source_sentences
from pincite.text.words import names, shared
from pincite.types import Span
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
