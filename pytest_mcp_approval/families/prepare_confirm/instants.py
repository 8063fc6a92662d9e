"""Instants at which calendars and local times play tricks, always ahead of the clock.

When clocks are put forward and back in New York, by the rule in force since 2007; ends of days and
years; and after how long numbers that are too small begin anew.
"""

from __future__ import annotations

import calendar
import datetime

NEW_YORK = "America/New_York"
KOLKATA = "Asia/Kolkata"
_SUNDAY = 6


def _sunday(year: int, month: int, number: int) -> datetime.date:
    first = datetime.date(year, month, 1)
    days = (_SUNDAY - first.weekday()) % 7 + 7 * (number - 1)
    return first + datetime.timedelta(days=days)


def clock_changes(after: datetime.datetime) -> dict[str, datetime.datetime]:
    """The instants, in UTC, of next year's changes: 2 a.m. standard time, then 2 a.m. summer
    time."""
    year = after.year + 1
    forward, back = _sunday(year, 3, 2), _sunday(year, 11, 1)
    return {
        "forward": datetime.datetime(year, 3, forward.day, 7, tzinfo=datetime.UTC),
        "back": datetime.datetime(year, 11, back.day, 6, tzinfo=datetime.UTC),
    }


def turning_points(after: datetime.datetime) -> dict[str, datetime.datetime]:
    """Ends of days and years, in UTC, in the order of time."""
    year = after.year + 1
    leap = next(one for one in range(year, year + 9) if calendar.isleap(one))
    found = {
        "midnight": datetime.datetime(year, 5, 4, tzinfo=datetime.UTC),
        "the end of a year": datetime.datetime(year + 1, 1, 1, tzinfo=datetime.UTC),
        "a leap day": datetime.datetime(leap, 2, 29, tzinfo=datetime.UTC),
        "the day after a leap day": datetime.datetime(leap, 3, 1, tzinfo=datetime.UTC),
        "2^31 seconds since 1970": datetime.datetime.fromtimestamp(2**31, datetime.UTC),
    }
    ahead = {name: one for name, one in found.items() if one > after}
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
