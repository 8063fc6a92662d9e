"""GetAssertion and GetNextAssertion (CTAP 2.1, sections 6.2.2 and 6.3), in the order of the steps.

The core signs; this does not know how.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from hashlib import sha256
from typing import Any

from ..credentials import Credential
from . import extensions
from .authorisation import (
    check_token,
    obtain_presence,
    pin_uv_auth,
    probe,
    verify_always,
    verify_within_command,
)
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
    # CTAP 2.0 (section 5.2) has it the other way round: uv is known but not supported there, rk is
    # known but not valid for this command.
    wrong, unsupported = Status.INVALID_OPTION, Status.UNSUPPORTED_OPTION
    if verify and not session.verifies_now:
        raise CtapFailure(wrong if features.since_2_1 else unsupported)
    if "rk" in options:
        raise CtapFailure(unsupported if features.since_2_1 else wrong)
    # Step 5: alwaysUv. A silent check (up false) stays possible.
    if session.always_uv and present:
        verify = verify_always(session, auth, verify=verify)
    # Step 6: verification.
    if auth is not None:
        check_token(session, auth, client_data_hash, Permission.GET_ASSERTION, rp_id)
        verified = True
    elif verify:
        verify_within_command(session, interaction)
        verified = touched = True  # step 8
    # Step 7: which credentials; of a list only the first that is here.
    named = _first_of(session, rp_id, allow, verified=verified) if listed else None
    total = session.core.store.count_for(rp_id, verified=verified) if not listed else 1
    if not total or (listed and named is None):
        raise CtapFailure(Status.NO_CREDENTIALS)
    # Step 9: presence.
    if present:
        obtain_presence(session, interaction, auth, touched=touched)
    # Step 10: extensions.
    extension = extensions.read_assertion_inputs(session, inputs, present=present)
    # Steps 11 to 13: the newest, and then the others on request. They are looked up one by one, so
    # that the first answer costs the same however many there are.
    answers: Iterator[Callable[[], dict[int, Any]]] = (
        partial(
            _answer,
            session,
            credential,
            client_data_hash,
            extension,
            present=present,
            verified=verified,
            named=total > 1 and verified,
        )
        for credential in _candidates(session, rp_id, named, verified=verified)
    )
    newest = next(answers, None)
    if newest is None:  # gone while the person was asked, by the other layer
        raise CtapFailure(Status.NO_CREDENTIALS)
    first = newest()
    if total > 1:
        first[0x05] = total
        session.enumerate(_ASSERTIONS, answers)
    return first


def _candidates(
    session: Session, rp_id: str, named: Credential | None, *, verified: bool
) -> Iterator[Credential]:
    """The one that was listed, or all that the request may see, newest first."""
    if named is not None:
        return iter((named,))
    newest_first = session.core.store.newest_first(rp_id)
    return (held for held in newest_first if verified or held.protection == 1)


def get_next_assertion(
    session: Session,
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    return session.following(_ASSERTIONS)


def _first_of(
    session: Session, rp_id: str, allow: list[bytes], *, verified: bool
) -> Credential | None:
    """The first listed one that the request may see; credProtect hides others (step 7.3)."""
    # By hash: a U2F credential knows its RP ID only by the hash (section 10.3).
    rp_id_hash = sha256(rp_id.encode()).digest()
    for held in map(session.core.store.get, allow):
        if held is not None and held.rp_id_hash == rp_id_hash and (verified or held.protection < 3):
            return held
    return None


def _answer(
    session: Session,
    credential: Credential,
    client_data_hash: bytes,
    extension: extensions.AssertionInputs,
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
        outputs=extension.outputs(session, credential, verified=verified),
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
    if extension.large_blob_key and credential.large_blob_key is not None:
        answer[0x07] = credential.large_blob_key
    if extension.large_blob is not None:
        unsigned = extension.large_blob.outputs(session, credential)
        if unsigned:
            answer[0x08] = unsigned
    return answer


def user_entity(credential: Credential, *, named: bool) -> dict[str, Any]:
    """A PublicKeyCredentialUserEntity, with names or with the id alone."""
    entity: dict[str, Any] = {"id": credential.user_id}
    if named and credential.user_name is not None:
        entity["name"] = credential.user_name
    if named and credential.user_display_name is not None:
        entity["displayName"] = credential.user_display_name
    return entity
