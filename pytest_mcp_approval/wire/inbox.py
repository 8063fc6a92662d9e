"""What a server says unasked while a call is open: requests that wait for our answer, and
notifications.

Knows nothing of transports, sessions or time-outs of a caller's; transports put in from threads of
their own what callers take out. Everything is bounded: a server may ask without end.
"""

import threading
from collections import deque
from collections.abc import Callable, Collection
from typing import Protocol

from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.wire.messages import Json, Message, MessageKind
from pytest_mcp_approval.wire.reply import Reply

MOST_REQUESTS = 100
"""Requests that one call leaves unanswered; those beyond are refused as if nobody listened."""
MOST_NOTIFICATIONS = 1000
MOST_BYTES = 8 * 1024 * 1024
"""Of the requests, and of the notifications, that are kept for one call or stream."""
_CANCELLED = "notifications/cancelled"
_ALWAYS_ANSWERED = "ping"
"""Whether anybody is there is no question to a person."""


class ServerRequest:
    """A request that the server put to its client."""

    __slots__ = ("_taken", "answered", "came_on", "message", "withdrawn")

    def __init__(self, message: Message, came_on: str) -> None:
        self.message = message
        self.came_on = came_on
        """ "call": the stream of a call; "session": the session's own stream; "stdio"."""
        self.answered = False
        """Whether its own session has answered it, with a result or an error."""
        self.withdrawn = False
        """Whether the server has said that it wants no answer any more."""
        self._taken = threading.Lock()

    @property
    def id(self) -> Json:
        """Whatever the server put there: a number, a text, or what JSON-RPC does not allow."""
        return self.message.id

    @property
    def method(self) -> str:
        return self.message.method

    @property
    def params(self) -> Json:
        return self.message.params

    @property
    def raw(self) -> bytes:
        return self.message.raw

    @property
    def is_open(self) -> bool:
        """Whether the server waits for an answer to it, as far as is known here."""
        return not self.answered and not self.withdrawn

    def take(self) -> bool:
        """True for one caller only."""
        return self._taken.acquire(blocking=False)

    def __repr__(self) -> str:
        return f"<ServerRequest {self.method[:60]!r} on {self.came_on}>"


class RequestListener(Protocol):
    """What a transport tells, from whichever thread, about a request that is under way."""

    def offer(self, message: Message) -> bool:
        """A request or notification came on its stream; whether somebody here takes care of it."""

    def began(self, reply: Reply) -> None:
        """The head of an HTTP answer came: its status and headers."""

    def ended(self, reply: Reply, received: bytes) -> None:
        """There is an answer, or there will be none. Told once."""


class Kept:
    """Notifications as far as they are kept; the first ones are. The caller locks."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.left_out = 0
        self._bytes = 0

    def add(self, message: Message) -> None:
        self._bytes += len(message.raw)
        if self._bytes > MOST_BYTES or len(self.messages) >= MOST_NOTIFICATIONS:
            self.left_out += 1
        else:
            self.messages.append(message)


class Inbox:
    """What reaches one open call. May be used by several threads."""

    def __init__(self, takes: Collection[str] | None = None) -> None:
        """`takes`: the methods that are meant for the caller; None means every one but ping."""
        self._takes = takes
        self._changed = threading.Condition()
        self._requests: deque[ServerRequest] = deque()
        self._open: list[ServerRequest] = []
        self._notifications = Kept()
        self._boards: list[Switchboard] = []
        self.reply: Reply | None = None
        self.received = b""
        self.ended_at = 0.0
        self.owed_since = now()
        """Since when it has been the server's turn; counts while no question of its is open."""

    def join(self, board: "Switchboard") -> None:
        self._boards.append(board)
        board.add(self)

    def wants(self, method: str) -> bool:
        return method != _ALWAYS_ANSWERED if self._takes is None else method in self._takes

    # What transports tell.

    def offer(self, message: Message) -> bool:
        if message.kind is MessageKind.NOTIFICATION:
            self.tell(message)
            return True
        return (
            message.kind is MessageKind.REQUEST
            and self.wants(message.method)
            and self.put(ServerRequest(message, "call"))
        )

    def began(self, reply: Reply) -> None:
        """Nothing is waited for here before the end."""

    def ended(self, reply: Reply, received: bytes) -> None:
        for board in self._boards:
            board.remove(self)
        with self._changed:
            if self.reply is None:
                self.reply, self.received, self.ended_at = reply, received, now()
                self._changed.notify_all()

    def put(self, request: ServerRequest) -> bool:
        """False if there are too many already."""
        with self._changed:
            self._forget_closed()
            size = sum(len(one.raw) for one in self._open) + len(request.raw)
            if len(self._open) >= MOST_REQUESTS or size > MOST_BYTES or self.reply is not None:
                return False
            self._open.append(request)
            self._requests.append(request)
            self._changed.notify_all()
            return True

    def tell(self, message: Message) -> None:
        """A notification came."""
        with self._changed:
            self._notifications.add(message)
            if message.method == _CANCELLED and isinstance(message.params, dict):
                withdrawn = message.params.get("requestId")
                for request in self._open:
                    if type(request.id) is type(withdrawn) and request.id == withdrawn:
                        request.withdrawn = True
            self._forget_closed()
            self._changed.notify_all()

    # What callers ask.

    @property
    def notifications(self) -> list[Message]:
        with self._changed:
            return list(self._notifications.messages)

    def answered(self, request: ServerRequest) -> None:
        """From now on it is the server's turn again."""
        with self._changed:
            request.answered = True
            self._forget_closed()

    @property
    def has_open_questions(self) -> bool:
        """Whether the server waits for us, and not the other way round."""
        with self._changed:
            self._forget_closed()
            return bool(self._open)

    def next_request(self, deadline: Deadline) -> ServerRequest | None:
        """The next that nobody else took; None if the call ended first, or time is up."""
        with self._changed:
            while True:
                while self._requests:
                    request = self._requests.popleft()
                    if request.take():
                        return request
                if self.reply is not None or not self._wait(deadline):
                    return None

    def wait(self, deadline: Deadline) -> Reply | None:
        with self._changed:
            while self.reply is None and self._wait(deadline):
                pass
            return self.reply

    def _wait(self, deadline: Deadline) -> bool:
        """Until something changes; False if time is up."""
        left = deadline.left()
        if left <= 0:
            return False
        self._changed.wait(left)
        return True

    def _forget_closed(self) -> None:
        if self._open and not all(one.is_open for one in self._open):
            self._open = [one for one in self._open if one.is_open]
            self.owed_since = now()


class Switchboard:
    """The open calls of one channel that all of them share: stdio, or a session's own stream.

    Nothing on such a channel says to which call a request belongs. So each call that was open when
    it came may take it, and the first does.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inboxes: list[Inbox] = []
        self._taps: list[Callable[[Message], None]] = []

    def add(self, inbox: Inbox) -> None:
        with self._lock:
            self._inboxes.append(inbox)

    def remove(self, inbox: Inbox) -> None:
        with self._lock:
            if inbox in self._inboxes:
                self._inboxes.remove(inbox)

    @property
    def inboxes(self) -> list[Inbox]:
        with self._lock:
            return list(self._inboxes)

    def offer(self, message: Message, came_on: str) -> bool:
        """Whether an open call takes this request."""
        request = ServerRequest(message, came_on)
        takers = [one for one in self.inboxes if one.wants(message.method) and one.put(request)]
        return bool(takers)

    def tell(self, message: Message) -> None:
        """A notification, for each of them."""
        for inbox in self.inboxes:
            inbox.tell(message)
        with self._lock:
            taps = list(self._taps)
        for tap in taps:
            tap(message)

    def tap(self, keep: Callable[[Message], None]) -> None:
        """Tell of each notification from now on."""
        with self._lock:
            self._taps.append(keep)

    def end_tap(self, keep: Callable[[Message], None]) -> None:
        with self._lock:
            self._taps.remove(keep)
