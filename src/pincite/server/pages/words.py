"""The reports' words in the language of whoever reads: labels, and all texts for translators."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fastapi import Request

from pincite import notes
from pincite.judgement.confirmation import Outcome, StatementType
from pincite.judgement.references import Retraction, Standing, Support, standing
from pincite.notes import Language
from pincite.server.pages import languages, sent_files
from pincite.server.study import wording as study_wording
from pincite.types import Reason
from pincite.verbs.ask import bibliography
from pincite.verbs.ask import wording as ask_wording
from pincite.verbs.ask.records import AnswerReport, Checked
from pincite.verbs.check import wording as check_wording
from pincite.verbs.check.records import CheckReport
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
    *(wording.VERDICTS, wording.OPINIONS, wording.UNCITED),
    {code: said for code, said in notes.ENGLISH.items() if code != notes.AS_WRITTEN},
    dict(enumerate((notes.QUOTED, ask_wording.ABSENT, ask_wording.CUT, ask_wording.MISSING))),
    dict(enumerate((ask_wording.UNKNOWN_ONE, ask_wording.UNKNOWN))),
    *(study_wording.SIDES, study_wording.OTHERWISE, study_wording.EVIDENCE),
)


@dataclass(frozen=True, slots=True)
class Words:
    """What pages of `check` and `ask` say, in one language."""

    language: Language

    def _(self, text: str) -> str:
        return self.language.say(text)

    # ── check ────────────────────────────────────────────────────────────────────────────────────

    def outcome(self, outcome: Outcome) -> str:
        """The result of a reading."""
        return self._(check_wording.LABELS[outcome])

    def kind(self, kind: StatementType) -> str:
        """What kind of statement a reading is."""
        return self._(check_wording.KINDS[kind])

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
        return ask_wording.label(checked, self._)

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


def words_of(request: Request) -> Words:
    """In the language of whoever asks."""
    texts = languages.translations(languages.language_of(request))
    return Words(Language(texts.gettext, texts.ngettext))
