"""How the gates grow: with what is pending, with credentials, and over many ceremonies.

    python -m benchmarks.growth [--ceremonies 100000]

Writes benchmarks/results/growth.md. Few and many take turns in one run, under the same conditions.
"""

from __future__ import annotations

import argparse
import datetime
import platform
import statistics
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.approvals import KINDS, Approvals, Confirmations, Passkeys, Runs
from pytest_mcp_approval.reference_server.execution_tokens.store import SpentNonce
from pytest_mcp_approval.reference_server.prepare_confirm.records import SpentToken
from pytest_mcp_approval.reference_server.server.clock import SettableClock

RESULTS = Path(__file__).parent / "results" / "growth.md"
PENDING = (100, 1_000, 10_000, 100_000)
CREDENTIALS = (1, 100, 10_000)
ROUNDS = 60
_PIECE = 2_000
_LATER = datetime.datetime(2100, 1, 1, tzinfo=datetime.UTC)
_PAGE = 4096


def fill(table: Any, make: Callable[[int], Any], count: int) -> None:
    for start in range(0, count, _PIECE):
        table.put([make(number) for number in range(start, min(count, start + _PIECE))])


def pending(approvals: Approvals, count: int) -> None:
    """So many things of others, which have not expired."""
    store = approvals.store
    if approvals.family == "sep2672":
        _, (_, _, evidence) = approvals.approve()
        kept = store.challenge(evidence["challengeId"])
        fill(
            store._challenges,
            lambda n: replace(
                kept, challenge_id=f"pending-{n}", user=f"other {n // 100}", expires_at=_LATER
            ),
            count,
        )
    elif approvals.family == "confirmation_tokens":
        _, call = approvals.approve()
        kept = store.get(call["confirmation_token"])
        fill(
            store._tokens,
            lambda n: replace(kept, id=f"conf_{n:043d}", user=f"other {n}", expires_at=_LATER),
            count,
        )
    elif approvals.family == "execution_tokens":
        fill(store._nonces, lambda n: SpentNonce(str(uuid.UUID(int=n)), _LATER, _LATER), count)
    else:
        fill(store._spent, lambda n: SpentToken(f"spent-{n}", _LATER), count)


def credentials(approvals: Approvals, count: int) -> None:
    """So many of other users: the user's own are all in each answer, as the document has it."""
    assert isinstance(approvals, Passkeys)
    approvals.approve()
    (kept,) = approvals.store.credentials(approvals._user)
    fill(
        approvals.store._credentials,
        lambda n: replace(kept, credential_id=n.to_bytes(16, "big"), user=f"other {n}"),
        count,
    )


def growth(
    kind: type[Approvals],
    sizes: tuple[int, ...],
    prepare: Callable[[Approvals, int], None],
    urls: Iterator[str | None],
    runs: Runs,
) -> dict[int, float]:
    """Median seconds of a whole approval, by size."""
    gates = {}
    for size in sizes:
        gates[size] = kind(next(urls), runs)
        prepare(gates[size], size)
    took: dict[int, list[float]] = {size: [] for size in sizes}
    for _ in range(ROUNDS):
        for size, gate in gates.items():
            began = time.perf_counter()
            _, approval = gate.approve()
            assert gate.use(approval)
            took[size].append(time.perf_counter() - began)
    for gate in gates.values():
        gate.close()
    return {size: statistics.median(found) for size, found in took.items()}


def resident() -> int:
    """Bytes of this process in memory."""
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * _PAGE


def memory(kind: type[Approvals], ceremonies: int, runs: Runs) -> tuple[int, int, int]:
    """Bytes after a tenth of the ceremonies, half of them and all; a second passes with each."""
    clock = SettableClock()
    gate = kind(None, runs, clock)
    seen: dict[int, int] = {}
    for number in range(1, ceremonies + 1):
        _, approval = gate.approve()
        assert gate.use(approval)
        clock.advance(1)
        if number in (ceremonies // 10, ceremonies // 2, ceremonies):
            seen[number] = resident()
    gate.close()
    tenth, half, whole = seen.values()
    return tenth, half, whole


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growth")
    parser.add_argument("--ceremonies", type=int, default=100_000)
    given = parser.parse_args()
    lines: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        runs = Runs(Path(folder) / "runs")

        def files() -> Iterator[str | None]:
            while True:
                yield f"sqlite:///{folder}/{uuid.uuid4()}.db"

        def nothing() -> Iterator[str | None]:
            while True:
                yield None

        lines += [
            "| gate | store | "
            + " | ".join(f"{size:,}" for size in PENDING)
            + " | most to least |",
            "|---" * (len(PENDING) + 3) + "|",
        ]
        for family, kind in KINDS.items():
            for store, urls in (("memory", nothing()), ("SQLite", files())):
                print(f"benchmark: pending, {family}, {store}", flush=True)
                found = growth(kind, PENDING, pending, urls, runs)
                lines.append(_row(f"`{family}`", store, found))
        lines += [
            "",
            "Credentials of other users, `sep2672`:",
            "",
            "| gate | store | "
            + " | ".join(f"{size:,}" for size in CREDENTIALS)
            + " | most to least |",
            "|---" * (len(CREDENTIALS) + 3) + "|",
        ]
        for store, urls in (("memory", nothing()), ("SQLite", files())):
            print(f"benchmark: credentials, {store}", flush=True)
            found = growth(Passkeys, CREDENTIALS, credentials, urls, runs)
            lines.append(_row("`sep2672`", store, found))
        lines += [
            "",
            f"Resident memory over {given.ceremonies:,} ceremonies with the store in memory, in "
            "MB; a second passes with each. Twice as many of `confirmation_tokens`: its audit log "
            "grows up to 200,000 entries, two for each, and is cut then:",
            "",
            "| gate | after a tenth | after half | after all | all to half |",
            "|---|---|---|---|---|",
        ]
        for family, kind in KINDS.items():
            print(f"benchmark: memory, {family}", flush=True)
            times = given.ceremonies * (2 if kind is Confirmations else 1)
            tenth, half, whole = memory(kind, times, runs)
            lines.append(
                f"| `{family}` | {tenth / 1e6:.1f} | {half / 1e6:.1f} | {whole / 1e6:.1f} "
                f"| {whole / half:.2f} |"
            )
        runs.close()
    report = "\n".join(
        [
            "# How the gates grow",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}. Milliseconds of a "
            f"whole approval (made and used), medians of {ROUNDS}, with so many pending things of "
            "others: challenges, tokens, or spent marks. Made by `python -m benchmarks.growth`.",
            "",
            *lines,
            "",
        ]
    )
    RESULTS.write_text(report, encoding="utf-8")
    print(report)


def _row(name: str, store: str, found: dict[int, float]) -> str:
    least, most = found[min(found)], found[max(found)]
    cells = " | ".join(f"{took * 1000:.2f}" for took in found.values())
    return f"| {name} | {store} | {cells} | {most / least:.2f} |"


if __name__ == "__main__":
    main()
