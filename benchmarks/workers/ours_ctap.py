"""The virtual authenticator over CTAP, in a process of its own: what it holds here is much, and the
garbage collector walks through all of it."""

from __future__ import annotations

import os
from collections.abc import Callable

from cryptography.hazmat.primitives.asymmetric import ec

from benchmarks.workers import serve
from virtual_authenticator import Authenticator, Credential, cbor

POOL = 100


def without_a_list(stored: int) -> Callable[[int], None]:
    """GetAssertion messages that name no credential. Half of those that are stored are of the
    relying party that asks, the others of a thousand more."""
    device = Authenticator("security-key", capacity=0)
    key = ec.generate_private_key(ec.SECP256R1())  # one for all: only its holder is looked for
    for at in range(stored):
        rp_id = "example.org" if not at % 2 else f"site-{at % 1000}.example"
        identifier = at.to_bytes(16, "big")
        device.add_credential(Credential(identifier, rp_id, key, user_id=identifier))
    messages = [
        b"\x02" + cbor.encode({0x01: "example.org", 0x02: os.urandom(32)}) for _ in range(POOL)
    ]
    process = device.ctap.processor.process

    def get(count: int) -> None:
        for at in range(count):
            if process(messages[at % POOL])[0]:
                raise SystemExit("the authenticator refused an assertion")

    return get


def main() -> None:
    serve({"ctap-get": without_a_list(4), "ctap-get-100000": without_a_list(100_000)})


if __name__ == "__main__":
    main()
