"""The fixtures of the core's tests."""

# ruff: noqa: F401 - pytest finds the fixtures by their names

from cli.conftest import _own_folder, run, server

from conftest import _no_lists_of_the_user, _no_multilingual_verifier, _no_network
