"""`pincite serve`: the verbs as web pages and an HTTP API, with jobs that survive a restart."""

from importlib.util import find_spec

from pincite.errors import ConfigError

if find_spec("fcntl") is None:
    raise ConfigError(
        "The server needs Linux or macOS for their file locks and process groups. On Windows, run "
        "it in WSL or from the container image; all other commands work here."
    )
