"""Opening a conversation: which era the server lives in, and why it could not be opened.

Knows nothing of what is said afterwards. The only place where what a server does becomes an
exception.
"""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass

from pytest_mcp_approval.support.deadline import Deadline
from pytest_mcp_approval.support.text import neutralise
from pytest_mcp_approval.support.version import own_version
from pytest_mcp_approval.wire import eras
from pytest_mcp_approval.wire.errors import (
    CommandFailedError,
    NothingAnsweredError,
    NotMcpError,
    RefusedError,
    RevisionError,
    UnreachableError,
    WireError,
)
from pytest_mcp_approval.wire.messages import Json, Outgoing, notification_bytes, request_bytes
from pytest_mcp_approval.wire.over_stdio import StdioTransport
from pytest_mcp_approval.wire.reply import Headers, Outcome, Reply
from pytest_mcp_approval.wire.session import (
    DEFAULT_DEADLINE,
    ExtraHeaders,
    Session,
    Terms,
    merge_headers,
)
from pytest_mcp_approval.wire.transport import Transport

AUTO = "auto"
_PROBE_SHARE = 0.4
"""Of the deadline: what a server gets to answer `server/discover` before it is taken to know only
the handshake."""


def open_session(
    transport: Transport,
    protocol: str = AUTO,
    *,
    client_name: str = "pytest-mcp-approval",
    capabilities: Mapping[str, object] | None = None,
    deadline: float = DEFAULT_DEADLINE,
    start_deadline: float | None = None,
    headers: ExtraHeaders | None = None,
) -> Session:
    """Start the transport if necessary and agree on a revision: the newest, or the named one.

    Raises a `WireError` whose text is one clear line. `start_deadline` is for all of it if that is
    more: the server may have to be started first.
    """
    if protocol != AUTO and protocol not in eras.KNOWN_REVISIONS:
        known = ", ".join(eras.KNOWN_REVISIONS)
        raise RevisionError(
            f"unknown protocol revision {neutralise(protocol)!r}; known are {known}"
        )
    opener = _Opener(
        transport,
        {"name": client_name, "version": own_version() or "unknown"},
        dict(capabilities or {}),
        Deadline(max(deadline, start_deadline or 0.0)),
        deadline * _PROBE_SHARE,
        headers,
        transport.shared_ids or itertools.count(1),
    )
    transport.start(opener.deadline)
    terms = opener.find_out() if protocol == AUTO else opener.agree_on(protocol)
    return Session(
        transport,
        terms,
        client_info=opener.client_info,
        client_capabilities=opener.capabilities,
        deadline=deadline,
        ids=opener.ids,
        headers=headers,
    )


@dataclass
class _Opener:
    transport: Transport
    client_info: dict[str, str]
    capabilities: dict[str, object]
    deadline: Deadline
    probe_seconds: float
    headers: ExtraHeaders | None
    ids: "itertools.count[int]"

    def agree_on(self, revision: str) -> Terms:
        if eras.era_of(revision) is eras.Era.HANDSHAKE:
            terms = self._initialize(revision)
            if terms.revision != revision:
                offered = neutralise(terms.revision)
                raise RevisionError(f"the server offers revision {offered}, not {revision}")
            return terms
        reply = self._discover(revision, self.deadline)
        found = _read_discovery(reply, revision)
        if found is not None:
            return found
        if reply.outcome in (Outcome.UNREACHABLE, Outcome.NO_ANSWER, Outcome.CLOSED):
            raise self._failure(reply)
        place = neutralise(self.transport.place)
        raise RevisionError(f"{place}: does not speak {revision}: {reply.describe()}", reply)

    def find_out(self) -> Terms:
        """Ask in the new way first, then in the old."""
        newest = eras.SESSIONLESS_REVISIONS[-1]
        reply = self._discover(newest, self.deadline.at_most(self.probe_seconds))
        terms = _read_discovery(reply, newest)
        if terms is not None:
            return terms
        if reply.outcome is Outcome.UNREACHABLE:
            raise self._failure(reply)
        if reply.outcome is Outcome.CLOSED:
            # Some old servers hang up on what they do not know; a command that died of it is
            # started again.
            self.transport.restart(self.deadline)
        try:
            return self._initialize(eras.HANDSHAKE_REVISIONS[-1])
        except NothingAnsweredError:
            if reply.outcome is Outcome.NO_ANSWER:
                raise
            raise self._failure(reply) from None  # the first question told more
        except RefusedError as refused:
            error = refused.reply.error if refused.reply is not None else None
            if error is None or error.code != eras.UNSUPPORTED_PROTOCOL_VERSION:
                raise
            # The server started slowly: our first question came through late, and made it choose
            # the new era.
            reply = self._discover(newest, self.deadline)
            terms = _read_discovery(reply, newest)
            if terms is None:
                raise
            return terms

    def _discover(self, revision: str, deadline: Deadline) -> Reply:
        envelope = {
            eras.PROTOCOL_VERSION_KEY: revision,
            eras.CLIENT_INFO_KEY: self.client_info,
            eras.CLIENT_CAPABILITIES_KEY: self.capabilities,
        }
        headers = eras.sessionless_headers(revision, "server/discover", None)
        return self._ask("server/discover", {"_meta": envelope}, headers, deadline)

    def _ask(self, method: str, params: object, headers: Headers, deadline: Deadline) -> Reply:
        request_id = next(self.ids)
        body = request_bytes(request_id, method, params)
        headers = merge_headers(headers, self.headers)
        return self.transport.exchange(Outgoing(body, request_id, method, headers), deadline)

    def _initialize(self, revision: str) -> Terms:
        params = {
            "protocolVersion": revision,
            "capabilities": self.capabilities,
            "clientInfo": self.client_info,
        }
        reply = self._ask("initialize", params, (), self.deadline)
        if reply.outcome is not Outcome.RESULT:
            raise self._failure(reply)
        result = reply.result
        offered = result.get("protocolVersion") if isinstance(result, dict) else None
        if not isinstance(offered, str):
            raise NotMcpError(
                f"not an MCP server: initialize without a protocolVersion: {reply.describe()}",
                reply,
            )
        if offered not in eras.HANDSHAKE_REVISIONS:
            known = ", ".join(eras.HANDSHAKE_REVISIONS)
            raise RevisionError(
                f"the server offers revision {neutralise(offered)!r}; known are {known}", reply
            )
        session_id = reply.header("mcp-session-id")
        if session_id is not None and not eras.is_session_id(session_id):
            raise NotMcpError(
                f"a session id that cannot be sent back: {neutralise(session_id)!r}", reply
            )
        terms = Terms(
            offered,
            session_id,
            _as_object(result.get("capabilities")),
            _as_object(result.get("serverInfo")),
        )
        initialized = notification_bytes("notifications/initialized")
        headers = merge_headers(eras.handshake_headers(offered, session_id), self.headers)
        said = self.transport.exchange(
            Outgoing(initialized, None, "notifications/initialized", headers),
            self.deadline,
        )
        if said.outcome is not Outcome.ACCEPTED:
            raise NotMcpError(
                f"notifications/initialized was not accepted: {said.describe()}", said
            )
        return terms

    def _failure(self, reply: Reply) -> WireError:
        """Why there is no conversation, in one line."""
        place = neutralise(self.transport.place)
        what = neutralise(reply.detail, 400)
        match reply.outcome:
            case Outcome.UNREACHABLE:
                return UnreachableError(f"{place}: {what}", reply)
            case Outcome.NO_ANSWER:
                return NothingAnsweredError(
                    f"{place}: nothing within {self.deadline.in_words}", reply
                )
            case Outcome.CLOSED if isinstance(self.transport, StdioTransport):
                return CommandFailedError(f"{place}: {what}", reply)
            case Outcome.ERROR:
                why = f"{reply.describe()}{'; ' if reply.advice else ''}{reply.advice}"
                return RefusedError(f"{place}: initialize was refused: {why}", reply)
            case Outcome.GARBAGE if reply.detail == "HTML":
                return NotMcpError(f"{place}: not an MCP server: answered HTML", reply)
            case _ if reply.advice:
                return RefusedError(f"{place}: {reply.describe()}", reply)
            case _:
                return NotMcpError(f"{place}: not an MCP server: {reply.describe()}", reply)


def _read_discovery(reply: Reply, revision: str) -> Terms | None:
    """The terms that a server of the new era states; None if this is not one."""
    result = reply.result
    if reply.outcome is not Outcome.RESULT or not isinstance(result, dict):
        return None
    supported = result.get("supportedVersions")
    if not isinstance(supported, list) or revision not in supported:
        return None
    return Terms(
        revision,
        None,
        _as_object(result.get("capabilities")),
        _as_object(_as_object(result.get("_meta")).get(eras.SERVER_INFO_KEY)),
    )


def _as_object(value: Json) -> dict[str, Json]:
    return value if isinstance(value, dict) else {}
