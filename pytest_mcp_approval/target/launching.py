"""A server that the suite starts and reaches over HTTP: the process, and when it is ready.

Its output is read all the time, so that it never blocks; the last part is kept for error messages.
Knows nothing about MCP: ready means that something answers at its address.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from urllib.parse import urlsplit

from ..config.settings import PREFIX
from ..support.child import Child
from ..support.command import CommandError, signal_group
from ..support.deadline import Deadline
from ..support.fetch import ClosedError, FetchError, NoAnswerError, NotConnectedError, fetch
from ..support.text import neutralise
from .errors import TargetError
from .instance import listens

_GRACE_SECONDS = 3.0
"""The time between asking the server to end and killing it."""
_FIRST_PAUSE = 0.01
_LONGEST_PAUSE = 0.2
_ONE_TRY = 2.0
_GATEWAY_ERRORS = (502, 503, 504)
"""The statuses of a proxy in front of the server while the server is not there yet."""


class PortTakenError(TargetError):
    """The port is taken by somebody else."""


class ServerProcess(Child):
    """A command whose last output is kept, from whichever stream, and that is asked to end before
    it is killed."""

    _kept_of_output = 16 * 1024

    def ended_within(self, seconds: float) -> bool:
        return self._exited.wait(seconds)

    def stop(self, *, hurried: bool = False) -> None:
        # It does not read its standard input, so ask it to end at once.
        signal_group(self._process)
        if not hurried:
            self._exited.wait(_GRACE_SECONDS)
        super().stop(hurried=True)

    def _split_lines(self) -> None:
        self._keep_output(self._process.stdout)


def launch(
    command: Sequence[str],
    url: str,
    effects: str | None = None,
    *,
    environment: Mapping[str, str],
    directory: Path,
    timeout: float,
    hint: str = "",
) -> ServerProcess:
    """Start the server and wait until it answers at its address, and where it shows its effects.

    `hint` is added to the error if it does not. `PortTakenError` if somebody else is there.
    """
    host, port = _place(url)
    if listens(host, port):
        raise PortTakenError(
            f"{PREFIX}launch: port {port} of {host} is already taken: stop what listens there, "
            "or write {port} in the command and in the URL to have a free one; "
            f"to judge what runs there, leave {PREFIX}launch out"
        )
    try:
        process = ServerProcess(command, environment=environment, directory=directory)
    except CommandError as error:
        raise TargetError(f"{PREFIX}launch: {error}") from None
    deadline = Deadline(timeout)
    try:
        _await_answer(process, url, deadline, hint)
        if effects is not None:
            _await_answer(process, effects, deadline, hint)
    except BaseException:
        process.stop()
        raise
    return process


def _await_answer(process: ServerProcess, url: str, deadline: Deadline, hint: str) -> None:
    pause, last = _FIRST_PAUSE, "nobody listens"
    while True:
        last = _ask(url, deadline)
        # Checked last: if the process is gone, somebody else has answered.
        if process.ended_within(0 if not last else pause):
            break
        if not last:
            return
        if deadline.passed:
            shown = neutralise(url, 100)
            raise TargetError(
                f"{PREFIX}launch: not ready within {deadline.seconds:g} s at {shown}: "
                f"{process._with_errors(last)} ({PREFIX}launch-timeout){hint}"
            )
        pause = min(pause * 1.5, _LONGEST_PAUSE)
    why = process.explain_exit(Deadline(1.0))
    host, port = _place(url)
    if listens(host, port):
        raise PortTakenError(
            f"{PREFIX}launch: {why}; port {port} of {host} is taken by somebody else"
        )
    raise TargetError(f"{PREFIX}launch: {why}{hint}")


def _place(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    return parts.hostname or "localhost", parts.port or (443 if parts.scheme == "https" else 80)


def _ask(url: str, deadline: Deadline) -> str:
    """What is still wrong; empty once there is any answer at all."""
    seconds = max(0.05, min(_ONE_TRY, deadline.left()))
    try:
        # The head is enough. The certificate is checked later, when the conversation begins.
        answer = fetch(
            url,
            seconds=seconds,
            headers={"Accept": "text/plain"},
            limit=0,
            cut=True,
            follow=False,
            verify=False,
        )
    except NotConnectedError as error:
        return f"nobody listens ({error})"
    except NoAnswerError:
        return ""  # it took the request; the checks will show what it does with it
    except ClosedError:
        return "it closed the connection"
    except FetchError as error:
        return str(error)
    return f"status {answer.status}" if answer.status in _GATEWAY_ERRORS else ""
