"""Values of a JSON object, each looked at before it is believed: a file may have been edited.

Every method raises InputError, which names the place, where something else stands than was asked
for.
"""

from collections.abc import Callable
from typing import Any, TypeAlias, TypeVar

from pincite.errors import InputError
from pincite.types import Span

T = TypeVar("T")
Setting: TypeAlias = str | float | int | bool | tuple[str, ...] | None


class Values:
    """A JSON object whose values are asked for by name and kind; `where` is for messages."""

    def __init__(self, values: object, where: str) -> None:
        if not isinstance(values, dict):
            raise InputError(f"{where or 'the whole'} is not a JSON object")
        self._values, self._where = values, where

    def holds(self, name: str) -> bool:
        """Whether anything stands there; reports of earlier versions lack what came later."""
        return name in self._values

    def any(self, name: str) -> Any:
        """Whatever stands there."""
        if name not in self._values:
            raise InputError(f"{self._place(name)} is missing")
        return self._values[name]

    def has(self, name: str) -> bool:
        """Whether anything stands there: results of an earlier version lack what is new."""
        return name in self._values

    def text(self, name: str) -> str:
        """A text."""
        value: str = self._of(name, str)
        return value

    def flag(self, name: str) -> bool:
        """True or false."""
        value: bool = self._of(name, bool)
        return value

    def whole(self, name: str) -> int:
        """A whole number."""
        value: int = self._of(name, int)
        return value

    def number(self, name: str) -> float:
        """A number."""
        return float(self._of(name, int, float))

    def maybe(self, name: str, kind: Callable[[str], T]) -> T | None:
        """What `kind` reads, or None where null stands."""
        return None if self.any(name) is None else kind(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """A list of texts."""
        return tuple(self._checked(name, each, str) for each in self._of(name, list))

    def pairs(self, name: str) -> dict[str, str]:
        """Texts by name."""
        return {k: self._checked(name, v, str) for k, v in self._of(name, dict).items()}

    def settings(self, name: str) -> dict[str, Setting]:
        """Values of settings by name."""
        inner = self.inner(name)
        return {key: inner._setting(key) for key in inner._values}

    def _setting(self, name: str) -> Setting:
        if isinstance(self.any(name), list):
            return self.texts(name)
        value: Setting = self._of(name, str, float, int, bool, type(None))
        return value

    def span(self, name: str) -> Span:
        """A span."""
        ends = [self._checked(name, end, int) for end in self._of(name, list)]
        if len(ends) != 2 or not 0 <= ends[0] <= ends[1]:
            raise InputError(f"{self._place(name)} is no span: {ends}")
        return Span(*ends)

    def inner(self, name: str) -> "Values":
        """An object."""
        return Values(self.any(name), self._place(name))

    def each(self, name: str, read: Callable[["Values"], T]) -> tuple[T, ...]:
        """A list, each read by `read`."""
        place = self._place(name)
        values = self._of(name, list)
        return tuple(read(Values(v, f"{place}[{n}]")) for n, v in enumerate(values))

    def one_of(self, name: str, kind: Callable[[str], T]) -> T:
        """A text that `kind` knows."""
        try:
            return kind(self.text(name))
        except ValueError as error:
            raise InputError(f"{self._place(name)}: {error}") from error

    def _of(self, name: str, *kinds: type[Any]) -> Any:
        return self._checked(name, self.any(name), *kinds)

    def _checked(self, name: str, value: Any, *kinds: type[Any]) -> Any:
        # True is an int to Python, and not to JSON.
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            wanted = " or ".join(kind.__name__ for kind in kinds)
            raise InputError(f"{self._place(name)} is {type(value).__name__}, not {wanted}")
        return value

    def _place(self, name: str) -> str:
        return f"{self._where}.{name}" if self._where else name
