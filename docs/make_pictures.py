"""Takes the pictures of README and docs/report.md: a real run, now, of a real server.

    python -m docs.make_pictures

The server is examples/elicitation-python/stock.py: tools that ask as the SDK's helpers do it. It is
checked with `mcp-approval check`, and what the terminal and the report show then is what the
pictures show. `docs/images/run.txt` has the text of the first, for tests and for people who cannot
see it. Lines are left out (…), none is changed.
"""

from __future__ import annotations

import html
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pytest_mcp_approval.browser.starting import started_browser

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs" / "images"
EXAMPLE = ROOT / "examples" / "elicitation-python"
COMMAND = "mcp-approval check"
SETTINGS = """\
target = "stdio:python stock.py"
family = "elicitation"
effects = "tool:list_changes"

[tool]
delete_user = { user = "test-1", reason = "a test" }
suspend_user = { user = "test-1", reason = "a test" }
"""
SHOWN_FINDING = "elicitation/single-use-race"
SHOWN_RULE = "elicitation/single-use"
WIDTH = 100
SECONDS = 300
_PROGRESS = re.compile(r"mcp-approval  \d+ of \d+ rules checked, ")
_COLOUR = re.compile("\x1b\\[([0-9;]*)m")
_CLASSES = {"31": "red", "33": "yellow", "32": "green"}
_STYLE = """
body { margin: 0; }
pre { margin: 0; padding: 22px 26px; width: max-content; background: #14171c; }
pre { color: #e4e6ea; font: 15px/1.5 "DejaVu Sans Mono", "Menlo", monospace; }
.prompt { color: #8fbcff; } .red { color: #ff7b72; } .yellow { color: #e3b341; }
.green { color: #7ee787; } .soft { color: #8b949e; }
"""


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        said = real_run(folder)
        shown = list(excerpt(said))
        IMAGES.mkdir(exist_ok=True)
        text = "\n".join(_COLOUR.sub("", line) for line in shown)
        (IMAGES / "run.txt").write_text(f"$ {COMMAND}\n{text}\n", encoding="utf-8")
        _take_pictures(shown, folder / "report.html")
    for path in ("run.txt", "run.png", "report.png", "report-rule.png"):
        print(f"docs: wrote docs/images/{path}")


def real_run(folder: Path) -> list[str]:
    """What the command says about the server, in colour; report.html is in the folder."""
    shutil.copy(EXAMPLE / "stock.py", folder)
    (folder / "mcp-approval.toml").write_text(SETTINGS, encoding="utf-8")
    commands = Path(sys.executable).parent
    words = ("check", "--report", "report.html", "--", "--color=yes")
    done = subprocess.run(
        [sys.executable, "-m", "pytest_mcp_approval.command", *words],
        cwd=folder,
        env={
            **os.environ,
            "PATH": f"{commands}{os.pathsep}{os.environ['PATH']}",
            "COLUMNS": str(WIDTH),
        },
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    if done.returncode != 1:
        raise SystemExit(f"docs: expected findings, got exit code {done.returncode}: {done.stdout}")
    return [line.rstrip() for line in done.stdout.splitlines() if not _PROGRESS.match(line)]


def excerpt(said: list[str]) -> Iterator[str]:
    """The header's first lines, the sentence, one finding in full, and the end."""
    plain = [_COLOUR.sub("", line) for line in said]
    yield from said[:2]
    yield "              …"
    sentence = next(at for at, line in enumerate(plain) if " checks of " in line)
    first = next(
        at for at, line in enumerate(plain) if re.match(rf"\d+ +FAIL +{SHOWN_FINDING} ", line)
    )
    last = next(at for at in range(first, len(plain)) if not plain[at])
    found = next(at for at in range(sentence, len(plain)) if not plain[at])
    yield ""
    yield from said[sentence:found]
    yield from ("", "…", *said[first:last], "…", "")
    marks = next(at for at, line in enumerate(plain) if re.match(r"elicitation +[●✗!○-]", line))
    yield from said[marks : marks + 2]
    yield from (line for line in said[marks + 2 :] if line.startswith("report "))


def page_of(lines: list[str]) -> str:
    """A terminal with these lines."""
    rows = [f'<span class="prompt">$</span> {html.escape(COMMAND)}', *map(_coloured, lines)]
    head = f'<!doctype html><meta charset="utf-8"><style>{_STYLE}</style>'
    return f"{head}<pre>{chr(10).join(rows)}</pre>"


def _coloured(line: str) -> str:
    parts, inside = [], False
    for place, part in enumerate(_COLOUR.split(line)):
        if place % 2 == 0:
            parts.append(html.escape(part))
            continue
        parts.append("</span>" if inside else "")
        name = next((_CLASSES[one] for one in part.split(";") if one in _CLASSES), "")
        inside = bool(name)
        parts.append(f'<span class="{name}">' if name else "")
    return "".join(parts) + ("</span>" if inside else "")


def _take_pictures(lines: list[str], report: Path) -> None:
    terminal = report.with_name("terminal.html")
    terminal.write_text(page_of(lines), encoding="utf-8")
    with started_browser() as browser:
        page = browser.new_page(device_scale_factor=1.5, viewport={"width": 1100, "height": 700})
        page.goto(terminal.as_uri())
        page.locator("pre").screenshot(path=IMAGES / "run.png")
        page = browser.new_page(viewport={"width": 1180, "height": 860})
        page.goto(report.as_uri())
        page.locator("html[data-ready]").wait_for()
        page.screenshot(path=IMAGES / "report.png")
        page.goto(f"{report.as_uri()}#{SHOWN_RULE}")
        page.locator("html[data-ready]").wait_for()
        step = page.locator(f"[id='{SHOWN_RULE}'] .step.offending").first
        step.locator("summary").first.click()
        step.locator(".detail").wait_for()
        step.evaluate("one => scrollTo(0, one.getBoundingClientRect().top + scrollY - 470)")
        page.screenshot(path=IMAGES / "report-rule.png")


if __name__ == "__main__":
    main()
