"""The clocks of a target: how the suite moves time in the server under test.

Knows no family. A clock that cannot be moved says why, and nothing that needs it is judged.
"""

from .base import ClockControl, ClockError, NoClock
from .files import FileClockControl
from .frozen import FrozenClock
from .injected import InjectedClock

__all__ = [
    "ClockControl",
    "ClockError",
    "FileClockControl",
    "FrozenClock",
    "InjectedClock",
    "NoClock",
]
