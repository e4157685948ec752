"""What the common templates of English Wikipedia show, and which inline tags there are.

In a pattern `{1}` is the first positional parameter, `{*}` all of them, and `[…]` is shown only if
the parameter in it is given. A template in no table shows nothing: most of the unknown ones are
icons, boxes and navigation. Names follow the templates' documentation, redirects included.
"""

import re

_BY_PATTERN = {
    "{1}": (
        "nowrap|nobr|small|smaller|big|large|larger|abbr|abbrlink|tooltip|sc|smallcaps|small caps|"
        "angbr|angle bracket|nihongo|nihongo3|keypress|key|key press|vanchor|visible anchor|"
        "linktext|midsize|center|noitalic|nobold|bold|italic|strong|em|marriage|quote|blockquote|"
        "quotation|cquote|rquote|pull quote|bq|quote box|poemquote|poem quote|native name|longitem|"
        "nts|number table sorting|script|unicode|rtl-lang|nastaliq|mono|code|kbd|var|samp|tt|typo|"
        "not a typo|proper name|as written|citation needed span|plainlist|flatlist|ill|"
        "interlanguage link|interlanguage link multi|red link|first word|formatnum|format number|"
        "translation|gloss|underline|url|flag|flagu|flagcountry|country|yes|no|partial|won|"
        "nominated|legend|start-date|end-date|eqm|vr|gaps|ordinal|percentage|sup|sub|strikethrough|"
        "railgauge|track gauge|year|increase|decrease|nom|sort|text|plain text|literal translation|"
        "sclass|rws|align|endash range|font|uss|hms|ss|hmas|rms|visible|bible|bibleverse|stnlnk"
    ),
    "{2}": (
        "lang|transl|transliteration|wikt-lang|langx|tlit|legend2|color|colour|font color|resize"
    ),
    "{*}": (
        "ubl|unbulleted list|ublist|hlist|vunblist|flowlist|bulleted list|chem|chem2|ordered list"
    ),
    "–": "ndash|en dash|endash",
    " – ": "snd|spnd|spaced ndash|snds|spaced en dash|spndash",
    "—": "mdash|em dash|emdash|mdashb",
    " · ": "·|dot|middot|•|bull|bullet",
    " ": "nbsp|thinsp|thin space|space|spaces|sp|hair space|hsp|nnbsp|zwsp|br|break|-",
    "'": "'|-'",
    "'s": "'s",
    "' \"": "' \"",
    "\" '": "\" '",
    "|": "pipe|!",
    "=": "=",
    "†": "dagger|extinct",
    "%": "%",
    "c. {1}[–{2}]": "circa|c.|ca.|ca|approx",
    "fl. {1}[–{2}]": "floruit|fl.|fl",
    "r. {1}[–{2}]": "reign|r.",
    "d. {1}": "died in|died-in",
    "b. {1}": "born in|born-in",
    "US${1}": "us$|usd|us dollar",
    "${1}": "dollar|currency",
    "£{1}": "gbp|£|uk£|pound sterling",
    "€{1}": "eur|€|euro",
    "₹{1}": "inr|₹|indian rupee|rupees",
    "¥{1}": "jpy|¥|jp¥",
    "CN¥{1}": "cny|rmb|cn¥",
    "A${1}": "aud|a$|au$",
    "C${1}": "cad|c$|ca$",
    "NZ${1}": "nzd|nz$",
    "₩{1}": "krw|₩",
    "p. {1}": "p.|page",
    "pp. {1}": "pp.|pages",
    "Vol. {1}": "vol.|volume",
    "×10^{1}": "e|e-sp",
    "{1}^{2}": "pow",
    "{1}[-{2}]": "nuclide2|simplenuclide2|simplenuclide|nuclide",
    "OCLC {1}": "oclc",
    "ISSN {1}": "issn",
    "ISBN {1}": "isbn|isbnt",
    "doi:{1}": "doi",
    "PMID {1}": "pmid",
    "arXiv:{1}": "arxiv",
    "United States": "usa",
    "United Kingdom": "gbr|uk",
    "N/A": "n/a|na",
}
PATTERNS = {name: shown for shown, names in _BY_PATTERN.items() for name in names.split("|")}

_TAG_ALIASES = {
    "citation needed": (
        "cn|fact|facts|citeneeded|citation required|cite needed|needs citation|needcite|"
        "source needed|sourceme|reference needed|ref?|uncited|unsourced-inline|cb|"
        "citation needed span|citation needed lead|unreferenced inline|proveit|cit|ctn"
    ),
    "failed verification": (
        "fv|not in citation|not in source|not in ref|citecheck|notinsource|failed verify|"
        "not in citation given|verification failed|nicg|neither|not in cite|failedverification"
    ),
    "dead link": "deadlink|dl|broken link|link broken|404|dead|dead-link|linkrot inline|dead url",
    "better source needed": (
        "better source|bsn|better|better source required|primary source|"
        "bettersource"
    ),
    "unreliable source?": (
        "unreliable source|unreliable source inline|rs|rsfn|unreliable|vn|reliable source|"
        "unreliable fringe source|irs|reliable source needed|unreliable inline"
    ),
    "unreliable medical source": "medref|mcn-source|medrs|unreliable medical source?",
    "medical citation needed": "mcn|medcn|medical cn|cn-med",
    "self-published inline": "self-published source|sps|self-published",
    "non-primary source needed": (
        "primary source inline|psi|primary source-inline|nonprimary|primary inline|npsn|"
        "non-primary source needed inline|third-party inline|third-party source needed"
    ),
    "verify source": (
        "verify|verification needed|vs|check|source check|check source|need to verify|verifysource|"
        "dubious source|verify-inline"
    ),
    "full citation needed": "full|full citation|fcn|incomplete citation|fullcite|full cite needed",
    "page needed": (
        "pn|page number|page|page number needed|page numbers needed|pages needed|"
        "cite page"
    ),
    "clarify": (
        "clarification needed|clarify inline|huh|what?|unclear|clarifyme|"
        "what does this mean|vague-inline"
    ),
    "vague": "ambiguous|vagueness",
    "by whom": "by who|by whom?|attribution needed|according to whom|who says|whose",
    "who": "who?|who inline|weasel inline|weasel-inline|which people",
    "when": "when?|date needed|year needed|time needed|timeframe",
    "where": "where?|location needed",
    "which": "which?|specify|which one",
    "dubious": "dubious inline|disputed inline|disputed-inline|doubtful|questionable",
    "original research inline": "or|original research?|original research-inline|ori|nor|or inline",
    "synthesis inline": "syn|synthesis-inline|synth|synthesis",
    "update inline": "update after|needs update|outdated inline|old fact|update needed",
    "contradict-inline": "contradiction inline|inconsistent|contradictory inline",
    "request quotation": "quote needed|quotation needed|need quote|quote request|request quote",
    "neutrality disputed": "pov statement|pov-statement|npov-statement|neutral-inline|pov inline",
    "relevance inline": "importance inline|relevance-inline|off-topic-inline|importance-inline",
    "permanent dead link": "permadead|permanently dead link",
    "obsolete source": "outdated source|old source",
    "unbalanced opinion?": (
        "undue inline|undue-inline|peacock inline|peacock term|"
        "promotional source"
    ),
    "citation style": "bare url inline|bare url|bare link inline",
    "additional citation needed": "acn|additional citations needed inline|additional citation",
    "time fact": "as of?|chronology citation needed",
    "predatory source": "predatory publisher|predatory inline|deprecated inline|deprecated source",
}  # fmt: skip
TAGS = {
    alias: name
    for name, aliases in _TAG_ALIASES.items()
    for alias in (name, *aliases.split("|"))
    if alias not in PATTERNS or alias == "citation needed span"
}

SHORT_CITATIONS = frozenset({"sfn", "sfnp", "sfnm", "sfb", "sfnref", "shortened footnote"})
HARVARD = frozenset(
    "harvnb|harv|harvp|harvtxt|harvcol|harvcolnb|harvcoltxt|harvard citation|"
    "harvard citation no brackets|harvard citation text|harvs|snf|citeref".split("|")
)
NOTES = frozenset(
    {"efn", "efn-ua", "efn-lr", "efn-lg", "refn", "#tag:ref", "note", "cref", "cnote"}
)
REFERENCE_LISTS = frozenset(
    {"reflist", "references", "notelist", "ref-list", "refs", "reference list"}
)
QUOTES = frozenset(
    "quote|blockquote|quotation|cquote|rquote|pull quote|bq|quote box|poemquote|poem quote".split(
        "|"
    )
)
_CITATION = re.compile(r"(?:v?cite?\b|vancite\b|citation\b(?! needed| style| required)|harvc\b)")


def template_name(raw: str) -> str:
    """A template's name as the tables here spell it.

    >>> template_name(" Template:Cite_web ")
    'cite web'
    """
    name = " ".join(raw.replace("_", " ").split()).lower()
    return name.removeprefix("template:").removeprefix("safesubst:").removeprefix("subst:").strip()


def is_citation(name: str) -> bool:
    """Whether the template `name` is a full citation, such as {{cite web}} or {{citation}}."""
    return bool(_CITATION.match(name)) and name not in TAGS
