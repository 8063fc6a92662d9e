"""BioEnrollment (CTAP 2.3, section 6.7): teach the fingerprint sensor a finger, name it, forget it.

The finger is the one that `Person.finger` names at that time. Does not know what a verification by
it is worth.
"""

from __future__ import annotations

from collections.abc import Callable
from enum import IntEnum
from typing import Any

from ..person import Gesture
from ..settings import Fingerprint
from .authorisation import check_permission, pin_uv_auth
from .interaction import USER_ACTION_TIMEOUT, Interaction
from .parameters import Parameters
from .session import Enrollment, Session
from .status import CtapFailure, Status
from .token import Permission

FINGERPRINT = 0x01
"""The only modality there is."""
TOUCH_SENSOR = 0x01
SAMPLES = 4
"""Good samples that an enrollment takes."""
CAPACITY = 5
LONGEST_NAME = 64
"""Bytes."""

_MODALITY, _SUBCOMMAND, _PARAMETERS, _PROTOCOL, _PARAM, _GET_MODALITY = range(1, 7)
_TEMPLATE_ID, _NAME, _TIMEOUT = 0x01, 0x02, 0x03

Subcommand = Callable[[Session, Parameters, Interaction], dict[int, Any]]


class Feedback(IntEnum):
    """lastEnrollSampleStatus: of what the sensor can say, what this one has reasons for."""

    GOOD = 0x00
    POOR_QUALITY = 0x07
    MERGE_FAILURE = 0x0A
    """Not the finger that the first sample was of."""
    EXISTS = 0x0B
    NO_USER_ACTIVITY = 0x0D


def bio_enrollment(
    session: Session, parameters: Parameters, interaction: Interaction
) -> dict[int, Any]:
    if parameters.get(_GET_MODALITY, bool):
        return {0x01: FINGERPRINT}
    number = parameters.require(_SUBCOMMAND, int)
    subcommand = _SUBCOMMANDS.get(number)
    if subcommand is None:
        raise CtapFailure(Status.INVALID_SUBCOMMAND)
    if parameters.require(_MODALITY, int) != FINGERPRINT:
        raise CtapFailure(Status.INVALID_PARAMETER)
    given = parameters.map(_PARAMETERS) or Parameters({})
    if number not in _OPEN_TO_ALL:
        auth = pin_uv_auth(session, parameters, _PARAM, _PROTOCOL)
        message = bytes((FINGERPRINT, number)) + parameters.encoded(_PARAMETERS)
        check_permission(session, auth, message, Permission.BIO_ENROLLMENT)
    return subcommand(session, given, interaction)


def _enroll_begin(session: Session, given: Parameters, interaction: Interaction) -> dict[int, Any]:
    """Section 6.7.4; an enrollment that was not finished is forgotten."""
    if len(session.core.settings.fingerprints) >= CAPACITY:
        raise CtapFailure(Status.FP_DATABASE_FULL)
    begun = session.enrollment = Enrollment(session.random(16), None, SAMPLES)
    return {0x04: begun.template_id, **_capture(session, begun, given, interaction)}


def _enroll_capture_next(
    session: Session, given: Parameters, interaction: Interaction
) -> dict[int, Any]:
    begun = session.enrollment
    if given.require(_TEMPLATE_ID, bytes) != (begun.template_id if begun is not None else None):
        raise CtapFailure(Status.INVALID_OPTION)  # the text names no status for this
    assert begun is not None
    return _capture(session, begun, given, interaction)


def _capture(
    session: Session, begun: Enrollment, given: Parameters, interaction: Interaction
) -> dict[int, Any]:
    """One sample. What is wrong with it is told in the answer, not by a status."""
    milliseconds = given.get(_TIMEOUT, int)
    patience = USER_ACTION_TIMEOUT
    if milliseconds is not None:
        patience = min(max(milliseconds, 0) / 1000, USER_ACTION_TIMEOUT)
    gesture = interaction.sample(patience)
    finger = session.core.person.finger
    settings = session.core.settings
    if gesture is Gesture.IGNORE:
        feedback = Feedback.NO_USER_ACTIVITY
    elif gesture is Gesture.SMUDGE:
        feedback = Feedback.POOR_QUALITY
    elif gesture is Gesture.WRONG_FINGER or begun.finger not in (None, finger):
        feedback = Feedback.MERGE_FAILURE
    elif settings.knows(finger):
        feedback = Feedback.EXISTS
    else:
        feedback = Feedback.GOOD
        begun.finger = finger
        begun.remaining -= 1
    if begun.remaining == 0:
        settings.fingerprints.append(Fingerprint(begun.template_id, finger))
        session.enrollment = None
    return {0x05: int(feedback), 0x06: begun.remaining}


def _cancel(
    session: Session,
    given: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    session.enrollment = None
    return {}


def _enumerate(
    session: Session,
    given: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    known = session.core.settings.fingerprints
    if not known:
        raise CtapFailure(Status.INVALID_OPTION)
    return {0x07: [{0x01: one.template_id, 0x02: one.name} for one in known]}


def _set_name(
    session: Session,
    given: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    template_id, name = given.require(_TEMPLATE_ID, bytes), given.require(_NAME, str)
    if len(name.encode()) > LONGEST_NAME:
        raise CtapFailure(Status.INVALID_LENGTH)
    _find(session, template_id).name = name
    return {}


def _remove(
    session: Session,
    given: Parameters,
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    found = _find(session, given.require(_TEMPLATE_ID, bytes))
    session.core.settings.fingerprints.remove(found)
    return {}


def _find(session: Session, template_id: bytes) -> Fingerprint:
    for one in session.core.settings.fingerprints:
        if one.template_id == template_id:
            return one
    raise CtapFailure(Status.INVALID_OPTION)


def _sensor_info(
    session: Session,  # noqa: ARG001
    given: Parameters,  # noqa: ARG001
    interaction: Interaction,  # noqa: ARG001
) -> dict[int, Any]:
    return {0x02: TOUCH_SENSOR, 0x03: SAMPLES, 0x08: LONGEST_NAME}


_OPEN_TO_ALL = (0x03, 0x07)
"""To cancel, and to look at the sensor, takes no token (sections 6.7.3 and 6.7.5)."""
_SUBCOMMANDS: dict[int, Subcommand] = {
    0x01: _enroll_begin,
    0x02: _enroll_capture_next,
    0x03: _cancel,
    0x04: _enumerate,
    0x05: _set_name,
    0x06: _remove,
    0x07: _sensor_info,
}
