"""What a release needs, and that its workflow hands no secret around."""

import hashlib
from pathlib import Path

import yaml
from support.rows import each_row

import release
from conftest import OF_POSIX

ROOT = Path(__file__).parents[2]
WORKFLOW = (ROOT / ".github" / "workflows" / "release.yml").read_text(encoding="utf-8")


@each_row("house/release/a_version_needs_notes_of_its_own")
def test_a_version_needs_notes_of_its_own(changelog: str, notes: str | None) -> None:
    assert release.notes(changelog, "0.2.0") == notes


def test_checksums_are_those_of_the_files(tmp_path: Path) -> None:
    (tmp_path / "b.whl").write_bytes(b"b")
    (tmp_path / "a.tar.gz").write_bytes(b"a")
    (tmp_path / "SHA256SUMS").write_text("old")
    lines = [
        f"{hashlib.sha256(c).hexdigest()}  {n}\n" for n, c in (("a.tar.gz", b"a"), ("b.whl", b"b"))
    ]
    assert release.sums(tmp_path) == "".join(lines)


def test_windows_tests_what_there_is() -> None:
    [step] = [
        step["run"].split()
        for step in yaml.safe_load(WORKFLOW)["jobs"]["windows"]["steps"]
        if "pytest" in step.get("run", "")
    ]
    folders = [word for word in step if word.startswith("tests/")]
    left_out = [f"tests/{name}" for name in OF_POSIX]
    assert [name for name in (*folders, *left_out) if not (ROOT / name).exists()] == []


def test_the_workflow_publishes_tags_only_and_stores_no_secret() -> None:
    jobs = yaml.safe_load(WORKFLOW)["jobs"]
    assert "secrets." not in WORKFLOW
    assert "tag" in jobs["sign"]["if"]
    for name in ("pypi", "image"):
        assert jobs[name]["needs"] == "sign"
    assert jobs["pypi"]["permissions"] == {"id-token": "write"}
