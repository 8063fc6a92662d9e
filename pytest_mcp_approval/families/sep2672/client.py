"""The client half of SEP-2672: see a gated tool, ask for a challenge, show it, sign, call.

    client = ApprovalClient(session.call, show=ask_the_user, sign=authenticator_get)
    outcome = client.call_tool(listing, {"disk": "a"})

For client authors and for tests: the four possible ends of a ceremony are four types, so none can
be taken for another. Knows no transport (it is given a function that calls a method), no
authenticator (it is given a function that signs) and no screen (it is given one that shows).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from ...wire import Reply
from ..base.outcome import data_of
from . import vocabulary as words
from .vocabulary import AnnotationError, Reason, annotation_of


@dataclass(frozen=True)
class Approved:
    """The tool ran; this is its result."""

    result: Any


@dataclass(frozen=True)
class Refused:
    """The server said no, for one of the reasons of section 4.10 (or in other words: None)."""

    reason: Reason | None
    message: str
    method: str
    """Which request was refused."""


@dataclass(frozen=True)
class Declined:
    """The user said no, or the authenticator did; nothing was called."""

    why: str


@dataclass(frozen=True)
class TransportFailure:
    """The outcome is unknown: there was no answer, or none that can be read."""

    what: str


Outcome: TypeAlias = Approved | Refused | Declined | TransportFailure


class UserDeclined(Exception):  # noqa: N818  # what a user does is no error
    """Raised by `sign` when the user does not approve."""


class ApprovalClient:
    """Calls tools, with a ceremony where the listing asks for one.

    `call` sends a JSON-RPC request. `show` shows displayText to the user, verbatim, and returns
    whether they agree. `sign` takes requestOptions and returns the assertion's JSON, or raises
    `UserDeclined`.
    """

    def __init__(
        self,
        call: Callable[[str, dict[str, Any]], Reply],
        *,
        show: Callable[[str], bool],
        sign: Callable[[dict[str, Any]], dict[str, Any]],
    ) -> None:
        self._call = call
        self._show = show
        self._sign = sign

    def needs_approval(self, listing: Mapping[str, Any]) -> bool:
        """Section 4.2: whether a tool's listing carries the annotation."""
        try:
            return annotation_of(listing) is not None
        except AnnotationError:
            # Any mark, even a malformed one, means that approval is wanted.
            return True

    def call_tool(self, listing: Mapping[str, Any], arguments: Mapping[str, Any]) -> Outcome:
        """One call of a tool; each ceremony is for one call only (section 4.9)."""
        params: dict[str, Any] = {"name": listing["name"], "arguments": dict(arguments)}
        if self.needs_approval(listing):
            evidence = self._ceremony(params["name"], params["arguments"])
            if not isinstance(evidence, dict):
                return evidence
            params["_meta"] = {words.META_KEY: evidence}
        answer = self._call("tools/call", params)
        return self._failure(answer, "tools/call") or Approved(answer.result)

    def _ceremony(self, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | Outcome:
        answer = self._call(words.CHALLENGE_CREATE, {"toolName": tool, "arguments": arguments})
        failure = self._failure(answer, words.CHALLENGE_CREATE)
        if failure is not None:
            return failure
        envelope = answer.result
        if not _is_envelope(envelope):
            return TransportFailure(f"{words.CHALLENGE_CREATE}: no challenge in the answer")
        # The user reads first, and only then is anything signed (section 4.9).
        if not self._show(envelope["displayText"]):
            return Declined("the user did not agree to what was shown")
        try:
            response = self._sign(envelope["requestOptions"])
        except UserDeclined as declined:
            return Declined(str(declined))
        return {
            "method": words.WEBAUTHN,
            "challengeId": envelope["challengeId"],
            "response": response,
        }

    def _failure(self, answer: Reply, method: str) -> Refused | TransportFailure | None:
        if not answer.answered:
            return TransportFailure(f"{method}: {answer.describe()}")
        error = answer.error
        if error is None:
            return None
        reason = data_of(answer).get("reason")
        # The reason decides: -32001 is also what SDKs use for time-outs.
        known = Reason(reason) if reason in set(Reason) else None
        return Refused(known, str(error.message), method)


def _is_envelope(value: Any) -> bool:
    members = {"challengeId": str, "displayText": str, "requestOptions": dict}
    return isinstance(value, dict) and all(
        isinstance(value.get(name), kind) for name, kind in members.items()
    )
