"""JSON-RPC for MCP over stdio, Streamable HTTP and in-process ASGI, in exact bytes.

Knows nothing about approval. Standard library only, since an SDK's client refuses or repairs just
the messages that a suite must send. `open_session` raises a `WireError`; from then on, whatever a
server does is a `Reply`.
"""

from pytest_mcp_approval.wire.eras import (
    HANDSHAKE_REVISIONS,
    SESSIONLESS_REVISIONS,
    Era,
)
from pytest_mcp_approval.wire.errors import (
    ApplicationFailedError,
    BadAddressError,
    CommandFailedError,
    ListingError,
    NothingAnsweredError,
    NotMcpError,
    RefusedError,
    RevisionError,
    UnreachableError,
    WireError,
)
from pytest_mcp_approval.wire.in_process import InProcessTransport
from pytest_mcp_approval.wire.messages import (
    Json,
    RawJson,
    RequestId,
    notification_bytes,
    request_bytes,
    to_json,
)
from pytest_mcp_approval.wire.opening import open_session
from pytest_mcp_approval.wire.over_http import HttpTransport
from pytest_mcp_approval.wire.over_stdio import StdioTransport
from pytest_mcp_approval.wire.patience import Patience, Trouble, keeping
from pytest_mcp_approval.wire.race import race, race_replicas
from pytest_mcp_approval.wire.reply import ErrorObject, Outcome, Reply
from pytest_mcp_approval.wire.session import Session
from pytest_mcp_approval.wire.transport import Outgoing, Transport

__all__ = [
    "HANDSHAKE_REVISIONS",
    "SESSIONLESS_REVISIONS",
    "ApplicationFailedError",
    "BadAddressError",
    "CommandFailedError",
    "Era",
    "ErrorObject",
    "HttpTransport",
    "InProcessTransport",
    "Json",
    "ListingError",
    "NotMcpError",
    "NothingAnsweredError",
    "Outcome",
    "Outgoing",
    "Patience",
    "RawJson",
    "RefusedError",
    "Reply",
    "RequestId",
    "RevisionError",
    "Session",
    "StdioTransport",
    "Transport",
    "Trouble",
    "UnreachableError",
    "WireError",
    "keeping",
    "notification_bytes",
    "open_session",
    "race",
    "race_replicas",
    "request_bytes",
    "to_json",
]
