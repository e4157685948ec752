"""Templates of EvidenceSeeker's, unchanged."""

from pathlib import Path

from check_samples import check_report

from pincite.verbs.check import render


def test_a_template_written_for_evidence_seeker(tmp_path: Path) -> None:
    """Its results are objects with enumerations, its numbers are never missing."""
    template = tmp_path / "theirs.tmpl"
    template.write_text(
        "{{ evse_result.request }}{% if feedback %} rated{% endif %}\n"
        "{% for c in claims %}{{ c.uid }} {{ c['statement_type'].value }} "
        "{{ c.confirmation_level.value }} {{ translation[c.confirmation_level.value] }} "
        "{{ c.average_confirmation | round(2) }} {{ c.evidential_uncertainty | round(2) }} "
        "{{ confirmation_level(c.average_confirmation).value }}\n"
        "{% for d in c.documents %}{{ d.text }} {{ c.confirmation_by_document[d.uid] | round(3) }} "
        "{{ d.metadata.page_label }}{% for key, value in d.metadata.items() %}"
        "{{ key }}={{ value }};{% endfor %}\n{% endfor %}{% endfor %}"
    )
    report = check_report("A *b*", "https://varde.example/old.pdf")
    words = {"disconfirmed": "widerlegt"}
    written = render.to_markdown(report, template, translation=words).replace("\\", "")
    lines = written.splitlines()
    assert lines[0] == "A *b*"
    assert "r5 descriptive disconfirmed widerlegt -0.5 0.0 disconfirmed" in lines
    assert "r2 descriptive inconclusive_confirmation  nan nan inconclusive_confirmation" in lines
    item = next(line for line in lines if line.startswith("It says: A *b* And more. 0.9 "))
    assert "file_name=old.pdf;" in item
    assert "author=A *b*;" in item
    assert any(line.startswith("It says: A *b* And more. nan ") for line in lines), "it failed"
    rated = render.to_markdown(report, template, feedback="negative")
    assert rated.splitlines()[0].replace("\\", "") == "A *b* rated"


def test_a_template_that_prints_a_result_prints_no_markup(tmp_path: Path) -> None:
    (tmp_path / "own.md.j2").write_text("{{ evse_result }}")
    written = render.to_markdown(check_report("# <b>x</b>"), tmp_path / "own.md.j2")
    assert "<b>" not in written.replace("\\<", "")
