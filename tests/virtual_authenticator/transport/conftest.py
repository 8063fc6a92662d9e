"""What the tests of the transports share: python-fido2 on the other side, unmodified."""

from __future__ import annotations

import threading
import time

import pytest

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


@pytest.fixture
def waiting(key):
    """The key waits for a touch that does not come, until it is cancelled."""
    key.person.always = Gesture.IGNORE
    return key
