"""Why a conversation could not be opened or a listing not be read, each as one clear line.

Knows nothing of how the line is shown. These are the only exceptions of the wire that a server can
cause: without a session there is nothing to hand an outcome to.
"""

from pytest_mcp_approval.support.connection import Address, AddressError
from pytest_mcp_approval.wire.reply import Reply


class WireError(Exception):
    """The text is one line, safe to print."""

    def __init__(self, line: str, reply: Reply | None = None) -> None:
        super().__init__(line)
        self.reply = reply


class BadAddressError(WireError):
    """The URL or command is not valid."""


class UnreachableError(WireError):
    """Nobody is there, or TLS failed."""


class CommandFailedError(WireError):
    """The command could not be run, or ended instead of serving."""


class ApplicationFailedError(WireError):
    """An application in this process did not start up."""


class NothingAnsweredError(WireError):
    """A server is there, but it did not answer in time."""


class NotMcpError(WireError):
    """There is an answer, but it is not from an MCP server."""


class RefusedError(WireError):
    """A server refused the conversation, with a JSON-RPC error or an HTTP status."""


class RevisionError(WireError):
    """There is no protocol revision that both sides speak."""


class ListingError(WireError):
    """A list of tools could not be read to its end."""


def address_of(url: str) -> Address:
    """Where a URL points; `BadAddressError` if nowhere."""
    try:
        return Address.parse(url)
    except AddressError as problem:
        raise BadAddressError(str(problem)) from None
