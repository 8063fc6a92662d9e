"""A conversation with an MCP server over a transport, in either era.

Knows nothing of what the methods do. Finding out the era, opening and its failures are in
`opening`.
"""

import contextlib
import itertools
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.wire import eras
from pytest_mcp_approval.wire.eras import Era
from pytest_mcp_approval.wire.errors import ListingError
from pytest_mcp_approval.wire.inbox import Switchboard
from pytest_mcp_approval.wire.messages import (
    Json,
    Outgoing,
    RequestId,
    notification_bytes,
    request_bytes,
)
from pytest_mcp_approval.wire.open_call import LONGEST_SECONDS, OpenCall
from pytest_mcp_approval.wire.patience import unwatched
from pytest_mcp_approval.wire.reply import Headers, Outcome, Reply
from pytest_mcp_approval.wire.session_stream import SessionStream
from pytest_mcp_approval.wire.transport import Transport

DEFAULT_DEADLINE = 10.0
_GOODBYE_SECONDS = 1.0
_MOST_PAGES = 100
_MOST_TOOLS = 10_000

ExtraHeaders = Mapping[str, str | None]
"""Headers of the caller's; they replace ours of the same name, and None leaves ours out."""


@dataclass(slots=True)
class Terms:
    """What was agreed when the conversation was opened."""

    revision: str
    session_id: str | None = None
    capabilities: dict[str, Json] = field(default_factory=dict)
    server_info: dict[str, Json] = field(default_factory=dict)


class Session:
    """An open conversation. `open_session` makes one; closing it leaves the transport open."""

    def __init__(
        self,
        transport: Transport,
        terms: Terms,
        *,
        client_info: Mapping[str, str],
        client_capabilities: Mapping[str, object],
        deadline: float = DEFAULT_DEADLINE,
        ids: "itertools.count[int] | None" = None,
        headers: ExtraHeaders | None = None,
    ) -> None:
        """`headers` go with every request: those of another user, for instance."""
        self.transport = transport
        self.terms = terms
        self.revision = terms.revision
        self.era = eras.era_of(terms.revision)
        self.session_id = terms.session_id
        self.capabilities = terms.capabilities
        self.server_info = terms.server_info
        self.deadline = deadline
        self._ids = itertools.count(1) if ids is None else ids
        self._closed = False
        self._deleted = False
        self._board = transport.shared_board or Switchboard()
        self._open: list[OpenCall | SessionStream] = []
        self._own_headers = dict(headers or {})
        self._envelope: dict[str, object] = {
            eras.PROTOCOL_VERSION_KEY: terms.revision,
            eras.CLIENT_INFO_KEY: dict(client_info),
            eras.CLIENT_CAPABILITIES_KEY: dict(client_capabilities),
        }

    def next_id(self) -> int:
        """An id that this session has not used yet."""
        return next(self._ids)

    def prepare(
        self, method: str, params: object = None, *, headers: ExtraHeaders | None = None
    ) -> Outgoing:
        """The request that `call` would send, not sent yet: for races, or to be changed."""
        request_id = self.next_id()
        body = request_bytes(request_id, method, self.complete(params))
        return self.prepare_bytes(
            body, request_id, method, subject=eras.subject_of(method, params), headers=headers
        )

    def prepare_bytes(
        self,
        body: bytes,
        request_id: RequestId | None,
        method: str,
        *,
        subject: str | None = None,
        headers: ExtraHeaders | None = None,
    ) -> Outgoing:
        """Exact bytes with the headers that belong to them. `subject` is the tool's name, for
        tools/call."""
        if self.era is Era.SESSIONLESS:
            usual = eras.sessionless_headers(self.revision, method, subject)
        else:
            usual = eras.handshake_headers(self.revision, self.session_id)
        usual = merge_headers(usual, self._own_headers)
        return Outgoing(body, request_id, method, merge_headers(usual, headers))

    def complete(self, params: object) -> object:
        """`params` with what this era adds to each request."""
        return eras.with_envelope(params, self._envelope) if self.era is Era.SESSIONLESS else params

    def exchange(self, outgoing: Outgoing, deadline: float | None = None) -> Reply:
        """Send what was prepared."""
        seconds = self.deadline if deadline is None else deadline
        # A session that we ended ourselves is refused as the specification says.
        with unwatched() if self._deleted else contextlib.nullcontext():
            return self.transport.exchange(outgoing, Deadline(seconds))

    def call(
        self,
        method: str,
        params: object = None,
        *,
        deadline: float | None = None,
        headers: ExtraHeaders | None = None,
    ) -> Reply:
        """A request and what came of it. Params may hold `RawJson` at any depth."""
        return self.exchange(self.prepare(method, params, headers=headers), deadline)

    def send(
        self,
        body: bytes,
        request_id: RequestId | None,
        method: str,
        *,
        subject: str | None = None,
        deadline: float | None = None,
        headers: ExtraHeaders | None = None,
    ) -> Reply:
        """Exact bytes, whatever they are; the answer is awaited under `request_id`."""
        return self.exchange(
            self.prepare_bytes(body, request_id, method, subject=subject, headers=headers), deadline
        )

    def open_call(
        self,
        method: str,
        params: object = None,
        *,
        takes: Collection[str] | None = None,
        headers: ExtraHeaders | None = None,
        longest: float = LONGEST_SECONDS,
    ) -> OpenCall:
        """A call that is under way when this returns, so that requests of the server's can be
        answered in it.

        `takes`: the methods of requests that are for the caller; others are refused as ever. None
        means every one but ping. However long nobody looks, the call ends after `longest` seconds.
        """
        return self.open_prepared(
            self.prepare(method, params, headers=headers), takes=takes, longest=longest
        )

    def open_prepared(
        self,
        outgoing: Outgoing,
        *,
        takes: Collection[str] | None = None,
        longest: float = LONGEST_SECONDS,
    ) -> OpenCall:
        """`open_call` with what was prepared: exact bytes, too."""
        call = OpenCall(self, outgoing, self._board, takes=takes, longest=longest)
        self._keep(call)
        return call

    def listen(self, *, longest: float = LONGEST_SECONDS) -> SessionStream:
        """The session's own stream, from now on: a GET over HTTP, which many servers refuse (the
        stream's `reply` says so); on stdio there is no other, and it only keeps notifications.

        Requests that come there are for the open calls of this session, or refused as ever.
        """
        headers = {"Accept": "text/event-stream", "Content-Type": None}
        usual = self.prepare_bytes(b"", None, "", headers=headers)
        stream = SessionStream(self.transport, usual, self._board, self.deadline, longest)
        self._keep(stream)
        return stream

    def delete(self, *, headers: ExtraHeaders | None = None) -> Reply:
        """End the session at the server, whatever is open in it. Only over HTTP, in the handshake
        era, and if the server gave the session an id."""
        if self.session_id is None:
            raise ValueError("only a session with an id, over HTTP, can be deleted")
        for one in self._open:
            if isinstance(one, OpenCall):
                one.expect_nothing()
        outgoing = self.prepare_bytes(b"", None, "", headers=headers)
        reply = self.transport.end_session(outgoing, Deadline(self.deadline))
        assert reply is not None, "session ids come over HTTP only"
        self._deleted = reply.status is not None and reply.status < 300
        return reply

    def _keep(self, what: OpenCall | SessionStream) -> None:
        self._open = [one for one in self._open if one.is_open]
        self._open.append(what)

    def notify(self, method: str, params: object = None) -> Reply:
        return self.send(notification_bytes(method, params), None, method)

    def list_tools(self) -> list[dict[str, Json]]:
        """All tools, page by page. Raises `ListingError` if it is not a list or does not end."""
        limit = Deadline(self.deadline)
        tools: list[dict[str, Json]] = []
        params: dict[str, Any] | None = None
        seen: set[str] = set()
        for _ in range(_MOST_PAGES):
            reply = self.call("tools/list", params, deadline=limit.left())
            page = reply.result.get("tools") if isinstance(reply.result, dict) else None
            if reply.outcome is not Outcome.RESULT or not isinstance(page, list):
                raise ListingError(f"tools/list: {reply.describe()}", reply)
            tools += [tool for tool in page if isinstance(tool, dict)]
            cursor = reply.result.get("nextCursor")
            if not isinstance(cursor, str):
                return tools
            if cursor in seen or len(tools) > _MOST_TOOLS:
                break
            seen.add(cursor)
            params = {"cursor": cursor}
        raise ListingError(
            f"tools/list: no end after {len(seen) + 1} pages and {len(tools)} tools", reply
        )

    def close(self) -> None:
        """Give up what is open, and say goodbye, where the transport has a way to. A second time
        does nothing."""
        if self._closed:
            return
        self._closed = True
        for one in self._open:
            one.close()
        if self.session_id is not None and not self._deleted:
            goodbye = self.prepare_bytes(b"", None, "")
            self.transport.end_session(goodbye, Deadline(_GOODBYE_SECONDS))

    def __enter__(self) -> "Session":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def merge_headers(usual: Headers, extra: ExtraHeaders | None) -> Headers:
    if not extra:
        return usual
    replaced = {name.lower() for name in extra}
    kept = tuple(pair for pair in usual if pair[0].lower() not in replaced)
    # Transports take an empty value as "without this header", since they have usual headers of
    # their own.
    return kept + tuple((name, value or "") for name, value in extra.items())
