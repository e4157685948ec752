"""Starting a server: where it listens, and how."""

import signal
from pathlib import Path

import pytest
from server.people_of_tests import MakeSite
from server.processes import Served, Started
from support.rows import each_row

from pincite.errors import ConfigError
from pincite.settings import Settings
from pincite_server import demo, serving
from pincite_server.identity import Role
from pincite_server.serving import _advice, _listening
from pincite_server.settings import ServerSettings
from pincite_server.site import opened


def test_a_taken_port_is_an_error() -> None:
    with _listening(ServerSettings(port=0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=str(port)):
            _listening(ServerSettings(port=port))


@each_row("server/app/start_states_what_keeps_users_from_logging_in")
def test_start_states_what_keeps_users_from_logging_in(
    make_site: MakeSite, settings: dict[str, object], names: list[str]
) -> None:
    site = make_site(**settings)
    lines = list(_advice(site, Path("my.toml")))
    assert len(lines) == len(names)
    assert all(name in line for name, line in zip(names, lines, strict=True))
    site.people.accounts.add("Ada", Role.ADMIN)
    assert list(_advice(site, None)) == lines[1:]


def test_local_mode_listens_on_loopback_only() -> None:
    with pytest.raises(ConfigError):
        ServerSettings(host="0.0.0.0")
    with pytest.raises(ConfigError, match=r"server\.log is 'xml'"):
        ServerSettings(log="xml")  # type: ignore[arg-type]


def test_a_relative_data_folder_is_made_absolute() -> None:
    """Else no uploaded file has a `file:` address, and none can be read."""
    assert ServerSettings(data="kept").folder == Path.cwd() / "kept"


@pytest.mark.slow
def test_a_demo_that_is_killed_while_it_is_made_is_whole_at_the_next_start(tmp_path: Path) -> None:
    data = tmp_path / "data"
    killed = Started(tmp_path, "serve", "--port", "0", "--demo", "--data", str(data))
    killed.wait_for("Indexing “Demo: a knowledge base”")
    killed.end(signal.SIGKILL)
    served = Served(tmp_path, "--demo", data=data)
    corpora = served.get("/api/v1/corpora")["corpora"]
    names = {each["corpus_id"]: each["name"] for each in corpora}
    states = [served.get(f"/api/v1/corpora/{key}") for key in names]
    sizes = {names[each["corpus_id"]]: each["n_documents"] for each in states}
    served.end()
    assert not list(data.glob(".demo-*"))
    assert set(sizes) == {demo.WEB, demo.KNOWLEDGE, demo.ABSTRACTS}
    assert sizes[demo.KNOWLEDGE] == 30
    assert all(n > 20 for n in sizes.values())


def test_data_folder_that_is_a_file_is_a_wrong_setting(tmp_path: Path) -> None:
    (tmp_path / "data").touch()
    for place in (tmp_path / "data", tmp_path / "data" / "inside"):
        given = {"data": str(place), "port": 0}
        for act in (serving.serve, serving.work):
            with pytest.raises(ConfigError):
                act(given, None, lambda _: None)
        with pytest.raises(ConfigError):
            opened(ServerSettings(data=str(place)), Settings())
