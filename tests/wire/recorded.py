"""What a test of the wire looks at in a recording."""

from pytest_mcp_approval.support.exchanges import Exchange
from pytest_mcp_approval.support.recording import Recording


def exchanges(recorded: Recording) -> list[Exchange]:
    return [what for _, what in recorded.happenings if isinstance(what, Exchange)]
