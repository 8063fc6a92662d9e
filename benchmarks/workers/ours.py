"""The virtual authenticator, and the raw signing rate of the cryptography library beside it."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.workers import raw_create, serve
from virtual_authenticator import Authenticator
from virtual_authenticator.encoding import base64url_encode

ORIGIN = "https://example.org"
POOL = 100
"""Different messages and options that a task goes through, so that nothing is the same twice."""


def creation_options() -> dict[str, Any]:
    return {
        "rp": {"id": "example.org", "name": "Example"},
        "user": {"id": base64url_encode(os.urandom(16)), "name": "ada", "displayName": "Ada"},
        "challenge": base64url_encode(os.urandom(32)),
        "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
        "excludeCredentials": [],
        "attestation": "none",
        "authenticatorSelection": {"userVerification": "required", "residentKey": "preferred"},
    }


def request_options(credential_id: str) -> dict[str, Any]:
    return {
        "challenge": base64url_encode(os.urandom(32)),
        "rpId": "example.org",
        "allowCredentials": [{"type": "public-key", "id": credential_id, "transports": ["usb"]}],
        "userVerification": "required",
        "timeout": 60000,
    }


def raw() -> tuple[Callable[[int], None], Callable[[int], None]]:
    """Signing alone: as the library's documentation writes it, and with one algorithm object kept
    for all calls, which spares a tenth."""
    key = ec.generate_private_key(ec.SECP256R1())
    messages = [os.urandom(69) for _ in range(POOL)]

    def documented(count: int) -> None:
        for at in range(count):
            key.sign(messages[at % POOL], ec.ECDSA(hashes.SHA256()))

    def kept(count: int) -> None:
        method = ec.ECDSA(hashes.SHA256())
        for at in range(count):
            key.sign(messages[at % POOL], method)

    return documented, kept


def packed() -> Callable[[int], None]:
    """Registrations whose statement a relying party asked for."""
    device = Authenticator("security-key", capacity=0)
    creations = [{**creation_options(), "attestation": "direct"} for _ in range(POOL)]

    def create(count: int) -> None:
        for at in range(count):
            device.create(creations[at % POOL], ORIGIN)

    return create


def signed_beside() -> Callable[[int], None]:
    """Registrations without a statement, each followed by one signature: what a packed statement
    would cost if there were nothing to do but to sign it."""
    create = repeated(POOL)
    key, method = ec.generate_private_key(ec.SECP256R1()), ec.ECDSA(hashes.SHA256())
    messages = [os.urandom(200) for _ in range(POOL)]

    def both(count: int) -> None:
        for at in range(count):
            create(1)
            key.sign(messages[at % POOL], method)

    return both


def repeated(accounts: int) -> Callable[[int], None]:
    """Registrations of a few accounts, again and again: each one replaces the last of its own."""
    device = Authenticator("security-key", capacity=0)
    creations = [creation_options() for _ in range(accounts)]
    made = 0

    def create(count: int) -> None:
        nonlocal made
        for _ in range(count):
            device.create(creations[made % accounts], ORIGIN)
            made += 1

    return create


def ceremonies(stored: int) -> tuple[Callable[[int], None], Callable[[int], None]]:
    device = Authenticator("security-key", capacity=0)
    ids = [device.create(creation_options(), ORIGIN)["id"] for _ in range(stored)]
    requests = [request_options(ids[at * 7919 % stored]) for at in range(POOL)]

    def get(count: int) -> None:
        for at in range(count):
            device.get(requests[at % POOL], ORIGIN)

    # Each of these accounts has a credential already, which the new one replaces: the size stays.
    creations = [creation_options() for _ in range(POOL)]

    def create(count: int) -> None:
        for at in range(count):
            device.create(creations[at % POOL], ORIGIN)

    return get, create


def main() -> None:
    documented, kept = raw()
    get, create = ceremonies(1)
    get_among_many, create_among_many = ceremonies(10_000)
    serve(
        {
            "raw": documented,
            "raw-kept": kept,
            "raw-create": raw_create,
            "get": get,
            "create": create,
            "get-10000": get_among_many,
            "create-10000": create_among_many,
            "create-packed": packed(),
            "create-one": repeated(1),
            "create-and-sign": signed_beside(),
        }
    )


if __name__ == "__main__":
    main()
