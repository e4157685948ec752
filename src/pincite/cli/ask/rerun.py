"""`pincite ask --again`: an earlier result made anew, and whether its answers are the same."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pincite.cli import options
from pincite.settings import Settings, places, renamed
from pincite.verbs.ask.records import Answer, AnswerReport

# What belongs to a machine and not to the question.
_NOT_THE_QUESTION = ("models.threads", "web.", "library.")


@dataclass(frozen=True, slots=True)
class Earlier:
    """A result to be made again."""

    report: AnswerReport
    settings: Mapping[str, Any]

    @property
    def questions(self) -> list[str]:
        """Those that were asked."""
        return [answer.question for answer in self.report.answers]

    def same(self, now: AnswerReport) -> bool:
        """Whether each answer has the same words, references and standings; tells which has not."""
        if now.versions.get("corpus") != self.report.versions.get("corpus"):
            options.say("The corpus has changed since; the answers may differ for that.")
        pairs = zip(self.report.answers, now.answers, strict=False)
        others = [then.question for then, found in pairs if _said(then) != _said(found)]
        for question in others:
            options.say(f"Another answer than before: {question}")
        return not others and len(now.answers) == len(self.report.answers)


def earlier(path: Path) -> Earlier:
    """The result in a JSON file of `ask`.

    Raises:
        InputError: it is none. ConfigError: its settings are none of this version.
    """
    from pincite.verbs.ask.data import read_answers

    report = read_answers(path)
    full = renamed(report.settings)
    kept = {name: v for name, v in full.items() if not name.startswith(_NOT_THE_QUESTION)}
    return Earlier(report, places.checked(Settings, kept, str(path)))


def _said(answer: Answer) -> tuple[object, ...]:
    return (
        answer.text,
        answer.abstained,
        tuple((each.sentence.ids, each.standing) for each in answer.sentences),
        tuple(reference.ref_id for reference in answer.references),
    )
