"""Set-up says how far it is, and why it stopped."""

from __future__ import annotations

import runpy
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
# By its path: an example that is judged in this process has a module called `tools` too.
SCRIPT = runpy.run_path(str(ROOT / "tools" / "install_requirements.py"))
counted, pinned = SCRIPT["counted"], SCRIPT["pinned"]
LINES = [
    *(f"Collecting package{number}==1.0\n" for number in range(60)),
    "  Using cached package.whl\n",
    "Installing collected packages: package0\n",
]


def test_elsewhere_a_line_for_every_25_packages():
    assert list(counted(LINES, 60, live=False)) == [
        "setup: 25 of 60 packages fetched\n",
        "setup: 50 of 60 packages fetched\n",
        "setup: installing 60 packages\n",
    ]


def test_on_a_terminal_one_line_that_counts():
    said = list(counted(LINES, 60, live=True))
    assert said[0] == "\rsetup: 1 of 60 packages fetched"
    assert said[-2] == "\rsetup: 60 of 60 packages fetched"
    assert said[-1] == "\nsetup: installing 60 packages\n"


def test_our_own_requirements_are_counted():
    """Extras and markers belong to a name; comments and hashes are no packages."""
    text = (ROOT / "requirements" / "development.txt").read_text(encoding="utf-8")
    starts = [line for line in text.splitlines() if line and line[0] not in " #"]
    assert pinned(ROOT / "requirements" / "development.txt") == len(starts) > 20


def test_what_pip_said_is_shown_when_it_fails(tmp_path):
    wrong = tmp_path / "wrong.txt"
    wrong.write_text("no == such == thing\n", encoding="utf-8")  # pip asks nobody for that
    done = subprocess.run(
        [sys.executable, str(ROOT / "tools" / "install_requirements.py"), str(wrong)],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "Invalid requirement" in done.stderr
