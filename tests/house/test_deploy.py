"""What is shipped to run a server with: files are looked at, for no container engine runs here.

`cases/compose-spec.json` is the schema of github.com/compose-spec/compose-spec (Apache-2.0) at
170098b.
"""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
UNIT = ROOT / "deploy" / "pincite.service"
KUBERNETES = ROOT / "deploy" / "kubernetes.yaml"
SCHEMA = ROOT / "tests" / "cases" / "compose-spec.json"


def program(name: str) -> str:
    """Where it is: beside this Python, or on the path."""
    found = shutil.which(name, path=str(Path(sys.executable).parent)) or shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed")
    return found


def run(name: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [program(name), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_hadolint_reports_nothing() -> None:
    done = run("hadolint", "--no-color", str(ROOT / "Dockerfile"))
    assert (done.returncode, done.stdout + done.stderr) == (0, "")


def test_image_runs_unprivileged_with_a_health_check() -> None:
    last = DOCKERFILE.rpartition("\nFROM ")[2]
    assert re.search(r"^USER 1\d{4}:1\d{4}$", last, re.MULTILINE)
    assert re.search(r"HEALTHCHECK(.|\n)*/healthz", last)
    assert not re.search(r"^FROM \S+:latest|^FROM [^:\s]+$", DOCKERFILE, re.MULTILINE)


def test_copied_files_are_in_the_build_context() -> None:
    let_in = (ROOT / ".dockerignore").read_text().split()
    for copied in re.findall(r"^COPY (?!--from)(.+) \S+$", DOCKERFILE, re.MULTILINE):
        for name in copied.split():
            assert (ROOT / name).exists()
            assert f"!{name}" in let_in


def test_compose_file_is_valid() -> None:
    jsonschema.Draft7Validator(json.loads(SCHEMA.read_bytes())).validate(COMPOSE)


@pytest.mark.parametrize("name", COMPOSE["services"])
def test_services_write_only_to_their_volume(name: str) -> None:
    service = COMPOSE["services"][name]
    assert service["read_only"] is True
    assert "no-new-privileges:true" in service["security_opt"]
    assert "mem_limit" in service
    assert not service["image"].endswith(":latest")
    for port in service.get("ports", ()):
        assert port.startswith("127.0.0.1:"), "a proxy with TLS stands before it"
    (volume,) = (volume.partition(":")[0] for volume in service["volumes"])
    assert volume in COMPOSE["volumes"]


def test_no_password_is_shipped_and_the_database_is_internal() -> None:
    text = (ROOT / "compose.yaml").read_text(encoding="utf-8")
    assert text.count("${PINCITE_DB_PASSWORD:?") == text.count("PASSWORD:?") == 2
    assert COMPOSE["services"]["database"]["networks"] == ["inside"]
    assert COMPOSE["networks"]["inside"]["internal"] is True


def test_every_setting_exists() -> None:
    from dataclasses import fields

    from pincite_server.settings import ServerSettings

    known = {f"PINCITE_SERVER_{field.name.upper()}" for field in fields(ServerSettings)}
    places = [DOCKERFILE, (ROOT / "compose.yaml").read_text(), UNIT.read_text()]
    places.append(KUBERNETES.read_text(encoding="utf-8"))
    given = set(re.findall(r"PINCITE_SERVER_[A-Z_]+", "".join(places)))
    assert given
    assert given <= known


def test_kubernetes_example_is_confined_and_complete() -> None:
    parts = list(yaml.safe_load_all(KUBERNETES.read_text(encoding="utf-8")))
    deployed = [part for part in parts if part["kind"] == "Deployment"]
    names = {(part["kind"], part["metadata"]["name"]) for part in parts}
    assert [part["metadata"]["name"] for part in deployed] == ["web", "worker"]
    for part in deployed:
        pod = part["spec"]["template"]["spec"]
        (container,) = pod["containers"]
        assert container["securityContext"]["readOnlyRootFilesystem"] is True
        assert container["securityContext"]["capabilities"] == {"drop": ["ALL"]}
        assert pod["securityContext"]["runAsNonRoot"] is True
        assert "memory" in container["resources"]["limits"]
        volumes = {volume["name"] for volume in pod["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == volumes
        assert ("ConfigMap", container["envFrom"][0]["configMapRef"]["name"]) in names
        assert (
            "PersistentVolumeClaim",
            pod["volumes"][0]["persistentVolumeClaim"]["claimName"],
        ) in names
    assert "PASSWORD@HOST" in KUBERNETES.read_text(encoding="utf-8"), "no password is shipped"


def test_systemd_accepts_the_unit_as_confined() -> None:
    """The threshold is of systemd's own measure, 0 (nothing is open) to 10."""
    done = run("systemd-analyze", "security", "--offline=yes", "--threshold=20", str(UNIT))
    assert done.returncode == 0, done.stdout[-500:] + done.stderr
    done = run("systemd-analyze", "verify", str(UNIT))
    said = [line for line in done.stderr.splitlines() if UNIT.name in line]
    assert [line for line in said if "is not executable" not in line] == []
