"""PublicKeyCredentialCreationOptionsJSON and ...RequestOptionsJSON, read with a browser's care.

What is malformed raises `InvalidOptionsError`: where, what was got, what was expected. Strings that
an enumeration does not know are ignored as Level 3 asks (section 2.1.1), unknown members too. Knows
nothing of origins and authenticators.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NoReturn

from .encoding import base64url_decode, base64url_encode, shorten
from .errors import InvalidOptionsError

DEFAULT_TIMEOUT = 300_000
"""Milliseconds; Level 3 recommends five minutes (section 15.1)."""
DEFAULT_ALGORITHMS = (-7, -257)
"""What an empty pubKeyCredParams stands for (section 5.1.3)."""
_LONGEST_TIMEOUT = 2**32 - 1


@dataclass(slots=True)
class CreationOptions:
    rp_id: str | None
    rp_name: str
    user_id: bytes
    user_name: str
    user_display_name: str
    challenge: str
    algorithms: tuple[int, ...]
    timeout: float
    exclude: list[bytes]
    attachment: str | None
    resident_key: str
    user_verification: str
    attestation: str
    extensions: Mapping[str, Any]


@dataclass(slots=True)
class RequestOptions:
    rp_id: str | None
    challenge: str
    timeout: float
    allow: list[bytes]
    user_verification: str
    extensions: Mapping[str, Any]


def creation_options(given: Any) -> CreationOptions:
    options = _unwrap(given)
    rp = _object(options, "rp", required=True)
    user = _object(options, "user", required=True)
    selection = _object(options, "authenticatorSelection")
    user_id = base64url_member(user, "id", "user.id")
    if not 1 <= len(user_id) <= 64:
        _refuse("user.id", f"{len(user_id)} bytes", "1 to 64 bytes")
    resident_key = _text(selection, "residentKey", "authenticatorSelection.residentKey")
    if resident_key not in ("discouraged", "preferred", "required"):
        # Level 1 sites send only the boolean.
        old = _boolean(selection, "requireResidentKey", "authenticatorSelection.requireResidentKey")
        resident_key = "required" if old else "discouraged"
    attachment = _text(
        selection, "authenticatorAttachment", "authenticatorSelection.authenticatorAttachment"
    )
    attestation = _text(options, "attestation", "attestation")
    return CreationOptions(
        rp_id=_text(rp, "id", "rp.id"),
        rp_name=_required_text(rp, "name", "rp.name"),
        user_id=user_id,
        user_name=_required_text(user, "name", "user.name"),
        user_display_name=_required_text(user, "displayName", "user.displayName"),
        challenge=_challenge(options),
        algorithms=_algorithms(options),
        timeout=_timeout(options),
        exclude=_descriptors(options, "excludeCredentials"),
        attachment=attachment if attachment in ("platform", "cross-platform") else None,
        resident_key=resident_key,
        user_verification=_user_verification(selection, "authenticatorSelection.userVerification"),
        attestation=attestation if attestation in ("direct", "indirect", "enterprise") else "none",
        extensions=_object(options, "extensions"),
    )


def request_options(given: Any) -> RequestOptions:
    options = _unwrap(given)
    return RequestOptions(
        rp_id=_text(options, "rpId", "rpId"),
        challenge=_challenge(options),
        timeout=_timeout(options),
        allow=_descriptors(options, "allowCredentials"),
        user_verification=_user_verification(options, "userVerification"),
        extensions=_object(options, "extensions"),
    )


def base64url_member(members: Mapping[str, Any], name: str, where: str) -> bytes:
    """A member that must be there and be base64url."""
    value = members.get(name)
    if not isinstance(value, str):
        _refuse(where, _kind(members, name), "a base64url string")
    try:
        return base64url_decode(value)
    except ValueError:
        pass
    raise InvalidOptionsError(
        where, shorten(value), "base64url without padding", name="EncodingError"
    ) from None


def _unwrap(given: Any) -> Mapping[str, Any]:
    if isinstance(given, (str, bytes)):
        try:
            given = json.loads(given)
        except ValueError:
            raise InvalidOptionsError("options", shorten(given), "a JSON object") from None
    if isinstance(given, Mapping):
        inner = given.get("publicKey")  # many servers send the argument of credentials.create()
        if inner is not None and "challenge" not in given:
            given = inner
    if not isinstance(given, Mapping):
        _refuse("options", shorten(given), "a JSON object")
    return given


def _refuse(where: str, got: str, expected: str) -> NoReturn:
    raise InvalidOptionsError(where, got, expected)


def _kind(members: Mapping[str, Any], name: str) -> str:
    return shorten(members[name]) if name in members else "nothing"


_EMPTY: Mapping[str, Any] = {}


def _object(members: Mapping[str, Any], name: str, *, required: bool = False) -> Mapping[str, Any]:
    value = members.get(name)
    if value is None and not required:
        return _EMPTY
    if not isinstance(value, Mapping):
        _refuse(name, _kind(members, name), "an object")
    return value


def _text(members: Mapping[str, Any], name: str, where: str) -> str | None:
    value = members.get(name)
    if value is not None and not isinstance(value, str):
        _refuse(where, shorten(value), "a string")
    return value


def _required_text(members: Mapping[str, Any], name: str, where: str) -> str:
    value = _text(members, name, where)
    if value is None:
        _refuse(where, _kind(members, name), "a string")
    return value


def _boolean(members: Mapping[str, Any], name: str, where: str) -> bool:
    value = members.get(name, False)
    if not isinstance(value, bool):
        _refuse(where, shorten(value), "true or false")
    return value


def _challenge(options: Mapping[str, Any]) -> str:
    """The challenge as client data will carry it: decoded and encoded again."""
    return base64url_encode(base64url_member(options, "challenge", "challenge"))


def _timeout(options: Mapping[str, Any]) -> float:
    value = options.get("timeout")
    if value is None:
        return DEFAULT_TIMEOUT
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _refuse("timeout", shorten(value), "milliseconds, a number")
    if not 0 <= value <= _LONGEST_TIMEOUT:  # NaN is refused here too
        _refuse("timeout", shorten(value), "milliseconds from 0 to 2^32-1")
    return value


def _user_verification(members: Mapping[str, Any], where: str) -> str:
    value = _text(members, "userVerification", where)
    return value if value in ("required", "discouraged") else "preferred"


def _algorithms(options: Mapping[str, Any]) -> tuple[int, ...]:
    params = options.get("pubKeyCredParams")
    if not isinstance(params, list):
        _refuse("pubKeyCredParams", _kind(options, "pubKeyCredParams"), "a list")
    if not params:
        return DEFAULT_ALGORITHMS
    offered = []
    for position, entry in enumerate(params):
        where = f"pubKeyCredParams[{position}]"
        if not isinstance(entry, Mapping):
            _refuse(where, shorten(entry), "an object")
        identifier = entry.get("alg")
        if isinstance(identifier, bool) or not isinstance(identifier, int):
            _refuse(f"{where}.alg", _kind(entry, "alg"), "a COSE algorithm number")
        if _required_text(entry, "type", f"{where}.type") == "public-key":
            offered.append(identifier)
    return tuple(offered)


def _descriptors(options: Mapping[str, Any], name: str) -> list[bytes]:
    listed = options.get(name)
    if listed is None:
        return []
    if not isinstance(listed, list):
        _refuse(name, shorten(listed), "a list")
    ids = []
    for position, entry in enumerate(listed):
        where = f"{name}[{position}]"
        if not isinstance(entry, Mapping):
            _refuse(where, shorten(entry), "an object")
        kind = _required_text(entry, "type", f"{where}.type")
        credential_id = base64url_member(entry, "id", f"{where}.id")
        transports = entry.get("transports")
        if transports is not None and not isinstance(transports, list):
            _refuse(f"{where}.transports", shorten(transports), "a list of strings")
        if kind == "public-key":
            ids.append(credential_id)
    return ids
