"""Who signs for the person: a virtual authenticator, one behind a URL, or a real passkey on a page.

All take and give WebAuthn's JSON. Knows no MCP.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

_SECONDS = 30


class NoSignature(Exception):  # noqa: N818  # what an authenticator does is no error of ours
    """The authenticator, or the person with it, did not sign."""


class Signer(Protocol):
    """An authenticator, as a browser offers it to a page."""

    def create(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Registration: creation options in, RegistrationResponseJSON out."""

    def get(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        """Assertion: request options in, AuthenticationResponseJSON out."""


class VirtualSigner:
    """A software authenticator; with a file, its passkeys are kept for the next time."""

    def __init__(self, origin: str, file: Path | None = None, shape: str = "security-key") -> None:
        from virtual_authenticator import Authenticator

        self._origin, self._file = origin, file
        if file is not None and file.exists():
            self._authenticator = Authenticator.load(file)
        else:
            self._authenticator = Authenticator(shape)

    def create(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._done("create", options)

    def get(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._done("get", options)

    def _done(self, what: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        from virtual_authenticator import WebAuthnError

        try:
            found: Mapping[str, Any] = getattr(self._authenticator, what)(options, self._origin)
        except (WebAuthnError, ValueError) as error:
            raise NoSignature(f"{type(error).__name__}: {error}") from None
        if self._file is not None:
            self._authenticator.save(self._file)
        return found


class RemoteSigner:
    """An authenticator that somebody else serves: POST <url>/create or <url>/get, with the origin
    and the options, is answered with the response."""

    def __init__(self, url: str, origin: str) -> None:
        self._parts, self._origin = urlsplit(url), origin

    def create(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._posted("create", options)

    def get(self, options: Mapping[str, Any]) -> Mapping[str, Any]:
        return self._posted("get", options)

    def _posted(self, what: str, options: Mapping[str, Any]) -> Mapping[str, Any]:
        host, port = self._parts.hostname or "", self._parts.port
        connection = http.client.HTTPConnection(host, port, timeout=_SECONDS)
        body = json.dumps({"origin": self._origin, "options": options})
        try:
            connection.request("POST", f"{self._parts.path}/{what}", body)
            answer = connection.getresponse()
            told = json.loads(answer.read())
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise NoSignature(f"{type(error).__name__}: {error}") from None
        finally:
            connection.close()
        if answer.status != 200 or not isinstance(told, dict):
            raise NoSignature(str(told))
        return told
