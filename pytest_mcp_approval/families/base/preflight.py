"""What a family's preflight reports: lines for the header, or why nothing can be checked.

Each family has a module `preflight` with a function `look(target, found)`. It raises `NotOffered`
if the server does not have the family at all, and `PreflightError` if every verdict would be
meaningless. Anything that merely narrows the run is a line of the header. Knows no specification.
"""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from ...clock import ClockControl, ClockError
from ...config.settings import SettingsError
from ...support.text import neutralise
from ...wire import ListingError
from .driver import DriverError

_INDENT = " " * 14
_HOUR = 3600


class PreflightError(Exception):
    """Nothing can be checked."""

    def __init__(self, what: str, *advice: str) -> None:
        lines = [f"mcp-approval  {what}", *(f"{_INDENT}{line}" for line in advice)]
        super().__init__("\n".join(lines))


class NotOffered(PreflightError):  # noqa: N818  # not an error, unless the family was asked for
    """The server has nothing of this family."""

    def __init__(self, what: str, *advice: str) -> None:
        super().__init__(what, *advice)
        self.what = what


@contextlib.contextmanager
def in_one_line() -> Iterator[None]:
    """Turn a wrong table, or tools that cannot be listed, into a `PreflightError`."""
    try:
        yield
    except SettingsError as error:
        raise PreflightError(str(error)) from None
    except ListingError as error:
        raise PreflightError(f"the tools cannot be listed: {error}") from None


def check_named(family: str, missing: Sequence[str], listed: Sequence[str]) -> None:
    """Check that the server lists the tools that the user's table names."""
    if missing:
        raise PreflightError(
            f"[{family}] names tools that the server does not list: {few(missing, 6, 60)}",
            f"It lists {few(listed, 12)}",
        )


def few(names: Sequence[str], most: int, longest: int = 40) -> str:
    """The first of some untrusted names."""
    return ", ".join(neutralise(name, longest) for name in names[:most])


@dataclass
class Preflight:
    """What was found, as lines of (name, value)."""

    lines: list[tuple[str, str]] = field(default_factory=list)
    offered: list[str] = field(default_factory=list)
    """The families that the server has."""
    missing: list[str] = field(default_factory=list)
    """What some rules need and the user did not configure."""
    clock_stuck: str = ""
    """Why the clock cannot be trusted, if it was moved and the target did not notice."""
    clock_checked: bool = False
    approved: list[str] = field(default_factory=list)
    """The families in which an honest approval was made."""
    not_approved: dict[str, str] = field(default_factory=dict)
    """Why none was made, by family."""
    effects_doubt: str = ""
    """Why the effects probe cannot be trusted."""
    with_page: bool = False
    """Whether a family that the server has is also checked on a page."""
    gated: list[str] = field(default_factory=list)
    """The tools that are known to ask for approval, by any family."""
    eras: list[str] = field(default_factory=list)
    """The eras that a client under test speaks."""
    silent: list[tuple[str, str]] = field(default_factory=list)
    """Tools that look destructive and are not among those, and why they look it."""

    def say(self, name: str, value: str) -> None:
        self.lines.append((name, value))

    def check_clock(
        self, clock: ClockControl, read_expiry: Callable[[], datetime.datetime] | None
    ) -> None:
        """Move time by an hour, and see whether an expiry follows; if not, the clock is not
        trusted.

        The first family that can show an expiry does this for all.
        """
        if self.clock_checked or not clock.movable or read_expiry is None:
            return
        named = f"{clock.kind} ({clock.note})" if clock.note else clock.kind
        if not clock.stops:
            self.clock_checked = True
            self.say("clock", named)  # real time passes by itself: nothing to test
            return
        try:
            before = read_expiry()
            clock.advance(_HOUR)
            after = read_expiry()
        except (DriverError, ValueError) as error:
            self.say("clock", f"{named}, not tried: {neutralise(str(error), 100)}")
            return
        except ClockError as error:
            self._distrust(str(error))
            return
        finally:
            with contextlib.suppress(ClockError):  # already reported
                clock.release()
        self.clock_checked = True
        moved = (after - before).total_seconds()
        if _HOUR - 5 <= moved <= _HOUR + 60:
            self.say("clock", f"{named}, moves (checked +3600 s)")
            return
        self._distrust(f"{named} does not move it: +3600 s became {moved:+.0f} s")
        if clock.if_stuck:
            self.say("", clock.if_stuck)

    def _distrust(self, why: str) -> None:
        self.clock_checked = True
        self.clock_stuck = why
        self.missing.append("clock")
        self.say("clock", f"none: {why}")
