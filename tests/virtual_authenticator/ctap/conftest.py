"""What the tests of the CTAP layer share: keys on a clock that stands still, and python-fido2,
unmodified, on the other side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest
from fido2.client import DefaultClientDataCollector, Fido2Client, UserInteraction
from fido2.ctap import CtapError
from fido2.ctap2 import AssertionResponse, AttestationResponse, ClientPin, Ctap2
from fido2.ctap2.pin import PinProtocol, PinProtocolV1, PinProtocolV2

from virtual_authenticator import Authenticator, ManualClock

RP_ID = "example.org"
PIN = "2468"
HASH = bytes(range(32))
ES256: list[Mapping[str, Any]] = [{"type": "public-key", "alg": -7}]


class Keyholder(UserInteraction):
    """Types the PIN when asked, and counts what they are asked for."""

    def __init__(self, pin: str | None) -> None:
        self.pin = pin
        self.touches = self.pins = 0

    def prompt_up(self) -> None:
        self.touches += 1

    def request_pin(self, permissions: Any, rp_id: str | None) -> str | None:
        self.pins += 1
        return self.pin


class Platform:
    """python-fido2's CTAP2 classes with what most tests would repeat filled in."""

    def __init__(self, authenticator: Authenticator, protocol: PinProtocol | None = None) -> None:
        self.authenticator = authenticator
        self.ctap = Ctap2(authenticator.ctap)
        if protocol is None and self.ctap.info.pin_uv_protocols:
            protocol = ClientPin(self.ctap).protocol
        self._protocol = protocol

    @property
    def protocol(self) -> PinProtocol:
        assert self._protocol is not None, "this key has no PIN protocol"
        return self._protocol

    @property
    def pins(self) -> ClientPin:
        return ClientPin(self.ctap, self.protocol)

    def token(self, permissions: int = 3, rp_id: str | None = RP_ID, pin: str = PIN) -> bytes:
        return self.pins.get_pin_token(pin, ClientPin.PERMISSION(permissions), rp_id)

    def signed(self, token: bytes | None, message: bytes = HASH) -> dict[str, Any]:
        if token is None:
            return {}
        return {
            "pin_uv_param": self.protocol.authenticate(token, message),
            "pin_uv_protocol": self.protocol.VERSION,
        }

    def make(
        self,
        rp_id: str = RP_ID,
        user: bytes = b"alice",
        *,
        token: bytes | None = None,
        algorithms: Any = None,
        **rest: Any,
    ) -> AttestationResponse:
        return self.ctap.make_credential(
            HASH,
            {"id": rp_id, "name": "Example"},
            {"id": user, "name": user.decode(), "displayName": user.decode().title()},
            ES256 if algorithms is None else algorithms,
            **{**self.signed(token), **rest},
        )

    def get(
        self,
        rp_id: str = RP_ID,
        allow: list[bytes] | None = None,
        *,
        token: bytes | None = None,
        **rest: Any,
    ) -> AssertionResponse:
        listed: list[Mapping[str, Any]] | None = None
        if allow is not None:
            listed = [{"type": "public-key", "id": one} for one in allow]
        return self.ctap.get_assertion(rp_id, HASH, listed, **{**self.signed(token), **rest})

    def shared_secret(self) -> tuple[Mapping[int, Any], bytes]:
        agreed: tuple[Mapping[int, Any], bytes] = self.pins._get_shared_secret()
        return agreed


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def new_key(clock: ManualClock) -> Callable[..., Authenticator]:
    """Makes an authenticator on the test's clock; with `pin`, that PIN is set."""

    def make(shape: str = "security-key", *, pin: str | None = None, **rest: Any) -> Authenticator:
        authenticator = Authenticator(shape, clock=clock, **rest)
        if pin is not None:
            ClientPin(Ctap2(authenticator.ctap)).set_pin(pin)
        return authenticator

    return make


@pytest.fixture(params=[PinProtocolV1, PinProtocolV2], ids=["protocol-1", "protocol-2"])
def protocol(request: pytest.FixtureRequest) -> PinProtocol:
    made: PinProtocol = request.param()
    return made


@pytest.fixture
def platform_of() -> type[Platform]:
    return Platform


@pytest.fixture
def platform(new_key: Callable[..., Authenticator]) -> Platform:
    """A security key with a PIN, and a platform at it."""
    return Platform(new_key(pin=PIN))


@pytest.fixture
def client_of() -> Callable[..., tuple[Fido2Client, Keyholder]]:
    """A Fido2Client on an authenticator, and the person in front of it."""

    def make(authenticator: Authenticator, pin: str | None = PIN) -> tuple[Fido2Client, Keyholder]:
        holder = Keyholder(pin)
        collector = DefaultClientDataCollector(f"https://{RP_ID}")
        return Fido2Client(authenticator.ctap, collector, holder), holder

    return make


@pytest.fixture
def refuses() -> Callable[[str], AbstractContextManager[None]]:
    """`with refuses("PIN_INVALID"):` the call inside must end with just this status."""

    @contextmanager
    def expecting(name: str) -> Iterator[None]:
        with pytest.raises(CtapError) as caught:
            yield
        assert caught.value.code.name == name

    return expecting
