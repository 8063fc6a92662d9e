"""soft-fido2: one authenticator object for each credential."""

from __future__ import annotations

import base64
import os

from soft_fido2 import Fido2Authenticator, KeyPair

from benchmarks.workers import serve


def text(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def main() -> None:
    creations = [
        {
            "rp": {"id": "example.org", "name": "Example"},
            "user": {"id": text(os.urandom(16)), "name": "ada", "displayName": "Ada"},
            "challenge": text(os.urandom(32)),
            "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
            "attestation": "none",
            "timeout": 60000,
            "excludeCredentials": [],
        }
        for _ in range(100)
    ]
    requests = [
        {"challenge": text(os.urandom(32)), "rpId": "example.org", "timeout": 60000}
        for _ in range(100)
    ]
    device = Fido2Authenticator(keyPair=KeyPair.generate_ecdsa())
    device.credential_create(creations[0], "none")

    def get(count: int) -> None:
        for at in range(count):
            device.credential_request(requests[at % 100])

    def create(count: int) -> None:
        # A new credential is a new object with a new key.
        for at in range(count):
            fresh = Fido2Authenticator(keyPair=KeyPair.generate_ecdsa())
            fresh.credential_create(creations[at % 100], "none")

    serve({"get": get, "create": create})


if __name__ == "__main__":
    main()
