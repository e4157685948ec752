"""`pincite cache`: shown, pruned, cleared."""

from contextlib import closing
from pathlib import Path

import numpy as np
from cli.test_cli import run
from web.test_fetch import filled

from pincite.documents import read
from pincite.models.session import LogitCache
from pincite.protocols import Floats


def judge(path: Path, n: int) -> None:
    def compute(pairs: object) -> Floats:
        return np.zeros((len(pairs), 3), dtype=np.float32)  # type: ignore[arg-type]

    pairs = LogitCache(path, "network")
    pairs.logits([(str(i), "passage") for i in range(n)], compute)
    pairs.close()


def test_an_empty_cache_is_shown_and_not_made(tmp_path: Path) -> None:
    assert "0 fetched pages and failures" in run("cache", "show").stdout
    run("cache", "clear")
    run("cache", "clear", "--judgements")
    assert not (tmp_path / "cache").exists()


def test_shown_and_cleared(tmp_path: Path) -> None:
    filled(tmp_path / "mine.sqlite").close()
    (tmp_path / "pincite.toml").write_text("web.cache = 'mine.sqlite'")
    judge(tmp_path / "cache" / "judgements.sqlite", 5)
    with closing(read.open_cache(tmp_path / "cache" / "scans.sqlite")) as scans:
        scans.insert([(b"1", "{}"), (b"2", "{}")])
    shown = run("cache", "show").stdout
    assert "4 fetched pages and failures" in shown
    assert "5 judged pairs" in shown
    assert "2 recognised scans" in shown
    for days, n in (("30", 2), ("2.5", 1)):
        assert f"{n} addresses removed" in run("cache", "clear", "--older-than", days).stderr
    cleared = run("cache", "clear", "--judgements").stderr
    assert "5 judged pairs removed" in cleared
    assert "2 recognised scans removed" in cleared
    assert "1 fetched pages and failures" in run("cache", "show").stdout
    assert "1 addresses removed" in run("cache", "clear").stderr
    shown = run("cache", "show").stdout
    assert "0 fetched pages and failures" in shown
    assert "0 judged pairs" in shown
