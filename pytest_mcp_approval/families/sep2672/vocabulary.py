"""The words of SEP-2672: names, reasons, annotation, action hash and wire challenge.

Both sides of the wire speak them. Knows no transport, no WebAuthn, no state and no policy: what a
server does with these words is in `reference_server`, what a suite does with them in its driver.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

import rfc8785

from ...support.secrets import beginning

META_KEY = "io.modelcontextprotocol/verified-approval"
"""Of a tool's listing (section 4.2) and of a call's evidence (section 4.5)."""

CAPABILITY_KEY = "verifiedApproval"
"""Inside `capabilities.extensions` (section 4.3): bare, unlike `META_KEY`."""

ENROLL_BEGIN = "approval/enroll/begin"
ENROLL_FINISH = "approval/enroll/finish"
CHALLENGE_CREATE = "approval/challenge/create"
METHODS = (ENROLL_BEGIN, ENROLL_FINISH, CHALLENGE_CREATE)

ERROR_CODE = -32001
"""Of every approval refusal (section 4.10)."""

REQUIRED = "verified"
"""The one value of `required` in an annotation (section 4.2)."""

WEBAUTHN = "webauthn"
"""The one value of `method` in evidence (section 4.5)."""

NONCE_BYTES = 32
ACTION_HASH_BYTES = 32


class Reason(StrEnum):
    """Why an approval was refused: `error.data.reason` (section 4.10)."""

    # tools/call (section 4.8), in the order of its steps
    MISSING_EVIDENCE = "missing_evidence"
    UNSUPPORTED_METHOD = "unsupported_method"
    CHALLENGE_UNKNOWN = "challenge_unknown"
    CHALLENGE_CONSUMED = "challenge_consumed"
    CHALLENGE_EXPIRED = "challenge_expired"
    CHALLENGE_WRONG_TOOL = "challenge_wrong_tool"
    UNKNOWN_CREDENTIAL = "unknown_credential"
    AUTHENTICATOR_CLASS_MISMATCH = "authenticator_class_mismatch"
    SIGNATURE_VERIFICATION_FAILED = "signature_verification_failed"
    SIGNATURE_COUNTER_REGRESSION = "signature_counter_regression"
    ARGUMENT_HASH_MISMATCH = "argument_hash_mismatch"
    # approval/challenge/create (section 4.4.3)
    TOOL_NOT_APPROVED_REQUIRED = "tool_not_approved_required"
    NO_ELIGIBLE_CREDENTIAL = "no_eligible_credential"
    # approval/enroll/finish (section 4.4.2)
    CREDENTIAL_ALREADY_ENROLLED = "credential_already_enrolled"
    NO_PENDING_ENROLLMENT = "no_pending_enrollment"
    VERIFICATION_FAILED = "verification_failed"


class AuthenticatorClass(StrEnum):
    """Which credentials a tool accepts (section 4.7)."""

    CROSS_PLATFORM = "cross-platform"
    PLATFORM = "platform"


DEFAULT_CLASS = AuthenticatorClass.CROSS_PLATFORM
"""The meaning of an annotation that names no class (section 4.2)."""


class AnnotationError(ValueError):
    """A tool's listing has the annotation's key, but no annotation under it."""


@dataclass(frozen=True)
class Annotation:
    """What a tool's listing says about its approval (section 4.2)."""

    authenticator_class: AuthenticatorClass = DEFAULT_CLASS
    class_is_given: bool = False
    """Whether the listing named the class, or left it to the default."""

    def to_json(self) -> dict[str, str]:
        members = {"required": REQUIRED}
        if self.class_is_given:
            members["authenticatorClass"] = self.authenticator_class.value
        return members


def annotation_of(tool: Mapping[str, Any]) -> Annotation | None:
    """The annotation in a tool's listing entry, None for a tool that needs no approval.

    Members beside the two that are defined are tolerated, as section 4.2 asks.
    """
    meta = tool.get("_meta")
    if meta is None:
        return None
    if not isinstance(meta, Mapping):
        raise AnnotationError(f"_meta: got {_shown(meta)}, expected an object")
    if META_KEY not in meta:
        return None
    value = meta[META_KEY]
    if not isinstance(value, Mapping):
        raise AnnotationError(f"{META_KEY}: got {_shown(value)}, expected an object")
    if value.get("required") != REQUIRED:
        raise AnnotationError(
            f"required: got {_shown(value.get('required'))}, expected {REQUIRED!r}"
        )
    if "authenticatorClass" not in value:
        return Annotation()
    given = value["authenticatorClass"]
    if not isinstance(given, str) or given not in tuple(AuthenticatorClass):
        expected = " or ".join(repr(known.value) for known in AuthenticatorClass)
        raise AnnotationError(f"authenticatorClass: got {_shown(given)}, expected {expected}")
    return Annotation(AuthenticatorClass(given), class_is_given=True)


class NotCanonicalError(ValueError):
    """A value that RFC 8785 cannot write: no JSON, or a number or text beyond I-JSON."""


def canonical_arguments(value: Any) -> bytes:
    """RFC 8785, verbatim: in particular text is not normalised (its section 3.1 forbids it)."""
    try:
        return rfc8785.dumps(value)
    except (ValueError, TypeError, RecursionError) as error:
        # A lone surrogate in a member's name is a bare UnicodeEncodeError, hence ValueError.
        raise NotCanonicalError(
            f"arguments: got a value that RFC 8785 cannot write ({type(error).__name__}), "
            "expected I-JSON"
        ) from error


def action_hash(tool: str, arguments: Any, server_id: str) -> bytes:
    """The 32 bytes that bind a tool, its arguments and a server (section 4.6)."""
    for name, value in (("tool", tool), ("server_id", server_id)):
        if "\x00" in value:
            raise ValueError(f"{name}: got a zero byte in {value!r}, expected none")
    return hashlib.sha256(
        b"\x00".join(
            (tool.encode("utf-8"), canonical_arguments(arguments), server_id.encode("utf-8"))
        )
    ).digest()


def wire_challenge(nonce: bytes, action_hash: bytes) -> bytes:
    """What the authenticator signs over (section 4.4.3): nonce, then action hash."""
    if len(nonce) != NONCE_BYTES:
        raise ValueError(f"nonce: got {len(nonce)} bytes, expected {NONCE_BYTES}")
    if len(action_hash) != ACTION_HASH_BYTES:
        raise ValueError(f"action hash: got {len(action_hash)} bytes, expected {ACTION_HASH_BYTES}")
    return nonce + action_hash


def split_wire_challenge(challenge: bytes) -> tuple[bytes, bytes]:
    """The nonce and the action hash of a wire challenge."""
    if len(challenge) != NONCE_BYTES + ACTION_HASH_BYTES:
        raise ValueError(
            f"wire challenge: got {len(challenge)} bytes, "
            f"expected {NONCE_BYTES + ACTION_HASH_BYTES}"
        )
    return challenge[:NONCE_BYTES], challenge[NONCE_BYTES:]


def base64url_encode(data: bytes) -> str:
    """As WebAuthn's JSON writes bytes: without padding."""
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode("ascii")


def base64url_decode(text: Any) -> bytes:
    """The bytes of a text that `base64url_encode` could have written; any other is a ValueError."""
    if not isinstance(text, str):
        raise ValueError(f"base64url: got {_shown(text)}, expected text")
    try:
        data = base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        raise ValueError(f"base64url: got {_shown(text)}, expected base64url") from None
    if base64url_encode(data) != text:
        raise ValueError(f"base64url: got {_shown(text)}, expected it unpadded and canonical")
    return data


def _shown(value: Any) -> str:
    shown = repr(value)
    return shown if len(shown) <= 60 else f"{beginning(shown, 57)}..."
