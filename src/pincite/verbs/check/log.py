"""Checks in the log of results that the settings name."""

from dataclasses import replace
from pathlib import Path

from pincite.contract.codec import values_of
from pincite.library.results import log_of
from pincite.report.yaml_text import to_yaml
from pincite.settings import Settings
from pincite.verbs.check import data
from pincite.verbs.check.markdown import to_markdown, uid_of
from pincite.verbs.check.records import CheckReport


def kept(report: CheckReport, settings: Settings) -> list[Path]:
    """Write each check of a report into the log, if there is one; the files.

    Raises:
        ConfigError: a file cannot be written, the template not filled in, or git refuses.
    """
    written = list[Path]()
    if (log := log_of(settings.results)) is None:
        return written
    for check in report.checks:
        one = replace(report, checks=(check,), n_statements=1)
        texts = {"yaml": to_yaml(values_of(data.record_of(one)))}
        if settings.results.markdown:
            own, words = settings.check.template_file, settings.check.texts
            texts["md"] = to_markdown(one, own, translation=words)
        written += log.keep(uid_of(check.statement, report.created), report.created, texts)
    return written
