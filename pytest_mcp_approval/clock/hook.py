"""A clock that the user moves: a command or an endpoint of theirs is told the new time.

The command gets the instant as its last argument, the endpoint as JSON. Knows nothing of what they
do with it; who uses this clock looks whether time moved.
"""

from __future__ import annotations

import datetime
import json
import shlex
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path

from ..support.fetch import FetchError, fetch
from ..support.text import last_lines, neutralise
from .base import ClockError, StoppedClock

RELEASE = "release"
"""The command's last argument when time is to go on by itself."""
_OF_AN_ANSWER = 2000


class HookClock(StoppedClock):
    """Tells a command or a URL where time is to stand still."""

    kind = "hook"
    if_stuck = "the hook was called and did not fail: does the server follow it?"

    def __init__(
        self,
        hook: str,
        timeout: float,
        directory: Path | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        super().__init__()
        self._hook = hook
        self._timeout = timeout
        self._directory = directory
        self._environment = environment
        self.note = neutralise(hook, 60)

    def release(self) -> None:
        # A call costs time: none for a test that moved nothing.
        if self._stopped_at is not None:
            super().release()

    def move_to(
        self, instant: datetime.datetime, *, before: datetime.datetime | None = None
    ) -> None:
        was = self._stopped_at
        # From here on nobody knows for sure, so that a hook that fails half-way is released too.
        self._stopped_at = was or instant
        super().move_to(instant, before=before)

    def _tell(self, instant: datetime.datetime | None) -> None:
        text = None if instant is None else written(instant)
        if self._hook.startswith(("http://", "https://")):
            self._post(text)
        else:
            self._run(text)

    def _post(self, text: str | None) -> None:
        try:
            answer = fetch(
                self._hook,
                seconds=self._timeout,
                method="POST",
                headers={"Content-Type": "application/json"},
                body=json.dumps({"now": text}).encode(),
                limit=_OF_AN_ANSWER,
                cut=True,
            )
        except FetchError as error:
            raise self._failed(str(error)) from None
        if not answer.ok:
            said = last_lines(answer.body)
            tail = f": {said}" if said else ""
            raise self._failed(f"got status {answer.status}, expected 2xx{tail}")

    def _run(self, text: str | None) -> None:
        # Into a file, not a pipe: what the command leaves running in the background may hold its
        # output, and must not hold us.
        with tempfile.TemporaryFile() as output:
            try:
                done = subprocess.run(
                    [*shlex.split(self._hook), text or RELEASE],
                    cwd=self._directory,
                    env=dict(self._environment) if self._environment is not None else None,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=output,
                    timeout=self._timeout,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                raise self._failed(f"not done within {self._timeout:g} s") from None
            except (OSError, ValueError) as error:
                raise self._failed(neutralise(str(error), 200)) from None
            if done.returncode:
                output.seek(max(0, output.seek(0, 2) - _OF_AN_ANSWER))
                said = last_lines(output.read())
                tail = f": {said}" if said else ""
                raise self._failed(f"got exit code {done.returncode}, expected 0{tail}")

    def _failed(self, why: str) -> ClockError:
        return ClockError(f"clock hook {self.note}: {why}")


def written(instant: datetime.datetime) -> str:
    """ISO 8601 in UTC with milliseconds: 2030-06-01T12:00:00.000Z.

    Finer parts are cut off, never rounded up: an instant before a boundary stays before it.
    """
    text = instant.astimezone(datetime.UTC).isoformat(timespec="milliseconds")
    return text.replace("+00:00", "Z")
