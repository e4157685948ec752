"""Files are replaced whole or not at all."""

import contextlib
from pathlib import Path

import pytest

from pincite import durable
from pincite.durable import read_stamp


@pytest.mark.parametrize(("n_refusals", "held"), [(3, False), (10_000, True)])
def test_a_stamp_waits_a_moment_for_who_reads_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, n_refusals: int, held: bool
) -> None:
    """Windows refuses to rename over a file that somebody has open."""
    refusals = iter([True] * n_refusals)
    replace = Path.replace

    def refused(self: Path, target: Path) -> Path:
        if next(refusals, False):
            raise PermissionError(13, "in use")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", refused)
    monkeypatch.setattr(durable, "READ_SECONDS", 0.0)
    with pytest.raises(PermissionError) if held else contextlib.nullcontext():
        durable.write_stamp(tmp_path / "stamp.json", {"a": 1})
    assert read_stamp(tmp_path / "stamp.json") == (None if held else {"a": 1})


def test_a_file_or_folder_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "kept"
    durable.write_text(path, "old")
    with contextlib.suppress(ValueError), durable.replacing(path) as part:
        part.write_text("ne")
        raise ValueError
    assert path.read_text() == "old"
    for content in ("new", "newer"):
        with durable.replacing(path) as part:
            part.mkdir()
            (part / "a").write_text(content)
        assert (path / "a").read_text() == content
    assert [*tmp_path.iterdir()] == [path]
