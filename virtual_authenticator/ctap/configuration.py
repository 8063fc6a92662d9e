"""AuthenticatorConfig (CTAP 2.3, section 6.11): what the owner, or their company, sets for good.

Only a reset takes back what it sets, and alwaysUv can be switched off again. Does not know what the
settings do.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .authorisation import check_permission, pin_uv_auth
from .features import MAXIMUM_PIN_LENGTH, MINIMUM_PIN_RP_IDS
from .interaction import Interaction
from .parameters import Parameters
from .session import Session
from .status import CtapFailure, Status
from .token import Permission

_SUBCOMMAND, _PARAMETERS, _PROTOCOL, _PARAM = 0x01, 0x02, 0x03, 0x04
_NEW_MINIMUM, _RP_IDS, _FORCE_CHANGE, _COMPLEXITY = 0x01, 0x02, 0x03, 0x04
_ENTERPRISE, _ALWAYS_UV, _MINIMUM_PIN, _LONG_TOUCH = 0x01, 0x02, 0x03, 0x04

Subcommand = Callable[[Session, Parameters], None]


def configuration(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    number = parameters.require(_SUBCOMMAND, int)
    subcommand = subcommands(session).get(number)
    if subcommand is None:
        raise CtapFailure(Status.INVALID_SUBCOMMAND)
    given = parameters.map(_PARAMETERS) or Parameters({})
    if _needs_token(session, number):
        auth = pin_uv_auth(session, parameters, _PARAM, _PROTOCOL)
        message = b"\xff" * 32 + bytes((0x0D, number)) + parameters.encoded(_PARAMETERS)
        check_permission(session, auth, message, Permission.AUTHENTICATOR_CONFIGURATION)
    subcommand(session, given)
    return {}


def subcommands(session: Session) -> dict[int, Subcommand]:
    """Those that this device has (GetInfo's authenticatorConfigCommands)."""
    offered: dict[int, Subcommand] = {
        _ALWAYS_UV: _toggle_always_uv,
        _MINIMUM_PIN: _set_minimum_pin_length,
    }
    if session.features.enterprise:
        offered[_ENTERPRISE] = _enable_enterprise
    if session.features.since_2_3:
        offered[_LONG_TOUCH] = _enable_long_touch
    return offered


def _needs_token(session: Session, number: int) -> bool:
    """Steps 3 and 4. A device that nobody can be verified by is anyone's to set up; if its vendor
    switched alwaysUv on, that is the one thing that can be changed without a PIN."""
    if session.protected:
        return True
    return session.always_uv and number != _ALWAYS_UV


def _enable_enterprise(session: Session, _: Parameters) -> None:
    """Section 6.11.1; once enabled it stays so."""
    session.core.settings.enterprise = True


def _toggle_always_uv(session: Session, _: Parameters) -> None:
    """Section 6.11.2. A vendor that ships a device with alwaysUv means it to stay."""
    settings = session.core.settings
    if settings.always_uv and session.core.profile.always_verifies:
        raise CtapFailure(Status.OPERATION_DENIED)
    settings.always_uv = not settings.always_uv


def _set_minimum_pin_length(session: Session, given: Parameters) -> None:
    """Section 6.11.4. Everything is checked before anything is changed."""
    pin, settings = session.core.pin, session.core.settings
    minimum = given.get(_NEW_MINIMUM, int)
    if minimum is None:
        minimum = pin.minimum_length
    rp_ids: list[Any] | None = given.get(_RP_IDS, list)
    force = given.get(_FORCE_CHANGE, bool) is True
    complexity = given.get(_COMPLEXITY, bool) is True
    if rp_ids is not None and not all(isinstance(one, str) for one in rp_ids):
        raise CtapFailure(Status.CBOR_UNEXPECTED_TYPE)
    # It only ever rises. Beyond the longest PIN there is nothing that could be set.
    if not pin.minimum_length <= minimum <= MAXIMUM_PIN_LENGTH:
        raise CtapFailure(Status.PIN_POLICY_VIOLATION)
    if force and pin.hash is None:
        raise CtapFailure(Status.PIN_NOT_SET)
    if rp_ids is not None and len(rp_ids) > MINIMUM_PIN_RP_IDS:
        raise CtapFailure(Status.KEY_STORE_FULL)

    pin.minimum_length = minimum
    if pin.hash is not None and pin.length < minimum:
        force = True
    if rp_ids is not None:  # they take the place of those set before; the vendor's stay
        settings.minimum_pin_rp_ids = tuple(rp_ids)
    if complexity and "pinComplexityPolicy" in session.features.extensions:
        # Without the extension the member is ignored. Whether the PIN of now would pass cannot be
        # told from its hash: the policy is for the next one.
        settings.pin_complexity = True
    if force:
        pin.force_change = True
        session.stop_tokens()


def _enable_long_touch(session: Session, _: Parameters) -> None:
    """New in CTAP 2.3; there is no way back but the reset itself."""
    session.core.settings.long_touch = True
