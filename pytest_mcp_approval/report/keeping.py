"""Which conversations a report keeps: the most useful first, until there is no more room.

Too large a report cannot be opened. For the JSON report, whatever repeats in conversations is kept
once, under its digest. Knows no file.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from ..catalogue import Verdict
from .model import Report
from .normalising import gist
from .results import ScenarioResult
from .shown import SHOWN

_MANY = 1_000
_WORTH_SHARING = 100
"""Characters: a reference takes some room, too."""
_BODIES = ("sent", "received")
_HEADERS = ("requestHeaders", "responseHeaders")


def room_for(report: Report, for_each: int) -> int:
    """How much room all conversations may take; a small run has as much as a large one."""
    return for_each * max(_MANY, len(report.scenarios))


def by_interest(report: Report) -> list[ScenarioResult]:
    """The checks that have a conversation: the example of each finding, one for each reason why
    something was not checked, one for each rule, and then the rest."""
    first = [one.example.scenario for one in report.findings]
    reasons = {
        gist(one.why): one.scenario
        for one in reversed(report.scenarios)
        if one.verdict in (Verdict.NOT_VERIFIED, Verdict.HARNESS_ERROR)
    }
    one_a_rule = [min(rule.scenarios, key=rank).scenario for rule in report.rules]
    names = dict.fromkeys((*first, *reasons.values(), *one_a_rule))
    ranks = {name: place for place, name in enumerate(names)}
    told = [one for one in report.scenarios if one.conversation]
    return sorted(told, key=lambda one: (ranks.get(one.scenario, len(ranks)), *rank(one)))


def rank(one: ScenarioResult) -> tuple[int, str]:
    """Problems before passed checks."""
    return -SHOWN[one.verdict].rank, one.scenario


# ---- what repeats


@dataclass
class SharedConversations:
    """Those that were kept, by scenario, and what they refer to, by digest."""

    conversations: dict[str, Any] = field(default_factory=dict)
    bodies: dict[str, dict[str, Any]] = field(default_factory=dict)
    headers: dict[str, list[Any]] = field(default_factory=dict)


def shared_conversations(scenarios: Iterable[ScenarioResult], room: int) -> SharedConversations:
    """The conversations that fit into so many characters."""
    kept = SharedConversations()
    seen: Counter[str] = Counter()
    for one in scenarios:
        told = json.loads(one.conversation)
        digests = [_digest(part) for _, _, part in _parts(told)]
        # Anything already kept costs only a reference.
        again = {digest: size for digest, size in digests if seen[digest]}
        cost = len(one.conversation) - sum(again.values())
        if cost <= room:
            room -= cost
            kept.conversations[one.scenario] = told
            seen.update(digest for digest, _ in digests)
    for told in kept.conversations.values():
        _refer(told, seen, kept)
    return kept


def _refer(told: dict[str, Any], seen: Counter[str], kept: SharedConversations) -> None:
    """Replaces parts that occur more than once."""
    for step, name, part in list(_parts(told)):
        digest, size = _digest(part)
        if seen[digest] < 2 or size < _WORTH_SHARING:
            continue
        if name in _HEADERS:
            kept.headers[digest] = part
            step[name] = {"ref": digest}
        else:
            kept.bodies[digest] = {key: part[key] for key in ("text", "base64") if key in part}
            rest = {key: value for key, value in part.items() if key not in ("text", "base64")}
            step[name] = {**rest, "ref": digest}


def _parts(told: dict[str, Any]) -> Iterator[tuple[dict[str, Any], str, Any]]:
    for step in told["steps"]:
        for name in (*_BODIES, *_HEADERS):
            if name in step:
                yield step, name, step[name]


def _digest(part: Any) -> tuple[str, int]:
    """A name for what is kept of it, as it is shown: secrets are hidden already."""
    if not isinstance(part, dict):
        text = json.dumps(part)
        data = text.encode()
    elif "base64" in part:
        text = part["base64"]
        data = base64.b64decode(text)
    else:
        text = part["text"]
        data = text.encode("utf-8", "surrogatepass")
    return f"sha256:{hashlib.sha256(data).hexdigest()}", len(text)
