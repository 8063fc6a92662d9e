"""How a CTAP command can end: status codes (CTAP 2.1, section 8.2), and the exceptions behind them.

Knows nothing of commands and of transports.
"""

from __future__ import annotations

import errno
from enum import IntEnum


class Status(IntEnum):
    """The first byte of every CTAP2 answer."""

    SUCCESS = 0x00
    INVALID_COMMAND = 0x01
    INVALID_PARAMETER = 0x02
    INVALID_LENGTH = 0x03
    INVALID_SEQUENCE = 0x04
    CBOR_UNEXPECTED_TYPE = 0x11
    INVALID_CBOR = 0x12
    MISSING_PARAMETER = 0x14
    LIMIT_EXCEEDED = 0x15
    FP_DATABASE_FULL = 0x17
    LARGE_BLOB_STORAGE_FULL = 0x18
    CREDENTIAL_EXCLUDED = 0x19
    UNSUPPORTED_ALGORITHM = 0x26
    OPERATION_DENIED = 0x27
    KEY_STORE_FULL = 0x28
    UNSUPPORTED_OPTION = 0x2B
    INVALID_OPTION = 0x2C
    KEEPALIVE_CANCEL = 0x2D
    NO_CREDENTIALS = 0x2E
    USER_ACTION_TIMEOUT = 0x2F
    NOT_ALLOWED = 0x30
    PIN_INVALID = 0x31
    PIN_BLOCKED = 0x32
    PIN_AUTH_INVALID = 0x33
    PIN_AUTH_BLOCKED = 0x34
    PIN_NOT_SET = 0x35
    PUAT_REQUIRED = 0x36
    PIN_POLICY_VIOLATION = 0x37
    REQUEST_TOO_LARGE = 0x39
    UV_BLOCKED = 0x3C
    INTEGRITY_FAILURE = 0x3D
    INVALID_SUBCOMMAND = 0x3E
    UV_INVALID = 0x3F
    UNAUTHORIZED_PERMISSION = 0x40
    OTHER = 0x7F


class CtapFailure(Exception):  # noqa: N818 - it is an answer to the platform, not an error of ours
    """Ends a command with a status. Never leaves this layer."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


class DeviceRemoved(OSError):  # noqa: N818 - named for what happened
    """The person took the key out: there is nobody left to answer.

    An OSError, because that is what python-fido2's transports raise when a key is pulled.
    """

    def __init__(self) -> None:
        super().__init__(errno.ENODEV, "the virtual authenticator was taken out")
