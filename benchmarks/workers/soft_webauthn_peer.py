"""soft-webauthn: holds one credential, has no JSON layer (its options are bytes)."""

from __future__ import annotations

import os

from soft_webauthn import SoftWebauthnDevice

from benchmarks.workers import raw_create, serve

ORIGIN = "https://example.org"


def main() -> None:
    device = SoftWebauthnDevice()
    creations = [
        {
            "publicKey": {
                "rp": {"id": "example.org", "name": "Example"},
                "user": {"id": os.urandom(16)},
                "challenge": os.urandom(32),
                "pubKeyCredParams": [{"type": "public-key", "alg": -7}],
                "attestation": "none",
            }
        }
        for _ in range(100)
    ]
    device.create(creations[0], ORIGIN)
    requests = [
        {"publicKey": {"challenge": os.urandom(32), "rpId": "example.org"}} for _ in range(100)
    ]

    def get(count: int) -> None:
        for at in range(count):
            device.get(requests[at % 100], ORIGIN)

    def create(count: int) -> None:
        for at in range(count):
            device.create(creations[at % 100], ORIGIN)

    serve({"get": get, "create": create, "raw-create": raw_create})


if __name__ == "__main__":
    main()
