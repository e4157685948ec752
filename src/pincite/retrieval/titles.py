"""Titles of web pages: which of them say something, and how a guessed one is asked for.

GAR (Mao et al. 2021) adds to a query what a model guesses of the answer; SIDE (Petroni et al.
2023, Methods) has it guess the title of the page that a claim's citation leads to.
"""

import re
import unicodedata

from pincite.completions import Prompt
from pincite.retrieval import queries
from pincite.text.fences import DATA_RULE, fenced
from pincite.types import Claim

CONTEXT_WORDS = 150  # of a claim's context; about 200 tokens, and what stands farther says little
LONGEST = 200  # characters of a title; longer ones are descriptions
REPLY_TOKENS = 400  # of a server's reply: models that think aloud need more than a title's length

_VARIANT = queries.VARIANTS["only_before_cit+title+section"]  # what SIDE's generator reads
_HOST = re.compile(r"(?:https?://)?(?:[\w-]+\.)+[a-z]{2,}(?::\d+)?(?:/\S*)?", re.IGNORECASE)
# What archives, error pages, bots and doors are called; none of it tells one page from another.
_JUNK = re.compile(
    r"(?:archived?(?: copy| page| version)?(?: from the original)?|"
    r"(?:http )?error\W*(?:4|5)\d\d\b.*|(?:4|5)0\d(?:\W+(?:error|not found|bad|forbidden|page|"
    r"internal|server|service|gateway|unauthori[sz]ed)\b.*)?|(?:page|file|url) not found.*|"
    r"not found|access denied.*|forbidden|bad gateway|service unavailable|just a moment.*|"
    r"attention required.*|are you a (?:human|robot).*|(?:please )?(?:log|sign)[ -]?in.*|subscribe|"
    r"untitled.*|no title|title|home ?page|home|welcome|index|default|document|redirect.*|"
    r"loading.*|website|web ?page|link|source|reference|google (?:books|news|maps|translate)|"
    r"usurped title|wayback machine|internet archive|cookies?.*|domain (?:name )?for sale.*)",
    re.IGNORECASE,
)
_LABEL = re.compile(r"\A(?:page )?title\s*:\s*", re.IGNORECASE)
_QUOTES = "\"'“”‘’«»*_`#"


def context_of(claim: Claim) -> str:
    """What a writer of titles reads of a claim: title, section, and the text up to the citation.

    >>> context_of(Claim("c", "It opened in 1911.", "Varde Bridge", ("History",)))
    'Varde Bridge [SEP] History [SEP] It opened in 1911.'
    """
    return queries.context_query(claim, _VARIANT, CONTEXT_WORDS)


def is_junk(title: str) -> bool:
    """Whether the title tells nothing of its page: empty, an address, an error, an archive's.

    >>> [is_junk(t) for t in ("404 Not Found", "nytimes.com", "Archived copy", "1911 in Varde")]
    [True, True, True, False]
    """
    plain = " ".join(title.split()).strip(".:!-–—|… ")
    if len(plain) > LONGEST or sum(char.isalnum() for char in plain) < 2:
        return True
    if plain.isnumeric():
        return True
    return bool(_HOST.fullmatch(plain) or _JUNK.fullmatch(plain))


def cleaned(reply: str) -> str:
    """A model's reply as one title: its first line that is no junk, without label and quotes.

    Empty if it has none.

    >>> cleaned('Title: "A century of Varde Bridge"')
    'A century of Varde Bridge'
    >>> cleaned("404 Not Found")
    ''
    """
    for line in reply.splitlines():
        line = "".join(" " if unicodedata.category(c)[0] == "C" else c for c in line)
        title = _LABEL.sub("", " ".join(line.split()).strip(_QUOTES + " ")).strip(_QUOTES + " ")
        if not is_junk(title):
            return title
    return ""


def prompt_for(context: str) -> Prompt:
    """A chat model is asked for the title of the page that the context's last sentence cites."""
    return Prompt(
        system="You guess titles of web pages. " + DATA_RULE,
        user="The text ends where an encyclopedia cites a web page as its source. What is the "
        "title of that page likely to be? Reply with one title on one line, in the language of "
        "the text, and nothing else.\n\n" + fenced(context),
        max_tokens=REPLY_TOKENS,
    )
