"""How the gateway gets into apps: OAuth 2.0, API keys, app credentials, cookies."""

from __future__ import annotations

from .authoriser import Authoriser
from .ways import AuthorisationNeeded, NotSentError, Sending

__all__ = ["AuthorisationNeeded", "Authoriser", "NotSentError", "Sending"]
