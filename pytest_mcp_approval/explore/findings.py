"""What an exploration found: a walk that breaks a rule, short, checked again and ready to paste.

Runs walks without Hypothesis: a finding is replayed, and a team's pasted test runs, without the
extra.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..config.registry import FamilyError, registered
from ..families.base.exploration import BrokenRule, Exercised, Model, Step, walk
from ..support.recording import Recording
from ..target import Target

ROLE = "exploration"
"""The module of a family that has its model."""
_SLUG = re.compile(r"[^a-z0-9]+")
_LONGEST_SLUG = 50
_LONGEST_COMMENT = 110


@dataclass(frozen=True)
class ExploredFinding:
    """A walk that breaks a rule."""

    broken: BrokenRule
    walk: tuple[Step, ...]
    told: tuple[str, ...]
    """Its steps in words, with what came of each."""
    after: int
    """How many walks had been made when it was found."""
    found_with: int
    """How many steps it had when it was found."""
    record: Recording | None = None
    """What went over the wire when it was checked again."""

    @property
    def name(self) -> str:
        """The same in every run that finds it."""
        rule, cause = self.broken.key
        print_ = hashlib.sha256(f"{rule} {cause}".encode()).hexdigest()[:6]
        return f"{rule.partition('/')[2]}-{print_}"

    @property
    def sent(self) -> str:
        how = f"step {len(self.told)} of {len(self.told)}" if len(self.told) > 1 else "one step"
        return f"{self.broken.sent} ({how}, below)"


def has_model(family: str) -> bool:
    return registered(family).has(ROLE)


def model_of(family: str) -> type[Model]:
    """The model of a family; `FamilyError` if it has none."""
    module = registered(family).part(ROLE)
    found = getattr(module, "MODEL", None)
    if not (isinstance(found, type) and issubclass(found, Model)):
        raise FamilyError(f"family {family}: {ROLE}.py has no MODEL, a subclass of Model")
    return found


def run_walk(
    target: Target,
    family: str,
    steps: Sequence[Sequence[Any]],
    exercised: Exercised | None = None,
) -> tuple[str, ...]:
    """Run a walk on this server, fresh if it can be made so; returns what was done, in words.

    Raises `BrokenRule`, an AssertionError, if a rule is broken on the way.
    """
    __tracebackhide__ = True  # in a team's test only the steps are of interest
    if target.can_reset or target.settings.reset:
        target.reset()
    model = model_of(family)(target, exercised)
    try:
        walk(model, read_steps(steps))
    except BrokenRule as broken:
        broken.told, broken.walk = tuple(model.told), tuple(model.taken)
        numbered = enumerate(broken.told, 1)
        broken.add_note("\n".join(f"  {number}  {told}" for number, told in numbered))
        raise broken.with_traceback(None) from None
    return tuple(model.told)


def read_steps(steps: Any) -> tuple[Step, ...]:
    """Steps from JSON or from a test; ValueError if they are none."""
    if not isinstance(steps, Sequence) or isinstance(steps, str):
        raise ValueError("a walk is a list of steps")
    found: list[Step] = []
    for one in steps:
        name, parameters = one
        if not isinstance(name, str) or not isinstance(parameters, Mapping):
            raise ValueError("a step is a name and its parameters")
        found.append((name, dict(parameters)))
    return tuple(found)


def walk_json(steps: Sequence[Step]) -> str:
    return json.dumps([[name, dict(parameters)] for name, parameters in steps])


def test_text(family: str, found: ExploredFinding) -> str:
    """A test that a team can paste into its own, with the steps in words beside them."""
    broken = found.broken
    slug = _SLUG.sub("_", broken.cause.lower()).strip("_")[:_LONGEST_SLUG]
    lines = [
        f'"""Found by exploration: {broken.rule}."""',
        "",
        "from pytest_mcp_approval.explore import run_walk",
        "",
        "",
        f"def test_{slug}(approval_turn):",
        f'    """{_quoted(broken.rule)}: expected {_quoted(broken.expected)}."""',
        "    run_walk(",
        "        approval_turn,",
        f"        {json.dumps(family)},",
        "        [",
    ]
    for place, (name, parameters) in enumerate(found.walk):
        words = found.told[place] if place < len(found.told) else ""
        lines += [f"            # {_shortened(words)}"] if words else []
        lines.append(f"            ({json.dumps(name)}, {dict(parameters)!r}),")
    lines += ["        ],", "    )", ""]
    return "\n".join(lines)


def _shortened(words: str) -> str:
    return words if len(words) <= _LONGEST_COMMENT else f"{words[:_LONGEST_COMMENT]}..."


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', "'")
