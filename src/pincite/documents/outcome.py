"""Why a page that was fetched is no source: gone, refused, behind a paywall, or without a text.

Pure functions over an HTTP status, or over a page's text and what its markup gives away. Each
pattern needs a short text beside it: a long article with "Subscribe" in its footer is an article.
"""

import re
from dataclasses import dataclass

from pincite.text.sentences import n_words
from pincite.types import Reason, Unchecked

# Calibration: of the 60 pages of Mozilla Readability's cases (median 760 words) and 82 pages of
# web archives (median 511) these limits turn none away, although one declares itself not free (326
# words). Teasers before a paywall have one to four paragraphs, notices one.
TEASER_WORDS = 250
TEASER_WORDS_BY_CLASS = 100  # class names alone are weak: templates of free pages carry them too
NOTICE_WORDS = 100
CONSENT_SIGNS = 3  # different phrases; articles about cookies are longer
SCRIPTED_WORDS = 25
NOTICE_CHARS = 5_000  # a "word" may have megabytes, and searching them takes seconds

_PAYWALL = re.compile(
    r"(subscribe|sign up|register|log ?in|sign in|create (a|an|your)( free)? account)"
    r"( now| today)?,? (to|and) (continue|keep|finish) reading"
    r"|to (continue|keep) reading( this (article|story))?,? (please )?(subscribe|register|log ?in)"
    r"|(subscribe|log ?in|sign in|register) to (read|unlock|access|view) (the|this) (full|whole"
    r"|rest|entire|article|story|content)"
    r"|(article|story|content|page) is (only |exclusively )?(available )?(for|to|reserved for) "
    r"(our |paying |registered )?(subscribers|members)"
    r"|(subscribers?|members?)[- ]only (article|story|content)|exclusive to subscribers"
    r"|you('ve| have) (reached|read|used) (your|all|the)( \S+){0,4} free (article|stor)"
    r"|get (full )?access to this article"
    r"|jetzt weiterlesen|(artikel|inhalt) ist (nur )?für abonnenten"
    r"|réservé(e)? (à nos|aux) abonnés|il vous reste [\d,. ]+ ?% de cet article"
    r"|(contenido|artículo) (exclusivo|solo) para (suscriptores|socios)"
    r"|(contenuto|articolo) riservato agli abbonati",
    re.IGNORECASE,
)
# These stand on front pages and in the margins of free articles too.
_PAYWALL_HINT = re.compile(
    r"already (a |have a )(subscriber|member|subscription)\?|purchase (this )?article"
    r"|(bereits|schon) (ein abo|abonnent)|déjà abonné|ya es suscriptor",
    re.IGNORECASE,
)
_ROBOT_CHECK = re.compile(
    r"verify(ing)? (that )?you are (a )?human|checking your browser|are you a robot"
    r"|(complete|solve) the captcha|enable javascript and cookies to continue|unusual traffic from"
    r"|access (to this page has been )?denied|request blocked|just a moment\.\.\."
    r"|pardon our interruption",
    re.IGNORECASE,
)
_CONSENT = re.compile(
    r"before you continue|(we|site|partners) (and our partners )?(uses?|store) cookies"
    r"|accept (all )?cookies|manage (your )?(privacy|cookie|consent)|your privacy choices"
    r"|wir verwenden cookies|nous utilisons des cookies|utilizamos cookies",
    re.IGNORECASE,
)
_NEEDS_SCRIPTS = re.compile(
    r"(enable|turn on|requires?|without|need) (javascript|js\b)|javascript (is |to be )?"
    r"(disabled|required|enabled|turned off)",
    re.IGNORECASE,
)
_GONE = re.compile(
    r"\W*(error )?404\b|(error\W+)?((the )?page|article|file|document|content) "
    r"(is |was |could |can )?(not|no longer|cannot)( be)? (found|available|exist)"
    r"|(sorry\W+)?(we )?(can('|’)t|cannot|couldn('|’)t) find (that|the|this) page"
    r"|seite (wurde )?nicht gefunden|page introuvable|página no encontrada",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Markup:
    """What a page's markup says beside its text."""

    title: str = ""
    visible: str = ""  # all text but scripts, navigation and footer
    n_scripts: int = 0
    not_free: bool = False  # JSON-LD or microdata: isAccessibleForFree is false
    paywall_class: str = ""  # a class or id that names a paywall
    asks_password: bool = False  # holds a field for one


def of_status(url: str, status: int | None) -> Unchecked | None:
    """The result that an HTTP status alone decides; `None` if the body is worth reading.

    >>> of_status("https://example.org/", 404).reason, of_status("https://example.org/", 200)
    (<Reason.DEAD: 'dead'>, None)
    """
    if status is None or status < 300:
        return None
    if status < 400:
        detail = f"HTTP {status}: a redirect, the page it leads to is not stored"
        return Unchecked(url, Reason.NOT_SUPPLIED, detail)
    reasons = {404: Reason.DEAD, 410: Reason.DEAD, 402: Reason.PAYWALL}
    return Unchecked(url, reasons.get(status, Reason.REFUSED), f"HTTP {status}")


def of_page(url: str, text: str, article: str, markup: Markup) -> Unchecked | None:
    """The result for a page that is no source; `None` if it can be read as one.

    `text` is what would be kept of the page, `article` what of it is running text: a teaser among
    many headlines is a short article on a page with much text.
    """
    words = n_words(text)
    found = (
        _notice(words, text[:NOTICE_CHARS], markup.title)
        or _paywall(n_words(article) or words, markup)
        or _consent_wall(words, text[:NOTICE_CHARS])
        or _login(words, markup)
        or _scripted(words, markup)
    )
    return Unchecked(url, *found) if found else None


def _notice(words: int, text: str, title: str) -> tuple[Reason, str] | None:
    """A page that is nothing but one notice: not found, are you a robot, may we store cookies."""
    if words > NOTICE_WORDS:
        return None
    if match := _GONE.match(title) or _GONE.match(text.lstrip()):
        return Reason.SOFT_404, f"the page calls itself not found: “{match[0].strip()}”"
    if match := _ROBOT_CHECK.search(f"{title}\n{text}"):
        return Reason.REFUSED, f"the copy holds a robot check: “{match[0]}”"
    if words < NOTICE_WORDS // 2 and (match := _CONSENT.search(text)):
        return Reason.CONSENT, f"the copy holds a consent notice only: “{match[0]}”"
    return None


def _consent_wall(words: int, text: str) -> tuple[Reason, str] | None:
    """A longer notice, with vendors and purposes: it speaks of nothing but consent."""
    if words > TEASER_WORDS:
        return None
    said = list(dict.fromkeys(match[0].lower() for match in _CONSENT.finditer(text)))
    if len(said) < CONSENT_SIGNS:
        return None
    return Reason.CONSENT, f"the page asks for consent: “{said[0]}”, “{said[1]}”"


def _login(words: int, markup: Markup) -> tuple[Reason, str] | None:
    """A form for name and password with hardly a word beside it."""
    if words > NOTICE_WORDS or not markup.asks_password:
        return None
    return Reason.LOGIN, f"the page asks for a password; {words} words are readable"


def _paywall(words: int, markup: Markup) -> tuple[Reason, str] | None:
    if words > TEASER_WORDS:
        return None
    stored = f"; {words} words are readable"
    all_words = n_words(markup.visible)
    hint = _PAYWALL_HINT.search(markup.visible) if all_words <= 2 * TEASER_WORDS else None
    if match := _PAYWALL.search(markup.visible) or hint:
        return Reason.PAYWALL, f"“{match[0]}”{stored}"
    if markup.not_free:
        return Reason.PAYWALL, f"the page declares isAccessibleForFree: false{stored}"
    if markup.paywall_class and words <= TEASER_WORDS_BY_CLASS:
        return Reason.PAYWALL, f"a part of the page is marked “{markup.paywall_class}”{stored}"
    return None


def _scripted(words: int, markup: Markup) -> tuple[Reason, str] | None:
    if words == 0 and not markup.n_scripts:
        return Reason.EMPTY, "the page has no text"
    asks = _NEEDS_SCRIPTS.search(markup.visible) is not None
    if markup.n_scripts and (words < SCRIPTED_WORDS or (asks and words < NOTICE_WORDS)):
        return Reason.EMPTY, f"a page drawn by scripts: {words} words without them"
    return None
