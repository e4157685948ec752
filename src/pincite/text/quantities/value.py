"""A value of a text: where it stands, and the interval that it means."""

from dataclasses import dataclass

from pincite.types import Span


@dataclass(frozen=True, slots=True)
class Day:
    """A date as far as it is given: a range of years for a decade, of months for a season."""

    years: tuple[int, int] | None = None
    months: tuple[int, int] | None = None
    day: int | None = None


@dataclass(frozen=True, slots=True)
class Value:
    """Where a value stands and what it says."""

    span: Span
    low: float = 0.0  # in the base unit of `measure`; both 0 of a date
    high: float = 0.0
    measure: str = ""  # "length", "share", "money $", "date", …; "" of a bare number
    unit: str = ""  # as `units` names it: values in different units are compared more loosely
    dates: tuple[Day, ...] = ()  # of a date; two where day and month may be exchanged
    weak: bool = False  # may state a claim's value, but is not one by itself: "first", "one"

    @property
    def is_year(self) -> bool:
        """Whether it is a bare year, which may as well be a number."""
        return self.measure == "date" and all(
            d.months is None and d.years and d.years[0] == d.years[1] for d in self.dates
        )
