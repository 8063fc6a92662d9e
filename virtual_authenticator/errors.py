"""What can go wrong for a page that calls `navigator.credentials`, under the DOM's names.

The CTAP layer has its own language for failure: status bytes (see `ctap.status`).
"""

from __future__ import annotations

from typing import ClassVar


class WebAuthnError(Exception):
    """A ceremony failed; `name` is what a page would read from the DOM exception."""

    name: ClassVar[str] = "UnknownError"


class NotAllowedError(WebAuthnError):
    """The user declined, never acted, or no authenticator could serve the request."""

    name = "NotAllowedError"


class InvalidStateError(WebAuthnError):
    """The authenticator holds a credential that excludeCredentials names."""

    name = "InvalidStateError"


class SecurityError(WebAuthnError):
    """The origin may not use this RP ID."""

    name = "SecurityError"


class NotSupportedError(WebAuthnError):
    """None of the offered algorithms is available."""

    name = "NotSupportedError"


class AbortError(WebAuthnError):
    """Nobody took up an offer that a page makes beside others (conditional mediation): the page
    waits until it aborts, for no error tells it."""

    name = "AbortError"


class InvalidOptionsError(WebAuthnError, ValueError):
    """The options are malformed. The message says where, what was got and what was expected.

    A page sees a TypeError (for broken base64url an EncodingError, for prf inputs of unlisted
    credentials a SyntaxError): `name` says which.
    """

    name = "TypeError"

    def __init__(self, where: str, got: str, expected: str, *, name: str = "TypeError") -> None:
        super().__init__(f"{where}: got {got}, expected {expected}")
        self.where = where
        self.got = got
        self.expected = expected
        self.name = name  # type: ignore[misc]  # the instance narrows the class's default
