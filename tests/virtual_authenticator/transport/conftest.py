"""What the tests of the transports share: python-fido2 on the other side, unmodified."""

from __future__ import annotations

import threading
import time

import pytest
from fido2.ctap import CtapError

from virtual_authenticator import Authenticator, Gesture

DEADLINE = 20.0


@pytest.fixture
def key():
    """On the real clock: a transport's other side has no other."""
    return Authenticator("security-key-nfc")


@pytest.fixture
def eventually():
    """Waits until something is true, for as long as a slow machine may need."""

    def wait(condition):
        deadline = time.monotonic() + DEADLINE
        pause = threading.Event()
        while not condition():
            assert time.monotonic() < deadline, "it never became true"
            pause.wait(0.005)

    return wait


def cancels_when_asked_for_a_touch(ctap):
    """Begins a selection, and cancels it with the first keepalive; returns those and the status."""
    heard: list[int] = []
    cancelled = threading.Event()

    def hear(status):
        heard.append(status)
        cancelled.set()

    with pytest.raises(CtapError) as caught:
        ctap.selection(event=cancelled, on_keepalive=hear)
    return heard, caught.value.code.name


@pytest.fixture
def cancelling():
    return cancels_when_asked_for_a_touch


@pytest.fixture
def waiting(key):
    """The key waits for a touch that does not come, until it is cancelled."""
    key.person.always = Gesture.IGNORE
    return key
