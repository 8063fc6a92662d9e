"""The demonstration apps on their own, for a gateway that is not ours.

Says where they are and prints descriptors that point there; runs until it is told to end.
"""

from __future__ import annotations

import argparse
import json
import signal
import sys
import threading
from collections.abc import Sequence

from ... import missing_extra

PROGRAM = "python -m pytest_mcp_approval.reference_server.gateway_consent.demonstration_app"


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0 after a clean end, 2 for what cannot be started."""
    options = argparse.ArgumentParser(
        prog=PROGRAM,
        description="Demonstration apps for a gateway: OAuth 2.0, API keys, app credentials, "
        "cookies. Loopback only, on a free port.",
    )
    options.add_argument(
        "--redirect-uri",
        action="append",
        default=[],
        metavar="URL",
        help="where the gateway takes OAuth's answers, exactly; repeatable",
    )
    options.add_argument(
        "--clock-file",
        metavar="PATH",
        help="take the time from this file: +61 shifts it, an instant stops it",
    )
    given = options.parse_args(arguments)
    try:
        return _run(given)
    except ModuleNotFoundError as error:
        print(f"{PROGRAM}: {missing_extra(error)}", file=sys.stderr)
    except (ValueError, OSError) as error:
        print(f"{PROGRAM}: {error}", file=sys.stderr)
    return 2


def _run(given: argparse.Namespace) -> int:
    from ...server.clock import FileClock, SystemClock
    from .app import DemonstrationApp, descriptors_at

    clock = FileClock(given.clock_file) if given.clock_file else SystemClock()
    clock.now()
    app = DemonstrationApp(clock, redirect_uris=lambda: given.redirect_uri)
    ended = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: ended.set())
    url = app.start()
    try:
        print(json.dumps(descriptors_at(url), indent=2))
        print(f"ready: {url}", flush=True)
        ended.wait()
    finally:
        app.stop()
    return 0


if __name__ == "__main__":
    sys.exit(main())
