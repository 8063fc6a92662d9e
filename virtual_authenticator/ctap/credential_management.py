"""CredentialManagement (CTAP 2.1, section 6.8): list, change and delete stored credentials.

Only discoverable credentials are managed. Does not know how they are made or used.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

from .. import cbor
from ..credentials import Credential
from .authorisation import pin_uv_auth
from .get_assertion import user_entity
from .interaction import Interaction
from .parameters import Parameters
from .session import Session
from .status import CtapFailure, Status
from .token import Permission

UNLIMITED = 10_000
"""The room that a store without a limit reports: the member is not optional."""

_SUBCOMMAND, _PARAMETERS, _PROTOCOL, _PARAM = 0x01, 0x02, 0x03, 0x04
_RP_ID_HASH, _CREDENTIAL_ID, _USER = 0x01, 0x02, 0x03
_RELYING_PARTIES, _CREDENTIALS = "relying parties", "credentials"


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
    given = parameters.map(_PARAMETERS)
    _check_token(session, parameters, number, given)
    return subcommand(session, given or Parameters({}))


def _check_token(
    session: Session, parameters: Parameters, number: int, given: Parameters | None
) -> None:
    """The token signs the subcommand and its parameters, and must hold the cm permission."""
    auth = pin_uv_auth(session, parameters, _PARAM, _PROTOCOL)
    if auth is None:
        raise CtapFailure(Status.PUAT_REQUIRED)
    # The decoder accepts one encoding only, so this is what the platform signed.
    message = bytes((number,)) + (cbor.encode(given.members) if given is not None else b"")
    token = session.token
    if not (
        token.verify(auth.protocol, message, auth.signature)
        and Permission.CREDENTIAL_MANAGEMENT in token.permissions
    ):
        raise CtapFailure(Status.PIN_AUTH_INVALID)


def _check_rp(session: Session, rp_id_hash: bytes | None) -> None:
    """A token that is bound to an RP ID sees only its credentials, and no overview."""
    bound = session.token.rp_id
    if bound is not None and rp_id_hash != sha256(bound.encode()).digest():
        raise CtapFailure(Status.PIN_AUTH_INVALID)


def _get_metadata(session: Session, _: Parameters) -> dict[int, Any]:
    _check_rp(session, None)
    remaining = session.remaining
    return {
        0x01: session.core.store.discoverable_count,
        0x02: UNLIMITED if remaining is None else remaining,
    }


def _enumerate_relying_parties(session: Session, _: Parameters) -> dict[int, Any]:
    _check_rp(session, None)
    answers: list[Callable[[], dict[int, Any]]] = [
        partial(_relying_party, rp_id) for rp_id in session.core.store.relying_parties()
    ]
    return _begin(session, _RELYING_PARTIES, answers, total=0x05)


def _relying_party(rp_id: str) -> dict[int, Any]:
    return {0x03: {"id": rp_id}, 0x04: sha256(rp_id.encode()).digest()}


def _enumerate_credentials(session: Session, given: Parameters) -> dict[int, Any]:
    rp_id_hash = given.require(_RP_ID_HASH, bytes)
    _check_rp(session, rp_id_hash)
    store = session.core.store
    answers: list[Callable[[], dict[int, Any]]] = [
        partial(_credential, credential)
        for rp_id in store.relying_parties()
        if sha256(rp_id.encode()).digest() == rp_id_hash
        for credential in store.discoverable_for(rp_id)
    ]
    return _begin(session, _CREDENTIALS, answers, total=0x09)


def _credential(credential: Credential) -> dict[int, Any]:
    return {
        0x06: user_entity(credential, named=True),
        0x07: {"id": credential.id, "type": "public-key"},
        0x08: cbor.decode(credential.public_key_bytes()),
        0x0A: credential.protection,
    }


def _begin(
    session: Session, kind: str, answers: list[Callable[[], dict[int, Any]]], total: int
) -> dict[int, Any]:
    if not answers:
        raise CtapFailure(Status.NO_CREDENTIALS)
    session.enumerate(kind, answers[1:])
    return {**answers[0](), total: len(answers)}


def _delete(session: Session, given: Parameters) -> dict[int, Any]:
    session.core.store.remove(_find(session, given).id)
    return {}


def _update_user(session: Session, given: Parameters) -> dict[int, Any]:
    user = given.require_map(_USER)
    user_id = user.require("id", bytes)
    name, display_name = user.get("name", str), user.get("displayName", str)
    credential = _find(session, given)
    if user_id != credential.user_id:
        raise CtapFailure(Status.INVALID_PARAMETER)
    # What the platform leaves out or empty is removed (section 6.8.6).
    credential.user_name = name or None
    credential.user_display_name = display_name or None
    credential.revision += 1
    return {}


def _find(session: Session, given: Parameters) -> Credential:
    held = session.core.store.get(given.require_credential_id(_CREDENTIAL_ID))
    if held is None or not held.discoverable:
        raise CtapFailure(Status.NO_CREDENTIALS)
    _check_rp(session, held.rp_id_hash)
    return held


_SUBCOMMANDS: dict[int, Callable[[Session, Parameters], dict[int, Any]]] = {
    0x01: _get_metadata,
    0x02: _enumerate_relying_parties,
    0x04: _enumerate_credentials,
    0x06: _delete,
    0x07: _update_user,
}
