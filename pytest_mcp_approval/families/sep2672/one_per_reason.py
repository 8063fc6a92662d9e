"""Provokes a refusal for each of the 16 reasons, one way each, for rules about the refusals.

Whether the reason is right is judged elsewhere, reason by reason; here only the form of the answer
matters. A server that does not refuse is `NotVerified` here, and so is one whose honest call fails
afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from virtual_authenticator.faults import FlipFlag

from ...catalogue import NotVerified
from ...config.settings import PREFIX
from ...wire import Outcome, Reply, Session
from . import vocabulary as words
from .faulty_calls import FAULTS, draft
from .registrations import answer, begin
from .scenario import Ceremony
from .vocabulary import AuthenticatorClass, Reason


class Send(Protocol):
    """Sends the request that is to be refused."""

    def __call__(self, method: str, params: Any, session: Session | None = None) -> Reply: ...


Provocation = Callable[[Ceremony, Send], Reply]


def provoke(
    ceremony: Ceremony, reason: Reason, headers: Mapping[str, str | None] | None = None
) -> Reply:
    """What the server says to a request that it must refuse for this reason."""

    def send(method: str, params: Any, session: Session | None = None) -> Reply:
        return (session or ceremony.session).call(method, params, headers=headers)

    provocation = _WITHOUT_A_CALL.get(reason)
    if provocation is not None:
        reply = provocation(ceremony, send)
    else:
        reply = send("tools/call", _faulty_call(ceremony, reason))
    result = reply.result
    if reply.outcome is Outcome.RESULT and not (isinstance(result, dict) and result.get("isError")):
        raise NotVerified(f"not refused, so there is no refusal to look at: {reply.describe()}")
    ceremony.honest()
    return reply


def _faulty_call(ceremony: Ceremony, reason: Reason) -> dict[str, Any]:
    """The params of a tools/call that breaks the check of this reason (section 4.8)."""
    fault = next(fault for fault in FAULTS if fault.reason is reason)
    tool = next((tool for tool in ceremony.gated_tools() if tool.arguments), ceremony.tool)
    if reason is Reason.SIGNATURE_COUNTER_REGRESSION:
        ceremony.honest()  # an old counter is one that was seen before
    call, evidence = draft(ceremony, fault, tool=tool).prepare()
    return ceremony.approval.call_params(call, evidence)


# ---- approval/challenge/create


def _tool_not_approved_required(ceremony: Ceremony, send: Send) -> Reply:  # noqa: ARG001
    return send(words.CHALLENGE_CREATE, {"toolName": "no tool of this server", "arguments": {}})


def _no_eligible_credential(ceremony: Ceremony, send: Send) -> Reply:
    tool = ceremony.tool_of_class(AuthenticatorClass.CROSS_PLATFORM)
    params = {"toolName": tool.name, "arguments": tool.arguments}
    if ceremony.target.can_reset or ceremony.target.settings.reset is not None:
        return send(words.CHALLENGE_CREATE, params)  # nothing is enrolled yet
    twin = ceremony.target.twin()
    if twin is None:
        raise NotVerified(f"needs a target without any credential: {PREFIX}reset")
    with contextlib.closing(twin) as fresh:
        return send(words.CHALLENGE_CREATE, params, fresh.session())


# ---- approval/enroll/finish


def _credential_already_enrolled(ceremony: Ceremony, send: Send) -> Reply:
    passkey = ceremony.passkey
    _, again = answer(ceremony, credential_id=words.base64url_decode(passkey.id))
    return send(words.ENROLL_FINISH, {"response": again})


def _no_pending_enrollment(ceremony: Ceremony, send: Send) -> Reply:
    options = begin(ceremony)
    _, first = answer(ceremony, options=options)
    _, second = answer(ceremony, options=options)
    ceremony.approval.finish(first)
    return send(words.ENROLL_FINISH, {"response": second})


def _verification_failed(ceremony: Ceremony, send: Send) -> Reply:
    _, response = answer(ceremony, faults=FlipFlag("UV"))
    return send(words.ENROLL_FINISH, {"response": response})


_WITHOUT_A_CALL: dict[Reason, Provocation] = {
    Reason.TOOL_NOT_APPROVED_REQUIRED: _tool_not_approved_required,
    Reason.NO_ELIGIBLE_CREDENTIAL: _no_eligible_credential,
    Reason.CREDENTIAL_ALREADY_ENROLLED: _credential_already_enrolled,
    Reason.NO_PENDING_ENROLLMENT: _no_pending_enrollment,
    Reason.VERIFICATION_FAILED: _verification_failed,
}
