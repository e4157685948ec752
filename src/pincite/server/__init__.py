"""`pincite serve`: the three verbs over HTTP and in web pages, with jobs that survive a restart."""

from importlib.util import find_spec

from pincite.errors import ConfigError

if find_spec("fcntl") is None:
    raise ConfigError(
        "The server needs Linux or macOS, whose locks and process groups it uses. On Windows run "
        "it in WSL, or from the container image; all other commands work here."
    )
