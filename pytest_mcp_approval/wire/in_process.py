"""An ASGI application called directly, on an event loop in a thread of its own.

Knows nothing of MCP. Works under a frozen clock: the loop's timers run on real time, and the caller
waits on locks.
"""

import asyncio
import contextlib
import threading
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from typing import Any

from pytest_mcp_approval.support.deadline import Deadline, now
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.wire.answer import Answer
from pytest_mcp_approval.wire.errors import ApplicationFailedError
from pytest_mcp_approval.wire.inbox import RequestListener
from pytest_mcp_approval.wire.messages import Message, Outgoing
from pytest_mcp_approval.wire.reply import Headers, Outcome, Reply
from pytest_mcp_approval.wire.transport import HttpLikeTransport, Underway

AsgiMessage = MutableMapping[str, Any]
AsgiApplication = Callable[
    [AsgiMessage, Callable[[], Awaitable[AsgiMessage]], Callable[[AsgiMessage], Awaitable[None]]],
    Awaitable[None],
]

_GRACE_SECONDS = 1.0
"""What an application gets to notice that its client has gone."""
_STOP_SECONDS = 5.0


class _RealTimeLoop(asyncio.SelectorEventLoop):
    """asyncio would ask `time.monotonic`, which freezegun stops: its timers would never come
    due."""

    def time(self) -> float:
        return now()


class _Gate:
    """Holds back the ends of several bodies until all are awaited."""

    def __init__(self, runners: int) -> None:
        self._missing = runners
        self._open = asyncio.Event()

    async def pass_through(self) -> None:
        self._missing -= 1
        if self._missing <= 0:
            self._open.set()
        with contextlib.suppress(TimeoutError):
            # An application may answer without reading; it must not hold up the others.
            await asyncio.wait_for(self._open.wait(), 0.1)


class _Call(Underway):
    """One ASGI http call. Lives on the loop; only `wait` and `close` are for callers' threads."""

    def __init__(
        self,
        transport: "InProcessTransport",
        outgoing: Outgoing,
        gate: _Gate | None = None,
        listener: RequestListener | None = None,
        *,
        is_stream: bool = False,
    ) -> None:
        self.outgoing = transport._with_headers(outgoing)
        self.answer = Answer(outgoing.request_id, transport.limit, is_stream=is_stream)
        self._listener = listener
        self._told = False
        self.started = now()
        self._gate = gate
        self._transport = transport
        self._settled = threading.Event()
        self._lock = threading.Lock()
        self._body = [outgoing.body]
        self._gone = asyncio.Event()
        self._task: asyncio.Task[None]

    def begin(self) -> None:
        self._task = asyncio.get_running_loop().create_task(self._run())
        self._transport.tasks.add(self._task)
        self._task.add_done_callback(self._transport.tasks.discard)

    def live_for(self, life: Deadline) -> None:
        """Begin, and end after that time at the latest."""
        self.begin()

        def expire() -> None:
            self._give_up(Outcome.NO_ANSWER, f"nothing within {life.in_words}")
            self._leave()

        timer = asyncio.get_running_loop().call_later(life.left(), expire)
        self._task.add_done_callback(lambda _: timer.cancel())

    def refuse(self, detail: str) -> None:
        """There is no loop to live on."""
        self._give_up(Outcome.CLOSED, detail)

    def close(self) -> None:
        with self._lock:
            has_ended = self.answer.reply is not None
        if not has_ended:  # else the application gets its grace
            self._give_up(Outcome.CLOSED, "hung up")
            self._transport.on_loop(self._leave)

    def _give_up(self, outcome: Outcome, detail: str) -> None:
        with self._lock:
            self.answer.cut(outcome, detail)
        self._tell()

    def _tell(self) -> None:
        """Tell the listener of the end, once."""
        with self._lock:
            reply, told = self.answer.reply, self._told
            self._told = True
        if self._listener is not None and not told and reply is not None:
            self._listener.ended(reply, bytes(self.answer.received))

    def wait(self, deadline: Deadline) -> None:
        """Until there is a reply, from the application or from the clock."""
        if not self._settled.wait(deadline.left()):
            with self._lock:
                self.answer.cut(Outcome.NO_ANSWER, f"nothing within {deadline.in_words}")
            self._transport.on_loop(self._leave)

    def _leave(self) -> None:
        """The client hangs up; an application that does not notice is cancelled."""
        if not self._task.done():
            self._gone.set()
            self._later(self._task.cancel)

    def _later(self, action: Callable[[], object]) -> None:
        """Do something after the grace, unless the application has returned by then."""
        timer = asyncio.get_running_loop().call_later(_GRACE_SECONDS, action)
        self._task.add_done_callback(lambda _: timer.cancel())

    async def _run(self) -> None:
        outcome, detail = Outcome.CLOSED, "the application returned without an answer"
        try:
            await self._transport.application(self._scope(), self._receive, self._send)
        except asyncio.CancelledError:
            detail = "the application was cancelled"
        except BaseException as problem:
            # Even SystemExit: it is the application's, and must not end the loop of the others.
            detail = f"the application raised {type(problem).__name__}: {neutralise(str(problem))}"
        with self._lock:
            self.answer.cut(outcome, detail)
        self._settled.set()
        self._tell()

    async def _receive(self) -> AsgiMessage:
        if self._body:
            body = self._body.pop()
            if self._gate is not None and len(body) > 1:
                self._body.append(body[-1:])
                return {"type": "http.request", "body": body[:-1], "more_body": True}
            if self._gate is not None:
                await self._gate.pass_through()
            return {"type": "http.request", "body": body, "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: AsgiMessage) -> None:
        with self._lock:
            begins = message["type"] == "http.response.start"
            if begins:
                self.answer.begin(message["status"], _read_headers(message.get("headers", ())))
            elif message["type"] == "http.response.body":
                self.answer.feed(bytes(message.get("body", b"")))
                if not message.get("more_body", False):
                    self.answer.end()
            unasked = self.answer.take_unasked()
            settled = self.answer.reply is not None
        if begins and self._listener is not None and self.answer.head is not None:
            self._listener.began(self.answer.head)
        for one in unasked:
            self._transport.answer_server(one, self.outgoing, self._listener)
        if settled and not self._settled.is_set():
            self._settled.set()
            self._tell()
            self._later(self._leave)  # an event stream may go on for ever after the answer
        if message.get("more_body", False):
            # An application that sends without end must not keep the loop from everything else.
            await asyncio.sleep(0)

    def _scope(self) -> AsgiMessage:
        address = self._transport.address
        path, _, query = address.target.partition("?")
        headers = (*self.outgoing.headers, ("Content-Length", str(len(self.outgoing.body))))
        return {
            "type": "http",
            "asgi": {"version": "3.0", "spec_version": "2.3"},
            "http_version": "1.1",
            "method": self.outgoing.http_method,
            "scheme": "https" if address.secure else "http",
            "path": path,
            "raw_path": path.encode("ascii"),
            "query_string": query.encode("ascii"),
            "root_path": "",
            "headers": [
                (name.lower().encode("latin-1", "replace"), value.encode("utf-8", "surrogatepass"))
                for name, value in headers
            ],
            "client": ("127.0.0.1", 1),
            "server": (address.host, address.port),
            "state": dict(self._transport.state),
        }


class InProcessTransport(HttpLikeTransport):
    """An ASGI application in this process, with its lifespan.

    Requests that are sent together are tasks on one event loop, their bodies completed in the same
    turn.
    """

    def __init__(
        self,
        application: AsgiApplication,
        url: str = "http://localhost:8000/mcp",
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """`url` is where the application is to believe it is: its path, and the Host header."""
        super().__init__(url, headers)
        self.application = application
        self.state: dict[str, Any] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._loop: _RealTimeLoop | None = None
        self._thread: threading.Thread | None = None
        self._stop = asyncio.Event()
        self._started = threading.Event()
        self._failure = ""

    @property
    def place(self) -> str:
        kind = (
            self.application
            if hasattr(self.application, "__qualname__")
            else type(self.application)
        )
        return f"{kind.__module__}.{kind.__qualname__} in this process"

    def start(self, deadline: Deadline) -> None:
        if self._thread is not None:
            return
        self._failure = ""
        self._stop = asyncio.Event()
        self._started.clear()
        self._loop = _RealTimeLoop()
        self._thread = threading.Thread(
            target=self._run_loop, args=(self._loop,), name="mcp-approval application", daemon=True
        )
        self._thread.start()
        in_time = self._started.wait(deadline.left())
        if self._failure or not in_time:
            line = self._failure or f"not started within {deadline.in_words}"
            self.close()
            raise ApplicationFailedError(f"{self.place}: {line}")

    def _exchange_together(self, outgoing: Sequence[Outgoing], deadline: Deadline) -> list[Reply]:
        gate = _Gate(len(outgoing)) if len(outgoing) > 1 else None
        calls = [_Call(self, one, gate) for one in outgoing]

        def begin() -> None:
            for call in calls:
                call.begin()

        if self.on_loop(begin):
            for call in calls:
                call.wait(deadline)
        for call in calls:
            call.answer.cut(Outcome.CLOSED, "not started, or stopped")
        return [self._finish(call.outgoing, call.answer, call.started) for call in calls]

    def begin(
        self,
        outgoing: Outgoing,
        listener: RequestListener,
        deadline: Deadline,  # noqa: ARG002  # the loop takes it at once
        life: Deadline,
        *,
        is_stream: bool = False,
    ) -> Underway:
        call = _Call(self, outgoing, listener=listener, is_stream=is_stream)
        if not self.on_loop(lambda: call.live_for(life)):
            call.refuse("not started, or stopped")
        return call

    def close(self) -> None:
        thread, self._thread = self._thread, None
        if thread is None:
            return
        self.on_loop(self._stop.set)
        # An application that blocks the loop keeps its (daemon) thread.
        thread.join(_STOP_SECONDS + 2 * _GRACE_SECONDS)
        self._loop = None

    def on_loop(self, action: Callable[[], object]) -> bool:
        """Have the loop do something; False if there is none any more."""
        if self._loop is None:
            return False
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            return False
        return True

    def answer_server(
        self, message: Message, meanwhile: Outgoing, listener: RequestListener | None
    ) -> None:
        """Answer the application's own request in a call of its own, from the loop, unless the
        listener does."""
        body = None if self._offer(message, listener) else self._answer_to(message)
        if body is not None:
            _Call(self, self._answering(meanwhile, body)).begin()

    # What follows runs in the loop's thread.

    def _run_loop(self, loop: _RealTimeLoop) -> None:
        asyncio.set_event_loop(loop)
        try:
            loop.run_until_complete(self._live())
        except BaseException as problem:
            self._failure = self._failure or f"{type(problem).__name__}: {neutralise(str(problem))}"
        finally:
            self._started.set()
            with contextlib.suppress(BaseException):
                loop.run_until_complete(loop.shutdown_asyncgens())
            asyncio.set_event_loop(None)
            loop.close()

    async def _live(self) -> None:
        inbox: asyncio.Queue[AsgiMessage] = asyncio.Queue()
        started, stopped = asyncio.Event(), asyncio.Event()

        async def send(message: AsgiMessage) -> None:
            kind = message["type"]
            if kind == "lifespan.startup.failed":
                self._failure = f"start-up failed: {neutralise(str(message.get('message', '')))}"
            if kind.startswith("lifespan.startup."):
                started.set()
            elif kind.startswith("lifespan.shutdown."):
                stopped.set()

        async def lifespan() -> None:
            scope = {
                "type": "lifespan",
                "asgi": {"version": "3.0", "spec_version": "2.0"},
                "state": self.state,
            }
            try:
                await self.application(scope, inbox.get, send)
            except BaseException as problem:
                # ASGI: an application that raises before it says anything has no lifespan.
                if started.is_set() and not isinstance(problem, asyncio.CancelledError):
                    self._failure = (
                        f"lifespan raised {type(problem).__name__}: {neutralise(str(problem))}"
                    )
            finally:
                started.set()
                stopped.set()

        life = asyncio.create_task(lifespan())
        await inbox.put({"type": "lifespan.startup"})
        # If it is closed before it has started, it is not waited for any longer.
        either = [asyncio.create_task(event.wait()) for event in (started, self._stop)]
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if started.is_set() and not self._failure:
            self._started.set()
            await self._stop.wait()
            await _end_tasks(self.tasks)
            await inbox.put({"type": "lifespan.shutdown"})
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(stopped.wait(), _STOP_SECONDS)
        life.cancel()
        await _end_tasks(asyncio.all_tasks() - {asyncio.current_task()})


async def _end_tasks(tasks: set[asyncio.Task[Any]]) -> None:
    running = [task for task in tasks if not task.done()]
    for task in running:
        task.cancel()
    if running:
        await asyncio.wait(running, timeout=_GRACE_SECONDS)


def _read_headers(headers: Sequence[tuple[bytes, bytes]]) -> Headers:
    return tuple(
        (bytes(name).decode("latin-1"), bytes(value).decode("latin-1")) for name, value in headers
    )
