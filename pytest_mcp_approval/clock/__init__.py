"""The clocks of a target: how the suite moves time in the server under test.

Knows no family. A clock that cannot be moved says why, and nothing that needs it is judged.
"""

from .base import ClockControl, ClockError, NoClock
from .choosing import NOT_STARTED, choose_clock, faketime_clock
from .faketime import FaketimeClock, find_library
from .files import FileClockControl
from .frozen import FrozenClock
from .hook import HookClock
from .injected import InjectedClock
from .waiting import WaitClock

__all__ = [
    "NOT_STARTED",
    "ClockControl",
    "ClockError",
    "FaketimeClock",
    "FileClockControl",
    "FrozenClock",
    "HookClock",
    "InjectedClock",
    "NoClock",
    "WaitClock",
    "choose_clock",
    "faketime_clock",
    "find_library",
]
