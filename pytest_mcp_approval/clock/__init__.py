"""The clocks of a target: how the suite moves time in the server under test.

Knows no family. A clock that cannot be moved says why, and nothing that needs it is judged.
"""

from .base import ClockControl as ClockControl
from .base import ClockError as ClockError
from .base import NoClock as NoClock
from .base import StoppedClock as StoppedClock
from .choosing import NOT_STARTED as NOT_STARTED
from .choosing import choose_clock as choose_clock
from .choosing import faketime_clock as faketime_clock
from .faketime import FaketimeClock as FaketimeClock
from .faketime import find_library as find_library
from .files import FileClockControl as FileClockControl
from .hook import HookClock as HookClock
from .in_process import FrozenClock as FrozenClock
from .in_process import InjectedClock as InjectedClock
from .waiting import WaitClock as WaitClock
