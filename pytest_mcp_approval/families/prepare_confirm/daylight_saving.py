"""When clocks are put forward and back in New York: instants at which local time plays tricks.

Computed by the rule in force since 2007, for the next year, so that they are ahead of any clock.
"""

from __future__ import annotations

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
