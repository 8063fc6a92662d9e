"""Figures of the suite: what loading it costs, how its time is spent, what its wire adds.

    python -m benchmarks.suite

Writes benchmarks/results/suite.md. Ratios are medians of one run in which both sides take turns.
"""

from __future__ import annotations

import http.client
import json
import platform
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from benchmarks import sanity
from pytest_mcp_approval.support.http1 import compose_request
from pytest_mcp_approval.wire import HttpTransport, Outgoing, open_session

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "suite.md"
FAMILY = "sep2672"
PYTEST = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider"]


def seconds(command: list[str], folder: str | Path) -> tuple[float, str]:
    started = time.perf_counter()
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - started
    if done.returncode:
        raise SystemExit(f"benchmark: {' '.join(command)}\n{done.stdout}{done.stderr}")
    return taken, done.stdout


def loading(rounds: int = 25) -> float:
    """pytest on an empty test file, with the plugin and without it."""
    with tempfile.TemporaryDirectory() as folder:
        Path(folder, "test_empty.py").write_text("def test_nothing(): pass\n")
        ratios = []
        for _ in range(rounds):
            without, _ = seconds([*PYTEST, "-p", "no:mcp-approval"], folder)
            loaded, _ = seconds(PYTEST, folder)
            ratios.append(loaded / without)
    return sanity.ratio(statistics.median(ratios), "loading the plugin")


def of_family(name: str, transport: str = "http") -> list[str]:
    """The command that judges a family of the reference server, and nothing else: pytest would run
    this project's own tests as well."""
    command = [*PYTEST, f"mcp-approval/{name}", f"--mcp-approval-target=reference:{transport}"]
    # Browsers have their own benchmark.
    return [*command, "--mcp-approval-browser=none", "--mcp-approval-findings=none"]


def alone(name: str, transport: str = "http") -> dict[str, float]:
    """A whole family on the reference server, in one process."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder, "report.json")
        command = [*of_family(name, transport), f"--mcp-approval-report={report}"]
        taken, output = seconds([*command, "-p", "benchmarks.waiting"], ROOT)
        written = json.loads(report.read_text(encoding="utf-8"))
    return {"alone": taken, **figures(name, output, written)}


def family(name: str = FAMILY) -> dict[str, float]:
    """The same over HTTP, in one process and with two workers."""
    run = alone(name)
    by_two, _ = seconds([*of_family(name), "-n", "2"], ROOT)
    return {**run, **speed(run["alone"], by_two)}


def figures(name: str, output: str, report: dict[str, Any]) -> dict[str, float]:
    """What a run said on the terminal and in its report; both must agree about this family."""
    told = re.findall(r"([0-9]+) checks in ([0-9.]+) s", output)
    waited = re.search(r"waited ([0-9.]+) s of ([0-9.]+) s in ([0-9]+) calls", output)
    sanity.named(len(told), 1, "families on the terminal")
    sanity.named(waited is not None, True, "a line that says how long was waited")
    assert waited is not None
    families = {rule.partition("/")[0] for one in report["scenarios"] for rule in one["rules"]}
    sanity.named(families, {name}, "the families of the run")
    checks = sanity.count(int(told[0][0]), len(report["scenarios"]), f"checks of {name}")
    in_checks = sanity.measured(float(told[0][1]), "seconds in checks", at_most=float(waited[2]))
    return {
        "checks": checks,
        "calls": sanity.measured(int(waited[3]), "calls"),
        "checks per second": checks / in_checks,
        "waiting": sanity.share(float(waited[1]) / float(waited[2]), "waiting for the target"),
    }


def speed(by_one: float, by_two: float) -> dict[str, float]:
    # Two workers may be a bit more than twice as fast, on a warm machine, but not more.
    gained = sanity.measured(by_one / by_two, "one process to two workers", at_most=2.2)
    return {"by two": by_two, "speed-up": gained}


class _BareConnection:
    """The same bytes over a plain socket, with the settings that save it from waiting for
    acknowledgements: otherwise 40 ms of the system's own would be measured."""

    def __init__(self, url: str, prepared: Outgoing) -> None:
        parts = urlsplit(url)
        headers = (
            ("Host", parts.netloc),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            *prepared.headers,
        )
        self._payload = compose_request("POST", parts.path, headers, prepared.body)
        self._socket = socket.create_connection((parts.hostname or "", parts.port or 80))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def round_trip(self) -> None:
        self._socket.sendall(self._payload)
        if hasattr(socket, "TCP_QUICKACK"):
            self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_QUICKACK, 1)
        response = http.client.HTTPResponse(self._socket, method="POST")
        response.begin()
        sanity.named(response.status, 200, "the status of the bare round trip")
        response.read()

    def close(self) -> None:
        self._socket.close()


def overhead(rounds: int = 300) -> float:
    """A call through our wire, relative to a bare round trip of the same bytes on one
    connection."""
    server = subprocess.Popen(
        [sys.executable, "-m", "pytest_mcp_approval.reference_server", "--http", "localhost:0"],
        stdout=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    try:
        assert server.stdout is not None
        url = server.stdout.readline().removeprefix("ready: ").strip()
        with HttpTransport(url) as transport, open_session(transport, "2026-07-28") as session:
            bare = _BareConnection(url, session.prepare("tools/list"))
            ratios = []
            for _ in range(rounds):
                started = time.perf_counter()
                bare.round_trip()
                middle = time.perf_counter()
                session.call("tools/list")
                ratios.append((time.perf_counter() - middle) / (middle - started))
            bare.close()
        # What wraps a round trip cannot be much quicker than the round trip itself.
        return sanity.measured(
            statistics.median(ratios), "a call to the bare round trip", at_least=0.9, at_most=10
        )
    finally:
        server.terminate()
        server.wait(10)


def main() -> None:
    print("benchmark: loading the plugin")
    loaded = loading()
    print(f"benchmark: all of {FAMILY} over HTTP, alone and by two workers")
    run = family()
    print("benchmark: the wire's overhead")
    added = overhead()
    rows = [
        ("pytest with the plugin, unused, to pytest without it", f"{loaded:.3f}", "at most 1.02"),
        (f"checks of {FAMILY} over HTTP", f"{run['checks']:.0f}", "at least 300"),
        ("checks per second", f"{run['checks per second']:.0f}", ""),
        ("share of the time that is waiting for the target", f"{run['waiting']:.2f}", ">= 0.5"),
        ("-n 2 to one process, whole command", f"{run['speed-up']:.2f}", "at least 1.5"),
        ("a call to the bare round trip of the same bytes", f"{added:.2f}", "at most 1.5"),
    ]
    report = "\n".join(
        [
            "# Figures of the suite",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}. "
            f"Alone {run['alone']:.1f} s, by two workers {run['by two']:.1f} s, "
            f"{run['calls']:.0f} calls. Made by `make benchmark`.",
            "",
            "| figure | measured | aim |",
            "|---|---|---|",
            *(f"| {name} | {value} | {aim} |" for name, value, aim in rows),
            "",
        ]
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
