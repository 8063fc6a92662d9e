"""WebAuthn extensions as a client handles them: AppIDs, credProps, prf, credProtect, the PIN's
policies, blobs, payment, and the hmac-secret inputs of native clients (WebAuthn Level 3, section
10; CTAP 2.3, section 12; Secure Payment Confirmation, section 5).

Turns client inputs into requests to the core, and its outputs into clientExtensionResults. Does not
know how a ceremony is run.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from . import app_id, blob_extensions
from .core import Core, NewCredential
from .credentials import Credential
from .encoding import base64url_canonical, base64url_encode, shorten
from .errors import InvalidOptionsError, NotAllowedError, NotSupportedError
from .options import CreationOptions, base64url_member

INPUTS = (
    "appid",
    "appidExclude",
    "credProps",
    "prf",
    "largeBlob",
    "credentialProtectionPolicy",
    "credBlob",
    "getCredBlob",
    "minPinLength",
    "pinComplexityPolicy",
    "hmacCreateSecret",
    "hmacGetSecret",
    "payment",
)
"""The client extension inputs that are understood here; others are ignored, as browsers do."""
_BLOBS = ("largeBlob", "credBlob", "getCredBlob")
_POLICIES = {
    "userVerificationOptional": 1,
    "userVerificationOptionalWithCredentialIDList": 2,
    "userVerificationRequired": 3,
}


def check_registration(
    options: CreationOptions, origin: str, *, enforce_app_id: bool
) -> str | None:
    """What a client refuses before it asks any authenticator; returns the AppID whose credentials
    are excluded too."""
    if _is_payment(options.extensions):
        # Secure Payment Confirmation, section 5, registration.
        for name, got, expected in (
            ("authenticatorAttachment", options.attachment, ("platform",)),
            ("residentKey", options.resident_key, ("required", "preferred")),
            ("userVerification", options.user_verification, ("required",)),
        ):
            if got not in expected:
                raise InvalidOptionsError(
                    f"authenticatorSelection.{name}",
                    shorten(got),
                    f"{' or '.join(expected)}, since extensions.payment is there",
                )
    return app_id.app_id(
        options.extensions,
        app_id.AT_REGISTRATION,
        app_id.AT_SIGN_IN,
        origin,
        enforce=enforce_app_id,
    )


def _is_payment(inputs: Mapping[str, Any]) -> bool:
    given = inputs.get("payment")
    if given is None:
        return False
    if not isinstance(given, Mapping):
        raise InvalidOptionsError("extensions.payment", shorten(given), "an object")
    return given.get("isPayment") is True


def prepare_registration(
    core: Core, inputs: Mapping[str, Any], wanted: NewCredential, *, enforce_large_blob: bool
) -> None:
    """Ask the core for what the extensions need."""
    supported = core.profile.extensions
    policy = inputs.get("credentialProtectionPolicy")
    if policy is not None:
        if not isinstance(policy, str) or policy not in _POLICIES:
            raise InvalidOptionsError(
                "extensions.credentialProtectionPolicy",
                shorten(policy),
                "one of " + ", ".join(_POLICIES),
            )
        if "credProtect" in supported:
            wanted.protection = _POLICIES[policy]
        elif inputs.get("enforceCredentialProtectionPolicy") and _POLICIES[policy] > 1:
            raise NotAllowedError("the authenticator has no credProtect, and it was to be enforced")
    if "prf" in inputs:
        _prf_salts(inputs, None)  # malformed input is refused before anything is made
        if inputs["prf"].get("evalByCredential") is not None:
            raise NotSupportedError("extensions.prf.evalByCredential is for assertions only")
    wants_secret = "prf" in inputs or inputs.get("hmacCreateSecret") is True
    wanted.hmac_secret = wants_secret and bool({"prf", "hmac-secret"} & set(supported))
    protect = policy is not None and "credProtect" in supported
    wanted.third_party_payment = _is_payment(inputs)
    may_learn = wanted.rp_id in core.minimum_pin_rp_ids
    learned = {
        name
        for name in ("minPinLength", "pinComplexityPolicy")
        if may_learn and inputs.get(name) is True and name in supported
    }
    blobs = not inputs.keys().isdisjoint(_BLOBS)
    if blobs:
        blob_extensions.prepare_registration(core, inputs, wanted, enforce=enforce_large_blob)
    if protect or learned or blobs or (wanted.hmac_secret and "hmac-secret" in supported):

        def extend(credential: Credential) -> dict[str, Any]:
            outputs = (
                blob_extensions.registration_outputs(core, inputs, credential) if blobs else {}
            )
            if protect:
                outputs["credProtect"] = credential.protection
            if credential.secrets is not None and "hmac-secret" in supported:
                outputs["hmac-secret"] = True
            if "minPinLength" in learned:
                outputs["minPinLength"] = core.pin.minimum_length
            if "pinComplexityPolicy" in learned:
                outputs["pinComplexityPolicy"] = core.settings.pin_complexity
            return outputs

        wanted.extend = extend


def registration_results(
    core: Core, inputs: Mapping[str, Any], credential: Credential, *, verified: bool
) -> dict[str, Any]:
    """clientExtensionResults of a registration."""
    results: dict[str, Any] = {}
    if inputs.get(app_id.AT_REGISTRATION) is not None:
        results[app_id.AT_REGISTRATION] = True  # the client acted upon it
    if inputs.get("credProps") is True:
        results["credProps"] = {"rk": credential.discoverable}
    enabled = credential.secrets is not None
    if "prf" in inputs:
        results["prf"] = {"enabled": enabled}
        salts = _prf_salts(inputs, None)
        at_once = {"prf", "hmac-secret-mc"} & set(core.profile.extensions)
        if enabled and salts and at_once:
            results["prf"]["results"] = _named(
                core.hmac_secret(credential, salts, verified=verified), "first", "second"
            )
    if inputs.get("hmacCreateSecret") is True:
        results["hmacCreateSecret"] = enabled
    if not inputs.keys().isdisjoint(_BLOBS):
        results.update(blob_extensions.registration_results(core, inputs, credential))
    return results


def assertion_results(
    core: Core,
    inputs: Mapping[str, Any],
    credential: Credential,
    allow: list[str] | None,
    *,
    verified: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """clientExtensionResults of an assertion, and the outputs in the authenticator data."""
    results, outputs = _secret_results(core, inputs, credential, allow, verified=verified)
    if not inputs.keys().isdisjoint(_BLOBS):
        more_results, more_outputs = blob_extensions.assertion_results(core, inputs, credential)
        results.update(more_results)
        outputs.update(more_outputs)
    return results, outputs


def check_assertion(
    inputs: Mapping[str, Any], allow: list[str] | None, origin: str, *, enforce_app_id: bool
) -> str | None:
    """The same of an assertion; returns the AppID that may stand for the RP ID."""
    if _is_payment(inputs):
        # Secure Payment Confirmation, section 5: for PaymentRequest only, never for a page.
        raise NotAllowedError("extensions.payment is not for pages that sign in")
    if "largeBlob" in inputs:
        blob_extensions.check_assertion(inputs, allow)
    return app_id.app_id(
        inputs, app_id.AT_SIGN_IN, app_id.AT_REGISTRATION, origin, enforce=enforce_app_id
    )


def _secret_results(
    core: Core,
    inputs: Mapping[str, Any],
    credential: Credential,
    allow: list[str] | None,
    *,
    verified: bool,
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Of prf, or of the hmac-secret inputs of native clients."""
    results: dict[str, Any] = {}
    salts: bytes | None = None
    if "prf" in inputs:
        salts = _prf_salts(inputs, credential.encoded_id)
        _check_by_credential(inputs["prf"].get("evalByCredential"), allow)
        results["prf"] = {}
        names = ("first", "second")
    elif "hmacGetSecret" in inputs:
        salts = _raw_salts(inputs["hmacGetSecret"])
        names = ("output1", "output2")
    if not salts or credential.secrets is None:
        return results, {}
    secret = core.hmac_secret(credential, salts, verified=verified)
    results["prf" if "prf" in inputs else "hmacGetSecret"] = (
        {"results": _named(secret, *names)} if "prf" in inputs else _named(secret, *names)
    )
    if "hmac-secret" not in core.profile.extensions:
        return results, {}
    # Between client and key the outputs are encrypted under a shared secret that the relying party
    # never sees; the signed data contains only their ciphertext (protocol two: IV and blocks).
    return results, {"hmac-secret": core.entropy.bytes(16 + len(secret))}


def _check_by_credential(given: Mapping[str, Any] | None, allow: list[str] | None) -> None:
    """Section 10.1.4: every input is for a credential that the request lists."""
    if not given:
        return
    where = "extensions.prf.evalByCredential"
    if not allow:
        raise NotSupportedError(f"{where} needs allowCredentials")
    for key in given:
        try:
            listed = base64url_canonical(key) in allow
        except ValueError:
            listed = False
        if not key or not listed:
            raise InvalidOptionsError(
                where, shorten(key), "ids among allowCredentials", name="SyntaxError"
            )


def _prf_salts(inputs: Mapping[str, Any], encoded_id: str | None) -> bytes | None:
    prf = inputs["prf"]
    if not isinstance(prf, Mapping):
        raise InvalidOptionsError("extensions.prf", shorten(prf), "an object")
    values, where = prf.get("eval"), "extensions.prf.eval"
    by_credential = prf.get("evalByCredential")
    if by_credential is not None:
        if not isinstance(by_credential, Mapping):
            raise InvalidOptionsError(
                "extensions.prf.evalByCredential", shorten(by_credential), "an object"
            )
        if encoded_id in by_credential:
            values, where = (
                by_credential[encoded_id],
                f"extensions.prf.evalByCredential.{encoded_id}",
            )
    if values is None:
        return None
    if not isinstance(values, Mapping):
        raise InvalidOptionsError(where, shorten(values), "an object")
    salts = _prf_salt(base64url_member(values, "first", f"{where}.first"))
    if values.get("second") is not None:
        salts += _prf_salt(base64url_member(values, "second", f"{where}.second"))
    return salts


def _prf_salt(value: bytes) -> bytes:
    return hashlib.sha256(b"WebAuthn PRF\x00" + value).digest()


def _raw_salts(given: Any) -> bytes:
    where = "extensions.hmacGetSecret"
    if not isinstance(given, Mapping):
        raise InvalidOptionsError(where, shorten(given), "an object")
    salts = b""
    for name in ("salt1", "salt2"):
        if name == "salt1" or given.get(name) is not None:
            salt = base64url_member(given, name, f"{where}.{name}")
            if len(salt) != 32:
                raise InvalidOptionsError(f"{where}.{name}", f"{len(salt)} bytes", "32 bytes")
            salts += salt
    return salts


def _named(secret: bytes, first: str, second: str) -> dict[str, str]:
    named = {first: base64url_encode(secret[:32])}
    if len(secret) > 32:
        named[second] = base64url_encode(secret[32:])
    return named
