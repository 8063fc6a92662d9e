"""Responses of WebAuthn that were rewritten, and signed anew where the key is at hand.

A server that looks at a part of what was signed, or compares it loosely, takes some of them. Knows
no verdict.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from . import vocabulary as words
from .driver import Passkey

Members = dict[str, Any]


def inner_of(evidence: Mapping[str, Any]) -> dict[str, Any]:
    return dict(evidence["response"]["response"])


def with_inner(evidence: Mapping[str, Any], **members: Any) -> dict[str, Any]:
    """The evidence with these members of response.response; None leaves one out."""
    inner = {**inner_of(evidence), **members}
    kept = {name: value for name, value in inner.items() if value is not None}
    return {**evidence, "response": {**evidence["response"], "response": kept}}


def client_data_of(response: Mapping[str, Any]) -> Members:
    """The client data of a registration, or of the response inside evidence."""
    found: Members = json.loads(words.base64url_decode(response["response"]["clientDataJSON"]))
    return found


def written(client_data: Any) -> str:
    """Client data as a browser sends it."""
    text = json.dumps(client_data, separators=(",", ":"), ensure_ascii=False)
    return words.base64url_encode(text.encode())


def signed_anew(
    passkey: Passkey,
    evidence: Mapping[str, Any],
    *,
    client_data: str | None = None,
    authenticator_data: bytes | None = None,
) -> dict[str, Any]:
    """The evidence with other client data (base64url) or authenticator data, and a signature over
    them by the passkey's own key."""
    inner = inner_of(evidence)
    collected = inner["clientDataJSON"] if client_data is None else client_data
    data = authenticator_data
    if data is None:
        data = words.base64url_decode(inner["authenticatorData"])
    credential = passkey.authenticator.credential(words.base64url_decode(passkey.id))
    sign = credential.algorithm.signer(credential.key, False)
    signature = sign(data + hashlib.sha256(words.base64url_decode(collected)).digest())
    return with_inner(
        evidence,
        clientDataJSON=collected,
        authenticatorData=words.base64url_encode(data),
        signature=words.base64url_encode(signature),
    )


def flipped(data: bytes, place: int) -> bytes:
    """With the lowest bit of one byte the other way."""
    changed = bytearray(data)
    changed[place] ^= 1
    return bytes(changed)


def quarters(data: bytes) -> dict[str, int]:
    """A byte in every quarter, the first and the last."""
    size = len(data)
    return {
        "first byte": 0,
        "first quarter": size // 8,
        "second quarter": 3 * size // 8,
        "third quarter": 5 * size // 8,
        "last quarter": 7 * size // 8,
        "last byte": size - 1,
    }


# ---- client data that is not what the browser collected


def other_challenges(issued: str) -> dict[str, Any]:
    """Challenges that are not the issued one: other bytes, whichever way they are spelled."""
    raw = words.base64url_decode(issued)
    changed = {
        f"{name} another": words.base64url_encode(flipped(raw, place))
        for name, place in quarters(raw).items()
    }
    return changed | {
        "a byte shorter": words.base64url_encode(raw[:-1]),
        "without its first byte": words.base64url_encode(raw[1:]),
        "a byte longer": words.base64url_encode(raw + b"\x00"),
        "twice": words.base64url_encode(raw + raw),
        "its first half": words.base64url_encode(raw[: len(raw) // 2]),
        "its second half": words.base64url_encode(raw[len(raw) // 2 :]),
        "backwards": words.base64url_encode(raw[::-1]),
        "empty": "",
        "in the other case": issued.swapcase(),
        "in capitals": issued.upper(),
        "a list of it": [issued],
        "an object": {"challenge": issued},
        "null": None,
        "true": True,
        "zero": 0,
    }


def other_types(right: str) -> dict[str, Any]:
    other = {"webauthn.get": "webauthn.create", "webauthn.create": "webauthn.get"}[right]
    return {
        "of the other ceremony": other,
        "in capitals": right.upper(),
        "capitalised": right.replace("webauthn", "WebAuthn"),
        "a space behind": f"{right} ",
        "more behind": f"{right}.x",
        "its beginning": "webauthn",
        "its end": right.partition(".")[2],
        "both": f"{other} {right}",
        "of a payment": "payment.get",
        "empty": "",
        "a list of it": [right],
        "null": None,
        "true": True,
    }


def other_origins(origin: str) -> dict[str, Any]:
    """Pages of somebody else whose origins are like the right one. Other ports and subdomains are
    left to the server's policy."""
    parts = urlsplit(origin)
    host, scheme, evil = parts.hostname or "", parts.scheme, "attacker.example"
    return {
        "another": f"https://{evil}",
        "with the right one as a subdomain": f"{origin}.{evil}",
        "that ends like it": f"{scheme}://attacker{host}",
        "that ends like it behind a hyphen": f"{scheme}://attacker-{host}",
        "a letter longer": f"{scheme}://{host}x",
        "a letter shorter": f"{scheme}://{host[:-1]}",
        "with the right one as its path": f"https://{evil}/{origin}",
        "with the right host as its path": f"https://{evil}/{host}",
        "with the right one as its query": f"https://{evil}?{origin}",
        "with the right one as its fragment": f"https://{evil}#{origin}",
        "with the right one as its user": f"{scheme}://{host}@{evil}",
        "before the right one": f"https://{evil} {origin}",
        "behind the right one": f"{origin} https://{evil}",
        "in a list with the right one": f"https://{evil},{origin}",
        "with a letter of another alphabet": f"{scheme}://{host[:-1]}\u0455",
        "with a zero byte": f"{origin}\u0000.{evil}",
        "of another kind": f"javascript:{origin}",
        "null as text": "null",
        "empty": "",
        "a wildcard": "*",
        "a list of the right one": [origin],
        "null": None,
        "true": True,
    }


OTHERS: Mapping[str, Callable[[str], dict[str, Any]]] = {
    "challenge": other_challenges,
    "type": other_types,
    "origin": other_origins,
}


def rewritten_client_data(response: Mapping[str, Any], member: str) -> dict[str, str]:
    """The client data of a response with one member exchanged or left out, by what was done."""
    collected = client_data_of(response)
    changed: dict[str, Any] = {
        how: {**collected, member: value}
        for how, value in OTHERS[member](collected[member]).items()
    }
    changed["left out"] = {name: one for name, one in collected.items() if name != member}
    changed["under another name"] = {
        (name.capitalize() if name == member else name): one for name, one in collected.items()
    }
    changed["deeper"] = {**changed["left out"], "clientData": {member: collected[member]}}
    return {how: written(one) for how, one in changed.items() if one != collected}
