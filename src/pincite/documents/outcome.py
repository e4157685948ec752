"""Detects pages that are not sources: gone, blocked, behind a paywall, or without text.

Rejecting a real page is worse than accepting an error page. So patterns apply only to short texts,
and all but the paywall patterns only if no sentence is about anything other than the
page itself: a page on bus 404 with "Sign in" in its margin is a real page.
"""

import re
from dataclasses import dataclass

from pincite.text.sentences import n_words, sentences
from pincite.types import Reason, Unchecked

# Calibrated on the 60 pages of Mozilla Readability's tests (median 760 words) and 82 pages of web
# archives (median 511): these limits reject none of them, although one declares itself not free
# (326 words). Teasers before a paywall have one to four paragraphs, notices one.
TEASER_WORDS = 250
TEASER_WORDS_BY_CLASS = 100  # class names alone are weak: templates of free pages carry them too
NOTICE_WORDS = 100
CONSENT_SIGNS = 3  # different phrases; articles about cookies are longer
SCRIPTED_WORDS = 25
NOTICE_CHARS = 5_000  # a single "word" can have megabytes, and searching it takes seconds

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
# These also appear on front pages and beside free articles.
_PAYWALL_HINT = re.compile(
    r"already (a |have a )(subscriber|member|subscription)\?|purchase (this )?article"
    r"|(bereits|schon) (ein abo|abonnent)|déjà abonné|ya es suscriptor",
    re.IGNORECASE,
)
_ROBOT_CHECK = re.compile(
    r"verify(ing)? (that )?you are (a )?human|(checking|verifying) your browser|are you a robot"
    r"|you are not a robot|i'm not a robot|press (&|and) hold to confirm|(complete|solve|enter) "
    r"(the|this) (captcha|security check)|enable (javascript and cookies|cookies and javascript)"
    r"|unusual (traffic|activity) from|access (to this page has been )?denied|request blocked"
    r"|you have been blocked|just a moment\.\.\.|pardon our interruption|attention required!"
    r"|ddos protection by|security check to access|bestätigen sie,? dass sie (ein mensch|kein robo)"
    r"|vérifie[rz] que vous êtes (un )?humain|verifica(r)? que (eres|es) humano",
    re.IGNORECASE,
)
# Access denied for a reason other than a robot check: region, law, maintenance.
_BLOCKED = re.compile(
    r"(unavailable|blocked|not available) (due to|for) legal reasons"
    r"|(content|site|page|service|video|article) is (currently |not |no longer )*"
    r"(un)?(available|accessible|blocked) (to (visitors|users|readers) )?(in|from|to) "
    r"(your|the|most) (country|region|location|area|european)"
    r"|(not|un)available to (visitors|users|readers) (from|in) (the |your |most )"
    r"|(is|are) (currently |temporarily )?(down|closed|offline|unavailable) (for|due to) "
    r"(scheduled |planned |routine )?maintenance|(under|undergoing|scheduled) maintenance"
    r"|(site|service|website|page|server) is (temporarily|currently) (un(available|reachable)"
    r"|offline|down)|wartungsarbeiten|en (cours de )?maintenance|en mantenimiento"
    r"|bandwidth limit exceeded|too many requests|error establishing a database connection"
    r"|(502|503|504|500):? (bad gateway|service (temporarily )?unavailable|gateway time-?out"
    r"|internal server error)|web server is down|you don(['’]t| not) have permission to access",
    re.IGNORECASE,
)
_PARKED = re.compile(
    r"(this|the) (domain|site|web ?page|website|domain name) "
    r"(\S+ )?(is|may be|might be|could be) (available )?(for sale|parked)"
    r"|\S+\.\S+ (is|may be) for sale\b|buy this domain|make an offer on this domain"
    r"|is parked (free|with|by|on)|parked (free of charge|free, courtesy|domain)|domain parking"
    r"|is this your domain\?|(this|the|your) domain( name)? (\S+ )?(has|is) (recently )?(been )?"
    r"(expired|just been registered|registered by)|interested in this domain"
    r"|(this|your) account has been suspended|hosting account (is|has)"
    r"|sponsored listings|apache2? (\w+ )?default page|welcome to nginx|test page for (the )?"
    r"(apache|nginx)|default (web )?(site|page|web page) (for|of) this|future home of"
    r"|diese domain (steht zum verkauf|ist geparkt)|ce (nom de )?domaine est (à vendre|parqué)"
    r"|este dominio está (en venta|aparcado)",
    re.IGNORECASE,
)
_LOGIN = re.compile(
    r"(please |you (must|need to|have to) |you('ll| will) need to )?(sign|log) ?in (to|with) "
    r"(your|view|see|access|continue|read|an existing|proceed)"
    r"|(must|need to|have to) be (logged|signed) in|you are not (logged|signed) in"
    r"|(login|log-in|sign-in|authentication|authorization) (is )?required"
    r"|(only|restricted to|reserved for) (registered |logged-in )?(users|members)"
    r"|bitte (melden sie sich|loggen)|veuillez vous (connecter|identifier)|debe iniciar sesión",
    re.IGNORECASE,
)
_LOGIN_TITLE = re.compile(
    r"(log|sign)[ -]?in|(user |member |account |secure |central )?log[ -]?(in|on)|sign[ -]?on"
    r"|(log|sign) in (to|or (sign|create|register)) .{1,60}|anmelden|anmeldung|connexion"
    r"|se connecter|iniciar sesión|accedi|authentication required|shibboleth.{0,40}",
    re.IGNORECASE,
)
_REDIRECTING = re.compile(
    r"(you (are|will be) being|you will be|page is being)?\s*redirect(ing|ed)( (you|to|shortly|in"
    r"|automatically))|if you are not (automatically )?(redirected|forwarded)"
    r"|(this|the) (page|site|object) (has|may be) (moved|found)( permanently)?( to)?( here)?\b"
    r"|301 moved permanently|302 found",
    re.IGNORECASE,
)
_SEARCH_TITLE = re.compile(r"(your )?search( results)? (for|:)|search results\b", re.IGNORECASE)
_NO_RESULTS = re.compile(
    r"\b(0|no|zero) (results|matches|hits)|nothing (was )?found|did not match any", re.IGNORECASE
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
_THING = r"(page|article|file|document|content|item|post|story|url|link|resource|product|address)"
_GONE = re.compile(
    rf"({_THING} |it |seite |inhalt |artikel )[^.!?\n]{{0,60}}?"
    r"(not (be )?found|no longer (be )?(found|available|exists?|here)|(does|did)(n['’]t| not) exist"
    r"|not (be )?available|has been (removed|deleted|moved)|nicht (mehr )?(gefunden|verfügbar)"
    r"|existiert nicht)"
    rf"|(can('|’)t|cannot|can not|couldn('|’)t|could not|unable to|were not able to) (be )?"
    rf"(find|found|locate) (the |that |this |a )?(requested )?{_THING}?"
    r"|\b404\b[^.!?\n]{0,20}(error|not found)|^\W*not found\W*$"
    r"|page introuvable|cette page n['’](existe|est) p|página no (encontrada|existe)"
    r"|pagina (non trovata|niet gevonden)|página não encontrada|nothing (to see )?here",
    re.IGNORECASE | re.MULTILINE,
)
# Unambiguous titles, or title parts beside the site's name.
_GONE_TITLE = re.compile(
    rf"(http )?(error |fehler |erreur )?(404\W+)?(error\W+)?(the |this |requested )*({_THING} )?"
    r"((was |is |could |can )*not (be )?found|(does not|doesn['’]t) exist"
    r"|no longer (available|exists)"
    r"|unavailable|not available|has (moved|been removed))(\W+(error )?404)?"
    r"|seite (wurde )?nicht gefunden|page (non trouvée|introuvable)|página no encontrada"
    r"|pagina (non trovata|niet gevonden)|página não encontrada",
    re.IGNORECASE,
)
# Ambiguous titles: these may also name a bus, an album or a year.
_PERHAPS_GONE = re.compile(
    r"((http |status )?(error|code|fehler|erreur)\W*)?404(\W*(error|fehler))?(\W.*)?"
    r"|oops.*|sorry.*|whoops.*",
    re.IGNORECASE,
)
_TITLE_PARTS = re.compile(r"\s+[|–—:·»«-]+\s*|\s*[|:»]\s+")
# Words of notices: about the page, the site and its reader. A page with even one sentence free of
# these words is a real page.
_OF_NOTICES = re.compile(
    r"\b(pages?|urls?|links?|linked|(?:web)?sites?|web|webmaster|online|internet|address(?:es)?"
    r"|search(?:es|ing|ed)?|browsers?|cookies?|javascript|scripts?|sorry|apologi[sz]e|oops"
    r"|errors?|404|click|try(?:ing)?|return|contact|support|servers?|requests?|requested|domains?"
    r"|hosting|hosted|parked|listings|sponsored|captcha|robots?|bots?|human|security|verif\w+"
    r"|access(?:ing)?|consent|privacy|partners|advertis\w+|subscri\w+|log(?:ged)? ?in|login"
    r"|sign(?:ed)?[ -]in|accounts?|password|username|register(?:ed)?|terms|settings|maintenance"
    r"|unavailable|available|administrators?|networks?|traffic|redirect\w*|loading|app|data"
    r"|copyright|rights reserved|results?|visitors?|users?|reload|refresh|menu|newsletter"
    r"|seconds|technical|features?|content|inconvenience|blocked|region|moved|removed|deleted"
    r"|renamed|expired|mistyped|misspelled|resource|sale|seiten?|inhalte?|adresse|startseite"
    r"|leider|zugriff|anmelden|gesuchte|accueil|recherche|lien|página|inicio|sitio|búsqueda|enlace"
    r"|pagina|sito)\b",
    re.IGNORECASE,
)
_TO_THE_READER = re.compile(
    r"\b(we|we['’](re|ve)|us|our|you|your|you['’](re|ve)|i|me|my|please|ihre?n?|bitte|wir|uns"
    r"|vous|votre|nous|nos|veuillez|usted|por favor|você)\b",
    re.IGNORECASE,
)
# One notice word is allowed in a sentence with a year or a name: "In 404 the harbour froze".
_DETAIL = re.compile(r"\b(1\d\d\d|20\d\d)\b|(?<=[a-z,] )[A-Z][a-z]{2,}")
GONE_CHARS = 400  # an error page says so within this many characters
MIN_STATEMENT_WORDS = 6  # "Page not found." has three


@dataclass(frozen=True, slots=True)
class Markup:
    """Signals from a page's markup."""

    title: str = ""
    visible: str = ""  # all text except scripts, navigation and footer
    n_scripts: int = 0
    not_free: bool = False  # JSON-LD or microdata: isAccessibleForFree is false
    paywall_class: str = ""  # a class or id that names a paywall
    asks_password: bool = False  # has a password field


def of_status(url: str, status: int | None) -> Unchecked | None:
    """Classify by HTTP status alone; None if the body is worth reading.

    >>> of_status("https://example.org/", 404).reason, of_status("https://example.org/", 200)
    (<Reason.DEAD: 'dead'>, None)
    """
    if status is None or status < 300:
        return None
    if status < 400:
        detail = f"HTTP {status}: a redirect to a page that is not stored"
        return Unchecked(url, Reason.NOT_SUPPLIED, detail)
    reasons = {404: Reason.DEAD, 410: Reason.DEAD, 402: Reason.PAYWALL}
    return Unchecked(url, reasons.get(status, Reason.REFUSED), f"HTTP {status}")


def of_page(url: str, text: str, article: str, markup: Markup) -> Unchecked | None:
    """Classify a page; None if it can be read as a source.

    `text` is what would be kept of the page, `article` its running text: a teaser among many
    headlines is a short article on a page with much text.
    """
    words = n_words(text)
    kind = None
    if words <= TEASER_WORDS and not has_statement(text, markup.title):
        kind = _notice(words, text[:NOTICE_CHARS], markup) or _scripted(words, markup)
    found = kind or _paywall(n_words(article) or words, markup)
    if not found and words == 0:
        found = Reason.EMPTY, "the page has no text"
    return Unchecked(url, *found) if found else None


def has_statement(text: str, title: str = "") -> bool:
    """Whether a text has a sentence about anything but the page itself.

    >>> has_statement("Sorry, this page was moved."), has_statement("It was built in May 1874.")
    (False, True)
    """
    found = (span.of(text) for span in sentences(text[:NOTICE_CHARS]))
    return any(_is_statement(sentence.strip()) for sentence in found if sentence.strip() != title)


def _is_statement(sentence: str) -> bool:
    is_whole = (
        sentence.rstrip("\"'”’»)")[-1:] in tuple(".!?。")
        and n_words(sentence) >= MIN_STATEMENT_WORDS
    )
    if not is_whole or _TO_THE_READER.search(sentence):
        return False
    of_notices = {word.lower() for word in _OF_NOTICES.findall(sentence)}
    return not of_notices or (
        len(of_notices) == 1 and ":" not in sentence and bool(_DETAIL.search(sentence))
    )


def _notice(words: int, text: str, markup: Markup) -> tuple[Reason, str] | None:
    """Why a page is only a notice: not found, parked, a robot check, or a login."""
    title = markup.title
    whole = f"{title}\n{text}"
    if match := _PARKED.search(whole):
        return Reason.USURPED, f"the domain is parked: “{match[0].strip()}”"
    if consent := _consent(words, text):
        return consent
    if words > NOTICE_WORDS:
        return None
    for pattern, what in ((_ROBOT_CHECK, "robot check"), (_BLOCKED, "refusal page")):
        if match := pattern.search(whole):
            return Reason.REFUSED, f"the copy is a {what}: “{match[0].strip()}”"
    if gone := _gone(title, text):
        return Reason.SOFT_404, f"the page reports itself as not found: “{gone}”"
    parts = [part.strip() for part in _TITLE_PARTS.split(title)]
    login = next(filter(_LOGIN_TITLE.fullmatch, parts), "")
    if words < NOTICE_WORDS // 2 and (match := _LOGIN.search(text)):
        login = match[0].strip()
    if login or markup.asks_password:
        wanted = f"a login: “{login}”" if login else "a password"
        return Reason.LOGIN, f"the page requires {wanted}; {words} words are readable"
    if match := _REDIRECTING.search(whole):
        return Reason.NOT_SUPPLIED, f"the copy only redirects to another page: “{match[0].strip()}”"
    return None


def _gone(title: str, text: str) -> str:
    """The phrase with which an error page says "not found"; empty if it is not such a page."""
    for part in (title, *_TITLE_PARTS.split(title)):
        if match := _GONE_TITLE.fullmatch(part.strip()):
            return match[0]
    rest = (text.replace(title, "") if title else text).strip()
    if match := _GONE.search(rest[:GONE_CHARS]):
        return match[0].strip()
    if _SEARCH_TITLE.match(title) and (match := _NO_RESULTS.search(rest)):
        return match[0]
    is_bare = n_words(rest) < SCRIPTED_WORDS and (not rest or _OF_NOTICES.search(rest))
    return title if is_bare and _PERHAPS_GONE.fullmatch(title.strip()) else ""


def _consent(words: int, text: str) -> tuple[Reason, str] | None:
    phrases = list(dict.fromkeys(match[0].lower() for match in _CONSENT.finditer(text)))
    if len(phrases) >= CONSENT_SIGNS or (phrases and words < NOTICE_WORDS // 2):
        return Reason.CONSENT, "the page asks for consent: " + ", ".join(
            f"“{s}”" for s in phrases[:2]
        )
    return None


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
    needs_scripts = _NEEDS_SCRIPTS.search(markup.visible) is not None
    if markup.n_scripts and (words < SCRIPTED_WORDS or (needs_scripts and words < NOTICE_WORDS)):
        return Reason.EMPTY, f"a page rendered by scripts: {words} words without them"
    return None
