"""The server under test: how it is started, reached, reset and watched. Knows no family."""

from .effects import Effects, EffectsError, EffectsProbe, examine
from .effects_watch import EffectsWatch
from .errors import TargetError
from .grammar import TargetSpec, check_launch, parse_target
from .opening import open_target
from .targets import Target

__all__ = [
    "Effects",
    "EffectsError",
    "EffectsProbe",
    "EffectsWatch",
    "Target",
    "TargetError",
    "TargetSpec",
    "check_launch",
    "examine",
    "open_target",
    "parse_target",
]
