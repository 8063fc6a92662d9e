"""The server under test: how it is started, reached, reset and watched. Knows no family."""

from .effects import Effects as Effects
from .effects import EffectsError as EffectsError
from .effects import EffectsProbe as EffectsProbe
from .effects import EffectsWatch as EffectsWatch
from .effects import examine as examine
from .errors import TargetError as TargetError
from .grammar import TargetSpec as TargetSpec
from .grammar import check_launch as check_launch
from .grammar import parse_target as parse_target
from .opening import open_target as open_target
from .targets import Target as Target
