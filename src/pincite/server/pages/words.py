"""The reports' words in the language of whoever reads: labels, and what is counted in sentences.

The reports word in English what their views give; here the same is said through gettext. A test
holds the English of both together.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from pincite import notes
from pincite.judgement.confirmation import Outcome, StatementType
from pincite.judgement.references import Retraction, Standing, Support, standing
from pincite.report.cells import one_line
from pincite.server.pages import languages, sent_files
from pincite.server.study import wording as study_wording
from pincite.types import Reason
from pincite.verbs.ask import bibliography
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.records import AnswerReport, Checked
from pincite.verbs.check import wording as check_wording
from pincite.verbs.check.records import CheckReport, ReadingResult
from pincite.verbs.check.wording import signed
from pincite.verbs.verify import wording

# What a person can do where a source could not be checked: a page has a form for what the reports
# send to the command line for.
STEPS: Mapping[Reason, str] = wording.STEPS | {
    Reason.PAYWALL: "read it through a library, and hand in your copy",
    Reason.OFFLINE: "hand in the pages if you have them",
    Reason.NOT_SUPPLIED: "hand in a saved copy",
}
# Tables of the reports whose texts translators are given (`tools/make_locale.py`).
SHARED: tuple[Mapping[Any, str], ...] = (
    wording.LEGEND,
    sent_files.UNUSED,
    check_wording.LABELS,
    check_wording.KINDS,
    ask_wording.LABELS,
    ask_wording.SHORT,
    ask_wording.VERDICTS,
    wording.READ,
    dict(enumerate((wording.NOT_LIVE, wording.NOT_LIVE_STATUS))),
    {retraction: mark for retraction, mark in bibliography.RETRACTIONS.items() if mark},
    dict(enumerate((check_wording.ADVICE, ask_wording.ADVICE, ask_wording.COPIED))),
    dict(enumerate((ask_wording.NO_ANSWER, ask_wording.INHERITED))),
    dict(enumerate((ask_wording.LEFT_OUT, ask_wording.VERBATIM_FROM))),
    *(wording.ARCHIVED, wording.CHANGED, wording.ON_PAGE, wording.ELSEWHERE),
    {code: said for code, said in notes.ENGLISH.items() if code != notes.AS_WRITTEN},
    dict(enumerate((notes.QUOTED, ask_wording.ABSENT, ask_wording.CUT, ask_wording.MISSING))),
    dict(enumerate((ask_wording.UNKNOWN_ONE, ask_wording.UNKNOWN))),
    *(study_wording.SIDES, study_wording.OTHERWISE, study_wording.EVIDENCE),
)


@dataclass(frozen=True, slots=True)
class Words:
    """What pages of `check` and `ask` say, in one language."""

    _: Callable[[str], str]
    ngettext: Callable[[str, str, int], str]

    # ── check ────────────────────────────────────────────────────────────────────────────────────

    def outcome(self, outcome: Outcome) -> str:
        """The result of a reading."""
        return self._(check_wording.LABELS[outcome])

    def kind(self, kind: StatementType) -> str:
        """What kind of statement a reading is."""
        return self._(check_wording.KINDS[kind])

    def legend(self, threshold: float) -> str:
        """What the degrees mean."""
        _ = self._
        return _(
            "Degrees run from −1, a document refutes the reading, to +1, it confirms it; one "
            "within ±%(threshold)s says neither. A result is the mean of the others."
        ) % {"threshold": f"{threshold:g}"}

    def result(self, result: ReadingResult) -> str:
        """The result of one reading in words, as `check_wording.sentence`."""
        _, weight, n_passages = self._, result.weight, len(result.items)
        if weight.outcome is Outcome.NOT_JUDGED:
            return _("left alone: it %(kind)s") % {"kind": self.kind(result.reading.kind)}
        if weight.outcome is Outcome.NO_EVIDENCE and not n_passages:
            return _("nothing was found that could speak for or against it")
        if weight.outcome is Outcome.NO_EVIDENCE:
            said = _("%(texts)s found, none speaks for or against it")
            return said % {"texts": self._texts(weight.n_silent)}
        unjudged = {"n": weight.n_failed, "all": n_passages}
        if weight.outcome is Outcome.FAILED:
            said = _("%(n)s of %(all)s passages could not be judged, no other speaks")
            return said % unjudged
        words = _("%(doc)s from %(texts)s") % {
            "doc": signed(weight.doc),
            "texts": self._texts(weight.n_texts),
        }
        if weight.interval:
            low, high = map(signed, weight.interval)
            words += _(", likely %(low)s to %(high)s") % {"low": low, "high": high}
        if weight.n_failed:
            words += _("; %(n)s of %(all)s passages could not be judged") % unjudged
        return words

    def degree(self, result: ReadingResult) -> str:
        """The mean degree of a reading and how sure it is; empty without evidence."""
        _, weight = self._, result.weight
        if weight.doc is None:
            return ""
        words = _("mean degree %(doc)s") % {"doc": signed(weight.doc)}
        if weight.interval:
            low, high = map(signed, weight.interval)
            words += _(", likely %(low)s to %(high)s") % {"low": low, "high": high}
        if weight.n_failed:
            unjudged = {"n": weight.n_failed, "all": len(result.items)}
            words += _("; %(n)s of %(all)s passages could not be judged") % unjudged
        return words

    def warning(self, result: ReadingResult) -> str:
        """What must not be overlooked beside the mean, as `check_wording.warning`."""
        n = len(result.weight.contradictions)
        if not n:
            return ""
        if result.weight.outcome is Outcome.BALANCED:
            return self.ngettext(
                "%(num)d passage says so strongly for or against it: they contradict each other",
                "%(num)d passages say so strongly for or against it: they contradict each other",
                n,
            ) % {"num": n}
        otherwise = self.ngettext(
            "%(num)d passage strongly contradicts this",
            "%(num)d passages strongly contradict this",
            n,
        )
        return otherwise % {"num": n}

    def advice(self, report: CheckReport | AnswerReport) -> str:
        """What a reader must know of every result."""
        if isinstance(report, CheckReport):
            return self._(check_wording.ADVICE)
        return self._(ask_wording.advice(report.answers))

    # ── ask ──────────────────────────────────────────────────────────────────────────────────────

    def standing(self, standing: Standing) -> str:
        """How a sentence stands."""
        return self._(ask_wording.LABELS[standing])

    def label(self, checked: Checked) -> str:
        """The same, with the source of what was copied."""
        if checked.standing is not Standing.VERBATIM:
            return self.standing(checked.standing)
        numbers = ", ".join(ask_wording.numbers(checked))
        return self._(ask_wording.VERBATIM_FROM) % {"numbers": f"[{numbers}]"}

    def short(self, standing: Standing) -> str:
        """The same where sentences are counted."""
        return self._(ask_wording.SHORT[standing])

    def support(self, support: Support) -> str:
        """What a reference says of a sentence, with its sign."""
        return f"{ask_wording.SIGNS[standing([support])]} {self._(ask_wording.VERDICTS[support])}"

    def retraction(self, retraction: Retraction) -> str:
        """The mark of a reference; empty for most."""
        mark = bibliography.RETRACTIONS[retraction]
        return f"⚠ {self._(mark)}" if mark else ""

    def written_by(self, by: str, *, abstracts: bool) -> str:
        """Who worded an answer."""
        _ = self._
        if by != ask_wording.EXTRACT:
            said = _("Written by %(model)s; each sentence was then compared with its references.")
            return said % {"model": one_line(by)}
        if abstracts:
            return _("Extractive: sentences copied from the abstracts, not written by a model.")
        return _("Extractive: sentences copied from the documents, not written by a model.")

    def _texts(self, n: int) -> str:
        return self.ngettext("%(num)d document", "%(num)d documents", n) % {"num": n}


def words_of(request: Request) -> Words:
    """In the language of whoever asks."""
    texts = languages.translations(languages.language_of(request))
    return Words(texts.gettext, texts.ngettext)
