"""Sentences that ask and assert nothing, as abstracts and headlines have them.

"To assess whether screening improves vision" holds every word of "screening improves vision", and a
network takes it for support even where the conclusion says the contrary. The rules are narrow: a
sentence that asserts something before it asks, an interviewer's question, whose answer needs it,
and what somebody wanted to do stay.
"""

import re

_SEEK = (
    r"(?:analy[sz]|ascertain|ask|assess|clarif|compar|determine|establish|estimat|evaluat|examin"
    r"|explor|find\ out|identif|investigat|measur|quantif|review|stud|test|understand|verif)\w*"
)
_OPEN = (
    r"(?:see|known?|unknown|clear|unclear|uncertain|debated?|disputed|controversial|question\w*)"
)
_STUDY = r"(?:study|trial|review|paper|article|analysis|meta-analysis|work|experiment|survey)"
_BEFORE = r"\W*+(?:\w++\W++){0,8}?"  # what asks later than that may assert something first
_ASKS = re.compile(
    rf"""
    \W*(?:Is|Are|Was|Were|Do|Does|Did|Can|Could|Will|Has|Have|Should)\b(?!.*\byou).*\?["”’)]*\s*\Z
    | {_BEFORE}(?:{_SEEK}|{_OPEN})\b(?:(?:\W++\w++){{0,5}}?\W++whether|\ if)\b
    | \W*(?:[Hh]owever,\ )?[Ww]hether\b.*\b(?:{_OPEN}|not\ been\ \w+|remains?)\b
    | {_BEFORE}(?:[Ww]e\ hypothesi[sz]ed?|test\w*\ (?:the|this|our|a)\ hypothes[ie]s)\b
    | \W*(?:[A-Z]{{3,}}+\W++){{1,4}}To\ {_SEEK}\b  # a structured abstract: OBJECTIVE To assess
    | .{{0,40}}\b(?:aims?|purpose|objectives?|goals?)\ of\ (?:this|the|our)\ (?:\w+\ )?{_STUDY}\b
    | .{{0,40}}\b(?:[Oo]ur\ (?:aim|goal|objective)s?\ (?:is|are|was|were)
        | [Ww]e\ (?:aim(?:ed)?|sought|set\ out)
        | [Tt]h(?:is|e\ present)\ {_STUDY}\ (?:aim(?:s|ed)|seeks|sought|set\ out))\ to\ {_SEEK}\b
    """,
    re.VERBOSE,
)


def asks(sentence: str) -> bool:
    """Whether a sentence asks something, or says what is to be found out.

    >>> asks("OBJECTIVE To assess whether screening improves vision.")
    True
    >>> asks("It is unclear whether the bridge was rebuilt."), asks("Did it close?")
    (True, True)
    >>> asks("The council voted on whether to close it."), asks("Screening improves vision.")
    (False, False)
    """
    return _ASKS.match(sentence) is not None
