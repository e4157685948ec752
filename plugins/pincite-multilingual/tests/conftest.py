"""The fixtures of the core's tests: no network, no lists of the user's."""

from conftest import _no_lists_of_the_user, _no_network

__all__ = ["_no_lists_of_the_user", "_no_network"]
