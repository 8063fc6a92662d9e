"""A key on CTAPHID: runs what the channels ask for, and sends what they answer.

`PacketConnection` is the connection in this process: python-fido2's CtapHidDevice on one side, the
state machine on the other, packets in between.
"""

from __future__ import annotations

import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from fido2.hid import CtapHidDevice
from fido2.hid.base import CtapHidConnection, HidDescriptor

from .channels import Channels, Request
from .packets import PACKET, Command
from .running import RunningCall

if TYPE_CHECKING:
    from ..authenticator import Authenticator

KEEPALIVE_INTERVAL = 0.1
"""Seconds (section 11.2.9.1.7); also how often whoever serves a key should call `tick`."""
PATIENCE = 60.0
"""Seconds that a reader in this process waits for a packet, and a closing one for a call to end."""
PRODUCT = "Virtual authenticator"
VENDOR_ID, PRODUCT_ID = 0x1209, 0x0001
"""pid.codes keeps this pair for tests: it names no product."""


class HidKey:
    """An authenticator that speaks packets. Thread-safe.

    Time is real time, whatever clock the authenticator has: the other side cannot see that one.
    """

    def __init__(self, authenticator: Authenticator, send: Callable[[bytes], None]) -> None:
        self.device = authenticator.ctap
        self._send = send
        self._lock = threading.RLock()
        self._plug_in()
        self._call: RunningCall | None = None
        self._last_keepalive = 0.0
        self.failure: Exception | None = None
        """What ended a call without an answer: the key was taken out (an OSError, and nothing comes
        until it is plugged in again), or a test asked for an impossible fault."""

    def _plug_in(self) -> None:
        self._channels = Channels(
            time.monotonic, lambda: self.device.capabilities, lambda: secrets.randbits(32)
        )

    @property
    def winks(self) -> int:
        """How often it was asked to show itself since it was plugged in."""
        return self._channels.winks

    def receive(self, packet: bytes) -> None:
        """A packet has arrived."""
        with self._lock:
            if self.device.processor.session.removed:
                return
            out, request = self._channels.receive(packet)
            self._send_all(out)
            if request is not None:
                self._run(request)

    def tick(self) -> None:
        """Let time have its effect; call it ten times a second while a client may wait."""
        with self._lock:
            self._send_all(self._channels.tick())
            self._keep_alive(KEEPALIVE_INTERVAL)

    def close(self) -> None:
        call = self._call
        if call is not None:
            call.stop(PATIENCE)

    def _run(self, request: Request) -> None:
        self._last_keepalive = time.monotonic()

        def finish(call: RunningCall) -> None:
            with self._lock:
                self._finish(request, call)

        def tell() -> None:
            with self._lock:
                self._keep_alive(0.0)

        self._call = RunningCall(
            self.device,
            request.command,
            request.payload,
            cancelled=request.cancelled,
            when_done=finish,
            when_status=tell,
        )

    def _finish(self, request: Request, call: RunningCall) -> None:
        if call.failure is not None:
            self.failure = call.failure
            self._plug_in()  # with what it knew of channels gone
            self._send(b"")  # wakes a reader up, who then finds the reason
        elif call.refused is not None:
            code = bytes((int(call.refused.code),))
            self._send_all(self._channels.answered(request, code, Command.ERROR))
        elif call.answer is not None:
            self._send_all(self._channels.answered(request, call.answer))

    def _keep_alive(self, interval: float) -> None:
        """Section 11.2.9.1.7: with every change of the status, and at least every 100 ms."""
        request, call = self._channels.running, self._call
        if request is None or call is None or call.done.is_set():
            return
        now = time.monotonic()
        if now - self._last_keepalive >= interval:
            self._last_keepalive = now
            self._send_all(self._channels.keepalive(request, call.status))

    def _send_all(self, packets: Iterable[bytes]) -> None:
        for packet in packets:
            self._send(packet)


class PacketConnection(CtapHidConnection):
    """What python-fido2 writes packets to and reads them from."""

    def __init__(self, authenticator: Authenticator) -> None:
        self._incoming: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        self.key = HidKey(authenticator, self._incoming.put)

    def write_packet(self, data: bytes) -> None:
        self._check()
        self.key.receive(bytes(data))

    def read_packet(self) -> bytes:
        """The next packet. Once the key is taken out, that is the OSError it raises; so is a minute
        without any packet."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            try:
                packet = self._incoming.get(timeout=KEEPALIVE_INTERVAL)
            except queue.Empty:
                self._check()
                self.key.tick()
                continue
            if packet:
                return packet
            self._check()
        raise TimeoutError(f"no packet came for {PATIENCE:g} seconds")

    def _check(self) -> None:
        if self.key.failure is not None:
            raise self.key.failure

    def close(self) -> None:
        self.key.close()


def hid_device(authenticator: Authenticator) -> CtapHidDevice:
    """The authenticator as python-fido2's own HID device, with every packet really sent."""
    descriptor = HidDescriptor(
        path="virtual",
        vid=VENDOR_ID,
        pid=PRODUCT_ID,
        report_size_in=PACKET,
        report_size_out=PACKET,
        product_name=PRODUCT,
        serial_number=None,
    )
    return CtapHidDevice(descriptor, PacketConnection(authenticator))
