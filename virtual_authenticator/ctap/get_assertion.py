"""GetAssertion and GetNextAssertion (CTAP 2.1, sections 6.2.2 and 6.3), in the order of the steps.

The core signs; this does not know how.
"""

from __future__ import annotations

from functools import partial
from hashlib import sha256
from typing import Any

from ..credentials import Credential
from . import extensions
from .authorisation import check_token, obtain_presence, pin_uv_auth, probe, verify_within_command
from .interaction import Interaction
from .parameters import Parameters
from .session import Session
from .status import CtapFailure, Status
from .token import Permission

_RP_ID, _CLIENT_DATA_HASH, _ALLOW, _EXTENSIONS, _OPTIONS = 0x01, 0x02, 0x03, 0x04, 0x05
_PARAM, _PROTOCOL = 0x06, 0x07
_ASSERTIONS = "assertions"


def get_assertion(
    session: Session, parameters: Parameters, interaction: Interaction
) -> dict[int, Any]:
    features = session.features
    rp_id = parameters.require(_RP_ID, str)
    client_data_hash = parameters.require(_CLIENT_DATA_HASH, bytes)
    if len(client_data_hash) != 32:
        raise CtapFailure(Status.INVALID_LENGTH)
    listed = bool(parameters.get(_ALLOW, list))  # an empty list counts as none
    allow = parameters.credential_ids(_ALLOW, features.list_limit)
    inputs = parameters.map(_EXTENSIONS) or Parameters({})
    options = parameters.map(_OPTIONS) or Parameters({})
    # Step 1: an empty pinUvAuthParam is a question, not a request.
    probe(session, parameters.get(_PARAM, bytes), interaction)
    # Step 2: the protocol behind pinUvAuthParam.
    auth = pin_uv_auth(session, parameters, _PARAM, _PROTOCOL)
    # Step 3: nothing is verified yet, nobody was seen.
    verified = touched = False
    # Step 4: options; unknown ones are ignored, and pinUvAuthParam outweighs uv.
    verify = options.get("uv", bool) is True and auth is None
    present = options.get("up", bool) is not False
    if verify and not features.built_in:
        raise CtapFailure(Status.INVALID_OPTION)
    if "rk" in options:
        raise CtapFailure(Status.UNSUPPORTED_OPTION)
    # Step 5: alwaysUv. A silent check (up false) stays possible.
    if features.always_uv and present and auth is None and not verify:
        if not features.built_in:
            raise CtapFailure(Status.PUAT_REQUIRED)
        verify = True
    # Step 6: verification.
    if auth is not None:
        check_token(session, auth, client_data_hash, Permission.GET_ASSERTION, rp_id)
        verified = True
    elif verify:
        verify_within_command(session, interaction)
        verified = touched = True  # step 8
    # Step 7: which credentials.
    credentials = _locate(session, rp_id, allow if listed else None, verified=verified)
    if not credentials:
        raise CtapFailure(Status.NO_CREDENTIALS)
    # Step 9: presence.
    if present:
        obtain_presence(session, interaction, auth, touched=touched)
    # Step 10: extensions.
    salts = extensions.assertion_salts(session, inputs, present=present)
    # Steps 11 to 13: one of the list, or the newest and then the others on request.
    if listed:
        credentials = credentials[:1]
    several = len(credentials) > 1
    answers = [
        partial(
            _answer,
            session,
            credential,
            client_data_hash,
            salts,
            present=present,
            verified=verified,
            named=several and verified,
        )
        for credential in credentials
    ]
    first = answers[0]()
    if several:
        first[0x05] = len(credentials)
        session.enumerate(_ASSERTIONS, list(answers[1:]))
    return first


def get_next_assertion(
    session: Session,
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    return session.following(_ASSERTIONS)


def _locate(
    session: Session, rp_id: str, allow: list[bytes] | None, *, verified: bool
) -> list[Credential]:
    """Those that the request may see, newest first; credProtect hides the others (step 7.3)."""
    store = session.core.store
    if allow is None:
        found = store.discoverable_for(rp_id)
        return [held for held in found if verified or held.protection == 1]
    # By hash: a U2F credential knows its RP ID only by the hash (section 10.3).
    rp_id_hash = sha256(rp_id.encode()).digest()
    named = [held for held in map(store.get, allow) if held is not None]
    return [
        held
        for held in named
        if held.rp_id_hash == rp_id_hash and (verified or held.protection < 3)
    ]


def _answer(
    session: Session,
    credential: Credential,
    client_data_hash: bytes,
    salts: extensions.Salts | None,
    *,
    present: bool,
    verified: bool,
    named: bool,
) -> dict[int, Any]:
    core = session.core
    if core.store.get(credential.id) is not credential:
        raise CtapFailure(Status.NOT_ALLOWED)  # deleted between two answers, by the other layer
    # A silent assertion is how a platform checks before it asks; faults apply only to what is
    # signed for a relying party.
    run = core.fault_run(core.ctap_faults, "get") if present else None
    data, signature = core.sign_assertion(
        credential,
        client_data_hash,
        present=present,
        verified=verified,
        outputs=extensions.assertion_outputs(session, salts, credential, verified=verified),
        faults=run,
    )
    if run is not None:
        run.close()
    answer: dict[int, Any] = {
        0x01: {"id": credential.id, "type": "public-key"},
        0x02: data,
        0x03: signature,
    }
    if credential.discoverable:
        # Names only if an account must be picked from several, and only for a verified person.
        answer[0x04] = user_entity(credential, named=named)
    return answer


def user_entity(credential: Credential, *, named: bool) -> dict[str, Any]:
    """A PublicKeyCredentialUserEntity, with names or with the id alone."""
    entity: dict[str, Any] = {"id": credential.user_id}
    if named and credential.user_name is not None:
        entity["name"] = credential.user_name
    if named and credential.user_display_name is not None:
        entity["displayName"] = credential.user_display_name
    return entity
