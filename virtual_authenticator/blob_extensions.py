"""The extensions by which a relying party stores something with a credential: largeBlob (WebAuthn
Level 3, section 10.1.5) and credBlob (CTAP 2.1, section 12.2), as a client handles them in JSON.

Does not know where blobs are kept.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from . import large_blobs
from .core import CREDENTIAL_BLOB_LENGTH, Core, NewCredential
from .credentials import Credential
from .encoding import base64url_encode, shorten
from .errors import InvalidOptionsError, NotAllowedError, NotSupportedError
from .options import base64url_member

_WHERE = "extensions.largeBlob"


def prepare_registration(
    core: Core, inputs: Mapping[str, Any], wanted: NewCredential, *, enforce: bool
) -> None:
    """Ask the core for what the extensions need. A support that is required and cannot be is
    refused, unless nobody is to `enforce` it."""
    if "largeBlob" in inputs:
        given = _large_blob(inputs)
        for name in ("read", "write"):
            if given.get(name) is not None:
                raise NotSupportedError(f"{_WHERE}.{name} is for assertions only")
        support = given.get("support")
        if support is not None and not isinstance(support, str):
            raise InvalidOptionsError(f"{_WHERE}.support", shorten(support), "a string")
        able = large_blobs.can_store(core, discoverable=wanted.discoverable)
        if support == "required" and not able and enforce:
            # The client passes such an authenticator over, and there is no other.
            raise NotAllowedError("the authenticator cannot store a large blob for this credential")
        wanted.large_blob_key = able and large_blobs.uses_array(core)
    if "credBlob" in inputs and "credBlob" in core.profile.extensions:
        blob = base64url_member(inputs, "credBlob", "extensions.credBlob")
        if wanted.discoverable and len(blob) <= CREDENTIAL_BLOB_LENGTH:
            wanted.credential_blob = blob


def registration_outputs(core: Core, inputs: Mapping[str, Any], made: Credential) -> dict[str, Any]:
    """What the authenticator says in the signed data."""
    if "credBlob" in inputs and "credBlob" in core.profile.extensions:
        return {"credBlob": made.credential_blob is not None}
    return {}


def registration_results(
    core: Core, inputs: Mapping[str, Any], credential: Credential
) -> dict[str, Any]:
    """What the page learns."""
    results: dict[str, Any] = {}
    if "largeBlob" in inputs:
        able = large_blobs.can_store(core, discoverable=credential.discoverable)
        results["largeBlob"] = {"supported": able}
    if "credBlob" in inputs and "credBlob" in core.profile.extensions:
        results["credBlob"] = credential.credential_blob is not None
    return results


def check_assertion(inputs: Mapping[str, Any], allow: list[str] | None) -> None:
    """Section 10.1.5, client extension processing at sign-in: before any credential is chosen."""
    if "largeBlob" not in inputs:
        return
    given = _large_blob(inputs)
    if given.get("support") is not None:
        raise NotSupportedError(f"{_WHERE}.support is for registrations only")
    reads = given.get("read")
    if reads is not None and not isinstance(reads, bool):
        raise InvalidOptionsError(f"{_WHERE}.read", shorten(reads), "true or false")
    if given.get("write") is None:
        return
    base64url_member(given, "write", f"{_WHERE}.write")
    if reads is not None:
        raise NotSupportedError(f"{_WHERE}: got read and write, expected one of them")
    if allow is None or len(allow) != 1:
        raise NotSupportedError(f"{_WHERE}.write needs one credential in allowCredentials")


def assertion_results(
    core: Core, inputs: Mapping[str, Any], credential: Credential
) -> tuple[dict[str, Any], dict[str, Any]]:
    """What the page learns, and what the authenticator says in the signed data."""
    results: dict[str, Any] = {}
    outputs: dict[str, Any] = {}
    if "largeBlob" in inputs:
        results["largeBlob"] = _read_or_written(core, _large_blob(inputs), credential)
    if inputs.get("getCredBlob") is True and "credBlob" in core.profile.extensions:
        # Section 12.2: empty for a credential that has none.
        blob = credential.credential_blob or b""
        outputs["credBlob"] = blob
        results["getCredBlob"] = base64url_encode(blob)
    return results, outputs


def _read_or_written(
    core: Core, given: Mapping[str, Any], credential: Credential
) -> dict[str, Any]:
    if given.get("write") is not None:
        data = base64url_member(given, "write", f"{_WHERE}.write")
        return {"written": large_blobs.write(core, credential, data)}
    if given.get("read"):
        blob = large_blobs.read(core, credential)
        return {"blob": base64url_encode(blob)} if blob is not None else {}
    return {}


def _large_blob(inputs: Mapping[str, Any]) -> Mapping[str, Any]:
    given = inputs["largeBlob"]
    if not isinstance(given, Mapping):
        raise InvalidOptionsError(_WHERE, shorten(given), "an object")
    return given
