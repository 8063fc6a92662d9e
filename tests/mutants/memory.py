"""What mutants do to a store behind its interface."""

from __future__ import annotations

from typing import Any


def set_counter(store: Any, credential_id: bytes, counter: int) -> None:
    """Set a counter whatever was stored, which no store offers."""
    store._credentials.change(credential_id, counter=counter)
