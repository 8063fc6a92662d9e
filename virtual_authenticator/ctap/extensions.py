"""Extensions in CTAP messages: credProtect, hmac-secret, hmac-secret-mc, minPinLength (CTAP 2.1,
section 12; hmac-secret-mc in CTAP 2.2). An extension that the profile lacks is ignored.

Knows nothing of the steps of the commands around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core import NewCredential
from ..credentials import Credential
from .parameters import Parameters
from .pin_protocols import PinProtocol
from .session import Session
from .status import CtapFailure, Status


@dataclass
class Salts:
    """hmac-secret's input, decrypted, and how its output goes back."""

    protocol: PinProtocol
    secret: bytes
    values: bytes

    def answer(self, session: Session, credential: Credential, *, verified: bool) -> bytes:
        outputs = session.core.hmac_secret(credential, self.values, verified=verified)
        return self.protocol.encrypt(self.secret, outputs)


def prepare_registration(session: Session, inputs: Parameters, wanted: NewCredential) -> None:
    """Ask the core for what the extensions of a MakeCredential need."""
    supported = session.features.extensions
    # Each entry returns one output once the credential exists.
    outputs: dict[str, Callable[[Credential], Any]] = {}

    if "credProtect" in supported:
        level = inputs.get("credProtect", int)
        if level is not None:
            if level not in (1, 2, 3):
                raise CtapFailure(Status.INVALID_OPTION)
            wanted.protection = level
            outputs["credProtect"] = lambda credential: credential.protection

    if "hmac-secret" in supported and inputs.get("hmac-secret", bool):
        wanted.hmac_secret = True
        outputs["hmac-secret"] = lambda _: True

    if "hmac-secret-mc" in supported and "hmac-secret-mc" in inputs:
        if not wanted.hmac_secret:
            raise CtapFailure(Status.MISSING_PARAMETER)
        salts = read_salts(session, inputs.require_map("hmac-secret-mc"))
        outputs["hmac-secret-mc"] = lambda credential: salts.answer(
            session, credential, verified=wanted.verified
        )

    if (
        "minPinLength" in supported
        and inputs.get("minPinLength", bool)
        and wanted.rp_id in session.core.profile.min_pin_length_rp_ids
    ):
        outputs["minPinLength"] = lambda _: session.core.pin.minimum_length

    if outputs:
        wanted.extend = lambda credential: {
            name: make(credential) for name, make in outputs.items()
        }


def assertion_salts(session: Session, inputs: Parameters, *, present: bool) -> Salts | None:
    """The hmac-secret input of a GetAssertion, if there is one."""
    if "hmac-secret" not in session.features.extensions or "hmac-secret" not in inputs:
        return None
    if not present:
        raise CtapFailure(Status.UNSUPPORTED_OPTION)  # section 12.5: never without a touch
    return read_salts(session, inputs.require_map("hmac-secret"))


def assertion_outputs(
    session: Session, salts: Salts | None, credential: Credential, *, verified: bool
) -> dict[str, Any]:
    """Extension outputs of one assertion; a credential made without a secret has none."""
    if salts is None or credential.secrets is None:
        return {}
    return {"hmac-secret": salts.answer(session, credential, verified=verified)}


def read_salts(session: Session, given: Parameters) -> Salts:
    """Section 12.5: agree on a secret, check the salts' signature, decrypt them."""
    peer = given.require(1, dict)
    encrypted = given.require(2, bytes)
    signature = given.require(3, bytes)
    version = given.get(4, int)
    protocol = session.protocol(1 if version is None else version)
    try:
        secret = protocol.decapsulate(peer)
    except ValueError:
        raise CtapFailure(Status.INVALID_PARAMETER) from None
    if not protocol.verify(secret, encrypted, signature):
        raise CtapFailure(Status.PIN_AUTH_INVALID)
    try:
        values = protocol.decrypt(secret, encrypted)
    except ValueError:
        raise CtapFailure(Status.INVALID_LENGTH) from None
    if len(values) not in (32, 64):
        raise CtapFailure(Status.INVALID_LENGTH)
    return Salts(protocol, secret, values)
