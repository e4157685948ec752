"""How sentences that their references do not support are handled.

    contradicted       ─▶ dropped, and shown as dropped
    no evidence        ─▶ rewritten by a model to what the reference says, and verified again
    still no evidence  ─▶ struck out, as where there is no model, or no such reference

Nothing vanishes: `dropped` and `changes` of the answer have it all.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from pincite.completions import Completion, Prompt
from pincite.judgement.references import Standing
from pincite.llm.calls import Calls, tokens_of
from pincite.llm.templates import Templates
from pincite.notes import Note, as_written
from pincite.text import citation_marks
from pincite.types import Failed
from pincite.verbs.ask.answer_check import AnswerChecker
from pincite.verbs.ask.records import Answer, Change, Checked, Reference
from pincite.verbs.ask.writers import CHAT_TOKENS

STEP = "rewrite_sentence"
REPLY_TOKENS = 150
_SILENT = Note("references_silent")
_UNFOUNDED = (Standing.NO_EVIDENCE, Standing.FABRICATED)


@dataclass(frozen=True, slots=True)
class Repairer:
    """Repairs an answer; without a model by striking out alone."""

    calls: Calls | None = None
    templates: Templates | None = None
    language: str = "en"
    prompt_tokens: int = 6000  # of a prompt, all in all

    def repaired(self, answer: Answer, checker: AnswerChecker) -> Answer:
        """The answer without what its references do not support."""
        kept: list[str] = []
        dropped: list[Checked] = []
        changes: list[Change] = []
        for checked in answer.sentences:
            written = checked.sentence.span.of(answer.text)
            if checked.standing is Standing.CONTRADICTED:
                dropped.append(checked)
            elif checked.standing in _UNFOUNDED:
                change = self._changed(checked, answer.references, checker)
                changes.append(change)
                kept += [change.after] if change.after else []
            else:
                kept.append(written)
        text = " ".join(kept)
        sentences = citation_marks.cited_sentences(text, self.language)
        return replace(
            answer,
            text=text,
            sentences=tuple(checker.checked(sentences, answer.references)),
            dropped=tuple(dropped),
            changes=tuple(changes),
        )

    def _changed(
        self, checked: Checked, references: Sequence[Reference], checker: AnswerChecker
    ) -> Change:
        if checked.standing is Standing.FABRICATED:
            return Change(checked, "", (Note("references_do_not_exist"),))
        if self.calls is None or self.templates is None:
            return Change(checked, "", (_SILENT,))
        after = self._rewritten(checked)
        if isinstance(after, Failed):
            return Change(checked, "", (_SILENT, *as_written(after.detail)))
        marks = "".join(f"[{v.number}]" for v in checked.verdicts if v.number)
        proposed = f"{after.rstrip('.')} {marks}."
        found = checker.checked(citation_marks.cited_sentences(proposed, self.language), references)
        if all(each.standing is Standing.SUPPORTED for each in found):
            return Change(checked, proposed, (Note("rewritten"),))
        return Change(checked, "", (Note("references_still_silent"),))

    def _asked(self, checked: Checked, texts: Sequence[str]) -> tuple[str, str]:
        assert self.templates
        return self.templates.filled(
            STEP, statement=checked.sentence.text, evidence_item="\n\n".join(texts)
        )

    def _rewritten(self, checked: Checked) -> str | Failed:
        assert self.calls
        texts = [v.evidence.passage.text for v in checked.verdicts if v.evidence]
        system, user = self._asked(checked, texts)
        while texts and tokens_of(system + user) + CHAT_TOKENS > self.prompt_tokens:
            system, user = self._asked(checked, texts := texts[:-1])
        if not texts:
            return Failed("budget", "ask.prompt_tokens leaves no room for a reference")

        def read(reply: Completion) -> str | None:
            said = " ".join(reply.text.split())
            # A mark that the model makes up would name a paper that was never looked at.
            said = citation_marks.without_marks(
                said, citation_marks.whole(said), citation_marks.marks(said)
            )
            return said if reply.complete and 0 < len(said) < 1000 else None

        prompt = Prompt(user, system, REPLY_TOKENS)
        return self.calls.read(STEP, prompt, {"sentence": checked.sentence.text}, read)
