"""Installs pinned requirements with pip, for this Python, and says how far it is.

    .venv/bin/python tools/install_requirements.py requirements/development.txt

One line that counts on a terminal, a line for every 25 packages elsewhere. Standard library only:
nothing else is installed yet.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path

PIP = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--no-input", "install"]
EVERY = 25
LAST_LINES = 15


def pinned(file: Path) -> int:
    return len(re.findall(r"^[\w.\[\]-]+==", file.read_text(encoding="utf-8"), re.MULTILINE))


def counted(lines: Iterable[str], total: int, *, live: bool) -> Iterator[str]:
    """What to print for pip's lines; on a terminal each replaces the last."""
    seen = 0
    for line in lines:
        if line.startswith(("Collecting ", "Requirement already satisfied: ")):
            seen += 1
            if live:
                yield f"\rsetup: {min(seen, total)} of {total} packages fetched"
            elif seen % EVERY == 0:
                yield f"setup: {min(seen, total)} of {total} packages fetched\n"
        elif line.startswith("Installing collected packages"):
            yield ("\n" if live and seen else "") + f"setup: installing {total} packages\n"


def kept(lines: Iterable[str], last: deque[str]) -> Iterator[str]:
    for line in lines:
        last.append(line)
        yield line


def main(file: Path) -> int:
    command = [*PIP, "--progress-bar=off", "--require-hashes", "--requirement", str(file)]
    last: deque[str] = deque(maxlen=LAST_LINES)
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as pip:
        assert pip.stdout is not None
        for text in counted(kept(pip.stdout, last), pinned(file), live=sys.stdout.isatty()):
            print(text, end="", flush=True)
    if pip.returncode:
        print("".join(last), end="", file=sys.stderr)
    return pip.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
