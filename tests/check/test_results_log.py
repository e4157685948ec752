"""The log of results: one file each, by day, and written over."""

from pathlib import Path
from typing import Any

import pytest

from pincite.errors import ConfigError
from pincite.settings import ResultsSettings
from pincite.verbs.check.render import log_result

CREATED = "2026-03-09T12:00:00+00:00"


def keep(folder: Path, texts: dict[str, str], **more: Any) -> list[Path]:
    return log_result(ResultsSettings(folder=str(folder), **more), "ab12", CREATED, texts)


@pytest.mark.parametrize(
    ("by", "inside"),
    [("", ""), ("daily", "2026_03_09"), ("weekly", "y2026_w10"), ("monthly", "y2026_m03")],
)
def test_where_results_lie(tmp_path: Path, by: str, inside: str) -> None:
    paths = keep(tmp_path / "log", {"yaml": "a: 1\n", "md": "# A\n"}, by=by)
    stem = tmp_path / "log" / inside / "2026_03_09_ab12"
    assert paths == [stem.with_suffix(".yaml"), stem.with_suffix(".md")]
    assert paths[0].read_text() == "a: 1\n"


def test_a_result_is_written_over_wherever_it_lies(tmp_path: Path) -> None:
    (first,) = keep(tmp_path, {"yaml": "a: 1\n"}, by="daily")
    (second,) = keep(tmp_path, {"yaml": "a: 2\n"}, by="yearly")
    assert (second, second.read_text()) == (first, "a: 2\n")
    assert len([path for path in tmp_path.rglob("*") if path.is_file()]) == 1


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ConfigError, match=r"cannot be written \(results.folder\)"):
        keep(tmp_path / "file", {"yaml": ""})
