"""CTAP1/U2F (FIDO U2F Raw Message Formats 1.2): APDUs in, data and a status word out.

A key handle is a credential id, so that both protocols use the same credentials (CTAP 2.1, section
10). U2F never learns an RP ID, only its hash: such a credential has an empty `rp_id` and the
application parameter as its `rp_id_hash`. Knows nothing of CBOR.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ..algorithms import ES256
from ..attestation import u2f_point
from ..core import NewCredential, Registered
from ..credentials import Credential
from ..faults import Fault, FaultError, FaultRun
from .interaction import Interaction
from .session import Session

VERSION = b"U2F_V2"


class StatusWord(IntEnum):
    """The two bytes at the end of every U2F answer."""

    NO_ERROR = 0x9000
    WRONG_LENGTH = 0x6700
    CONDITIONS_NOT_SATISFIED = 0x6985
    WRONG_DATA = 0x6A80
    INSTRUCTION_NOT_SUPPORTED = 0x6D00
    CLASS_NOT_SUPPORTED = 0x6E00
    NO_PRECISE_DIAGNOSIS = 0x6F00


class ApduFailure(Exception):  # noqa: N818 - it is an answer to the platform, not an error of ours
    """Ends an APDU with a status word. Never leaves this layer."""

    def __init__(self, word: StatusWord) -> None:
        super().__init__(word.name)
        self.word = word


INSTRUCTIONS = {0x01: "register", 0x02: "authenticate", 0x03: "version"}


def answer(session: Session, apdu: bytes, interaction: Interaction) -> bytes:
    """The data of a successful answer; anything else is an ApduFailure."""
    if len(apdu) < 4:
        raise ApduFailure(StatusWord.WRONG_LENGTH)
    if apdu[0] != 0x00:
        raise ApduFailure(StatusWord.CLASS_NOT_SUPPORTED)
    if apdu[1] not in INSTRUCTIONS:
        raise ApduFailure(StatusWord.INSTRUCTION_NOT_SUPPORTED)
    data = _data(apdu[4:])
    if apdu[1] == 0x01:
        return _register(session, data, interaction)
    if apdu[1] == 0x02:
        return _authenticate(session, apdu[2], data, interaction)
    if data:
        raise ApduFailure(StatusWord.WRONG_LENGTH)
    return VERSION


def _data(body: bytes) -> bytes:
    """The command data in a short or extended APDU body (ISO 7816-4, section 5.1)."""
    if len(body) < 2 or (body[0] == 0 and len(body) == 3):
        return b""  # nothing, or only the expected length of the answer
    start, width = (3, 2) if body[0] == 0 else (1, 1)
    if len(body) < start:
        raise ApduFailure(StatusWord.WRONG_LENGTH)
    length = int.from_bytes(body[start - width : start], "big")
    if len(body) - start - length not in (0, width):
        raise ApduFailure(StatusWord.WRONG_LENGTH)
    return body[start : start + length]


def _present(interaction: Interaction) -> None:
    """U2F does not wait: if nobody touches the key now, the platform polls again."""
    if not interaction.touch_now():
        raise ApduFailure(StatusWord.CONDITIONS_NOT_SATISFIED)


def _register(session: Session, data: bytes, interaction: Interaction) -> bytes:
    if len(data) != 64:
        raise ApduFailure(StatusWord.WRONG_LENGTH)
    challenge, application = data[:32], data[32:]
    _present(interaction)

    def belongs_to_application(credential: Credential) -> dict[str, Any]:
        credential.rp_id_hash = application
        return {}

    core = session.core
    run = core.fault_run(core.ctap_faults, "create")
    registered = core.register(
        NewCredential(
            rp_id="",
            client_data_hash=challenge,
            algorithm=ES256,
            attestation="fido-u2f",
            extend=belongs_to_application,
        ),
        run,
    )
    if run is not None:
        _check_faults(run, registered, application)
        run.close()
    credential, statement = registered.credential, registered.statement
    return b"".join(
        (
            b"\x05",
            u2f_point(credential),
            bytes((len(credential.id),)),
            credential.id,
            statement["x5c"][0],
            statement["sig"],
        )
    )


def _check_faults(run: FaultRun, registered: Registered, application: bytes) -> None:
    """A U2F registration shows only a key, a certificate and a signature: a fault in anything else
    would be no fault."""
    for one in run.faults:
        shown = any(
            getattr(type(one), stage) is not getattr(Fault, stage)
            for stage in ("identity", "signature")
        )
        signed = type(one).signer is not Fault.signer and type(one).algorithm is Fault.algorithm
        if not (shown or signed or registered.authenticator_data[:32] != application):
            raise FaultError(f"{one.name}: got a U2F registration, which has nothing to change")


def _authenticate(session: Session, control: int, data: bytes, interaction: Interaction) -> bytes:
    if len(data) < 65 or len(data) != 65 + data[64]:
        raise ApduFailure(StatusWord.WRONG_LENGTH)
    challenge, application, handle = data[:32], data[32:64], data[65:]
    core = session.core
    credential = core.store.get(handle)
    if (
        credential is None
        or credential.rp_id_hash != application
        or credential.algorithm is not ES256
        or credential.protection == 3  # U2F cannot verify its user (CTAP 2.1, section 12.1)
        or control not in (0x03, 0x07, 0x08)
    ):
        raise ApduFailure(StatusWord.WRONG_DATA)
    if control == 0x07:  # check only: this "error" says that the handle is known
        raise ApduFailure(StatusWord.CONDITIONS_NOT_SATISFIED)
    if control == 0x03:
        _present(interaction)
    run = core.fault_run(core.ctap_faults, "get")
    # What U2F signs (application, presence, counter, challenge) is authenticator data without
    # anything optional, followed by the client data hash.
    signed, signature = core.sign_assertion(
        credential, challenge, present=control == 0x03, faults=run
    )
    if run is not None:
        run.close()
    return signed[32:37] + signature
