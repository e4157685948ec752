"""Whether a sentence says yes or no to a question about an effect or an association, by rules."""

from collections.abc import Callable

from pincite.verbs.ask.patterns import patterns

# Of 280 PubMedQA papers that the rules had not seen, they read 82: 74 as the experts, 6 where the
# experts say "maybe", and 2 the other way round. The others stay open.
MOST_LACKING = 0.6  # share of the question's subject that the sentence may leave out …
SURE_RELEVANCE = 2.3  # … unless the network is this sure (log-odds) that it bears on the question

_P, _MEANS = patterns("stance"), patterns("meanings")
_YES = {"less": ("less",), "more": ("more",), "better": ("better", "less"), "linked": tuple(_MEANS)}


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
        return True if any(_MEANS[name].search(sentence) for name in _YES[asked]) else None

    return finds
