"""Which server is judged, how it is started, reached, reset and watched. Knows no family."""

from .effects import Effects, EffectsError, EffectsProbe
from .grammar import TargetSpec, parse_target
from .targets import Target, TargetError, open_target

__all__ = [
    "Effects",
    "EffectsError",
    "EffectsProbe",
    "Target",
    "TargetError",
    "TargetSpec",
    "open_target",
    "parse_target",
]
