"""The two eras of MCP: what each puts into a message and its headers.

Knows nothing of transports or conversations. Handshake era: `initialize`, then a session. Since
2026-07-28: `server/discover`, no sessions, and each request says who asks in which revision.
"""

import base64
import enum
import re
from collections.abc import Mapping

from pytest_mcp_approval.wire.reply import Headers

HANDSHAKE_REVISIONS = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
SESSIONLESS_REVISIONS = ("2026-07-28",)
KNOWN_REVISIONS = HANDSHAKE_REVISIONS + SESSIONLESS_REVISIONS

UNSUPPORTED_PROTOCOL_VERSION = -32022

PROTOCOL_VERSION_KEY = "io.modelcontextprotocol/protocolVersion"
CLIENT_INFO_KEY = "io.modelcontextprotocol/clientInfo"
CLIENT_CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities"
SERVER_INFO_KEY = "io.modelcontextprotocol/serverInfo"

_NAMED_BY = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Methods whose subject is repeated in the header Mcp-Name, and the member of params that names
it."""


class Era(enum.Enum):
    HANDSHAKE = "handshake"
    SESSIONLESS = "sessionless"


def era_of(revision: str) -> Era:
    return Era.SESSIONLESS if revision in SESSIONLESS_REVISIONS else Era.HANDSHAKE


def with_envelope(params: object, envelope: Mapping[str, object]) -> object:
    """`params` with the sessionless era's members in `_meta`; what the caller put there stays.

    Params or a `_meta` that are spelled raw, or are no object, are left as they are.
    """
    if params is None:
        params = {}
    if not isinstance(params, Mapping):
        return params
    meta = params.get("_meta", {})
    if not isinstance(meta, Mapping):
        return params
    return {**params, "_meta": {**envelope, **meta}}


def subject_of(method: str, params: object) -> str | None:
    """The tool, prompt or resource that a request is about, if it says so in the open."""
    member = _NAMED_BY.get(method)
    if member is None or not isinstance(params, Mapping):
        return None
    name = params.get(member)
    return name if isinstance(name, str) else None


def sessionless_headers(revision: str, method: str, subject: str | None) -> Headers:
    headers = (("MCP-Protocol-Version", revision), ("Mcp-Method", encode_header(method)))
    return headers if subject is None else (*headers, ("Mcp-Name", encode_header(subject)))


def handshake_headers(revision: str | None, session_id: str | None) -> Headers:
    headers: Headers = ()
    if session_id is not None:
        headers += (("MCP-Session-Id", session_id),)
    if revision is not None:
        headers += (("MCP-Protocol-Version", revision),)
    return headers


_PLAIN = re.compile(r"[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?\Z")
_ENCODED = re.compile(r"=\?base64\?.*\?=\Z")


def encode_header(value: str) -> str:
    """A value as 2026-07-28 puts it into a header: plain if that survives the journey, else
    base64."""
    if _PLAIN.match(value) and not _ENCODED.match(value):
        return value
    return f"=?base64?{base64.b64encode(value.encode('utf-8', 'surrogatepass')).decode('ascii')}?="


def is_session_id(value: str) -> bool:
    """MCP: visible ASCII only. Anything else could not be sent back."""
    return bool(value) and all("\x21" <= character <= "\x7e" for character in value)
