"""Messages as data: a code with values, worded when displayed.

A report holds notes together with their English text. To show one in another language, translate
its wording and fill in the values; no code parses the resulting sentences.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

Value: TypeAlias = str | int | tuple[str, ...]  # a tuple of words is quoted one by one
QUOTED = "“%(words)s”"
AS_WRITTEN = "as_written"  # for a text that has no code
ENGLISH: Mapping[str, str] = {
    AS_WRITTEN: "%(text)s",
    # Reasons for and against a verdict.
    "other_value": "source: %(source)s · claim: %(claim)s",
    "denied": "source: “%(source)s” · claim: “%(claim)s”",
    "recognised": "recognised from a scan (%(confidence)s %% sure): it may contain errors",
    "may_be_misread": "the scan has %(source)s, the claim %(claim)s: it may be misread",
    "stated_only_as": "source: “%(source)s” · claim states it as fact",
    "roles_swapped": "the source has %(claim)s and %(other)s the other way round: “%(source)s”",
    "said_of_less": "source: “%(source)s” · claim: “%(claim)s”",
    "value_of_another": "the source gives %(claim)s for something else: “%(source)s”",
    "about_another": "the source mentions %(other)s, not %(claim)s",
    "said_by_another": "in the source %(other)s says it, not %(claim)s: “%(source)s”",
    "may_be_another": "“%(source)s” may stand for %(other)s instead of %(claim)s",
    "referent": "“%(words)s” stands for %(name)s",
    "relative_time": "“%(words)s” is %(date)s by the date of the source",
    "worked_out": "“%(words)s” follows from the source: %(how)s",
    "read_as_contrary": "the quote reads like a contradiction: compare it with the claim",
    "beyond_quote": "found elsewhere in the source, not near the quote: %(words)s",
    "not_named": "the passage does not name %(words)s",
    "not_stated": "the passage does not state %(words)s",
    "not_judged": "this passage could not be judged because of a bug in Pincite (%(error)s)",
    "internal_errors": "%(n)s steps of this run failed because of a bug in Pincite: %(kinds)s",
    "not_found_by_network": "the verifier finds no support for %(words)s",
    "second_supported": "second opinion from %(model)s: supported",
    "second_partly_supported": "second opinion from %(model)s: partly supported",
    "second_not_supported": "second opinion from %(model)s: not supported",
    "second_contradicted": "second opinion from %(model)s: contradicted",
    "second_unusable": "second opinion from %(model)s: this text is not a usable source",
    "second_failed": "no second opinion: %(why)s",
    "judge_passed": "%(model)s passed its examination: %(right)s of %(asked)s right (%(date)s)",
    "judge_failed": (
        "%(model)s failed its examination, %(right)s of %(asked)s right (%(date)s): its opinions "
        "are shown, and change no label"
    ),
    "judge_not_examined": "the language model could not be examined, and was not used: %(why)s",
    # Why a sentence without a citation probably needs one.
    "need_tagged": "an editor asked for a citation",
    "need_quotation": "a quotation: %(words)s",
    "need_figures": "numbers: %(words)s",
    "need_said": "reported speech: %(words)s",
    "need_opinion": "an opinion or an attribution: %(words)s",
    "need_superlative": "a superlative: %(words)s",
    "need_study": "research or data: %(words)s",
    "need_disputed": "conflict, crime or illness: %(words)s",
    "need_unsure": "hedged wording: %(words)s",
    "need_living": "about a living person",
    "need_section": "most sentences in sections such as %(words)s have a citation",
    "need_alike": "most sentences with similar wording have a citation",
    "uncited_unread": (
        "Uncited sentences were not searched for: the article is in %(language)s, and only "
        "English is supported."
    ),
    "source_retracted": "the source was retracted",
    "source_retracted_partly": "the source was partially retracted",
    "source_of_concern": "the source's journal issued an expression of concern",
    # A draft, for its reviewer.
    "draft_citations": (
        "citations: %(n)s; of %(checked)s that could be checked, %(failing)s fail (%(percent)s %%)"
    ),
    "draft_unchecked": "citations: %(n)s; none could be checked",
    "draft_unsupported": "claims that their sources do not support",
    "draft_references": "references that do not hold",
    "draft_uncited": "sentences without a source",
    "draft_traces": "traces of a chatbot",
    # What is wrong with a reference as written.
    "isbn_invalid": "ISBN %(words)s cannot be right: copy it from the book or a catalogue",
    "issn_invalid": "ISSN %(words)s cannot be right: its check digit does not fit",
    "orcid_invalid": "ORCID %(words)s cannot be right: its check digit does not fit",
    "pmid_invalid": "PubMed has not yet given the number %(words)s: look the article up by title",
    "pmc_invalid": "PubMed Central has not yet given %(words)s: look the article up by title",
    "arxiv_invalid": "arXiv cannot have given the number %(words)s: look the paper up by title",
    "doi_invalid": "%(words)s is not a DOI: copy it from the publisher's page",
    "doi_registrant": "no publisher has the DOI prefix %(words)s: look the work up by title",
    "doi_of_two": "DOI %(words)s is also cited for “%(other)s”: one of the two is wrong",
    "date_in_future": "the date %(words)s lies in the future: look up the date of publication",
    "date_too_early": "the date %(words)s is too early for this kind of source",
    "accessed_before_date": (
        "accessed on %(words)s, before it was published (%(other)s): correct one of the dates"
    ),
    "pages_backwards": "pages %(words)s run backwards: compare them with the source",
    "chatbot_trace": "“%(words)s” is left over from a chatbot: open the source and read it",
    "placeholder": "“%(words)s” is a placeholder: state what the source is",
    # What is known of a reference.
    "work_retracted": "the work was retracted%(about)s: cite another one",
    "work_withdrawn": "the work was withdrawn%(about)s: cite another one",
    "work_partly_retracted": "a part of the work was retracted%(about)s: read the notice",
    "work_expression_of_concern": "an expression of concern was issued%(about)s: read it",
    "work_superseded": "there is a later version or edition%(about)s",
    "work_corrected": "the work was corrected%(about)s: check what you cite against the notice",
    "id_of_other_work": "%(id)s belongs to another work, “%(title)s”: correct it",
    "id_unknown": "%(id)s is in none of the sources asked (%(sources)s): look it up elsewhere",
    "title_differs": "title: “%(cited)s”, on record “%(known)s”",
    "authors_differs": "authors: %(cited)s, on record %(known)s",
    "year_differs": "year: %(cited)s, on record %(known)s",
    "venue_differs": "published in: %(cited)s, on record %(known)s",
    "doi_differs": "DOI: %(cited)s, on record %(known)s",
    "reference_unverified": (
        "not in the sources asked (%(sources)s), which lack many books, theses, reports and web "
        "pages: look for it elsewhere before you doubt it"
    ),
    "reference_unchecked": "it could not be looked up (%(why)s): try again later",
    "reference_not_asked": (
        "not looked up: import records (pincite works import), or allow services (--online)"
    ),
    "venue_unconfirmed": "only a preprint is on record: check that it appeared in %(venue)s",
    "page_archived": "the page is in the Wayback Machine: %(url)s",
    "closest_record": "the closest record is “%(title)s”",
    # References of an answer.
    "retracted": "reference %(n)s was retracted",
    "retracted_partly": "reference %(n)s was partially retracted",
    "concern": "the journal of reference %(n)s issued an expression of concern",
    "corrected": "reference %(n)s was corrected",
    "no_such_reference": "there is no reference %(written)s",
    "reference_in_other_language": "it is in %(language)s; the verifier reads %(languages)s",
    "no_abstract": "no abstract is available",
    # Why a sentence of an answer was changed or struck out.
    "references_do_not_exist": "its references do not exist",
    "references_silent": "its references do not mention it",
    "references_still_silent": "its references do not mention it, even after rewriting",
    "rewritten": "rewritten to match its references",
    # Why there is no answer.
    "nothing_found": "nothing in this corpus matches the question",
    "nothing_filtered": "nothing that passes the filters matches the question",
    "nothing_relevant": "no document is relevant enough to the question",
    "nothing_mentions": "no document found mentions %(words)s",
    "nothing_answers": "none of the sentences found answers the question",
    "only_nearest": (
        "no sentence was confirmed to answer the question; the nearest ones are quoted"
    ),
    "all_retracted": "all documents found that fit the question were retracted",
    # Warnings about a whole run.
    "no_references": (
        "No references were found in this article, so there is nothing to verify. Pincite reads "
        "ref tags in wikitext, the references of a saved Wikipedia page, and marks such as [1] "
        "with a list of references."
    ),
    "works_unchecked": (
        "References that could not be looked up, because a service gave no answer: %(n)s. "
        "Try again later."
    ),
    "no_second_opinions": "Missing second opinions: %(n)s. %(why)s",
    "other_copy": "this may be the wrong copy: it does not mention “%(title)s”",
    "unused_file": "%(file)s: %(problem)s",
    "unused_line": "%(file)s line %(line)s: %(problem)s",
    "undated_not_suggested": (
        "Pages without a known date are not suggested when a date is required."
    ),
    "undated_not_read": "Pages without a known date are not read when a date is required.",
    "undated_not_weighed": "Pages without a known date are not evidence when a date is required.",
    "german_questions": "%(n)s of %(all)s questions appear to be German; the models read English.",
    "german_statements": (
        "%(n)s of %(all)s statements are German: their readings follow the German rules, but "
        'the verifier reads only English. Use a language model (confirmation = "model").'
    ),
    "unread_statements": (
        "The statements are in %(language)s, but the verifier reads %(languages)s: its "
        'probabilities are unreliable here. Use a language model (confirmation = "model").'
    ),
    "unread_passages": "Passages left out because the verifier does not read the language: %(n)s.",
    "long_statements": (
        "%(n)s of %(all)s statements have more than %(most)s words, which is more than the "
        "verifier can read along with a passage. Use single sentences."
    ),
    "few_repetitions": (
        "Probabilities estimated from %(n)s repetitions are rough: use at least %(few)s."
    ),
    "no_negation_rules": "There are no negation rules for %(language)s; readings have no negation.",
    "filters_excluded_all": "No document in the knowledge base passes the filters.",
    "empty_corpus": "The knowledge base is empty.",
    "corpus_behind": (
        "The corpus %(corpus)s was searched only in part: its word index is behind its documents. "
        "Free disk space or allow writing, and run: pincite corpus verify FOLDER --repair"
    ),
}


@dataclass(frozen=True, slots=True)
class Language:
    """The translations into a language: of plain texts, and of plural forms (one, many, count)."""

    say: Callable[[str], str]
    plural: Callable[[str, str, int], str]


IN_ENGLISH = Language(str, lambda one, several, n: one if n == 1 else several)


@dataclass(frozen=True, slots=True)
class Note:
    """A message for a person."""

    code: str
    values: Mapping[str, Value] = field(default_factory=dict, hash=False)

    def __str__(self) -> str:
        return said(self)


def said(note: Note, say: Callable[[str], str] = str) -> str:
    """Word the note; `say` may translate its template from `ENGLISH`."""

    def shown(value: Value) -> str:
        if isinstance(value, tuple):
            return ", ".join(say(QUOTED) % {"words": words} for words in value)
        return str(value)

    values = {name: shown(value) for name, value in note.values.items()}
    try:
        wording = ENGLISH[note.code]
        return (wording if note.code == AS_WRITTEN else say(wording)) % values
    except KeyError:  # from another version's report, or a value is missing
        return ": ".join([note.code, *values.values()])


def texts(notes: Iterable[Note]) -> tuple[str, ...]:
    return tuple(map(str, notes))


def as_written(*written: str) -> tuple[Note, ...]:
    """Wrap texts that have no code; empty ones are dropped."""
    return tuple(Note(AS_WRITTEN, {"text": text}) for text in written if text)
