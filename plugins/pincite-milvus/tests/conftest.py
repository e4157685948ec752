"""The fixtures of the core's tests: no network, no lists of the user's, a tiny encoder."""

from conftest import _no_lists_of_the_user, _no_network, tiny_encoder

__all__ = ["_no_lists_of_the_user", "_no_network", "tiny_encoder"]
