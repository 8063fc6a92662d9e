"""What execution tokens need at the start: the secret, from the environment. There is no default,
and without a good one nothing starts. Standard library only. Knows no token.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping

from ...families.execution_tokens import vocabulary as words
from ..server.settings import ExtensionSettingError

DEFAULT_TTL = datetime.timedelta(minutes=5)
LONGEST_TTL = datetime.timedelta(hours=1)


class SecretError(ExtensionSettingError):
    """A secret that must not be used: the service does not start."""


def read_secret(environment: Mapping[str, object]) -> bytes:
    """The secret of `EXECUTION_TOKEN_SECRET`; the publicly known one is refused."""
    name = words.SECRET_VARIABLE
    text = environment.get(name)
    if text is None:
        raise SecretError(f"{name}: got none, expected a secret of your own")
    if not isinstance(text, str):
        raise SecretError(f"{name}: got no text, expected a secret")
    if not text.strip():
        raise SecretError(f"{name}: got an empty one, expected a secret of your own")
    if text.strip() == words.DEFAULT_SECRET:
        raise SecretError(f"{name}: got {words.DEFAULT_SECRET}, expected a secret of your own")
    secret = text.encode("utf-8", "surrogateescape")
    if len(secret) < words.LEAST_SECRET_BYTES:
        raise SecretError(
            f"{name}: got {len(secret)} bytes, expected at least {words.LEAST_SECRET_BYTES}"
        )
    return secret
