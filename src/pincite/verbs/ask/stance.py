"""Whether a sentence says yes or no to a question about an effect or an association, by rules."""

from collections.abc import Callable

from pincite.verbs.ask.patterns import patterns

# Of 280 PubMedQA papers that did not choose the rules, they read 79: 71 as the experts, 6 where the
# experts say "maybe", and 2 the other way round. The others stay open.
MOST_LACKING = 0.6  # share of the question's subject that the sentence may leave out …
SURE_RELEVANCE = 2.3  # … unless the network is this sure (log-odds) that it bears on the question

_P, _MEANS = patterns("stance"), patterns("meanings")
_YES = {"better": ("better", "less"), "linked": tuple(_MEANS)}


def reader(question: str) -> Callable[[str], bool | None]:
    """Return a function that reads from a sentence whether it finds what is asked; None: unclear.

    >>> finds = reader("Does vitamin D prevent falls?")
    >>> finds("It reduced falls."), finds("It did not prevent falls."), finds("Falls are common.")
    (True, False, None)
    """
    places = ((m.start(), name) for name, words in _MEANS.items() if (m := words.search(question)))
    _, asked = min(places, default=(0, ""))
    if not asked or not _P["asks"].search(question) or _P["not_plain"].search(question):
        return lambda sentence: None

    def finds(sentence: str) -> bool | None:
        if _P["limits"].search(sentence):
            return None
        if _P["no"].search(sentence):
            return False
        meant = {name for name, words in _MEANS.items() if words.search(sentence)}
        if meant >= {"less", "more"} and asked in meant:  # "more cups … a lower risk"
            of_risk = " ".join(match["word"] for match in _P["of_risk"].finditer(sentence))
            meant = {name for name in ("less", "more") if _MEANS[name].search(of_risk)}
        if asked in ("less", "more"):
            return True if meant & {"less", "more"} == {asked} else None
        return True if meant.intersection(_YES[asked]) else None

    return finds
