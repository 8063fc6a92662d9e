"""BioEnrollment with virtual fingers, by python-fido2's FPBioEnrollment."""

from __future__ import annotations

import threading

import pytest
from fido2.ctap2 import ClientPin, Ctap2, FPBioEnrollment
from fido2.ctap2.bio import BioEnrollment, CaptureError

from virtual_authenticator import Authenticator, Gesture

PIN = "2468"
ENROLL, CONFIGURE = 0x08, 0x20
FEEDBACK = FPBioEnrollment.FEEDBACK
OWNER = b"\x01"
"""The template that a new key has."""


@pytest.fixture
def sensor(new_key, platform_of):
    """A biometric key with a PIN, and a platform at it."""
    return platform_of(new_key("security-key-biometric", pin=PIN))


def enrolling(platform, permissions=ENROLL):
    return FPBioEnrollment(platform.ctap, platform.protocol, platform.token(permissions, None))


def enroll(platform, finger):
    platform.authenticator.person.finger = finger
    context = enrolling(platform).enroll()
    for _ in range(20):
        template_id = context.capture()
        if template_id is not None:
            return template_id
    raise AssertionError("the enrollment never ends")


# ---- enrolling


def test_a_new_key_knows_its_owner(sensor):
    assert enrolling(sensor).enumerate_enrollments() == {OWNER: ""}
    assert sensor.make(options={"uv": True}).auth_data.is_user_verified()


def test_a_finger_is_enrolled_named_and_forgotten(sensor):
    samples = enrolling(sensor).get_fingerprint_sensor_info()
    template_id = enroll(sensor, "left-thumb")
    manager = enrolling(sensor)
    manager.set_name(template_id, "Left thumb")

    assert samples == {2: 1, 3: 4, 8: 64}
    assert manager.get_modality() == BioEnrollment.MODALITY.FINGERPRINT
    assert manager.enumerate_enrollments() == {OWNER: "", template_id: "Left thumb"}
    assert sensor.make(options={"uv": True})  # with the left thumb
    manager = enrolling(sensor)  # the touch has used up the token
    manager.remove_enrollment(template_id)
    assert list(manager.enumerate_enrollments()) == [OWNER]


def test_only_fingers_that_are_enrolled_verify(sensor, refuses):
    person = sensor.authenticator.person
    person.finger = "left-thumb"
    with refuses("PUAT_REQUIRED"):
        sensor.make(options={"uv": True})
    assert sensor.pins.get_uv_retries() == 2
    assert sensor.make(token=sensor.token())  # any finger is a touch
    enroll(sensor, "left-thumb")
    assert sensor.make(options={"uv": True}).auth_data.is_user_verified()
    person.will(Gesture.SMUDGE, Gesture.WRONG_FINGER, Gesture.APPROVE)
    assert sensor.make(options={"uv": True}).auth_data.is_user_verified()


def test_samples_that_are_no_good(sensor):
    person = sensor.authenticator.person
    person.finger = "left-thumb"
    context = enrolling(sensor).enroll(timeout=5000)

    def feedback(gesture=Gesture.APPROVE, finger="left-thumb"):
        person.will(gesture)
        person.finger = finger
        try:
            context.capture()
        except CaptureError as error:
            return FEEDBACK(error.code), context.remaining
        return FEEDBACK.FP_GOOD, context.remaining

    assert feedback(Gesture.SMUDGE) == (FEEDBACK.FP_POOR_QUALITY, 4)
    assert feedback(finger="right-index") == (FEEDBACK.FP_EXISTS, 4)
    assert feedback() == (FEEDBACK.FP_GOOD, 3)
    assert feedback(Gesture.IGNORE) == (FEEDBACK.NO_USER_ACTIVITY, 3)
    assert feedback(finger="left-ring") == (FEEDBACK.FP_MERGE_FAILURE, 3)
    assert feedback(Gesture.WRONG_FINGER) == (FEEDBACK.FP_MERGE_FAILURE, 3)
    assert [feedback() for _ in range(3)] == [(FEEDBACK.FP_GOOD, left) for left in (2, 1, 0)]
    assert len(enrolling(sensor).enumerate_enrollments()) == 2


def test_patience_is_the_platforms(sensor, clock):
    sensor.authenticator.person.will(Gesture.IGNORE)
    before = clock.now()
    _, status, remaining = enrolling(sensor).enroll_begin(timeout=2000)
    assert (status, remaining) == (FEEDBACK.NO_USER_ACTIVITY, 4)
    assert clock.now() - before == pytest.approx(2)


def test_capturing_can_be_cancelled(sensor, refuses):
    cancelled = threading.Event()
    cancelled.set()
    with refuses("KEEPALIVE_CANCEL"):
        enrolling(sensor).enroll_begin(event=cancelled)
    sensor.authenticator.person.will(Gesture.DECLINE)
    with refuses("OPERATION_DENIED"):
        enrolling(sensor).enroll_begin()
    assert len(enrolling(sensor).enumerate_enrollments()) == 1


def test_an_enrollment_that_is_broken_off(sensor, refuses):
    sensor.authenticator.person.finger = "left-thumb"
    manager = enrolling(sensor)
    first, _, _ = manager.enroll_begin()
    with refuses("INVALID_OPTION"):
        manager.enroll_capture_next(b"another")
    second, _, _ = manager.enroll_begin()  # takes the place of the first
    with refuses("INVALID_OPTION"):
        manager.enroll_capture_next(first)
    manager.enroll_cancel()
    with refuses("INVALID_OPTION"):
        manager.enroll_capture_next(second)
    third, _, _ = manager.enroll_begin()
    sensor.authenticator.ctap.power_cycle()
    with refuses("INVALID_OPTION"):
        enrolling(sensor).enroll_capture_next(third)
    assert len(enrolling(sensor).enumerate_enrollments()) == 1


def test_there_is_room_for_five(sensor, refuses):
    for number in range(4):
        enroll(sensor, f"finger {number}")
    with refuses("FP_DATABASE_FULL"):
        enrolling(sensor).enroll_begin()


# ---- who may, and what is wrong


def test_the_permission(sensor, refuses):
    bare = FPBioEnrollment(sensor.ctap, sensor.protocol, bytes(32))
    assert bare.get_fingerprint_sensor_info()
    bare.enroll_cancel()
    for manager in (bare, enrolling(sensor, CONFIGURE)):
        with refuses("PIN_AUTH_INVALID"):
            manager.enumerate_enrollments()
        with refuses("PIN_AUTH_INVALID"):
            manager.enroll_begin()
    for number in (1, 2, 4, 5, 6):
        with refuses("PUAT_REQUIRED"):
            sensor.ctap.bio_enrollment(modality=1, sub_cmd=number)
    token = sensor.pins.get_uv_token(ClientPin.PERMISSION.BIO_ENROLL)  # uvBioEnroll
    assert FPBioEnrollment(sensor.ctap, sensor.protocol, token).enumerate_enrollments()


@pytest.mark.parametrize(
    ("asked", "status"),
    [
        ({}, "MISSING_PARAMETER"),
        ({"get_modality": False}, "MISSING_PARAMETER"),
        ({"sub_cmd": 7}, "MISSING_PARAMETER"),
        ({"sub_cmd": 7, "modality": 2}, "INVALID_PARAMETER"),
        ({"sub_cmd": 8, "modality": 1}, "INVALID_SUBCOMMAND"),
    ],
)
def test_requests_that_are_wrong(sensor, refuses, asked, status):
    if not asked:
        assert sensor.authenticator.ctap.processor.process(b"\x09\xa0") == b"\x14"
        return
    with refuses(status):
        sensor.ctap.bio_enrollment(**asked)


def test_names_and_templates_that_are_wrong(sensor, refuses):
    manager = enrolling(sensor)
    with refuses("INVALID_LENGTH"):
        manager.set_name(OWNER, "é" * 33)
    manager.set_name(OWNER, "é" * 32)
    for unknown in (lambda: manager.set_name(b"x", "y"), lambda: manager.remove_enrollment(b"x")):
        with refuses("INVALID_OPTION"):
            unknown()


# ---- what follows from it


def test_without_a_finger_there_is_no_built_in_verification(sensor, refuses):
    enrolling(sensor).remove_enrollment(OWNER)
    options = sensor.ctap.get_info().options

    assert (options["uv"], options["bioEnroll"]) == (False, False)
    assert enrolling(sensor).enumerate_enrollments() == {}
    with refuses("INVALID_OPTION"):
        sensor.make(options={"uv": True})
    with refuses("NOT_ALLOWED"):
        sensor.pins.get_uv_token(ClientPin.PERMISSION.MAKE_CREDENTIAL, "example.org")
    assert sensor.make(token=sensor.token())
    enroll(sensor, "left-thumb")
    assert sensor.ctap.get_info().options["uv"] is True


def test_fingers_survive_a_power_cycle_and_a_save_but_not_a_reset(sensor):
    template_id = enroll(sensor, "left-thumb")
    key = sensor.authenticator
    key.ctap.power_cycle()
    restored = Authenticator.from_json(key.to_json())
    restored.person.finger = "left-thumb"

    assert [one.template_id for one in restored.core.settings.fingerprints] == [OWNER, template_id]
    assert restored.core.settings.fingerprints == key.core.settings.fingerprints
    sensor.ctap.reset()
    assert sensor.ctap.get_info().options["bioEnroll"] is False


def test_verifications_since_the_pin_was_typed(new_key, platform_of):
    platform = platform_of(new_key("security-key-biometric", ctap="2.3", pin=PIN))
    counts = [platform.ctap.get_info().uv_count_since_pin]
    for _ in range(2):
        platform.make(options={"uv": True})
        counts.append(platform.ctap.get_info().uv_count_since_pin)
    platform.token()
    counts.append(platform.ctap.get_info().uv_count_since_pin)
    assert counts == [0, 1, 2, 0]


@pytest.mark.parametrize("shape", ["touch-id", "icloud-keychain", "security-key"])
def test_other_devices_have_no_fingers_to_enroll(shape):
    key = Authenticator(shape)
    key.person.finger = "anyone's"
    assert not BioEnrollment.is_supported(Ctap2(key.ctap).info)
    if shape != "security-key":
        assert Ctap2(key.ctap).info.options["uv"] is True
