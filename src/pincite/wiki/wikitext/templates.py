"""What the common templates of English Wikipedia show, and which inline tags there are.

In a pattern `{1}` is the first positional parameter, `{*}` all of them, `{2/1}` the second or else
the first, and `[…]` is shown only if the parameter in it is given. A template in no table shows
nothing: most of the unknown ones are icons, boxes and navigation. Names follow the templates'
documentation, redirects included; those of citations and tags, and other wikis' names for all of
them, stand in `citation_templates.toml`.
"""

import re

from pincite.wiki.editions import TABLE

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

TAGS = {
    alias: name
    for name, aliases in TABLE["tags"].items()
    for alias in (name, *aliases)
    if alias not in PATTERNS
} | {f"{name} span": name for name in TABLE["tags"]}  # a tag around a text

SHORT_CITATIONS, HARVARD, NOTES, REFERENCE_LISTS, QUOTES = (
    frozenset(TABLE["kinds"][kind])
    for kind in ("short_citations", "harvard", "notes", "reference_lists", "quotes")
)
ARCHIVES = frozenset({"wayback", "webarchive"})
_CITATION = re.compile(r"(?:v?cite?\b|vancite\b|citation\b(?! needed| style| required)|harvc\b)")


def is_citation(name: str) -> bool:
    """Whether the template `name` is a full citation, such as {{cite web}} or {{citation}}."""
    return bool(_CITATION.match(name)) and name not in TAGS
