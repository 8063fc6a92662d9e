"""What an exploration has exercised, as data: it travels from workers and into reports. Without it
"no finding" would mean nothing. Knows no Hypothesis and no format."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..support.text import listed_shortly, neutralise, number_of

_LONGEST = 200
_MOST = 500


@dataclass(frozen=True)
class Explored:
    """One family, explored."""

    family: str
    seconds: float = 0.0
    walks: int = 0
    steps: int = 0
    requests: int = 0
    states: int = 0
    findings: int = 0
    seeds: tuple[int, ...] = ()
    transitions: Mapping[str, int] = field(default_factory=dict)
    """How often each was made, by its words; zero if never."""
    rules: Mapping[str, int] = field(default_factory=dict)
    """How often each rule was compared with what came; zero for a rule that the model could check
    and did not."""
    notes: tuple[str, ...] = ()
    """Why walks ended early, and what was seen once and never again."""

    @property
    def line(self) -> str:
        """The whole in one line."""
        made = sum(1 for count in self.transitions.values() if count)
        return (
            f"{self.seconds:.0f} s · {number_of(self.walks, 'walk')} · "
            f"{number_of(self.steps, 'step')} · {number_of(self.states, 'state')} · "
            f"{made} of {len(self.transitions)} transitions · "
            f"{sum(1 for count in self.rules.values() if count)} of {len(self.rules)} rules · "
            f"{number_of(self.findings, 'finding') if self.findings else 'no finding'} · "
            f"seed {listed_shortly([str(one) for one in dict.fromkeys(self.seeds)], 3)}"
        )

    @property
    def missed(self) -> list[str]:
        """The transitions that were never made."""
        return [name for name, count in self.transitions.items() if not count]

    def to_json(self) -> dict[str, Any]:
        return {
            "family": self.family,
            "seconds": round(self.seconds, 3),
            "walks": self.walks,
            "steps": self.steps,
            "requests": self.requests,
            "states": self.states,
            "findings": self.findings,
            "seeds": list(self.seeds),
            "transitions": dict(self.transitions),
            "rules": dict(self.rules),
            "notes": list(self.notes),
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> Explored:
        """From a report, which somebody else may have written."""
        return cls(
            family=_shown(data["family"]),
            seconds=float(data["seconds"]),
            **{
                name: int(data[name])
                for name in ("walks", "steps", "requests", "states", "findings")
            },
            seeds=tuple(int(one) for one in data["seeds"]),
            transitions=_counts(data["transitions"]),
            rules=_counts(data["rules"]),
            notes=tuple(_shown(one) for one in data["notes"]),
        )


def together(explored: Iterable[Explored]) -> tuple[Explored, ...]:
    """One for each family: workers and machines explore the same one with different seeds."""
    found: dict[str, Explored] = {}
    for one in explored:
        before = found.get(one.family, Explored(one.family))
        found[one.family] = Explored(
            one.family,
            seconds=before.seconds + one.seconds,
            walks=before.walks + one.walks,
            steps=before.steps + one.steps,
            requests=before.requests + one.requests,
            # They may be the same ones: what is certain is told.
            states=max(before.states, one.states),
            findings=before.findings + one.findings,
            seeds=(*before.seeds, *one.seeds),
            transitions=_sum(before.transitions, one.transitions),
            rules=_sum(before.rules, one.rules),
            notes=tuple(dict.fromkeys((*before.notes, *one.notes))),
        )
    return tuple(found[name] for name in sorted(found))


def _sum(one: Mapping[str, int], other: Mapping[str, int]) -> dict[str, int]:
    counts = Counter(one) + Counter(other)
    return {name: counts[name] for name in (*one, *(name for name in other if name not in one))}


def _counts(data: Mapping[str, Any]) -> dict[str, int]:
    return {_shown(name): int(count) for name, count in list(data.items())[:_MOST]}


def _shown(text: Any) -> str:
    return neutralise(str(text), _LONGEST)
