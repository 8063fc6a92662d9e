"""The words of elicitation: methods, members, actions, modes, and what a client declares.

Both sides of the wire speak them. Two eras: since 2026-07-28 the result of a call asks and a retry
answers; before, the server sends a request inside the open call. Knows no transport and no policy.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

FAMILY = "elicitation"

CREATE = "elicitation/create"
"""The question: a request of the server's (handshake), or one inside a result (sessionless)."""
COMPLETE = "notifications/elicitation/complete"
"""Handshake era, url mode: the person has finished on the page."""
CAPABILITY = "elicitation"
CLIENT_CAPABILITIES = "io.modelcontextprotocol/clientCapabilities"
"""The member of `_meta` in which each request of the sessionless era declares what its client can
do."""

# Members of a result that asks, and of the retry that answers.
RESULT_TYPE = "resultType"
INPUT_REQUIRED = "input_required"
INPUT_REQUESTS = "inputRequests"
REQUEST_STATE = "requestState"
INPUT_RESPONSES = "inputResponses"
ASKING_METHODS = ("tools/call", "prompts/get", "resources/read")
"""The only methods whose results may ask."""
INPUT_REQUEST_METHODS = (CREATE, "sampling/createMessage", "roots/list")
"""What a result may ask for."""

# Members of a question.
MODE = "mode"
MESSAGE = "message"
SCHEMA = "requestedSchema"
URL = "url"
ELICITATION_ID = "elicitationId"

# Members of an answer.
ACTION = "action"
CONTENT = "content"

MISSING_CAPABILITY = -32021
"""Sessionless: the call needs a capability that the request did not declare."""
REQUIRED_CAPABILITIES = "requiredCapabilities"
URL_ELICITATION_REQUIRED = -32042
"""Handshake, 2025-11-25: these url questions come first."""
ELICITATIONS = "elicitations"


class Action(StrEnum):
    """What a person did."""

    ACCEPT = "accept"
    DECLINE = "decline"
    CANCEL = "cancel"


class Mode(StrEnum):
    """How a person is asked."""

    FORM = "form"
    URL = "url"


def capability(*modes: Mode) -> dict[str, Any]:
    """What a client that can ask in these modes declares; without any: that it cannot ask."""
    return {CAPABILITY: {str(mode): {} for mode in modes}} if modes else {}


def declared_modes(capabilities: Any) -> frozenset[Mode]:
    """The modes that a client declared. An empty object means form; what is no object means
    nothing."""
    declared = capabilities.get(CAPABILITY) if isinstance(capabilities, Mapping) else None
    if not isinstance(declared, Mapping):
        return frozenset()
    if not declared:
        return frozenset({Mode.FORM})
    return frozenset(mode for mode in Mode if isinstance(declared.get(mode), Mapping))


def mode_of(params: Mapping[str, Any]) -> Mode | None:
    """The mode of a question; form if it does not say, None if there is no such mode."""
    said = params.get(MODE, Mode.FORM)
    return Mode(said) if isinstance(said, str) and said in set(Mode) else None
