"""PublicKeyCredentialCreationOptionsJSON and ...RequestOptionsJSON, read as carefully as a browser
does.

Malformed options raise `InvalidOptionsError`: where, what it got, what it expected. Strings that an
enumeration does not know are ignored as Level 3 asks (section 2.1.1), unknown members too. Knows
nothing of origins and authenticators.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any, NoReturn, TypeAlias

from .encoding import (
    base64url_canonical,
    base64url_decode,
    decode_canonical,
    shorten,
)
from .errors import InvalidOptionsError

DEFAULT_TIMEOUT = 300_000
"""Milliseconds; Level 3 recommends five minutes (section 15.1)."""
DEFAULT_ALGORITHMS = (-7, -257)
"""The meaning of an empty pubKeyCredParams (section 5.1.3)."""
LONGEST_TIMEOUT = 2**32 - 1
_NO_ID = ""
"""No credential has it."""
_EMPTY: Mapping[str, Any] = {}
_PREFERENCES = ("discouraged", "preferred", "required")


@dataclass(slots=True, eq=False, repr=False)
class CreationOptions:
    rp_id: str | None
    rp_name: str
    user_id: bytes
    user_name: str
    user_display_name: str
    challenge: str
    algorithms: tuple[int, ...]
    timeout: float
    exclude: list[str]
    """Credential ids, base64url."""
    attachment: str | None
    resident_key: str
    user_verification: str
    attestation: str
    extensions: Mapping[str, Any]


RequestOptions: TypeAlias = tuple[
    str | None, str, float, list[str] | None, str, Mapping[str, Any] | None
]
"""RP ID, challenge, timeout, ids allowed, user verification, extensions."""


def creation_options(given: Any) -> CreationOptions:
    """Read creation options."""
    # Credentials are made by the thousand: what is plainly right is accepted here at once, and only
    # the rest is checked closely by the functions below.
    options = given if type(given) is dict and "challenge" in given else _unwrap(given)
    find = options.get
    rp, user, selection = find("rp"), find("user"), find("authenticatorSelection")
    if type(rp) is not dict:
        rp = _object(options, "rp", required=True)
    if type(user) is not dict:
        user = _object(options, "user", required=True)
    if type(selection) is not dict:
        selection = _object(options, "authenticatorSelection")
    rp_id, rp_name = rp.get("id"), rp.get("name")
    if type(rp_id) is not str:
        rp_id = _text(rp, "id", "rp.id")
    if type(rp_name) is not str:
        rp_name = _required_text(rp, "name", "rp.name")
    user_name, display_name = user.get("name"), user.get("displayName")
    if type(user_name) is not str or type(display_name) is not str:
        user_name = _required_text(user, "name", "user.name")
        display_name = _required_text(user, "displayName", "user.displayName")
    encoded_user_id = user.get("id")
    user_id = decode_canonical(encoded_user_id) if type(encoded_user_id) is str else None
    if user_id is None:
        user_id = base64url_member(user, "id", "user.id")
    if not 1 <= len(user_id) <= 64:
        _refuse("user.id", f"{len(user_id)} bytes", "1 to 64 bytes")
    challenge = find("challenge")
    if type(challenge) is not str or decode_canonical(challenge) is None:
        challenge = _base64url_text(options, "challenge", "challenge")
    timeout = find("timeout")
    if timeout is None:
        timeout = DEFAULT_TIMEOUT
    elif type(timeout) is not int or not 0 <= timeout <= LONGEST_TIMEOUT:
        timeout = _timeout(timeout)
    resident_key = selection.get("residentKey")
    if resident_key not in _PREFERENCES:
        resident_key = _resident_key(selection)
    verification = selection.get("userVerification")
    if verification not in _PREFERENCES:
        verification = _user_verification(selection, "authenticatorSelection.userVerification")
    attachment = selection.get("authenticatorAttachment")
    if attachment is not None:
        attachment = _attachment(selection)
    attestation = find("attestation")
    if attestation != "none":
        attestation = _attestation(options)
    excluded = find("excludeCredentials")
    extensions = find("extensions")
    if extensions is not None:
        extensions = _object(options, "extensions")
    return CreationOptions(
        rp_id,
        rp_name,
        user_id,
        user_name,
        display_name,
        challenge,
        _algorithms(options),
        timeout,
        []
        if excluded is None or excluded == []
        else _descriptors(excluded, "excludeCredentials", ()),
        attachment,
        resident_key,
        verification,
        attestation,
        extensions or _EMPTY,
    )


def _resident_key(selection: Mapping[str, Any]) -> str:
    """An unknown word counts as none; Level 1 sites send only the boolean."""
    _text(selection, "residentKey", "authenticatorSelection.residentKey")
    old = _boolean(selection, "requireResidentKey", "authenticatorSelection.requireResidentKey")
    return "required" if old else "discouraged"


def _attachment(selection: Mapping[str, Any]) -> str | None:
    where = "authenticatorSelection.authenticatorAttachment"
    attachment = _text(selection, "authenticatorAttachment", where)
    return attachment if attachment in ("platform", "cross-platform") else None


def _attestation(options: Mapping[str, Any]) -> str:
    attestation = _text(options, "attestation", "attestation")
    return attestation if attestation in ("direct", "indirect", "enterprise") else "none"


def request_options(given: Any, known: Container[str] = ()) -> RequestOptions:
    """Read request options; ids in `known` are not checked again."""
    # Assertions are made by the thousand: what is plainly right is accepted here at once, and only
    # the rest is checked closely by the functions below.
    options = given if type(given) is dict and "challenge" in given else _unwrap(given)
    find = options.get
    rp_id = find("rpId")
    if type(rp_id) is not str:
        rp_id = _text(options, "rpId", "rpId")
    challenge = find("challenge")
    if type(challenge) is not str or decode_canonical(challenge) is None:
        challenge = _base64url_text(options, "challenge", "challenge")
    timeout = find("timeout")
    if timeout is None:
        timeout = DEFAULT_TIMEOUT
    elif type(timeout) is not int or not 0 <= timeout <= LONGEST_TIMEOUT:
        timeout = _timeout(timeout)
    allow = find("allowCredentials")
    if allow is not None:
        listed, allow = allow, _descriptors(allow, "allowCredentials", known)
        if listed and not allow:  # section 5.5: a list of unknown types only is not an empty list
            allow = [_NO_ID]
    verification = find("userVerification")
    if verification != "required":
        verification = _user_verification(options, "userVerification")
    extensions = find("extensions")
    if extensions is not None:
        extensions = _object(options, "extensions")
    return rp_id, challenge, timeout, allow, verification, extensions


def base64url_member(members: Mapping[str, Any], name: str, where: str) -> bytes:
    """The bytes of a member that must be there and be base64url."""
    return base64url_decode(_base64url_text(members, name, where))


def _base64url_text(members: Mapping[str, Any], name: str, where: str) -> str:
    """The same member as text, in the one form that its bytes have."""
    value = members.get(name)
    if not isinstance(value, str):
        _refuse(where, _kind(members, name), "a base64url string")
    try:
        return base64url_canonical(value)
    except ValueError:
        pass
    raise InvalidOptionsError(
        where, shorten(value), "base64url without padding", name="EncodingError"
    ) from None


def _unwrap(given: Any) -> Mapping[str, Any]:
    if type(given) is dict and "challenge" in given:
        return given
    if isinstance(given, (str, bytes)):
        import json  # here, because most pages pass an object

        try:
            given = json.loads(given)
        except (ValueError, RecursionError):
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


def _object(members: Mapping[str, Any], name: str, *, required: bool = False) -> Mapping[str, Any]:
    value = members.get(name)
    if value is None and not required:
        return _EMPTY
    if type(value) is not dict and not isinstance(value, Mapping):
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
    value = members.get(name)
    if value is not None and not isinstance(value, bool):
        _refuse(where, shorten(value), "true or false")
    return bool(value)


def _timeout(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        _refuse("timeout", shorten(value), "milliseconds, a number")
    if not 0 <= value <= LONGEST_TIMEOUT:  # NaN is refused here too
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
    for entry in params:
        if type(entry) is dict and entry.get("type") == "public-key":
            identifier = entry.get("alg")
            if type(identifier) is int:
                offered.append(identifier)
                continue
        offered.extend(_algorithm(entry, params.index(entry)))
    return tuple(offered)


def _algorithm(entry: Any, position: int) -> list[int]:
    """The number in an entry that is not plainly right; none where its type is not ours."""
    where = f"pubKeyCredParams[{position}]"
    if not isinstance(entry, Mapping):
        _refuse(where, shorten(entry), "an object")
    identifier = entry.get("alg")
    if isinstance(identifier, bool) or not isinstance(identifier, int):
        _refuse(f"{where}.alg", _kind(entry, "alg"), "a COSE algorithm number")
    kind = _required_text(entry, "type", f"{where}.type")
    return [identifier] if kind == "public-key" else []


def _descriptors(listed: Any, name: str, known: Container[str]) -> list[str]:
    if not isinstance(listed, list):
        _refuse(name, shorten(listed), "a list")
    ids = []
    for entry in listed:
        if type(entry) is dict:
            credential_id, transports = entry.get("id"), entry.get("transports")
            if (
                type(credential_id) is str
                and (credential_id in known or decode_canonical(credential_id) is not None)
                and entry.get("type") == "public-key"
                and (transports is None or type(transports) is list)
            ):
                ids.append(credential_id)
                continue
        ids.extend(_descriptor(entry, f"{name}[{listed.index(entry)}]"))
    return ids


def _descriptor(entry: Any, where: str) -> list[str]:
    """The id in a descriptor that is not plainly right; none where its type is not ours."""
    if not isinstance(entry, Mapping):
        _refuse(where, shorten(entry), "an object")
    kind = _required_text(entry, "type", f"{where}.type")
    credential_id = _base64url_text(entry, "id", f"{where}.id")
    transports = entry.get("transports")
    if transports is not None and not isinstance(transports, list):
        _refuse(f"{where}.transports", shorten(transports), "a list of strings")
    return [credential_id] if kind == "public-key" else []
