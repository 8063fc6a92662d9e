"""One program for each library that is measured, each in an environment of its own.

A worker reads lines `task count` and answers each with the processor's seconds that it took; so the
driver can take turns among them, and what else the machine does hits all of them alike.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping

from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec


def serve(tasks: Mapping[str, Callable[[int], None]]) -> None:
    """Answer until the input ends."""
    for line in sys.stdin:
        name, count = line.split()
        task, repeats = tasks[name], int(count)
        started = time.process_time()
        task(repeats)
        print(time.process_time() - started, flush=True)


def raw_create(count: int) -> None:
    """What every registration has to do at least: a key pair, and the public key as bytes."""
    for _ in range(count):
        public = ec.generate_private_key(ec.SECP256R1()).public_key()
        public.public_bytes(
            serialization.Encoding.X962, serialization.PublicFormat.UncompressedPoint
        )
