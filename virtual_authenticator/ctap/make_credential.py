"""MakeCredential (CTAP 2.1, section 6.1.2), in the order of its steps.

The core makes and attests keys; this does not know how.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from ..algorithms import Algorithm
from ..core import NewCredential
from ..faults import FaultRun
from . import extensions
from .authorisation import (
    PinUvAuth,
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

_CLIENT_DATA_HASH, _RP, _USER, _ALGORITHMS = 0x01, 0x02, 0x03, 0x04
_EXCLUDE, _EXTENSIONS, _OPTIONS, _PARAM, _PROTOCOL = 0x05, 0x06, 0x07, 0x08, 0x09
_ENTERPRISE, _FORMATS = 0x0A, 0x0B


@dataclass
class _Request:
    """What was asked for, with every type checked."""

    client_data_hash: bytes
    rp_id: str
    rp_name: str | None
    user_id: bytes
    user_name: str | None
    user_display_name: str | None
    algorithms: tuple[int, ...]
    exclude: list[bytes]
    extensions: Parameters
    options: Parameters
    formats: list[str]


def make_credential(
    session: Session, parameters: Parameters, interaction: Interaction
) -> dict[int, Any]:
    core, features = session.core, session.features
    asked = _read(session, parameters)
    # Step 1: an empty pinUvAuthParam is a question, not a request.
    probe(session, parameters.get(_PARAM, bytes), interaction)
    # Step 2: the protocol behind pinUvAuthParam.
    auth = pin_uv_auth(session, parameters, _PARAM, _PROTOCOL)
    # Step 3: the first algorithm of the platform's list that is known here.
    algorithm = core.choose_algorithm(asked.algorithms)
    if algorithm is None:
        raise CtapFailure(Status.UNSUPPORTED_ALGORITHM)
    # Step 4: nothing is verified yet, nobody was seen.
    verified = touched = False
    # Step 5: options; unknown ones are ignored, and pinUvAuthParam outweighs uv.
    verify = asked.options.get("uv", bool) is True and auth is None
    resident = asked.options.get("rk", bool) is True
    if verify and not session.verifies_now:
        # CTAP 2.0, section 5.1: known, but not supported.
        unable = Status.INVALID_OPTION if features.since_2_1 else Status.UNSUPPORTED_OPTION
        raise CtapFailure(unable)
    if resident and not features.resident_keys:
        raise CtapFailure(Status.UNSUPPORTED_OPTION)
    present = asked.options.get("up", bool)
    # In CTAP 2.0 (section 5.1) `up` is a known option that is not valid here, whatever its value.
    if present is False or (present is not None and not features.since_2_1):
        raise CtapFailure(Status.INVALID_OPTION)
    # Step 6: alwaysUv.
    if session.always_uv:
        verify = verify_always(session, auth, verify=verify)
    # Steps 7 and 8: without verification only what makeCredUvNotRqd allows. A platform can do
    # something about it only if a PIN is set that serves for this.
    if (
        session.protected
        and not verify
        and auth is None
        and (resident or not session.uv_not_required)
    ):
        raise CtapFailure(Status.PUAT_REQUIRED if session.pin_serves else Status.OPERATION_DENIED)
    # Step 9: enterprise attestation.
    enterprise = _enterprise(session, parameters.get(_ENTERPRISE, int), asked.rp_id)
    # Steps 10 and 11: verification. A pinUvAuthParam is checked even if no PIN is set: a platform
    # that sends one by mistake should get an error.
    if auth is not None:
        check_token(session, auth, asked.client_data_hash, Permission.MAKE_CREDENTIAL, asked.rp_id)
        verified = True
    elif verify:
        verify_within_command(session, interaction)
        verified = touched = True  # step 13
    # Step 12: excludeList.
    if _excluded(session, asked, verified=verified):
        _refuse_excluded(session, interaction, auth, touched=touched)
    # Step 14: presence.
    obtain_presence(session, interaction, auth, touched=touched)

    run = core.fault_run(core.ctap_faults, "create")
    wanted = NewCredential(
        rp_id=asked.rp_id,
        client_data_hash=asked.client_data_hash,
        algorithm=_with_faults(algorithm, asked.algorithms, run),
        user_id=asked.user_id,
        user_name=asked.user_name,
        user_display_name=asked.user_display_name,
        rp_name=asked.rp_name,
        discoverable=resident or core.profile.discoverable == "always",
        verified=verified,
        attestation="packed" if enterprise else _attestation(session, asked.formats),
        enterprise=enterprise,
    )
    # Step 15: extensions.
    unsigned = extensions.prepare_registration(session, asked.extensions, wanted)
    # Steps 16 to 18: room, the key pair, storing (which replaces the account's last one).
    if (
        wanted.discoverable
        and session.remaining == 0
        and core.store.account(asked.rp_id, asked.user_id) is None
    ):
        raise CtapFailure(Status.KEY_STORE_FULL)
    # Step 19: the attestation statement comes with it.
    registered = core.register(wanted, run)
    if run is not None:
        run.close()
    answer: dict[int, Any] = {
        0x01: registered.fmt,
        0x02: registered.authenticator_data,
        0x03: registered.statement,
    }
    if enterprise:
        answer[0x04] = True
    if registered.credential.large_blob_key is not None:
        answer[0x05] = registered.credential.large_blob_key
    if unsigned:
        answer[0x06] = unsigned
    return answer


def _enterprise(session: Session, kind: int | None, rp_id: str) -> bool:
    """Step 9: whether this relying party sees which device it is. The vendor names some (kind 1);
    for others (kind 2) the platform decides, and vouches by asking."""
    if kind is None:
        return False
    if not (session.features.enterprise and session.core.settings.enterprise):
        raise CtapFailure(Status.INVALID_PARAMETER)
    if kind not in (1, 2):
        raise CtapFailure(Status.INVALID_OPTION)
    return kind == 2 or rp_id in session.core.profile.enterprise_rp_ids


def _read(session: Session, parameters: Parameters) -> _Request:
    client_data_hash = parameters.require(_CLIENT_DATA_HASH, bytes)
    rp, user = parameters.require_map(_RP), parameters.require_map(_USER)
    offered: list[Any] = parameters.require(_ALGORITHMS, list)
    user_id = user.require("id", bytes)
    if len(client_data_hash) != 32 or not 1 <= len(user_id) <= 64:
        raise CtapFailure(Status.INVALID_LENGTH)
    formats: list[Any] = []
    if session.features.since_2_3:
        formats = parameters.get(_FORMATS, list) or []
    if not all(isinstance(name, str) for name in formats):
        raise CtapFailure(Status.CBOR_UNEXPECTED_TYPE)
    return _Request(
        client_data_hash=client_data_hash,
        rp_id=rp.require("id", str),
        rp_name=rp.get("name", str),
        user_id=user_id,
        user_name=user.get("name", str),
        user_display_name=user.get("displayName", str),
        algorithms=_algorithms(offered),
        exclude=parameters.credential_ids(_EXCLUDE, session.features.list_limit),
        extensions=parameters.map(_EXTENSIONS) or Parameters({}),
        options=parameters.map(_OPTIONS) or Parameters({}),
        formats=formats,
    )


def _algorithms(offered: list[Any]) -> tuple[int, ...]:
    """Every entry is checked, even after a suitable one; unknown types are skipped."""
    entries = [Parameters.of(entry) for entry in offered]
    pairs = [(entry.require("type", str), entry.require("alg", int)) for entry in entries]
    return tuple(algorithm for kind, algorithm in pairs if kind == "public-key")


def _excluded(session: Session, asked: _Request, *, verified: bool) -> bool:
    """Whether a listed credential is here and may be revealed: one that always requires
    verification stays hidden without it (step 12.2)."""
    rp_id_hash = sha256(asked.rp_id.encode()).digest()
    for credential_id in asked.exclude:
        held = session.core.store.get(credential_id)
        if held is not None and held.rp_id_hash == rp_id_hash and (verified or held.protection < 3):
            return True
    return False


def _refuse_excluded(
    session: Session, interaction: Interaction, auth: PinUvAuth | None, *, touched: bool
) -> None:
    """Step 12.1: the person is asked first, but the answer is the same whatever they do."""
    try:
        if not touched and not (auth is not None and session.token.user_present):
            interaction.presence()
    except CtapFailure as failure:
        if failure.status is Status.KEEPALIVE_CANCEL:
            raise
    raise CtapFailure(Status.CREDENTIAL_EXCLUDED)


def _attestation(session: Session, formats: list[str]) -> str:
    """The profile's own, unless a platform's attestationFormatsPreference (CTAP 2.2, section 6.1.2)
    names "none" before it."""
    known = [name for name in formats if name in session.features.attestation_formats]
    # Messages may be nested four levels deep (section 8), a compound statement takes five: the
    # first of its parts stands for it.
    return "none" if known[:1] == ["none"] else session.core.profile.formats[0]


def _with_faults(algorithm: Algorithm, offered: tuple[int, ...], run: FaultRun | None) -> Algorithm:
    if run is not None:
        run.offered = offered
        for one in run.at("algorithm"):
            algorithm = one.algorithm(algorithm, run)
    return algorithm
