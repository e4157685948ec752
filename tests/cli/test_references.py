"""`pincite references` and `pincite works import`."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from cli.check_runs import prepare
from click.testing import CliRunner, Result
from support.rows import CASES
from web.zoo import Zoo, zoo_server

from pincite.cli import cli
from pincite.errors import PinciteError
from pincite.references import online
from pincite.settings import ReferencesSettings
from pincite.web.fetch import WebClient

RECORDS = CASES / "references" / "imports"
BIBTEX = r"""@article{holm, title={Trams of {V}arde}, author={Holm, Ida Marie and Tram Study Group},
 journal={J. Tram Stud.}, year=2020, doi={10.1000/a1}}
@inproceedings{trams, title={Scheduling trams in small towns},
 author={Ida Holm and Jos{\'e} M{\"u}ller},
 booktitle={TRAM}, year={2024}}
@misc{none, title={A thesis on towers}, author={Lind, Eva and others}, year={1999},
 eprint={2101.00009}, archivePrefix={arXiv}}
"""


def run(*arguments: object, code: int = 0) -> Result:
    result = CliRunner().invoke(cli, [*map(str, arguments)])
    error = result.exception
    found = error.exit_code if isinstance(error, PinciteError) else result.exit_code
    assert found == code, result.output
    return result


@pytest.fixture
def catalogue(tmp_path: Path) -> Path:
    place = tmp_path / "works.sqlite"
    files = [RECORDS / name for name in ("crossref.jsonl", "dblp.xml", "retraction_watch.csv")]
    run("works", "import", *files, "--catalogue", place)
    return place


def results(done: Result) -> dict[str, tuple[str, list[str]]]:
    found = json.loads(done.stdout)["results"]
    return {
        each["citation"]["citation_id"]: (
            each["outcome"]["status"],
            [difference["field"] for difference in each["outcome"]["differences"]],
        )
        for each in found
    }


def test_outcomes_of_a_bibliography(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(BIBTEX)
    done = run("references", tmp_path / "a.bib", "--catalogue", catalogue, "--json", "-")
    assert results(done) == {
        "holm": ("retracted", []),
        "trams": ("differs", ["year"]),
        "none": ("unverified", []),
    }


def test_bibliographies_are_written_with_corrected_fields(catalogue: Path, tmp_path: Path) -> None:
    (tmp_path / "a.bib").write_text(BIBTEX)
    outputs = {name: tmp_path / f"out.{name}" for name in ("bibtex", "ris", "csl", "csv")}
    options = [part for name, path in outputs.items() for part in (f"--{name}", path)]
    run("references", tmp_path / "a.bib", "--catalogue", catalogue, *options)
    holm, trams, none = json.loads(outputs["csl"].read_text())
    assert (holm["container-title"], holm["status"]) == ("Journal of Tram Studies", "retracted")
    assert (trams["issued"]["date-parts"], trams["DOI"]) == ([[2020]], "10.1000/d1")
    assert none["DOI"] == "10.48550/arxiv.2101.00009"
    assert (tmp_path / "out.bibtex").read_text().count("@inproceedings{trams,") == 1
    again = run("references", outputs["bibtex"], "--catalogue", catalogue, "--json", "-")
    assert results(again) == {
        "holm": ("retracted", []),
        "trams": ("agrees", []),
        "none": ("unverified", []),
    }
    assert outputs["ris"].read_text().count("TY  - ") == 3
    assert len(outputs["csv"].read_text().splitlines()) == 4


@pytest.mark.parametrize(
    ("fail_on", "code"), [(["retracted"], 1), (["other_work"], 0), (["other_work", "differs"], 1)]
)
def test_exit_code_says_whether_an_outcome_was_found(
    catalogue: Path, tmp_path: Path, fail_on: list[str], code: int
) -> None:
    (tmp_path / "a.bib").write_text(BIBTEX)
    options = [part for outcome in fail_on for part in ("--fail-on", outcome)]
    run("references", tmp_path / "a.bib", "--catalogue", catalogue, *options, code=code)


@pytest.fixture
def services(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Zoo]:
    """All services, none of which has a record; `pincite.toml` names them."""
    config = tmp_path / "pincite.toml"
    with zoo_server() as zoo:
        monkeypatch.setattr(online, "WebClient", lambda rules, **_: WebClient(
            replace(rules, attempts=1), resolve=zoo.resolve, allow={"127.0.0.1"}
        ))  # fmt: skip
        addresses = {name: zoo.url(f"{name}.test", "") for name in ReferencesSettings.__slots__}
        table = "\n".join(f"{name} = {url!r}" for name, url in addresses.items())
        prepare(tmp_path, monkeypatch)  # tiny models
        with config.open("a") as file:
            file.write(f"[references]\n{table}\n[web]\ncache = '{tmp_path}/web.sqlite'\n")
        monkeypatch.setattr(online, "PAUSE", 0.0)
        yield zoo


def test_services_are_asked_with_online_only(tmp_path: Path, services: Zoo) -> None:
    (tmp_path / "a.bib").write_text(BIBTEX)
    options = ("--catalogue", tmp_path / "none.sqlite", "--config", tmp_path / "pincite.toml")
    run("references", tmp_path / "a.bib", *options, "--json", "-")
    assert not services.requests
    done = run("references", tmp_path / "a.bib", *options, "--json", "-", "--online")
    assert {status for status, _ in results(done).values()} == {"unchecked"}
    assert ("crossref.test", "/works/10.1000%2Fa1") in services.requests


@pytest.mark.parametrize("options", [(), ("--online",)])
def test_verify_asks_services_with_online_only(
    tmp_path: Path, services: Zoo, options: tuple[str, ...]
) -> None:
    work = "{{cite journal|title=Trams|doi=10.1000/a1}}"
    (tmp_path / "a.wiki").write_text(f"The trams of Varde ran in 1911.<ref>{work}</ref>")
    done = run("verify", tmp_path / "a.wiki", "--json", "-", *options)
    (cited,) = json.loads(done.stdout)["findings"][0]["citations"]
    if not options:
        assert (cited["work"], services.requests) == (None, [])
        return
    assert cited["work"]["status"] == "unverified"
    assert ("crossref.test", "/works/10.1000%2Fa1") in services.requests


@pytest.mark.parametrize("text", ["", "   \n"])
def test_a_file_without_references_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.txt").write_text(text)
    run("references", tmp_path / "a.txt", code=3)
