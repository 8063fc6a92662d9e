"""Serve a virtual key to other programs: `python -m virtual_authenticator.transport uhid`.

Its person approves everything. Does not know what the programs do with it.
"""

from __future__ import annotations

import argparse
import signal
import sys
import threading
from collections.abc import Sequence
from pathlib import Path

from ..authenticator import Authenticator
from ..profile import profiles
from .udp import UdpServer
from .uhid import NODE, UhidKey


def main(arguments: Sequence[str] | None = None, stop: threading.Event | None = None) -> int:
    """Serve until `stop` is set, or an interrupt comes; then save the key if it has a file."""
    given = _parser().parse_args(arguments)
    try:
        key = _key(given.shape, given.state)
        server = (
            UdpServer(key, given.port) if given.transport == "udp" else UhidKey(key, given.node)
        )
        with server:
            place = f"127.0.0.1:{server.port}" if isinstance(server, UdpServer) else given.node
            print(
                f"{key.profile.name} is plugged in at {place}; interrupt to take it out", flush=True
            )
            _wait(stop or threading.Event())
    except (OSError, ValueError) as error:
        print(f"virtual key: {error}", file=sys.stderr)
        return 1
    if given.state is not None:
        key.save(given.state)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m virtual_authenticator.transport")
    parser.add_argument("transport", choices=["udp", "uhid"])
    parser.add_argument("--shape", default="security-key", choices=list(profiles()))
    parser.add_argument("--state", type=Path, help="load the key from this file, and save it there")
    parser.add_argument("--port", type=int, default=8111, help="for udp; 0 takes any")
    parser.add_argument("--node", default=NODE, help="for uhid")
    return parser


def _key(shape: str, state: Path | None) -> Authenticator:
    if state is not None and state.exists():
        return Authenticator.load(state)
    return Authenticator(shape)


def _wait(stop: threading.Event) -> None:
    before = signal.signal(signal.SIGTERM, lambda *_: stop.set())
    try:
        stop.wait()
    except KeyboardInterrupt:
        print()
    finally:
        signal.signal(signal.SIGTERM, before)


if __name__ == "__main__":
    sys.exit(main())
