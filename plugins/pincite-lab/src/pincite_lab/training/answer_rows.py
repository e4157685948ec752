"""Conversations to fine-tune a language model on, from verified answers of `ask`.

As Verif.ai's PQAref (Košprdić et al. 2024, §II-B): a question, the references found for it, and an
answer that cites them. The prompt is the one that `ask` sends.
"""

import hashlib
import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pincite.judgement.references import Retraction, Support
from pincite.llm.templates import Templates
from pincite.text import citation_marks
from pincite.verbs.ask.report import Answer, AnswerReport
from pincite.verbs.ask.writers import BETWEEN, STEP, within_budget

PARTS = {"test": 0.1, "dev": 0.2, "train": 1.0}  # cumulative shares of the questions: 10, 10, 80 %
_PROMPT_TOKENS = 6000  # of the references, if the report states no `ask.prompt_tokens`
_SUPPORT = {Support.SUPPORTS, Support.VERBATIM}


@dataclass(slots=True)
class RowMaker:
    """Makes rows from answers, and counts what it leaves out by reason."""

    rows: dict[str, list[dict[str, Any]]] = field(default_factory=dict)  # by question
    left_out: Counter[str] = field(default_factory=Counter)
    n_answers: int = 0

    def add(self, path: Path) -> None:
        """Make rows from a report of `ask --json`; raises InputError if it is not one."""
        report = AnswerReport.from_file(path)
        settings = report.settings
        prompts, language = (
            str(settings.get(key) or "en") for key in ("chat.prompt_language", "language")
        )
        templates = Templates.load(prompts, language)
        tokens = int(str(settings.get("ask.prompt_tokens") or _PROMPT_TOKENS))
        for answer in report.answers:
            self.n_answers += 1
            row, made = (
                _row_of(answer, templates, tokens),
                self.rows.setdefault(answer.question, []),
            )
            if isinstance(row, str):
                self.left_out[row] += 1
            elif row in made:
                self.left_out["repeated"] += 1
            else:
                made.append(row)

    def files(self) -> dict[str, str]:
        """Return name and content of each file; a hash of the question decides which it is in."""
        lines: dict[str, list[str]] = {part: [] for part in reversed(PARTS)}
        for question, rows in self.rows.items():
            plain = " ".join(question.casefold().split()).rstrip(" ?.!")
            drawn = int.from_bytes(hashlib.sha256(plain.encode()).digest()[:8]) / 2**64
            part = next(part for part, share in PARTS.items() if drawn < share)
            lines[part] += [json.dumps(row, ensure_ascii=False) + "\n" for row in rows]
        return {f"{part}.jsonl": "".join(of_part) for part, of_part in lines.items()}


def _row_of(answer: Answer, templates: Templates, tokens: int) -> dict[str, Any] | str:
    """Return the conversation, or why there is none: each reference must support its sentence."""
    if answer.abstained or not answer.complete:
        return "not answered, or not written and checked to the end"
    if not all(each.support in _SUPPORT for s in answer.sentences for each in s.verdicts):
        return "with a sentence that is not verified"
    text = _with_all_marks(answer)
    if not text:
        return "with a sentence that has no reference"
    cited = {each.number for s in answer.sentences for each in s.verdicts}
    references = [each for each in answer.references if each.document.text.strip()]
    if any(each.retraction is Retraction.YES for each in references if each.number in cited):
        return "that cite a retracted paper"
    shown = within_budget(references, tokens)
    if cited - {each.number for each in references[: len(shown)]}:
        return "whose references do not fit into the prompt"
    abstracts = BETWEEN.join(shown)
    system, user = templates.fill(STEP, question=answer.question, abstracts=abstracts)
    turns = {"system": system, "user": user, "assistant": text}
    return {"messages": [{"role": role, "content": content} for role, content in turns.items()]}


def _with_all_marks(answer: Answer) -> str:
    """Return the text with the marks that sentences inherit; "" if a sentence has no reference."""
    parts, at = [], 0
    for checked in answer.sentences:
        span = checked.sentence.span
        own = span.of(answer.text)
        numbers = dict.fromkeys(str(each.number) for each in checked.verdicts if each.number)
        if not numbers:
            return ""
        marks = "" if citation_marks.marks(own) else f" [{', '.join(numbers)}]"
        parts += [answer.text[at : span.start], own, marks]
        at = span.end
    return "".join(parts).strip()
