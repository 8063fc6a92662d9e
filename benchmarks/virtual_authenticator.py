"""Figures of the virtual authenticator and its peers: medians of one run.

    python -m benchmarks.virtual_authenticator [--rounds N]

Writes benchmarks/results/virtual_authenticator.md. On the first run the peers are installed, with
pinned versions, into their own environments under .venv-benchmark/.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import venv
from importlib.metadata import version
from pathlib import Path

from benchmarks import sanity

ROOT = Path(__file__).parent.parent
ENVIRONMENTS = ROOT / ".venv-benchmark"
RESULTS = ROOT / "benchmarks" / "results" / "virtual_authenticator.md"
PEERS = ("soft-webauthn", "soft-fido2")
BATCH = 100

TASKS = [
    ("ours", "raw"),
    ("ours", "raw-kept"),
    ("ours", "get"),
    ("ours", "get-10000"),
    ("soft-webauthn", "get"),
    ("soft-fido2", "get"),
    ("ours", "raw-create"),
    ("soft-webauthn", "raw-create"),
    ("ours", "create-one"),
    ("ours", "create"),
    ("ours", "create-and-sign"),
    ("ours", "create-10000"),
    ("ours", "create-packed"),
    ("soft-webauthn", "create"),
    ("soft-fido2", "create"),
    ("ours-ctap", "ctap-get"),
    ("ours-ctap", "ctap-get-100000"),
]

NOTES = """\
What is compared:

- Time is that of the processor (no task waits for anything), so that other jobs count less.
- Every call of `create` and `get` has options of its own (100 in turn), is checked in full, and
  gives what a relying party takes. Ours reads and gives JSON and holds many accounts;
  soft-webauthn takes and gives bytes, checks next to nothing and holds one credential.
- "raw" signs as the documentation of cryptography writes it, with a new algorithm object a
  call; "raw-kept" keeps one, as ours does. "raw-create" is a new key pair and its public point.
- soft-webauthn's `create` replaces the one credential that it can hold. "create-one" does the same,
  for one account; "create" goes through 100 accounts, and gives back keys that no cache holds.
- A packed statement is one signature more. "create-and-sign" makes that signature beside a
  registration without statement: to `create` this is the least that packed attestation can cost.
  It is above 1.6 wherever `create` takes less than 1.7 times as long as a signature, as here.
- "ctap-get" are GetAssertion messages that name no credential. Of the 100 000 stored ones half are
  of the relying party that asks.
- Each library runs with the newest cryptography that it allows. The two lines of raw-create
  show how much of a difference that makes."""

IMPORT = """
import sys, time
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, padding, rsa
started = time.process_time()
import virtual_authenticator
print(time.process_time() - started)
"""


def environment(peer: str) -> Path:
    """The interpreter of a peer's environment, created on first use."""
    folder = ENVIRONMENTS / peer
    interpreter = folder / "bin" / "python"
    requirements = ROOT / "requirements" / f"benchmark-{peer}.txt"
    stamp = folder / ".installed"
    if not stamp.exists() or stamp.read_text() != requirements.read_text():
        print(f"benchmark: installing {peer} into {folder.relative_to(ROOT)}")
        venv.create(folder, with_pip=True, clear=True)
        pip = [str(interpreter), "-m", "pip", "--quiet", "--quiet", "--disable-pip-version-check"]
        subprocess.run(
            [*pip, "install", "--require-hashes", "--requirement", str(requirements)], check=True
        )
        stamp.write_text(requirements.read_text())
    return interpreter


class Worker:
    """A process that measures on request."""

    def __init__(self, interpreter: str | Path, module: str) -> None:
        self._process = subprocess.Popen(
            [interpreter, "-m", f"benchmarks.workers.{module}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def measure(self, task: str) -> float:
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{task} {BATCH}\n")
        self._process.stdin.flush()
        answer = self._process.stdout.readline()
        if not answer:
            raise SystemExit(f"benchmark: a worker ended while it did {task!r}")
        return float(answer) / BATCH

    def stop(self) -> None:
        self._process.communicate()


def import_seconds() -> tuple[float, float]:
    """Seconds to import it as an installed package, and from a checkout without bytecode."""
    with tempfile.TemporaryDirectory() as folder:  # a copy: the checkout may have bytecode or not
        package = Path(folder, "virtual_authenticator")
        shutil.copytree(ROOT / package.name, package, ignore=shutil.ignore_patterns("__pycache__"))

        def median(dont_write_bytecode: str) -> float:
            environ = {**os.environ, "PYTHONDONTWRITEBYTECODE": dont_write_bytecode}
            command = [sys.executable, "-c", IMPORT]
            runs = [
                float(
                    subprocess.run(
                        command, capture_output=True, text=True, check=True, cwd=folder, env=environ
                    ).stdout
                )
                for _ in range(16)
            ]
            return statistics.median(runs[1:])  # the first writes the bytecode, if any is written

        compiled_anew = median("1")
        assert not (package / "__pycache__").exists()
        return median(""), compiled_anew


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=60)
    rounds = parser.parse_args().rounds
    imported = import_seconds()  # first, before the workers have anything to do
    workers = {
        "ours": Worker(sys.executable, "ours"),
        "ours-ctap": Worker(sys.executable, "ours_ctap"),
    }
    for peer in PEERS:
        workers[peer] = Worker(environment(peer), f"{peer.replace('-', '_')}_peer")
    print(f"benchmark: {rounds} rounds of {BATCH} ceremonies for each of {len(TASKS)} tasks")
    taken: dict[tuple[str, str], list[float]] = {task: [] for task in TASKS}
    for number in range(rounds + 3):
        for owner, task in TASKS:
            seconds = workers[owner].measure(task)
            if number >= 3:  # the first rounds warm up
                taken[owner, task].append(seconds)
    for worker in workers.values():
        worker.stop()
    report = render(taken, imported, rounds)
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(report, encoding="utf-8")
    print(report)
    print(f"benchmark: written to {RESULTS.relative_to(ROOT)}")


def render(
    taken: dict[tuple[str, str], list[float]], imported: tuple[float, float], rounds: int
) -> str:
    def middle(owner: str, task: str) -> float:
        return statistics.median(taken[owner, task])

    def ratio(task: tuple[str, str], to: tuple[str, str]) -> float:
        """How many times as fast, as the median over rounds; both were measured side by side."""
        quotients = [slow / fast for slow, fast in zip(taken[to], taken[task], strict=True)]
        return sanity.ratio(statistics.median(quotients), f"{task} to {to}")

    raw, get, create = ("ours", "raw"), ("ours", "get"), ("ours", "create")
    figures = [
        ("`get` ES256 to the raw signing rate", ratio(get, raw), ""),
        (
            "soft-webauthn `get` to the same raw rate",
            ratio(("soft-webauthn", "get"), raw),
            "ours is ahead",
        ),
        (
            "`get` ES256 to the raw rate with one algorithm object kept",
            ratio(get, ("ours", "raw-kept")),
            "at least 0.7",
        ),
        ("`get` to soft-fido2's", ratio(get, ("soft-fido2", "get")), ""),
        (
            "`create` (none) to soft-webauthn's, of one account as there",
            ratio(("ours", "create-one"), ("soft-webauthn", "create")),
            "at least 1.7",
        ),
        (
            "`create` (none) to soft-webauthn's, of 100 accounts in turn",
            ratio(create, ("soft-webauthn", "create")),
            "at least 1.7",
        ),
        (
            "`create` (none) to the bare key pair",
            ratio(create, ("ours", "raw-create")),
            "",
        ),
        ("`create` (none) to soft-fido2's", ratio(create, ("soft-fido2", "create")), ""),
        (
            "time of `create` with packed attestation to that without",
            1 / ratio(("ours", "create-packed"), create),
            "at most 1.6",
        ),
        (
            "time of `create` without attestation and a bare signature to that of `create`",
            1 / ratio(("ours", "create-and-sign"), create),
            "",
        ),
        (
            "time of packed attestation to the same",
            1 / ratio(("ours", "create-packed"), ("ours", "create-and-sign")),
            "",
        ),
        ("`get`, 10 000 credentials to 1", ratio(("ours", "get-10000"), get), "0.9 to 1.1"),
        (
            "`create`, 10 000 credentials to 1",
            ratio(("ours", "create-10000"), create),
            "0.9 to 1.1",
        ),
        (
            "CTAP GetAssertion without a list, 100 000 credentials to 4",
            ratio(("ours-ctap", "ctap-get-100000"), ("ours-ctap", "ctap-get")),
            "0.9 to 1.1",
        ),
    ]
    lines = [
        "# Figures of the virtual authenticator",
        "",
        f"Medians of {rounds} rounds in one run; the libraries take turns, {BATCH} ceremonies "
        f"each. Python {platform.python_version()}, cryptography {version('cryptography')}, "
        f"{platform.machine()}. Made by `make benchmark`.",
        "",
        "| figure | measured | aim |",
        "|---|---|---|",
        *(f"| {name} | {value:.2f} | {aim} |" for name, value, aim in figures),
        f"| import beyond cryptography | {imported[0] * 1000:.0f} ms | under 60 ms |",
        f"| the same without bytecode | {imported[1] * 1000:.0f} ms | under 60 ms |",
        "",
        NOTES,
        "",
        "| task | microseconds |",
        "|---|---|",
        *(f"| {owner} {task} | {middle(owner, task) * 1e6:.1f} |" for owner, task in taken),
        "",
    ]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
