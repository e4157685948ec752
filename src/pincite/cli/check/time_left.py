"""How long a model's server will be asked, by its first replies: nothing else knows its speed."""

import time
from collections.abc import Callable

_SHARE = 1 / 8  # of a statement's calls: fewer say little of the rest
_FEWEST = 16  # calls; fewer are soon over
_SHORT = 10.0  # seconds that nobody needs to be told of


class TimeLeft:
    """Told how many calls are done; says once how long the others will take."""

    def __init__(self, say: Callable[[str], None], *, several: bool) -> None:
        """`several`: there are other statements too."""
        self._say: Callable[[str], None] | None = say
        self._several = several
        self._began, self._total = 0.0, 0

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` calls of one step have been answered."""
        now = time.monotonic()
        if done == 0 or total != self._total:
            self._began, self._total = now, total
        if not self._say or not done or done < total * _SHARE or total < _FEWEST:
            return
        each = (now - self._began) / done
        if each * total >= _SHORT:
            left = _told(each * (total - done))
            of_all = f"; {_told(each * total)} each for others like it" if self._several else ""
            self._say(f"{done} of {total} calls are done, about {left} left{of_all}.")
        self._say = None


def _told(seconds: float) -> str:
    """A length of time, roughly.

    >>> _told(41.7), _told(200), _told(9000)
    ('42 s', '3 min', '2.5 h')
    """
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
