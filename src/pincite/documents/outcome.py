"""Decides whether a page can be read as a source, and whether it copies Wikipedia.

Rejecting a real page is worse than accepting an error page, so all signs apply only to short texts.
Paywalls and scripts have rules of their own, since a teaser has statements and a shell has no text;
`notices` recognises the other pages in place of a source.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import unquote

from pincite.documents import notices
from pincite.documents.notices import Signs, cue_pattern, normalise, title_parts
from pincite.text import patterns
from pincite.text.hosts import is_front, original_of
from pincite.text.sentences import n_words
from pincite.types import Reason, Unchecked

# Calibrated on the 60 pages of Mozilla Readability's tests (median 760 words) and 82 pages of web
# archives (median 511): these limits reject none of them, although one declares itself not free
# (326 words). Teasers before a paywall have one to four paragraphs, notices one.
TEASER_WORDS = 250
TEASER_WORDS_BY_CLASS = 100  # class names alone are weak: templates of free pages carry them too
NOTICE_WORDS = 250
SHELL_WORDS = 100
SCRIPTED_WORDS = 25
BARE_WORDS = 8  # besides the headline
_AT_START = re.compile(r"(\A|[\n.!?…。:]\W*)\Z")
_AT_END = re.compile(r"[\s.!…。]*(\Z|\n|[.!…。])")

REASONS = {
    "gone": (Reason.SOFT_404, "the page reports itself as not found"),
    "parked": (Reason.USURPED, "the domain is parked"),
    "consent": (Reason.CONSENT, "the page asks for consent"),
    "login": (Reason.LOGIN, "the page requires a login"),
    "robot": (Reason.REFUSED, "the copy is a robot check"),
    "blocked": (Reason.REFUSED, "the copy is a refusal page"),
    "moved": (Reason.NOT_SUPPLIED, "the copy only redirects to another page"),
    "archive": (Reason.NOT_SUPPLIED, "the archive has no copy"),
    "listing": (Reason.LISTING, "the page is a list of other pages"),
    "front": (Reason.FRONT_PAGE, "the copy is the site's front page"),
}
# An address of search results or of a topic: its page is supposed to be a list.
_P = patterns(__file__, "outcome")
_LISTING_PLACE = _P["listing_place"]


@dataclass(frozen=True, slots=True)
class Markup(Signs):
    """A page as its markup shows it."""

    visible: str = ""  # all text except scripts, navigation and footer
    n_scripts: int = 0
    not_free: bool = False  # JSON-LD or microdata: isAccessibleForFree is false
    paywall_class: str = ""  # a class or id that names a paywall
    noscript: str = ""  # what the page shows where scripts are off
    address: str = ""  # that the page states as its own


_BLOCKS = "p li td dd div small footer address blockquote body h1 h2 h3 h4 h5 h6".split()
_BLOCK = " or ".join(f"self::{tag}" for tag in _BLOCKS)
_NAMED = " or ".join(f"contains(., '{name}')" for name in ("ikip", "икип", "ウィキペ", "维基百科"))
_MENTIONS = (  # the first and last: a list of references may link it a thousand times
    "(//body/descendant-or-self::*[not(self::script or self::style)]"
    f"[text()[{_NAMED}] or contains(@href, 'wikipedia.org/')])"
    "[position() <= 100 or position() > last() - 100]"
    f"/ancestor-or-self::*[{_BLOCK}][1][not(self::h1)]"
)
_ARTICLE = _P["article"]
MENTION_CHARS = 1_000
COPY_SIGNS = 3  # a news story that links its subject's article, and the list of its versions, has 2


def of_page(url: str, text: str, article: str, markup: Markup) -> Unchecked | None:
    """Classify a page; None if it can be read as a source.

    `text` is what would be kept of the page, `article` its running text: a teaser among many
    headlines is a short article on a page with much text.
    """
    words, markup = n_words(text), replace(markup, text=markup.text or text)
    reason = None
    if n_words(markup.text[: notices.NOTICE_CHARS]) <= NOTICE_WORDS:
        reason = _notice(url, markup) or _needs_scripts(words, text, markup)
    reason = reason or _paywall(n_words(article) or words, markup)
    if not reason and words == 0:
        reason = Reason.EMPTY, "the page has no text"
    return Unchecked(url, *reason) if reason else None


def copied_article(tree: Any, title: str) -> str:
    """Return the Wikipedia article that a page copies, or "Wikipedia"; empty if it copies none.

    A copy names Wikipedia below its headline, or states two of: this text is Wikipedia's, under
    its licence, and the article of the same title is linked.
    """
    headings = (title, *tree.xpath("//h1//text()"))
    names = {_name(part) for heading in headings for part in (heading, *title_parts(heading))}
    for block in tree.xpath(_MENTIONS):
        links = filter(None, map(_ARTICLE.match, block.xpath(".//a/@href")))
        same = [link for link in links if _name(unquote(link["title"])) in names]
        if _states_copy(block, same):
            return same[0][0] if same else "Wikipedia"
    return ""


def _states_copy(block: Any, same: Sequence[re.Match[str]]) -> bool:
    """Whether a block that mentions Wikipedia states a copy; `same`: links to the article."""
    beside = [near for near in (block.getprevious(), block.getnext()) if near is not None]
    text, *texts_beside = (near.text_content()[:MENTION_CHARS] for near in (block, *beside))
    text = normalise(" ".join([text, *block.xpath(".//a/@rel")])).strip()
    around = normalise(" ".join([text, *texts_beside]))
    attributed = bool(cue_pattern("attributed").search(text))
    credited = not attributed and cue_pattern("credit").search(around)
    licensed = bool(cue_pattern("share_alike").search(around) and not credited)
    links_versions = any(link["version"] for link in same)
    n_signs = bool(same) + links_versions + attributed + 2 * licensed
    return n_signs >= COPY_SIGNS or cue_pattern("tagline").fullmatch(text) is not None


def _name(title: str) -> str:
    return re.sub(r"[\W_]+", " ", title.partition("(")[0]).strip().lower()


def signs_of(url: str, markup: Markup) -> Signs:
    """Return what `notices` weighs, with what follows from the requested address."""
    address = original_of(url if url.startswith("http") else markup.address)  # that a file states
    at_front = is_front(markup.address) and bool(address) and not is_front(address)
    may_list = not is_front(address) and _LISTING_PLACE.search(address) is None
    return replace(markup, at_front=at_front, may_list=may_list)


def _notice(url: str, markup: Markup) -> tuple[Reason, str] | None:
    if notice := notices.find_notice(signs_of(url, markup)):
        reason, what = REASONS[notice.kind]
        return reason, f"{what}: “{notice.cue}”"
    if markup.asks_password and n_words(markup.text) - n_words(markup.headline) < BARE_WORDS:
        return Reason.LOGIN, "the page asks for a password and has no other text"
    return None


def _paywall(words: int, markup: Markup) -> tuple[Reason, str] | None:
    if words > TEASER_WORDS:
        return None
    readable = f"; {words} words are readable"
    text = normalise(markup.visible)
    is_short = n_words(markup.visible) <= 2 * TEASER_WORDS
    hint = cue_pattern("hint").search(text) if is_short else None
    phrases = (match for match in cue_pattern("paywall").finditer(text) if _stands_alone(match))
    if match := next(phrases, None) or hint:
        return Reason.PAYWALL, f"“{match[0]}”{readable}"
    if markup.not_free:
        return Reason.PAYWALL, f"the page declares isAccessibleForFree: false{readable}"
    if markup.paywall_class and words <= TEASER_WORDS_BY_CLASS:
        return Reason.PAYWALL, f"a part of the page is marked “{markup.paywall_class}”{readable}"
    return None


def _stands_alone(match: re.Match[str]) -> bool:
    """Whether a phrase begins or ends its sentence, outside of quotation marks."""
    before, after = match.string[: match.start()], match.string[match.end() :]
    is_at_end = _AT_START.search(before[-8:]) or _AT_END.match(after)
    return is_at_end is not None and not before.endswith(tuple('"“„«»‘「『'))


def _needs_scripts(words: int, text: str, markup: Markup) -> tuple[Reason, str] | None:
    seen = normalise(f"{markup.visible}\n{text}"[: notices.NOTICE_CHARS])
    says_so = cue_pattern("scripts").search(seen)
    needs_scripts = says_so and not notices.has_statement(text, markup.title)
    asks = needs_scripts or cue_pattern("scripts").search(normalise(markup.noscript))
    bare = words - n_words(markup.headline) < BARE_WORDS
    is_shell = needs_scripts and words < SHELL_WORDS
    if markup.n_scripts and ((words < SCRIPTED_WORDS and (bare or asks)) or is_shell):
        return Reason.EMPTY, f"a page rendered by scripts: {words} words without them"
    return None
