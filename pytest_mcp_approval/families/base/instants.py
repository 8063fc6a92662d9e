"""Instants at which calendars and local times play tricks, always ahead of a clock.

By the rules in force today: since 2007 in New York, since 1996 in Europe. Knows no target.
"""

from __future__ import annotations

import calendar
import datetime

_HOUR = datetime.timedelta(hours=1)


def tricky_instants(after: datetime.datetime) -> dict[str, datetime.datetime]:
    """By what happens then, in the order of time; all in UTC, and within the next years."""
    year = after.year + 1
    leap = next(one for one in range(year, year + 9) if calendar.isleap(one))
    march, october, november = (_sundays(year, month) for month in (3, 10, 11))
    found = {
        "summer time begins in New York": march[1] + 7 * _HOUR,
        "summer time begins in Europe": march[-1] + 1 * _HOUR,
        "summer time ends in Europe": october[-1] + 1 * _HOUR,
        "summer time ends in New York": november[0] + 6 * _HOUR,
        "the seconds since 1970 pass 31 bits": datetime.datetime(
            2038, 1, 19, 3, 14, 8, tzinfo=datetime.UTC
        ),
        "a year ends": datetime.datetime(year + 1, 1, 1, tzinfo=datetime.UTC),
        "a leap day begins": datetime.datetime(leap, 2, 29, tzinfo=datetime.UTC),
    }
    ahead = {what: instant for what, instant in found.items() if instant > after}
    return dict(sorted(ahead.items(), key=lambda one: one[1]))


def _sundays(year: int, month: int) -> list[datetime.datetime]:
    days = calendar.Calendar().itermonthdates(year, month)
    return [
        datetime.datetime(one.year, one.month, one.day, tzinfo=datetime.UTC)
        for one in days
        if one.month == month and one.weekday() == calendar.SUNDAY
    ]
