"""ClientPIN (CTAP 2.1, section 6.5.5): the PIN, its retries, and tokens in exchange for it.

`core.pin` survives a power cycle, everything else is in the session. Does not know what tokens are
used for.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from hashlib import sha256
from itertools import pairwise
from typing import Any

from ..core import PIN_RETRIES, UV_RETRIES
from .authorisation import verify_built_in
from .features import MAXIMUM_PIN_LENGTH
from .interaction import Interaction
from .parameters import Parameters
from .pin_protocols import PinProtocol
from .session import Session
from .status import CtapFailure, Status
from .token import Permission

CONSECUTIVE_LIMIT = 3
"""Wrong PINs in a row, after which only a power cycle helps (section 6.5.2.2)."""
_PADDED_LENGTH = 64
_CEREMONIES = Permission.MAKE_CREDENTIAL | Permission.GET_ASSERTION

# Request parameters.
_PROTOCOL, _SUBCOMMAND, _KEY_AGREEMENT, _PARAM = 0x01, 0x02, 0x03, 0x04
_NEW_PIN, _PIN_HASH, _PERMISSIONS, _RP_ID = 0x05, 0x06, 0x09, 0x0A
# Response members.
_PUBLIC_KEY, _TOKEN, _RETRIES, _POWER_CYCLE, _UV_RETRIES = 0x01, 0x02, 0x03, 0x04, 0x05

Subcommand = Callable[[Session, Parameters, Interaction], dict[int, Any]]


def client_pin(
    session: Session, parameters: Parameters, interaction: Interaction
) -> dict[int, Any]:
    number = parameters.require(_SUBCOMMAND, int)
    subcommand = _offered(session).get(number)
    if subcommand is None:
        known = session.features.since_2_1  # CTAP 2.0 has no status for an unknown subcommand
        raise CtapFailure(Status.INVALID_SUBCOMMAND if known else Status.INVALID_PARAMETER)
    return subcommand(session, parameters, interaction)


def _offered(session: Session) -> dict[int, Subcommand]:
    features = session.features
    offered: dict[int, Subcommand] = {0x02: _get_key_agreement}
    if features.pin:
        offered |= {0x01: _get_pin_retries, 0x03: _set_pin, 0x04: _change_pin, 0x05: _get_pin_token}
        if features.tokens:
            offered[0x09] = _get_token_using_pin
    if features.built_in and features.tokens:
        offered |= {0x06: _get_token_using_uv, 0x07: _get_uv_retries}
    return offered


# ---- 6.5.5.1 to 6.5.5.4: what anyone may ask


def _get_pin_retries(
    session: Session,
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    answer: dict[int, Any] = {_RETRIES: session.core.pin.retries}
    if session.features.since_2_1:
        answer[_POWER_CYCLE] = _soft_locked(session)
    return answer


def _get_uv_retries(
    session: Session,
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    return {_UV_RETRIES: session.core.pin.uv_retries}


def _get_key_agreement(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    return {_PUBLIC_KEY: _protocol(session, parameters).public_key()}


# ---- 6.5.5.5 and 6.5.5.6: setting and changing the PIN


def _set_pin(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    peer = parameters.require(_KEY_AGREEMENT, dict)
    encrypted = parameters.require(_NEW_PIN, bytes)
    signature = parameters.require(_PARAM, bytes)
    protocol = _protocol(session, parameters)
    if session.core.pin.hash is not None:
        raise CtapFailure(Status.PIN_AUTH_INVALID)
    secret = _decapsulate(protocol, peer)
    if not protocol.verify(secret, encrypted, signature):
        raise CtapFailure(Status.PIN_AUTH_INVALID)
    _store_pin(session, *_new_pin(session, protocol, secret, encrypted))
    return {}


def _change_pin(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    peer = parameters.require(_KEY_AGREEMENT, dict)
    old = parameters.require(_PIN_HASH, bytes)
    encrypted = parameters.require(_NEW_PIN, bytes)
    signature = parameters.require(_PARAM, bytes)
    protocol = _protocol(session, parameters)
    _check_locks(session)
    secret = _decapsulate(protocol, peer)
    if not protocol.verify(secret, encrypted + old, signature):
        raise CtapFailure(Status.PIN_AUTH_INVALID)
    _check_pin(session, protocol, secret, old)
    digest, length = _new_pin(session, protocol, secret, encrypted)
    pin = session.core.pin
    if pin.force_change and digest == pin.hash:
        raise CtapFailure(Status.PIN_POLICY_VIOLATION)  # a change that changes nothing
    _store_pin(session, digest, length)
    return {}


def _new_pin(
    session: Session, protocol: PinProtocol, secret: bytes, encrypted: bytes
) -> tuple[bytes, int]:
    """The hash and the length of a PIN that the policy allows."""
    try:
        padded = protocol.decrypt(secret, encrypted)
    except ValueError:
        raise CtapFailure(Status.PIN_AUTH_INVALID) from None
    if len(padded) != _PADDED_LENGTH:
        raise CtapFailure(Status.INVALID_PARAMETER)
    new = padded.rstrip(b"\x00")
    try:
        length = len(new.decode("utf-8"))
    except UnicodeDecodeError:
        raise CtapFailure(Status.PIN_POLICY_VIOLATION) from None
    if length < session.core.pin.minimum_length or len(new) > MAXIMUM_PIN_LENGTH:
        raise CtapFailure(Status.PIN_POLICY_VIOLATION)
    if session.core.settings.pin_complexity and is_simple(new.decode()):
        raise CtapFailure(Status.PIN_POLICY_VIOLATION)
    return sha256(new).digest()[:16], length


def _store_pin(session: Session, digest: bytes, length: int) -> None:
    pin = session.core.pin
    pin.hash, pin.length = digest, length
    pin.retries = PIN_RETRIES
    pin.force_change = False
    session.stop_tokens()


def is_simple(pin: str) -> bool:
    """The PIN complexity policy of this vendor, which CTAP 2.3 leaves to vendors: not one character
    over and over, and none that count up or down."""
    steps = {ord(after) - ord(before) for before, after in pairwise(pin)}
    return len(steps) == 1 and steps <= {-1, 0, 1}


# ---- 6.5.5.7: tokens


def _get_pin_token(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    """CTAP 2.0's subcommand: permissions mc and ga, bound to the first RP ID it is used for."""
    if session.features.since_2_1 and (_PERMISSIONS in parameters or _RP_ID in parameters):
        raise CtapFailure(Status.INVALID_PARAMETER)
    protocol, secret = _earn_with_pin(session, parameters, Status.PIN_INVALID)
    permissions = _CEREMONIES if session.features.pin_verifies else Permission(0)
    token = session.token.issue(protocol, permissions, None, user_present=False)
    return {_TOKEN: protocol.encrypt(secret, token)}


def _get_token_using_pin(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    permissions, rp_id = _permissions(session, parameters)
    if permissions & _CEREMONIES and not session.features.pin_verifies:
        raise CtapFailure(Status.UNAUTHORIZED_PERMISSION)  # section 6.5.5.7.2
    protocol, secret = _earn_with_pin(session, parameters, Status.PIN_POLICY_VIOLATION)
    token = _issue(session, protocol, permissions, rp_id, user_present=False)
    return {_TOKEN: protocol.encrypt(secret, token)}


def _issue(
    session: Session,
    protocol: PinProtocol,
    permissions: Permission,
    rp_id: str | None,
    *,
    user_present: bool,
) -> bytes:
    """Reading credentials for good (pcmr) has a token of its own, which ends no other."""
    if permissions is Permission.PERSISTENT_CREDENTIAL_MANAGEMENT:
        return session.persistent_token
    return session.token.issue(protocol, permissions, rp_id, user_present=user_present)


def _get_token_using_uv(
    session: Session, parameters: Parameters, interaction: Interaction
) -> dict[int, Any]:
    peer = parameters.require(_KEY_AGREEMENT, dict)
    permissions, rp_id = _permissions(session, parameters)
    protocol = _protocol(session, parameters)
    secret = _decapsulate(protocol, peer)
    pin = session.core.pin
    if not session.verifies_now:
        raise CtapFailure(Status.NOT_ALLOWED)  # there is a sensor, but no finger is enrolled
    if not pin.uv_retries:
        raise CtapFailure(Status.UV_BLOCKED)
    # One attempt for each call: GetInfo's preferredPlatformUvAttempts invites the platform to ask
    # again.
    if not verify_built_in(session, interaction, attempts=1):
        raise CtapFailure(Status.UV_INVALID if pin.uv_retries else Status.UV_BLOCKED)
    token = _issue(session, protocol, permissions, rp_id, user_present=True)
    return {_TOKEN: protocol.encrypt(secret, token)}


def _permissions(session: Session, parameters: Parameters) -> tuple[Permission, str | None]:
    asked = parameters.require(_PERMISSIONS, int)
    rp_id = parameters.get(_RP_ID, str)
    if asked <= 0:
        raise CtapFailure(Status.INVALID_PARAMETER)
    # Bits that no permission is defined for are ignored; defined ones must be on offer.
    wanted = Permission(asked & sum(Permission))
    if wanted & ~session.features.permissions:
        raise CtapFailure(Status.UNAUTHORIZED_PERMISSION)
    persistent = Permission.PERSISTENT_CREDENTIAL_MANAGEMENT
    if persistent in wanted and wanted is not persistent:
        raise CtapFailure(Status.UNAUTHORIZED_PERMISSION)
    # The steps do not mention it, but the table of permissions (section 6.5.5.7) says of the RP ID
    # "required" for these two, and step 1 names the status for a mandatory parameter that is
    # missing. Others issue the token all the same, or answer INVALID_PARAMETER.
    if wanted & _CEREMONIES and rp_id is None:
        raise CtapFailure(Status.MISSING_PARAMETER)
    return wanted, rp_id


def _earn_with_pin(
    session: Session, parameters: Parameters, when_change_is_due: Status
) -> tuple[PinProtocol, bytes]:
    """The steps that both PIN subcommands share, up to the token."""
    peer = parameters.require(_KEY_AGREEMENT, dict)
    encrypted = parameters.require(_PIN_HASH, bytes)
    protocol = _protocol(session, parameters)
    _check_locks(session)
    secret = _decapsulate(protocol, peer)
    _check_pin(session, protocol, secret, encrypted)
    if session.core.pin.force_change:
        raise CtapFailure(when_change_is_due)
    return protocol, secret


# ---- shared steps


def _protocol(session: Session, parameters: Parameters) -> PinProtocol:
    return session.protocol(parameters.require(_PROTOCOL, int))


def _decapsulate(protocol: PinProtocol, peer: dict[Any, Any]) -> bytes:
    try:
        return protocol.decapsulate(peer)
    except ValueError:
        raise CtapFailure(Status.INVALID_PARAMETER) from None


def _soft_locked(session: Session) -> bool:
    return session.consecutive_failures >= CONSECUTIVE_LIMIT


def _check_locks(session: Session) -> None:
    pin = session.core.pin
    if pin.hash is None:
        raise CtapFailure(Status.PIN_NOT_SET)
    if not pin.retries:
        raise CtapFailure(Status.PIN_BLOCKED)
    if _soft_locked(session):
        raise CtapFailure(Status.PIN_AUTH_BLOCKED)


def _check_pin(session: Session, protocol: PinProtocol, secret: bytes, encrypted: bytes) -> None:
    """Compare the PIN; the retry is counted first, so that pulling the key does not save it."""
    pin = session.core.pin
    assert pin.hash is not None
    pin.retries -= 1
    try:
        given = protocol.decrypt(secret, encrypted)
    except ValueError:
        given = b""
    if not hmac.compare_digest(given, pin.hash):
        protocol.regenerate()
        session.consecutive_failures += 1
        if not pin.retries:
            raise CtapFailure(Status.PIN_BLOCKED)
        if _soft_locked(session):
            raise CtapFailure(Status.PIN_AUTH_BLOCKED)
        raise CtapFailure(Status.PIN_INVALID)
    pin.retries = PIN_RETRIES
    pin.uv_retries = UV_RETRIES  # the right PIN also unblocks the built-in verification
    session.core.settings.verifications_since_pin = 0
    session.consecutive_failures = 0
