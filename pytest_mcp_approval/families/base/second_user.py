"""A second person at the same server, whom it knows by headers of their own.

The headers are settings of the run, for all families. Knows no specification.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...catalogue import NotApplicable, NotVerified
from ...config.settings import PREFIX
from ...target import Target
from ...wire import StdioTransport

OPTION = f"{PREFIX}second-user-header"


def headers_of_second_user(target: Target, *, known_to_document: bool) -> Mapping[str, str]:
    """What a session of theirs sends (`Target.new_session`).

    Without any, a check is not verified if the document tells users apart. Otherwise a server need
    not know any, and the check does not apply.
    """
    if isinstance(target.transport, StdioTransport):
        raise NotApplicable("over stdio there is one user")
    headers = target.second_user_headers
    if headers:
        return headers
    if known_to_document:
        raise NotVerified(f"needs a second user: {OPTION}='NAME: VALUE'", minor=True)
    raise NotApplicable(f"no second user is named ({OPTION})")
