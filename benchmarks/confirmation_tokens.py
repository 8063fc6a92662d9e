"""Figures of the confirmation gate: what issuing and redeeming cost with few and many tokens.

    python -m benchmarks.confirmation_tokens

Writes benchmarks/results/confirmation_tokens.md. For each store the gates with few and with many
live tokens take turns in one run, under the same conditions.
"""

from __future__ import annotations

import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from benchmarks import sanity
from pytest_mcp_approval.families.confirmation_tokens.vocabulary import Danger
from pytest_mcp_approval.reference_server.confirmation_tokens.gate import ConfirmationGate
from pytest_mcp_approval.reference_server.confirmation_tokens.records import AdapterOperation
from pytest_mcp_approval.reference_server.confirmation_tokens.refusals import TokenRefusal
from pytest_mcp_approval.reference_server.confirmation_tokens.settings import (
    ConfirmationSettings,
    RateLimit,
)
from pytest_mcp_approval.reference_server.confirmation_tokens.store import (
    TokenStore,
)
from pytest_mcp_approval.reference_server.server.clock import SettableClock

ROOT = Path(__file__).parent.parent
RESULTS = ROOT / "benchmarks" / "results" / "confirmation_tokens.md"
SIZES = (10, 1_000, 100_000)
ROUNDS = 400
PARAMS = {"owner": "acme", "repo": "widgets", "force": False}
AIM = 1.5


def gate_over(store: TokenStore) -> ConfirmationGate:
    operation = AdapterOperation(
        "delete_repo", Danger.DESTRUCTIVE, lambda _: {}, critical=("owner", "repo", "force")
    )
    # The limits are on, but so wide that they are never reached.
    wide = RateLimit(10_000_000)
    settings = ConfirmationSettings(issue_limit=wide, failure_limit=wide, revocation_limit=wide)
    return ConfirmationGate([operation], store=store, clock=SettableClock(), settings=settings)


def issue(gate: ConfirmationGate) -> str:
    try:
        gate.perform("delete_repo", PARAMS, user="somebody")
    except TokenRefusal as refusal:
        return str(refusal.details["confirmation_token"])
    raise AssertionError("not gated")


def redeem(gate: ConfirmationGate, token: str) -> None:
    gate.perform("delete_repo", {**PARAMS, "confirmation_token": token}, user="somebody")


def measure(make: Callable[[int], TokenStore]) -> dict[int, tuple[float, float]]:
    """Median seconds to issue and to redeem a token, by the number of live tokens."""
    gates = {size: gate_over(make(size)) for size in SIZES}
    for size, gate in gates.items():
        print(f"benchmark: filling a store with {size} tokens", flush=True)
        record = gate.store.get(issue(gate))
        assert record is not None
        for number in range(size - 1):
            gate.store.add(replace(record, id=f"conf_{number:043d}"))
    issues: dict[int, list[float]] = {size: [] for size in SIZES}
    redemptions: dict[int, list[float]] = {size: [] for size in SIZES}
    for _ in range(ROUNDS):
        for size, gate in gates.items():
            started = time.perf_counter()
            token = issue(gate)
            middle = time.perf_counter()
            redeem(gate, token)
            issues[size].append(middle - started)
            redemptions[size].append(time.perf_counter() - middle)
    for gate in gates.values():
        gate.store.close()
    return {
        size: (statistics.median(issues[size]), statistics.median(redemptions[size]))
        for size in SIZES
    }


def rows(name: str, found: dict[int, tuple[float, float]]) -> list[str]:
    least, most = found[SIZES[0]], found[SIZES[-1]]
    lines = [
        f"| {name} | {size:,} | {cost[0] * 1e6:.0f} | {cost[1] * 1e6:.0f} |"
        for size, cost in found.items()
    ]
    ratios = [
        sanity.ratio(many / few, f"{name}: 100,000 to 10")
        for many, few in zip(most, least, strict=True)
    ]
    return [
        *lines,
        f"| {name}: 100,000 to 10 | ratio | {ratios[0]:.2f} | {ratios[1]:.2f} |",
    ]


def main() -> None:
    in_memory = measure(lambda _: TokenStore())
    with tempfile.TemporaryDirectory() as folder:
        in_sqlite = measure(lambda size: TokenStore(f"sqlite:///{folder}/tokens-{size}.db"))
    report = "\n".join(
        [
            "# Figures of the confirmation gate",
            "",
            f"One run; Python {platform.python_version()}, {platform.machine()}; medians of "
            f"{ROUNDS} rounds in microseconds, rate limits and audit log included. The ratios are "
            f"to be at most {AIM}. Made by `python -m benchmarks.confirmation_tokens`.",
            "",
            "| store | live tokens | issue | redeem |",
            "|---|---|---|---|",
            *rows("memory", in_memory),
            *rows("SQLite", in_sqlite),
            "",
        ]
    )
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report, encoding="utf-8")
    print(report)


if __name__ == "__main__":
    main()
