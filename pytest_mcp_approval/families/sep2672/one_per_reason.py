"""How to be refused for each of the 16 reasons, one way each, for whoever looks at the refusals.

What a reason is due to is judged elsewhere, reason by reason; here only the form of the answer is
of interest. A server that does not refuse is `NotVerified` here, and so is one whose honest call
fails afterwards.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import Any, Protocol

from virtual_authenticator.faults import FlipFlag, SignatureBit, WrongCounter

from ...catalogue import NotVerified
from ...config.settings import PREFIX
from ...wire import Outcome, Reply, Session
from . import vocabulary as words
from .driver import Challenge, Passkey
from .faulty_calls import never_enrolled, other_arguments
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

    reply = PROVOCATIONS[reason](ceremony, send)
    result = reply.result
    if reply.outcome is Outcome.RESULT and not (isinstance(result, dict) and result.get("isError")):
        raise NotVerified(f"not refused, so there is no refusal to look at: {reply.describe()}")
    ceremony.honest()
    return reply


def _submit(
    ceremony: Ceremony,
    send: Send,
    challenge: Challenge,
    passkey: Passkey | None = None,
    members: Mapping[str, Any] | None = None,
    **signing: Any,
) -> Reply:
    evidence = {**ceremony.evidence(challenge, passkey, **signing), **(members or {})}
    return send("tools/call", ceremony.approval.call_params(challenge, evidence))


# ---- tools/call


def _missing_evidence(ceremony: Ceremony, send: Send) -> Reply:
    tool = ceremony.tool
    return send("tools/call", {"name": tool.name, "arguments": tool.arguments})


def _unsupported_method(ceremony: Ceremony, send: Send) -> Reply:
    return _submit(ceremony, send, ceremony.challenge(), members={"method": "totp"})


def _challenge_unknown(ceremony: Ceremony, send: Send) -> Reply:
    return _submit(
        ceremony, send, ceremony.challenge(), members={"challengeId": "a challenge of nobody's"}
    )


def _challenge_consumed(ceremony: Ceremony, send: Send) -> Reply:
    challenge = ceremony.challenge()
    params = ceremony.approval.call_params(challenge, ceremony.evidence(challenge))
    first = ceremony.session.call("tools/call", params)
    if first.outcome is not Outcome.RESULT:
        raise NotVerified(f"the honest call failed, so nothing follows: {first.describe()}")
    return send("tools/call", params)


def _challenge_expired(ceremony: Ceremony, send: Send) -> Reply:
    challenge = ceremony.challenge()
    try:
        ceremony.clock.move_to(challenge.expires_at)
    except ValueError as error:
        raise NotVerified(f"expiresAt: {error}") from None
    return _submit(ceremony, send, challenge)


def _challenge_wrong_tool(ceremony: Ceremony, send: Send) -> Reply:
    other = ceremony.second_tool()
    challenge = ceremony.challenge()
    return _submit(ceremony, send, challenge.with_tool(other.name).with_arguments(other.arguments))


def _unknown_credential(ceremony: Ceremony, send: Send) -> Reply:
    stranger = never_enrolled(ceremony)
    return _submit(ceremony, send, ceremony.challenge(), stranger, ignoring=["allow-credentials"])


def _authenticator_class_mismatch(ceremony: Ceremony, send: Send) -> Reply:
    tool = ceremony.tool_of_class(AuthenticatorClass.CROSS_PLATFORM)
    challenge = ceremony.challenge(tool)
    internal = ceremony.enrol("touch-id")
    return _submit(ceremony, send, challenge, internal, ignoring=["allow-credentials"])


def _signature_verification_failed(ceremony: Ceremony, send: Send) -> Reply:
    return _submit(ceremony, send, ceremony.challenge(), faults=SignatureBit())


def _signature_counter_regression(ceremony: Ceremony, send: Send) -> Reply:
    ceremony.honest()
    credential = ceremony.passkey.authenticator.credential(
        words.base64url_decode(ceremony.passkey.id)
    )
    return _submit(ceremony, send, ceremony.challenge(), faults=WrongCounter(credential.sign_count))


def _argument_hash_mismatch(ceremony: Ceremony, send: Send) -> Reply:
    tool = next((tool for tool in ceremony.gated_tools() if tool.arguments), ceremony.tool)
    challenge = ceremony.challenge(tool)
    return _submit(ceremony, send, challenge.with_arguments(other_arguments(tool)))


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


PROVOCATIONS: dict[Reason, Provocation] = {
    Reason.MISSING_EVIDENCE: _missing_evidence,
    Reason.UNSUPPORTED_METHOD: _unsupported_method,
    Reason.CHALLENGE_UNKNOWN: _challenge_unknown,
    Reason.CHALLENGE_CONSUMED: _challenge_consumed,
    Reason.CHALLENGE_EXPIRED: _challenge_expired,
    Reason.CHALLENGE_WRONG_TOOL: _challenge_wrong_tool,
    Reason.UNKNOWN_CREDENTIAL: _unknown_credential,
    Reason.AUTHENTICATOR_CLASS_MISMATCH: _authenticator_class_mismatch,
    Reason.SIGNATURE_VERIFICATION_FAILED: _signature_verification_failed,
    Reason.SIGNATURE_COUNTER_REGRESSION: _signature_counter_regression,
    Reason.ARGUMENT_HASH_MISMATCH: _argument_hash_mismatch,
    Reason.TOOL_NOT_APPROVED_REQUIRED: _tool_not_approved_required,
    Reason.NO_ELIGIBLE_CREDENTIAL: _no_eligible_credential,
    Reason.CREDENTIAL_ALREADY_ENROLLED: _credential_already_enrolled,
    Reason.NO_PENDING_ENROLLMENT: _no_pending_enrollment,
    Reason.VERIFICATION_FAILED: _verification_failed,
}
