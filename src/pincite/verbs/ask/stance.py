"""Whether a sentence says yes or no to a question about an effect or an association, by rules."""

import re
from collections.abc import Callable

# Of 280 PubMedQA questions whose conclusions the rules had not seen, they read 82: 76 as the
# experts, 4 where the experts say "maybe", 2 the other way round. The rest stays open.
MOST_LACKING = 0.6  # share of the question's subject that the sentence may leave out …
SURE_RELEVANCE = 2.3  # … unless the network is this sure (log-odds) that it bears on the question

_AUXILIARY = "(?:did|does|do|was|were|is|are|has|have|had|could|can|may|might|should|would|will)"
_EFFECT = (
    r"(?:evidence|differences?|associations?|effects?|benefits?|advantages?|increase\w*|"
    r"decrease\w*|reductions?|improvements?|correlations?|relation\w*|impact|influence|changes?|"
    r"support|value|links?|gain|superiority)"
)
_NO = re.compile(
    rf"\b(?:{_AUXILIARY}(?:n['’]t| not)\b(?! (?:only|(?:be )?(?:excluded?|rul\w+ out)))"
    r"|cannot\b(?! (?:be )?(?:excluded?|rule))"
    rf"|(?:no|not|little|lack of|absence of|without) (?:any |an? )?(?:[\w-]+ ){{0,3}}?{_EFFECT}\b"
    r"|not (?:\w+ly )?(?:associat|relat|affect|differ|improv|reduc|increas|correlat|predict|"
    r"influenc|superior|better|effective|support)\w*"
    r"|fail(?:s|ed)? to|failure to|neither|nor"
    r"|(?:is|are|was|were) (?:\w+ly )?(?:similar|comparable|equivalent|unaffected|unchanged)"
    r"|unlikely|insufficient|independent of|unrelated|ineffective|non-?significant)\b",
    re.IGNORECASE,
)
# Words for what is asked: a yes uses one of the same meaning.
_MEANINGS = {
    "less": r"reduc\w*|lower\w*|decreas\w*|prevent\w*|protect\w*|diminish\w*|lessen\w*|"
    r"attenuat\w*|reliev\w*|alleviat\w*|less|fewer|shorten\w*|cuts?",
    "more": r"increas\w*|rais\w*|elevat\w*|caus\w*|promot\w*|worsen\w*|induc\w*|trigger\w*|"
    r"higher|more|greater|excess|aggravat\w*",
    "better": r"improv\w*|benefi\w*|help\w*|better|effective\w*|efficac\w*|enhanc\w*|superior|"
    r"useful|treat\w*",
    "linked": r"associat\w*|relat\w*|link\w*|correlat\w*|connect\w*|affect\w*|influenc\w*|"
    r"impact\w*|effects?|predict\w*|depend\w*|risk factors?|differ\w*|play\w*|contribut\w*|"
    r"determin\w*|alter\w*|chang\w*|modif\w*|role|worse",
}
_MEANS = {name: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for name, words in _MEANINGS.items()}
_YES = {"less": ("less",), "more": ("more",), "better": ("better", "less"), "linked": tuple(_MEANS)}
_ASKS = re.compile(rf"(?:^|[:?.,] ?){_AUXILIARY}\b", re.IGNORECASE)
# In a question, they turn or limit what a yes would mean.
_NOT_PLAIN = re.compile(r"\b(?:or|always|really|not|no|need\w*|still|necessary)\b", re.IGNORECASE)
# In an answer, they say that it is neither.
_LIMITS = re.compile(
    r"\b(?:however|but|although|though|while|whereas|except|despite|unless|yet|only|unclear|"
    r"unknown|limited|poor|weak|low|little|disappointing|varies|vary|speculat\w*|"
    r"no matter|may not|might)\b",
    re.IGNORECASE,
)


def reader(question: str) -> Callable[[str], bool | None]:
    """Return a function that reads from a sentence whether it finds what is asked; None: unclear.

    >>> finds = reader("Does vitamin D prevent falls?")
    >>> finds("It reduced falls."), finds("It did not prevent falls."), finds("Falls are common.")
    (True, False, None)
    """
    places = ((m.start(), name) for name, words in _MEANS.items() if (m := words.search(question)))
    _, asked = min(places, default=(0, ""))
    if not asked or not _ASKS.search(question) or _NOT_PLAIN.search(question):
        return lambda sentence: None

    def finds(sentence: str) -> bool | None:
        if _LIMITS.search(sentence):
            return None
        if _NO.search(sentence):
            return False
        return True if any(_MEANS[name].search(sentence) for name in _YES[asked]) else None

    return finds
