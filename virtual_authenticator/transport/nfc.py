"""The key as a contactless card (CTAP 2.3, section 11.3): ISO 7816-4 APDUs in and out.

Short and extended APDUs, command chaining, and long answers in pieces; U2F's own APDUs pass
through. Does not know what CTAP messages mean, nor of readers.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .channels import CBOR, NO_MESSAGES
from .packets import Command
from .running import RunningCall

if TYPE_CHECKING:
    from ..authenticator import Authenticator

APPLICATION = bytes.fromhex("A0000006472F0001")
PATIENCE = 0.1
"""Seconds before a reader that can wait is told to ask again."""
LONGEST_CALL = 60.0
"""Seconds for any call: a person is never waited for that long."""
LONGEST = 4096
"""Bytes that chained commands may add up to."""
_SHORT, _EXTENDED = 256, 65536
"""What Le says by a zero."""

_SUCCESS, _WAIT, _MORE = 0x9000, 0x9100, 0x6100
_WRONG_LENGTH, _NOT_SATISFIED, _NOT_FOUND = 0x6700, 0x6985, 0x6A82
_WRONG_PARAMETERS, _UNKNOWN_INSTRUCTION, _UNKNOWN_CLASS = 0x6A86, 0x6D00, 0x6E00
_NO_DIAGNOSIS = 0x6F00

_SELECT, _GET_RESPONSE, _MESSAGE, _POLL, _CONTROL = 0xA4, 0xC0, 0x10, 0x11, 0x12
_CHAINED = 0x10
_WAITS, _CANCEL = 0x80, 0x11


class _Refused(Exception):  # noqa: N818 - it is an answer to the reader, not an error of ours
    def __init__(self, word: int) -> None:
        super().__init__(f"{word:04x}")
        self.word = word


@dataclass(frozen=True)
class _Apdu:
    cla: int
    ins: int
    p1: int
    p2: int
    data: bytes
    most: int
    """How much of an answer the reader takes at once (Le)."""


class NfcCard:
    """A key in a reader's field. `transmit` never raises for what a reader sends; a person who
    takes the key away is an OSError, an impossible fault a `FaultError`."""

    def __init__(self, authenticator: Authenticator) -> None:
        self.device = authenticator.ctap
        self._call: RunningCall | None = None
        self.disconnect()

    def disconnect(self) -> None:
        """Out of the field: nothing is selected, nothing is under way."""
        if self._call is not None:
            self._call.stop(LONGEST_CALL)
        self._call = None
        self._selected = False
        self._chain = b""
        self._chained_by: tuple[int, ...] | None = None
        self._rest = b""

    def transmit(self, apdu: bytes) -> bytes:
        """A command APDU in, data and the status word out."""
        try:
            data, word = self._handle(_parse(bytes(apdu)))
        except _Refused as refused:
            data, word = b"", refused.word
        return data + word.to_bytes(2, "big")

    def _handle(self, apdu: _Apdu) -> tuple[bytes, int]:
        if apdu.ins == _GET_RESPONSE and apdu.cla in (0x00, 0x80):
            return self._piece(self._rest, apdu.most)
        self._rest = b""
        apdu_whole = self._unchained(apdu)
        if apdu_whole is None:
            return b"", _SUCCESS
        answer, word = self._run(apdu_whole)
        if word != _SUCCESS:
            return answer, word
        return self._piece(answer, apdu.most)

    def _unchained(self, apdu: _Apdu) -> _Apdu | None:
        """The whole of a chain (ISO 7816-4, section 5.1.1.1), or None while more is to come."""
        header = apdu.cla & ~_CHAINED, apdu.ins, apdu.p1, apdu.p2
        if self._chained_by not in (None, header):
            self._chain, self._chained_by = b"", None
        data = self._chain + apdu.data
        if len(data) > LONGEST:
            self._chain, self._chained_by = b"", None
            raise _Refused(_WRONG_LENGTH)
        if apdu.cla & _CHAINED:
            self._chain, self._chained_by = data, header
            return None
        self._chain, self._chained_by = b"", None
        return _Apdu(apdu.cla, apdu.ins, apdu.p1, apdu.p2, data, apdu.most)

    def _run(self, apdu: _Apdu) -> tuple[bytes, int]:
        if apdu.cla == 0x00 and apdu.ins == _SELECT:
            return self._select(apdu), _SUCCESS
        if not self._selected:
            raise _Refused(_NOT_SATISFIED)
        if apdu.cla == 0x00:
            return self._u2f(apdu)
        if apdu.cla != 0x80:
            raise _Refused(_UNKNOWN_CLASS)
        if apdu.ins == _MESSAGE and self.device.capabilities & CBOR:
            return self._message(apdu)
        if apdu.ins == _POLL and self._call is not None:
            if apdu.p1 not in (0x00, _CANCEL):
                raise _Refused(_WRONG_PARAMETERS)
            if apdu.p1 == _CANCEL:
                self._call.cancelled.set()
            return self._outcome(self._call)
        if apdu.ins == _POLL:
            raise _Refused(_NOT_SATISFIED)
        if apdu.ins == _CONTROL and (apdu.p1, apdu.p2) == (0x01, 0x00):
            self.disconnect()
            return b"", _SUCCESS
        raise _Refused(_UNKNOWN_INSTRUCTION)

    def _select(self, apdu: _Apdu) -> bytes:
        """Section 11.3.3: the answer tells whether there is U2F."""
        if apdu.p1 != 0x04 or apdu.data != APPLICATION:
            self._selected = False
            raise _Refused(_NOT_FOUND)
        self._selected = True
        return b"FIDO_2_0" if self.device.capabilities & NO_MESSAGES else b"U2F_V2"

    def _u2f(self, apdu: _Apdu) -> tuple[bytes, int]:
        if self.device.capabilities & NO_MESSAGES:
            raise _Refused(_UNKNOWN_INSTRUCTION)
        head = bytes((apdu.cla, apdu.ins, apdu.p1, apdu.p2, 0x00))
        whole = head + len(apdu.data).to_bytes(2, "big") + apdu.data + bytes(2)
        answer = self.device.call(Command.MSG, whole)
        return answer[:-2], int.from_bytes(answer[-2:], "big")

    def _message(self, apdu: _Apdu) -> tuple[bytes, int]:
        """NFCCTAP_MSG (section 11.3.7). A reader that says so asks again, instead of waiting. A
        message that is still under way makes way for the new one."""
        if apdu.p1 & ~_WAITS or apdu.p2:
            raise _Refused(_WRONG_PARAMETERS)
        if self._call is not None:
            self._call.cancelled.set()
        self._call = RunningCall(self.device, Command.CBOR, apdu.data, cancelled=threading.Event())
        if not apdu.p1 & _WAITS:
            self._call.done.wait(LONGEST_CALL)
        return self._outcome(self._call)

    def _outcome(self, call: RunningCall) -> tuple[bytes, int]:
        if not call.done.wait(PATIENCE):
            return bytes((call.status,)), _WAIT
        self._call = None
        if call.failure is not None:
            raise call.failure
        if call.answer is None:
            raise _Refused(_NO_DIAGNOSIS)
        return call.answer, _SUCCESS

    def _piece(self, answer: bytes, most: int) -> tuple[bytes, int]:
        """As much as the reader takes; the rest waits for GET RESPONSE."""
        self._rest = answer[most:]
        if not self._rest:
            return answer, _SUCCESS
        return answer[:most], _MORE + (len(self._rest) if len(self._rest) < _SHORT else 0)


def _parse(apdu: bytes) -> _Apdu:
    """ISO 7816-4, section 5.1: nothing, Le, Lc and data, or all of it, in one byte or extended."""
    if len(apdu) < 4:
        raise _Refused(_WRONG_LENGTH)
    body = apdu[4:]
    data, most = _extended(body) if body[:1] == b"\0" and len(body) >= 3 else _short(body)
    return _Apdu(apdu[0], apdu[1], apdu[2], apdu[3], data, most)


def _short(body: bytes) -> tuple[bytes, int]:
    if len(body) <= 1:  # no data: if anything, this is Le
        return b"", (body[0] if body else 0) or _SHORT
    length = body[0]
    data, rest = body[1 : 1 + length], body[1 + length :]
    if len(data) < length or len(rest) > 1:
        raise _Refused(_WRONG_LENGTH)
    return data, (rest[0] if rest else 0) or _SHORT


def _extended(body: bytes) -> tuple[bytes, int]:
    length = int.from_bytes(body[1:3], "big")
    if len(body) == 3:  # no data: this was Le
        return b"", length or _EXTENDED
    data, rest = body[3 : 3 + length], body[3 + length :]
    if len(data) < length or len(rest) not in (0, 2):
        raise _Refused(_WRONG_LENGTH)
    return data, int.from_bytes(rest, "big") or _EXTENDED
