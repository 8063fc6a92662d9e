"""Extensions in CTAP messages (CTAP 2.3, section 12). One that the device lacks is ignored.

Knows nothing of the steps of the commands around it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..core import CREDENTIAL_BLOB_LENGTH, NewCredential
from ..credentials import Credential
from . import large_blob
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


def prepare_registration(
    session: Session, inputs: Parameters, wanted: NewCredential
) -> dict[str, Any]:
    """Ask the core for what the extensions of a MakeCredential need; returns the outputs that are
    not signed."""
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

    if "credBlob" in supported:
        blob = inputs.get("credBlob", bytes)
        if blob is not None:
            # Too long, or with nowhere to be kept: not an error, the output says so (section 12.2).
            if wanted.discoverable and len(blob) <= CREDENTIAL_BLOB_LENGTH:
                wanted.credential_blob = blob
            outputs["credBlob"] = lambda credential: credential.credential_blob is not None

    if _asks_for_blob_key(session, inputs):
        if not wanted.discoverable:
            raise CtapFailure(Status.INVALID_OPTION)  # section 12.3
        wanted.large_blob_key = True

    if "thirdPartyPayment" in supported and inputs.get("thirdPartyPayment", bool):
        wanted.third_party_payment = True  # section 12.9: shown by assertions only

    if wanted.rp_id in session.core.minimum_pin_rp_ids:
        if "minPinLength" in supported and inputs.get("minPinLength", bool):
            outputs["minPinLength"] = lambda _: session.core.pin.minimum_length
        if "pinComplexityPolicy" in supported and inputs.get("pinComplexityPolicy", bool):
            outputs["pinComplexityPolicy"] = lambda _: session.core.settings.pin_complexity

    if outputs:
        wanted.extend = lambda credential: {
            name: make(credential) for name, make in outputs.items()
        }
    return large_blob.registration_outputs(session, inputs)


@dataclass
class AssertionInputs:
    """What the extensions of a GetAssertion ask for, of each credential that answers."""

    salts: Salts | None
    credential_blob: bool
    large_blob_key: bool
    third_party_payment: bool
    large_blob: large_blob.BlobRequest | None

    def outputs(
        self, session: Session, credential: Credential, *, verified: bool
    ) -> dict[str, Any]:
        """Extension outputs of one assertion, in its authenticator data."""
        outputs: dict[str, Any] = {}
        if self.salts is not None and credential.secrets is not None:
            outputs["hmac-secret"] = self.salts.answer(session, credential, verified=verified)
        if self.credential_blob:
            outputs["credBlob"] = credential.credential_blob or b""
        if self.third_party_payment:
            outputs["thirdPartyPayment"] = credential.third_party_payment
        return outputs


def read_assertion_inputs(
    session: Session, inputs: Parameters, *, present: bool
) -> AssertionInputs:
    supported = session.features.extensions
    salts = None
    if "hmac-secret" in supported and "hmac-secret" in inputs:
        if not present:
            raise CtapFailure(Status.UNSUPPORTED_OPTION)  # section 12.7: never without a touch
        salts = read_salts(session, inputs.require_map("hmac-secret"))
    return AssertionInputs(
        salts=salts,
        credential_blob="credBlob" in supported and inputs.get("credBlob", bool) is True,
        large_blob_key=_asks_for_blob_key(session, inputs),
        third_party_payment="thirdPartyPayment" in supported
        and inputs.get("thirdPartyPayment", bool) is True,
        large_blob=large_blob.read_input(session, inputs, present=present),
    )


def _asks_for_blob_key(session: Session, inputs: Parameters) -> bool:
    """Section 12.3: the only input is true."""
    if "largeBlobKey" not in session.features.extensions:
        return False
    asked = inputs.get("largeBlobKey", bool)
    if asked is False:
        raise CtapFailure(Status.INVALID_OPTION)
    return asked is True


def read_salts(session: Session, given: Parameters) -> Salts:
    """Section 12.7: agree on a secret, check the salts' signature, decrypt them.

    Salts that cannot be decrypted, or that are not 32 or 64 bytes then, are an INVALID_PARAMETER
    there; suites written for CTAP 2.0, which names no status, expect INVALID_LENGTH.
    """
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
        raise CtapFailure(Status.INVALID_PARAMETER) from None
    if len(values) not in (32, 64):
        raise CtapFailure(Status.INVALID_PARAMETER)
    return Salts(protocol, secret, values)
