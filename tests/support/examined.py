"""A language model that was examined, without asking it."""

from pathlib import Path

from models.chat_server import Server

from pincite.llm import judge as judges
from pincite.llm.judge import Examination, KnownJudge

MODEL = "qwen3"


def keep_examined(
    server: Server, file: Path, *, passed: bool = True, contradicts: bool = False
) -> str:
    """Store that the server's model passed or failed; return its name in reports."""
    model = f"{MODEL}@{server.url.split('/')[2]}"
    result = Examination(
        model=model,
        examined="2026-11-28",
        passed=passed,
        right=(12, 12 if passed else 0),
        asked=(12, 12),
        wrong={},
        contradicted=(6, 6) if contradicts else (0, 0),
    )
    judges.keep_judge(file, model, KnownJudge(examinations={"en": result, "other": result}))
    return model
