"""What the strict door costs: by the size of a message, and for somebody else meanwhile.

    python -m benchmarks.door

Each shape is the worst of its kind that a sender could choose. Processor time is measured in this
process; the wait of a small request while large ones arrive, at a server in another one.
"""

from __future__ import annotations

import http.client
import platform
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks import sanity
from pytest_mcp_approval.reference_server.server import door

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "door.md"
SIZES = (64 * 1024, 512 * 1024, 4 * 1024 * 1024 - 1024)
ROUNDS = 5
GROWTH = 3.0
"""At most this many times the time for a byte, from the smallest size to the largest."""
REQUESTS = 200
DEADLINE = 60.0

HEAD = b'{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"t","arguments":'


def _members(size: int, last: bytes = b"") -> bytes:
    names = b",".join(b'"%07d":1' % number for number in range(size // 12 - 20))
    return HEAD + b"{" + names + last + b"}}}"


def _repeated(piece: bytes, size: int) -> bytes:
    return HEAD + b"[" + piece * ((size - len(HEAD) - 10) // len(piece)) + b"0]}}"


SHAPES: dict[str, Callable[[int], bytes]] = {
    "one long text": lambda size: HEAD + b'"' + b"x" * (size - 100) + b'"}}',
    "a text of escapes": lambda size: HEAD + b'"' + b"\\u0041" * (size // 6 - 20) + b'"}}',
    "a text of commas": lambda size: HEAD + b'"' + b"," * (size - 100) + b'"}}',
    "quotation marks, no end": lambda size: HEAD + b'"' + b'\\"' * (size // 2 - 50),
    "empty lists": lambda size: _repeated(b"[],", size),
    "nested lists": lambda size: _repeated(b"[" * 90 + b"]" * 90 + b",", size),
    "long numbers": lambda size: _repeated(b"0." + b"1" * 300 + b",", size),
    "members": _members,
    "a member twice": lambda size: _members(size, b',"0000001":1'),
}


def seconds_of(body: bytes) -> tuple[float, str]:
    """The least of some measurements, and what the door said."""
    found, said = [], "in"
    for _ in range(ROUNDS):
        started = time.process_time()
        try:
            door.check(body)
        except door.DoorRefusal as refusal:
            said = str(refusal).partition(",")[0].removeprefix("message: ")
        found.append(time.process_time() - started)
    return min(found), said


def growth() -> list[str]:
    lines = []
    for name, make in SHAPES.items():
        print(f"benchmark: {name}", flush=True)
        cells, costs, said = [], [], ""
        for size in SIZES:
            body = make(size)
            sanity.measured(len(body), name, at_most=door.MAXIMUM_BYTES)
            seconds, said = seconds_of(body)
            sanity.measured(seconds, name)
            costs.append(seconds / len(body))
            cells.append(f"{seconds * 1000:.2f}")
        grown = sanity.ratio(costs[-1] / costs[0], name)
        lines.append(f"| {name} | {' | '.join(cells)} | {grown:.2f} | {said} |")
    return lines


@contextmanager
def running() -> Iterator[int]:
    command = [
        sys.executable,
        "-m",
        "pytest_mcp_approval.reference_server",
        "--http",
        "localhost:0",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        try:
            assert server.stdout is not None
            yield int(server.stdout.readline().rpartition(":")[2].partition("/")[0])
        finally:
            server.terminate()


def post(port: int, body: bytes) -> None:
    connection = http.client.HTTPConnection("localhost", port, timeout=DEADLINE)
    try:
        accept = {"Content-Type": "application/json", "Accept": "application/json"}
        connection.request("POST", "/mcp", body, accept)
        connection.getresponse().read()
    finally:
        connection.close()


def waits(port: int) -> list[float]:
    """Seconds until small requests are answered, one after the other."""
    found = []
    for _ in range(REQUESTS):
        started = time.perf_counter()
        connection = http.client.HTTPConnection("localhost", port, timeout=DEADLINE)
        connection.request("GET", "/effects")
        connection.getresponse().read()
        connection.close()
        found.append(time.perf_counter() - started)
    return found


def neighbours() -> list[str]:
    """The waits of a small request: alone, and while two senders send one large body on another."""
    shapes = {
        "none": b"",
        "a member twice, 4 MB": SHAPES["a member twice"](SIZES[-1]),
        "nested lists, 200,000 values": SHAPES["nested lists"](380_000),
        "one long text, 4 MB": SHAPES["one long text"](SIZES[-1]),
    }
    lines = []
    for name, body in shapes.items():
        print(f"benchmark: a small request beside {name}", flush=True)
        with running() as port:
            waits(port)
            done = threading.Event()

            def send(port: int = port, body: bytes = body, done: threading.Event = done) -> None:
                while body and not done.is_set():
                    post(port, body)

            senders = [threading.Thread(target=send) for _ in range(2)]
            for sender in senders:
                sender.start()
            found = waits(port)
            done.set()
            for sender in senders:
                sender.join(DEADLINE)
        median = sanity.measured(statistics.median(found), name)
        lines.append(f"| {name} | {median * 1000:.1f} | {max(found) * 1000:.1f} |")
    return lines


def main() -> None:
    sizes = " | ".join(f"{size // 1024} KB" for size in SIZES)
    report = "\n".join(
        [
            "# Figures of the strict door",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}. Milliseconds of "
            f"processor time, the least of {ROUNDS}. Growth is the time for a byte at the largest "
            f"size to that at the smallest: 1 is linear, {SIZES[-1] // SIZES[0]} would be "
            f"quadratic; it is to be at most {GROWTH:g}. Made by `python -m benchmarks.door`.",
            "",
            f"| message | {sizes} | growth | the last one |",
            "|---|---|---|---|---|---|",
            *growth(),
            "",
            f"How long a small request waits, in milliseconds ({REQUESTS} of them), while two "
            "others send large messages without a pause:",
            "",
            "| large messages | median | longest |",
            "|---|---|---|",
            *neighbours(),
            "",
        ]
    )
    RESULTS.write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
