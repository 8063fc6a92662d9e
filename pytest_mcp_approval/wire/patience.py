"""Patience with a server: what it left unanswered, and how much longer to wait for it.

Every transport of this process asks the patience that is in force, if any, before an exchange, and
tells it the end. So one check against a server that hangs loses its deadline once and not with
every call, whichever session or process it speaks to. Knows nothing of checks, verdicts or targets.
"""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.support.http_status import NOT_NOW
from pytest_mcp_approval.support.json_reading import JsonError, read_json
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.wire.messages import Outgoing
from pytest_mcp_approval.wire.reply import Outcome, Reply

_GRACE_SECONDS = 0.5
"""How long to wait in total for answers after a first silence in the same check."""
_LESS_SECONDS = 1.0
"""How long to wait for an answer if there was none several times before."""
_SHORTEST_SECONDS = 0.05
_HURRY = 0.25
"""Of the timeout: a caller that waits for less than that does not expect an answer."""
_LONG = 0.8
"""Of the timeout: whoever took longer was silent, whatever came in the end."""
_SILENCES = 3
"""Unanswered requests of one kind, in as many checks, before the wait for it is cut."""
_BROKEN_OFF = (Outcome.NO_ANSWER, Outcome.CLOSED, Outcome.UNREACHABLE, Outcome.TOO_LARGE)
"""After these nothing more can be expected from the conversation."""
_PROBE = "server/discover"
"""An old server may ignore it or die of it and still be fine: `opening` takes care of that."""
_LARGEST_SAMPLE = 64 * 1024
NOT_ASKED = "not asked any more, after so much silence"

Kind = str
"""A method; with its tool, for tools/call."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A request that the server did not answer under its id, neither for nor against."""

    kind: Kind
    broken_off: bool
    """The conversation ended with it; otherwise something came that was no answer."""
    curtailed: bool
    """The wait was shorter than the caller wanted."""
    abandoned: bool
    """The caller itself gave up early: nothing follows from the silence."""
    line: str
    """What happened, safe to print."""
    not_now: bool
    """The server said that it is asked too often: nothing follows from what it said."""
    outgoing: Outgoing
    """The very request, to ask it again."""


class Patience:
    """`timeout` is what a caller means to wait for one answer."""

    def __init__(self, timeout: float) -> None:
        self.timeout = timeout
        self.answered: set[Kind] = set()
        """The kinds of request that were ever answered."""
        self.samples: dict[Kind, bytes] = {}
        """Of each kind the last request that was answered."""
        self._silences: dict[Kind, int] = {}
        self.begin()

    def begin(self) -> None:
        """A check begins: nothing has happened in it yet."""
        self.troubles: list[Trouble] = []
        """Those since which no request of their kind was answered."""
        self.last: Trouble | None = None
        """The last exchange, if that was one."""
        self._silent_seconds = 0.0
        self._curtailed = False
        self._in_a_hurry = False

    def allow(
        self, outgoing: Outgoing, deadline: Deadline, *, waited: float = 0.0
    ) -> Deadline | None:
        """How long to wait; None if there is no use in asking. `waited`: the seconds for which the
        caller has waited for the same before, in vain."""
        self._curtailed = False
        left = deadline.left()
        self._in_a_hurry = waited + left < _HURRY * self.timeout
        seconds = left
        if self._silent_seconds:
            spare = self.timeout + _GRACE_SECONDS - self._silent_seconds
            seconds = min(seconds, _GRACE_SECONDS, spare)
        if self._silences and self._silences.get(kind_of(outgoing), 0) >= _SILENCES:
            seconds = min(seconds, _LESS_SECONDS)
        # Nearly all of it counts as all of it: the caller's deadline is already running.
        if seconds >= 0.9 * left:
            return deadline
        self._curtailed = True
        return Deadline(seconds) if seconds > _SHORTEST_SECONDS else None

    def waited(self, seconds: float) -> None:
        """In an open call nothing came for so long; what becomes of the call is not known yet."""
        if not self._in_a_hurry and seconds > _LONG * self.timeout:
            self._silent_seconds += seconds

    def heard(self, outgoing: Outgoing, reply: Reply) -> None:
        """An exchange has ended."""
        if outgoing.method == _PROBE and reply.outcome is not Outcome.RESULT:
            return
        ended = _session_ended(outgoing, reply)
        broken_off = reply.outcome in _BROKEN_OFF or ended
        if outgoing.request_id is None and not broken_off:
            return
        kind = kind_of(outgoing)
        if reply.answered and not ended:
            self.last = None
            self.troubles = [one for one in self.troubles if one.kind != kind or one.not_now]
            self.answered.add(kind)
            self._silences.pop(kind, None)
            if len(outgoing.body) <= _LARGEST_SAMPLE:
                self.samples[kind] = outgoing.body
            return
        # Something that was not an answer may have come while we waited for one.
        silent = reply.outcome is Outcome.NO_ANSWER or reply.seconds > _LONG * self.timeout
        if silent and not self._in_a_hurry:
            self._silent_seconds += reply.seconds
            if not self._curtailed:
                self._silences[kind] = self._silences.get(kind, 0) + 1
        # Without what the server said: it differs each time, and one reason must be one line.
        said = replace(reply, raw=b"", stray=None).describe()
        what = "the server ended the session (HTTP 404)" if ended else said
        line = f"{kind or 'a message'}: {what}"
        self.last = Trouble(
            kind,
            broken_off,
            silent and self._curtailed,
            self._in_a_hurry and reply.outcome is Outcome.NO_ANSWER,
            line,
            reply.status == NOT_NOW,
            outgoing,
        )
        self.troubles.append(self.last)


def kind_of(outgoing: Outgoing) -> Kind:
    """What is fine for one tool may hang for another."""
    if outgoing.method == "tools/call":
        with contextlib.suppress(JsonError, KeyError, TypeError):
            name = str(read_json(outgoing.body)["params"]["name"])
            return f"{outgoing.method} {neutralise(name, 60)}"
    return neutralise(outgoing.method, 60)


def _session_ended(outgoing: Outgoing, reply: Reply) -> bool:
    """By the specification: the session is over, and the client must open a new one."""
    names = (name.lower() for name, _ in outgoing.headers)
    return reply.status == 404 and "mcp-session-id" in names


_kept: list[Patience | None] = []


def current_patience() -> Patience | None:
    return _kept[-1] if _kept else None


def allowed_by_patience(outgoing: Outgoing, deadline: Deadline) -> Deadline | None:
    """How long to wait, by the patience in force; None if there is no use in asking."""
    patience = current_patience()
    return deadline if patience is None else patience.allow(outgoing, deadline)


@contextlib.contextmanager
def unwatched() -> Iterator[None]:
    """No patience is asked or told until the end of the block: for what a server may rightly
    refuse in any way, or leave without an answer."""
    _kept.append(None)
    try:
        yield
    finally:
        _kept.remove(None)


@contextlib.contextmanager
def keeping(patience: Patience) -> Iterator[Patience]:
    """It is in force for all transports until the end of the block."""
    _kept.append(patience)
    try:
        yield patience
    finally:
        _kept.remove(patience)
