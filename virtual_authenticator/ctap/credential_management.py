"""CredentialManagement (CTAP 2.3, section 6.8): list, change and delete stored credentials.

Only discoverable credentials are managed. The persistent token, which survives a power cycle, reads
and changes nothing. Does not know how credentials are made or used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from .. import cbor
from ..credentials import Credential
from .authorisation import PinUvAuth, check_permission, pin_uv_auth
from .get_assertion import user_entity
from .interaction import Interaction
from .parameters import Parameters
from .session import Answers, Session
from .status import CtapFailure, Status
from .token import Permission

UNLIMITED = 10_000
"""The room that a store without a limit reports: the member is not optional."""

_SUBCOMMAND, _PARAMETERS, _PROTOCOL, _PARAM = 0x01, 0x02, 0x03, 0x04
_RP_ID_HASH, _CREDENTIAL_ID, _USER = 0x01, 0x02, 0x03
_RELYING_PARTIES, _CREDENTIALS = "relying parties", "credentials"
_READING = (0x01, 0x02, 0x04)
"""The subcommands that the persistent token may begin."""


def credential_management(
    session: Session,
    parameters: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    number = parameters.require(_SUBCOMMAND, int)
    following = {0x03: _RELYING_PARTIES, 0x05: _CREDENTIALS}.get(number)
    if following is not None:
        return session.following(following)  # no token: the first call had one
    session.enumeration = None
    subcommand = _SUBCOMMANDS.get(number)
    if subcommand is None:
        raise CtapFailure(Status.INVALID_SUBCOMMAND)
    given = parameters.map(_PARAMETERS) or Parameters({})
    bound = _check_token(session, parameters, number)
    return subcommand(session, given, bound)


def _check_token(session: Session, parameters: Parameters, number: int) -> str | None:
    """A token signs the subcommand and its parameters; returns the RP ID that it is bound to."""
    auth = pin_uv_auth(session, parameters, _PARAM, _PROTOCOL)
    message = bytes((number,)) + parameters.encoded(_PARAMETERS)
    if auth is not None and number in _READING and _is_persistent(session, auth, message):
        return None
    check_permission(session, auth, message, Permission.CREDENTIAL_MANAGEMENT)
    return session.token.rp_id


def _is_persistent(session: Session, auth: PinUvAuth, message: bytes) -> bool:
    """Whether the persistent token signed, if it was ever issued."""
    if not session.features.persistent_token or session.core.settings.persistent_token is None:
        return False
    return auth.protocol.verify(session.persistent_token, message, auth.signature)


def _check_rp(bound: str | None, rp_id_hash: bytes | None) -> None:
    """A token that is bound to an RP ID sees only its credentials, and no overview."""
    if bound is not None and rp_id_hash != sha256(bound.encode()).digest():
        raise CtapFailure(Status.PIN_AUTH_INVALID)


def _get_metadata(session: Session, _: Parameters, bound: str | None) -> dict[int, Any]:
    _check_rp(bound, None)
    remaining = session.remaining
    return {
        0x01: session.core.store.discoverable_count,
        0x02: UNLIMITED if remaining is None else remaining,
    }


def _enumerate_relying_parties(
    session: Session, _: Parameters, bound: str | None
) -> dict[int, Any]:
    _check_rp(bound, None)
    rp_ids = session.core.store.relying_parties()
    answers = (partial(_relying_party, rp_id) for rp_id in rp_ids)
    return _begin(session, _RELYING_PARTIES, answers, {0x05: len(rp_ids)})


def _relying_party(rp_id: str) -> dict[int, Any]:
    return {0x03: {"id": rp_id}, 0x04: sha256(rp_id.encode()).digest()}


def _enumerate_credentials(
    session: Session, given: Parameters, bound: str | None
) -> dict[int, Any]:
    rp_id_hash = given.require(_RP_ID_HASH, bytes)
    _check_rp(bound, rp_id_hash)
    store = session.core.store
    rp_id = store.rp_id_of(rp_id_hash)
    if rp_id is None:
        raise CtapFailure(Status.NO_CREDENTIALS)
    answers = (
        partial(_credential, session, credential) for credential in store.newest_first(rp_id)
    )
    return _begin(session, _CREDENTIALS, answers, {0x09: store.count_for(rp_id, verified=True)})


def _credential(session: Session, credential: Credential) -> dict[int, Any]:
    answer = {
        0x06: user_entity(credential, named=True),
        0x07: {"id": credential.id, "type": "public-key"},
        0x08: cbor.decode(credential.public_key_bytes()),
        0x0A: credential.protection,
    }
    if credential.large_blob_key is not None:
        answer[0x0B] = credential.large_blob_key
    if "thirdPartyPayment" in session.features.extensions:
        answer[0x0C] = credential.third_party_payment
    return answer


def _begin(session: Session, kind: str, answers: Answers, total: dict[int, Any]) -> dict[int, Any]:
    first = next(answers, None)
    if first is None:
        raise CtapFailure(Status.NO_CREDENTIALS)
    session.enumerate(kind, answers)
    return {**first(), **total}


def _delete(session: Session, given: Parameters, bound: str | None) -> dict[int, Any]:
    session.core.store.remove(_find(session, given, bound).id)
    return {}


def _update_user(session: Session, given: Parameters, bound: str | None) -> dict[int, Any]:
    user = given.require_map(_USER)
    user_id = user.require("id", bytes)
    name, display_name = user.get("name", str), user.get("displayName", str)
    credential = _find(session, given, bound)
    if user_id != credential.user_id:
        raise CtapFailure(Status.INVALID_PARAMETER)
    # What the platform leaves out or empty is removed (section 6.8.6).
    credential.user_name = name or None
    credential.user_display_name = display_name or None
    credential.revision += 1
    session.core.store.changes += 1
    return {}


def _find(session: Session, given: Parameters, bound: str | None) -> Credential:
    held = session.core.store.get(given.require_credential_id(_CREDENTIAL_ID))
    if held is None or not held.discoverable:
        raise CtapFailure(Status.NO_CREDENTIALS)
    _check_rp(bound, held.rp_id_hash)
    return held


_SUBCOMMANDS: dict[int, Callable[[Session, Parameters, str | None], dict[int, Any]]] = {
    0x01: _get_metadata,
    0x02: _enumerate_relying_parties,
    0x04: _enumerate_credentials,
    0x06: _delete,
    0x07: _update_user,
}
