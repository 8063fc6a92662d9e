"""The code blocks of README and the documentation, each with the place where it stands."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PAGES = [
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "virtual_authenticator" / "README.md",
    *sorted((ROOT / "docs").glob("*.md")),
    *sorted((ROOT / "examples").glob("*/README.md")),
]
_FENCE = re.compile(
    r"^(?P<indent> *)```(?P<language>[\w{}-]*)\n(?P<text>.*?)^(?P=indent)```$", re.M | re.S
)
_INDENTED = re.compile(r"(?:(?<=\n\n)|\A)(?: {4,}\S.*\n)(?:(?: {4,}.*)?\n)*")
_CONTINUED = re.compile(r"\\\n\s*")


@dataclass(frozen=True)
class Block:
    """One block of code."""

    page: Path
    line: int
    language: str
    """As the page names it; "" for an indented block or one without a name."""
    text: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    rest = text
    for found in _FENCE.finditer(text):
        indent = len(found["indent"])
        lines = [line[indent:] for line in found["text"].splitlines()]
        yield Block(page, _line(text, found.start()), found["language"], "\n".join(lines) + "\n")
        blank = re.sub(r"[^\n]", " ", found[0]).replace(" ", "")
        rest = rest.replace(found[0], blank, 1)
    for found in _INDENTED.finditer(rest):
        lines = [line.removeprefix("    ") for line in found[0].rstrip().splitlines()]
        yield Block(page, _line(rest, found.start()), "", "\n".join(lines) + "\n")


def all_blocks(*languages: str) -> list[Block]:
    found = (block for page in PAGES if page.exists() for block in blocks_of(page))
    return [one for one in found if one.language in languages]


def commands_in(block: Block) -> list[list[str]]:
    """The words of each command line in a block, as a shell would split them, without comments."""
    found = []
    for line in _CONTINUED.sub(" ", block.text).splitlines():
        if block.language == "console" and not line.startswith("$ "):
            continue  # what a command says
        if line.lstrip().startswith("mcp-approval  "):
            continue  # the suite speaks
        try:
            words = shlex.split(line.removeprefix("$ "), comments=True)
        except ValueError:  # not a command
            continue
        if words:
            found.append(words)
    return found


def _line(text: str, at: int) -> int:
    return text.count("\n", 0, at) + 1
