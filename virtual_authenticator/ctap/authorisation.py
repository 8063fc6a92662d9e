"""Authorisation: pinUvAuthParam, the token behind it, and the built-in verification.

The steps that several commands share. Does not know what is done afterwards.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..core import UV_RETRIES
from .interaction import Interaction
from .parameters import Parameters
from .pin_protocols import PinProtocol
from .session import Session
from .status import CtapFailure, Status
from .token import Permission

INTERNAL_ATTEMPTS = 3
"""Finger attempts within one MakeCredential or GetAssertion (maxUvAttemptsForInternalRetries)."""


@dataclass
class PinUvAuth:
    """A pinUvAuthParam, with the protocol that it was made under."""

    signature: bytes
    protocol: PinProtocol


def probe(session: Session, signature: bytes | None, interaction: Interaction) -> None:
    """An empty pinUvAuthParam: the platform only wants to know which key is touched, and whether it
    has a PIN (CTAP 2.1, sections 6.1.2 and 6.2.2, step 1)."""
    features = session.features
    if signature == b"" and (features.pin or features.tokens):
        interaction.presence()
        has_pin = session.core.pin.hash is not None
        raise CtapFailure(Status.PIN_INVALID if has_pin else Status.PIN_NOT_SET)


def pin_uv_auth(
    session: Session, parameters: Parameters, param_key: int, protocol_key: int
) -> PinUvAuth | None:
    """Step 2 of the same sections: the protocol must be named and known."""
    signature = parameters.get(param_key, bytes)
    if signature is None:
        return None
    version = parameters.require(protocol_key, int)
    return PinUvAuth(signature, session.protocol(version))


def check_token(
    session: Session, auth: PinUvAuth, message: bytes, permission: Permission, rp_id: str
) -> None:
    """Sections 6.1.2 step 11.1 and 6.2.2 step 6.1; any failure is PIN_AUTH_INVALID."""
    token = session.token
    if not (
        token.verify(auth.protocol, message, auth.signature)
        and permission in token.permissions
        and token.rp_id in (None, rp_id)
        and token.user_verified
    ):
        raise CtapFailure(Status.PIN_AUTH_INVALID)
    token.bind(rp_id)


def check_permission(
    session: Session, auth: PinUvAuth | None, message: bytes, permission: Permission
) -> None:
    """What the commands that manage the device ask for before anything else: a pinUvAuthParam over
    the message, by a token with this permission."""
    if auth is None:
        raise CtapFailure(Status.PUAT_REQUIRED)
    token = session.token
    if not (
        token.verify(auth.protocol, message, auth.signature) and permission in token.permissions
    ):
        raise CtapFailure(Status.PIN_AUTH_INVALID)


def refuse_unverified(session: Session) -> CtapFailure:
    """Sections 6.1.2 step 6 and 6.2.2 step 5, under alwaysUv: a platform that could come back with
    a token is told so (whether a PIN is set or not), any other is denied."""
    able = session.features.pin_verifies
    return CtapFailure(Status.PUAT_REQUIRED if able else Status.OPERATION_DENIED)


def verify_always(session: Session, auth: PinUvAuth | None, *, verify: bool) -> bool:
    """The same steps: whether the person is to be verified now, under alwaysUv."""
    if not session.protected:
        raise refuse_unverified(session)
    if auth is None and not verify:
        if not session.verifies_now:
            raise refuse_unverified(session)
        return True
    return verify


def verify_built_in(session: Session, interaction: Interaction, attempts: int) -> bool:
    """performBuiltInUv (section 6.5.3.1): up to this many attempts, as long as retries are left."""
    pin = session.core.pin
    while attempts and pin.uv_retries:
        if interaction.verification():
            pin.uv_retries = UV_RETRIES
            session.core.settings.verifications_since_pin += 1
            return True
        pin.uv_retries -= 1
        attempts -= 1
    return False


def verify_within_command(session: Session, interaction: Interaction) -> None:
    """The `uv` option of MakeCredential (CTAP 2.3, section 6.1.2 step 11.2) and GetAssertion
    (section 6.2.2 step 6.2). Without any retries left the status is PIN_BLOCKED, although it is not
    a PIN that is blocked; UV_BLOCKED belongs to ClientPIN (section 6.5.5.7.3)."""
    if verify_built_in(session, interaction, INTERNAL_ATTEMPTS):
        return
    pin = session.core.pin
    if session.pin_serves:
        raise CtapFailure(Status.PUAT_REQUIRED)
    blocked = session.features.since_2_1 and not pin.uv_retries
    raise CtapFailure(Status.PIN_BLOCKED if blocked else Status.OPERATION_DENIED)


def obtain_presence(
    session: Session, interaction: Interaction, auth: PinUvAuth | None, *, touched: bool
) -> None:
    """The person's touch, which uses up a token (sections 6.1.2 step 14, 6.2.2 step 9).

    `touched`: the built-in verification within this very command was a touch already. A token that
    such a verification earned can carry the touch too.
    """
    if not touched and not (auth is not None and session.token.user_present):
        interaction.presence()
    session.token.spend()
