"""Instants at which calendars and local times play tricks, always ahead of a clock.

Clocks are changed by the rules in force today: since 2007 in New York, since 1996 in Europe, since
2008 in Sydney. Knows no target.
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Callable, Iterable

NEW_YORK = "America/New_York"
KOLKATA = "Asia/Kolkata"
"""Half an hour off, too."""
MIDSUMMER, MIDWINTER, MIDNIGHT, LEAP_DAY = "midsummer", "midwinter", "midnight", "a leap day"
FORWARD_IN_NEW_YORK = "the beginning of summer time in New York"
BACK_IN_NEW_YORK = "the end of summer time in New York"
FORWARD_IN_BERLIN = "the beginning of summer time in Berlin"
BACK_IN_BERLIN = "the end of summer time in Berlin"
BACK_IN_SYDNEY = "the end of summer time in Sydney"
TURN_OF_A_YEAR = "the turn of a year"
END_OF_31_BITS = "the end of 31 bits of seconds"

CLOCK_CHANGES = (FORWARD_IN_NEW_YORK, FORWARD_IN_BERLIN, BACK_IN_BERLIN, BACK_IN_NEW_YORK)
TURNING_POINTS = (MIDNIGHT, TURN_OF_A_YEAR, LEAP_DAY, "the end of a leap day", END_OF_31_BITS)

_AHEAD = datetime.timedelta(days=1)
"""So that something can be made before it."""


def _at(year: int, month: int, day: int, hour: int = 0) -> datetime.datetime:
    return datetime.datetime(year, month, day, hour, tzinfo=datetime.UTC)


def _sunday(year: int, month: int, day: int, hour: int) -> datetime.datetime:
    """The first Sunday from this day on, so many hours after midnight in UTC."""
    first = _at(year, month, day)
    return first + datetime.timedelta(days=6 - first.weekday(), hours=hour)


_IN_A_YEAR: dict[str, Callable[[int], datetime.datetime]] = {
    MIDWINTER: lambda year: _at(year, 1, 15, 12),
    MIDSUMMER: lambda year: _at(year, 7, 1, 12),
    MIDNIGHT: lambda year: _at(year, 5, 4),
    FORWARD_IN_NEW_YORK: lambda year: _sunday(year, 3, 8, 7),
    FORWARD_IN_BERLIN: lambda year: _sunday(year, 3, 25, 1),
    BACK_IN_SYDNEY: lambda year: _sunday(year, 4, 1, -8),
    BACK_IN_BERLIN: lambda year: _sunday(year, 10, 25, 1),
    BACK_IN_NEW_YORK: lambda year: _sunday(year, 11, 1, 6),
    TURN_OF_A_YEAR: lambda year: _at(year, 1, 1),
}
_IN_A_LEAP_YEAR: dict[str, Callable[[int], datetime.datetime]] = {
    LEAP_DAY: lambda year: _at(year, 2, 29),
    "the end of a leap day": lambda year: _at(year, 3, 1),
}
_ONCE = {END_OF_31_BITS: datetime.datetime.fromtimestamp(2**31, datetime.UTC)}


def next_instant(what: str, after: datetime.datetime) -> datetime.datetime | None:
    """The next one, in UTC, a day or more ahead; None if it does not come again."""
    if what in _ONCE:
        return _ONCE[what] if _ONCE[what] > after + _AHEAD else None
    years: Iterable[int] = range(after.year, after.year + 10)
    if what in _IN_A_LEAP_YEAR:
        years = filter(calendar.isleap, years)
    of_a_year = {**_IN_A_YEAR, **_IN_A_LEAP_YEAR}[what]
    return next(one for one in map(of_a_year, years) if one > after + _AHEAD)


def next_instants(
    after: datetime.datetime, names: Iterable[str] = (*CLOCK_CHANGES, *TURNING_POINTS)
) -> dict[str, datetime.datetime]:
    """The next of each, in the order of time: a clock goes forward only."""
    found = {name: next_instant(name, after) for name in names}
    ahead = {name: instant for name, instant in found.items() if instant is not None}
    return dict(sorted(ahead.items(), key=lambda one: one[1]))


BEGIN_ANEW = {
    "an hour": datetime.timedelta(hours=1),
    "twelve hours": datetime.timedelta(hours=12),
    "a day": datetime.timedelta(days=1),
    "a week": datetime.timedelta(days=7),
    "2^31 ms": datetime.timedelta(milliseconds=2**31),
    "30 days": datetime.timedelta(days=30),
    "2^32 ms": datetime.timedelta(milliseconds=2**32),
    "365 days": datetime.timedelta(days=365),
    "366 days": datetime.timedelta(days=366),
}
"""After so long a clock without hours, without days or with too few bits shows the same again."""
