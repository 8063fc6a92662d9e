"""Reset and Selection (CTAP 2.1, sections 6.6 and 6.9): the two commands that only need a touch.

All it knows about credentials is that a reset deletes them.
"""

from __future__ import annotations

from typing import Any

from ..core import NO_LARGE_BLOBS, PinState
from .interaction import Interaction
from .parameters import Parameters
from .session import Session
from .status import CtapFailure, Status


def reset(
    session: Session,
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,
) -> dict[int, Any]:
    if not session.resettable:
        raise CtapFailure(Status.NOT_ALLOWED)
    core = session.core
    if core.settings.long_touch:
        interaction.long_presence()
    else:
        interaction.presence(Status.USER_ACTION_TIMEOUT)
    core.store.clear()
    core.pin = PinState()
    core.large_blobs = NO_LARGE_BLOBS
    core.settings = core.settings.after_reset(core.profile)
    # As after a power-up, but the window does not start again: that takes a real one.
    powered_up = session.powered_up
    session.power_up()
    session.powered_up = powered_up
    return {}


def selection(
    session: Session,  # noqa: ARG001
    parameters: Parameters,  # noqa: ARG001
    interaction: Interaction,
) -> dict[int, Any]:
    interaction.presence(Status.USER_ACTION_TIMEOUT)
    return {}
