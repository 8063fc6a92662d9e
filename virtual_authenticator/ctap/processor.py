"""Every CTAP message comes through here: bytes in, bytes out, for any transport.

Looks up the command, runs it under the lock, turns its outcome into a status and records it. Knows
nothing of transports or of what a command does; to add one, add it to `commands`.
"""

from __future__ import annotations

from collections.abc import Callable
from threading import Event
from typing import Any, NamedTuple

from .. import cbor
from ..core import Core
from ..faults import FaultError
from .bio_enrollment import bio_enrollment
from .client_pin import client_pin
from .configuration import configuration
from .credential_management import credential_management
from .features import MAXIMUM_MESSAGE, Features
from .get_assertion import get_assertion, get_next_assertion
from .get_info import get_info
from .housekeeping import reset, selection
from .interaction import Interaction
from .large_blobs import large_blobs
from .make_credential import make_credential
from .parameters import Parameters
from .session import Session
from .status import CtapFailure, DeviceRemoved, Status
from .u2f import INSTRUCTIONS, ApduFailure, StatusWord, answer

Handler = Callable[[Session, Parameters, Interaction], dict[int, Any]]


class Command(NamedTuple):
    """One command: its name in the specification and in the journal, and what runs it."""

    name: str
    handler: Handler
    takes_parameters: bool = True
    continues: bool = False
    """Continues an enumeration; any other command ends it."""


def commands_of(features: Features) -> dict[int, Command]:
    """The commands that a device with these features has."""
    if not features.ctap2:
        return {}
    commands = {
        0x01: Command("makeCredential", make_credential),
        0x02: Command("getAssertion", get_assertion),
        0x04: Command("getInfo", get_info, takes_parameters=False),
        0x07: Command("reset", reset, takes_parameters=False),
        0x08: Command(
            "getNextAssertion", get_next_assertion, takes_parameters=False, continues=True
        ),
    }
    if features.pin_protocols:
        commands[0x06] = Command("clientPIN", client_pin)
    if features.bio_enrollment:
        commands[0x09] = Command("bioEnrollment", bio_enrollment)
    if features.credential_management:
        commands[0x0A] = Command("credentialManagement", credential_management, continues=True)
    if features.since_2_1:
        commands[0x0B] = Command("selection", selection, takes_parameters=False)
    if features.large_blobs:
        commands[0x0C] = Command("largeBlobs", large_blobs)
    if features.configuration:
        commands[0x0D] = Command("authenticatorConfig", configuration)
    return commands


class CtapProcessor:
    """Answers CTAP2 messages and U2F APDUs for one core.

    No input makes it raise. Two other things do: a person who takes the key out (`DeviceRemoved`),
    and a test that asks for an impossible fault (`FaultError`).
    """

    def __init__(self, core: Core) -> None:
        self.core = core
        self.session = Session(core)
        self.commands = commands_of(self.session.features)

    @property
    def features(self) -> Features:
        return self.session.features

    def power_cycle(self) -> None:
        """Out and in again: volatile state is gone, a removed key is back."""
        with self.core.lock:
            self.session.power_up()

    def process(
        self,
        message: bytes,
        cancelled: Event | None = None,
        on_keepalive: Callable[[int], None] | None = None,
    ) -> bytes:
        """A command byte and its parameters in, a status byte and the answer out.

        `on_keepalive` is called with 2 (user presence needed) while waiting for the person, as
        often as CTAPHID wants a keepalive message; `cancelled` ends the waiting.
        """
        message = bytes(message)
        with self.core.lock:
            self._check_plugged_in()
            name = "nothing"
            interaction = Interaction(self.core, cancelled, on_keepalive)
            status, body = Status.SUCCESS, b""
            try:
                if not message:
                    raise CtapFailure(Status.INVALID_LENGTH)
                name = f"0x{message[0]:02x}"
                command = self.commands.get(message[0])
                if command is None:
                    raise CtapFailure(Status.INVALID_COMMAND)
                name = command.name
                members = self._run(command, message, interaction)
                body = cbor.encode(members) if members else b""
            except CtapFailure as failure:
                status = failure.status
            except Exception as error:
                self._rethrow_what_is_not_ours(error, interaction)
                self._record_defect(name, error)
                status = Status.OTHER
            self._record("ctap", command=name, status=status.name)
            return bytes((status,)) + body

    def _run(self, command: Command, message: bytes, interaction: Interaction) -> dict[int, Any]:
        if not command.continues:
            self.session.enumeration = None
        if command.handler is not large_blobs:
            self.session.blob_write = None  # section 6.10.2: fragments follow each other
        if len(message) > MAXIMUM_MESSAGE:
            raise CtapFailure(Status.REQUEST_TOO_LARGE)
        if command.takes_parameters:
            parameters = Parameters.decode(message[1:])
        elif len(message) > 1:
            raise CtapFailure(Status.INVALID_LENGTH)
        else:
            parameters = Parameters({})
        return command.handler(self.session, parameters, interaction)

    def process_apdu(self, apdu: bytes) -> bytes:
        """A U2F request in, data and a status word out."""
        apdu = bytes(apdu)
        with self.core.lock:
            self._check_plugged_in()
            self.session.enumeration = None
            word, body = StatusWord.NO_ERROR, b""
            instruction = apdu[1] if len(apdu) > 1 else None
            name = INSTRUCTIONS.get(instruction, "unknown") if instruction else "unknown"
            interaction = Interaction(self.core)
            try:
                if not self.session.u2f:
                    raise ApduFailure(StatusWord.INSTRUCTION_NOT_SUPPORTED)
                body = answer(self.session, apdu, interaction)
            except ApduFailure as failure:
                word = failure.word
            except Exception as error:
                self._rethrow_what_is_not_ours(error, interaction)
                self._record_defect(name, error)
                word = StatusWord.NO_PRECISE_DIAGNOSIS
            self._record("u2f", instruction=name, status=word.name)
            return body + word.to_bytes(2, "big")

    def _check_plugged_in(self) -> None:
        if self.session.removed:
            raise DeviceRemoved

    def _rethrow_what_is_not_ours(self, error: Exception, interaction: Interaction) -> None:
        if isinstance(error, DeviceRemoved):
            self.session.removed = True
            self._record("removed")
            raise error
        if isinstance(error, FaultError) or error is interaction.callback_error:
            raise error

    def _record_defect(self, name: str, error: Exception) -> None:
        """An exception that no input should cause is a bug here: it must not go unnoticed."""
        self._record("ctap-defect", command=name, error=f"{type(error).__name__}: {error}")

    def _record(self, what: str, **details: Any) -> None:
        self.core.journal.append((self.core.clock.now(), what, details))
