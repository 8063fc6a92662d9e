"""Conversations and findings in a page: compressed in blocks, unpacked when somebody opens one.

A block is small enough to be unpacked at once, and large enough to compress well (deflate
looks back 32 KiB). Knows no HTML.
"""

from __future__ import annotations

import base64
import json
import shlex
import zlib
from typing import Any
from urllib.parse import quote

from .keeping import by_interest, rank, room_for
from .model import Report
from .replay import finding_head, finding_of
from .results import ScenarioResult, kind_of_file

_BLOCK = 192 * 1024
"""Characters of JSON, about."""
_FOR_EACH_CHECK = 2_300
"""Bytes of packed conversations: a page of a thousand checks stays below three megabytes."""


def pack(text: str) -> str:
    """JSON text, deflated, in base64."""
    squeezed = zlib.compressobj(9, zlib.DEFLATED, -15)
    return base64.b64encode(squeezed.compress(text.encode("ascii")) + squeezed.flush()).decode()


def link_to(path: str, prefix: str) -> str:
    """An address of a file that was kept, always a relative one: no scheme gets through."""
    whole = f"{prefix}/{path}" if prefix else f"./{path}"
    return quote(whole.replace("\\", "/"))


def packed_blocks(report: Report, prefix: str = "") -> dict[str, str]:
    """What the page's script needs, by the name of its block; `prefix` leads to the files."""
    places: dict[str, tuple[str, int]] = {}
    blocks: dict[str, str] = {}
    held: list[str] = []
    size = taken = 0
    room = room_for(report, _FOR_EACH_CHECK)
    for one in by_interest(report):
        if taken >= room:
            break
        # A conversation is JSON text already: there is no need to read it here.
        held.append(one.conversation)
        places[one.scenario] = (str(len(blocks)), len(held) - 1)
        size += len(one.conversation)
        if size > _BLOCK:
            packed = pack(f"[{','.join(held)}]")
            blocks[str(len(blocks))] = packed
            taken += len(packed)
            held, size = [], 0
    if held:
        blocks[str(len(blocks))] = pack(f"[{','.join(held)}]")
    index = json.dumps(_index(report, places, prefix), separators=(",", ":"), ensure_ascii=True)
    blocks["index"] = pack(index)
    return blocks


def _index(report: Report, places: dict[str, tuple[str, int]], prefix: str) -> dict[str, Any]:
    numbers = {one.scenario: number for number, one in enumerate(report.scenarios)}
    can_save = report.facts.options is not None
    return {
        "rules": [
            [numbers[one.scenario] for one in sorted(rule.scenarios, key=rank)]
            for rule in report.rules
        ],
        "scenarios": [
            _entry(one, places.get(one.scenario), prefix) | (_to_save(one) if can_save else {})
            for one in report.scenarios
        ],
        "finding": finding_head(report.facts) if can_save else None,
    }


def _to_save(one: ScenarioResult) -> dict[str, Any]:
    """What a reader of the page, who does not have the run's folder, needs to run it again: the
    finding, and the command for a file beside them."""
    if not one.replay:
        return {}
    words = [
        f"{word.partition('=')[0]}={one.replay}" if _is_replay(word, one) else word
        for word in shlex.split(one.again)
    ]
    return {"saved": {"name": one.replay, "finding": finding_of(one), "command": shlex.join(words)}}


def _is_replay(word: str, one: ScenarioResult) -> bool:
    return word.startswith("--") and word.endswith(one.replay) and "replay=" in word


def _entry(one: ScenarioResult, place: tuple[str, int] | None, prefix: str) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "name": one.name,
        "family": one.rules[0].partition("/")[0] if one.rules else "",
        "verdict": str(one.verdict),
        "seconds": round(one.seconds, 4),
        "again": one.again,
        "command": one.command,
    }
    if one.why:
        entry["why"] = one.why
    if one.evidence is not None:
        entry["evidence"] = [*vars(one.evidence).values()]
    if one.files:
        entry["files"] = [[kind_of_file(path), path, link_to(path, prefix)] for path in one.files]
    if place is not None:
        entry["block"], entry["place"] = place
    elif one.conversation:
        entry["leftOut"] = True
    return entry
