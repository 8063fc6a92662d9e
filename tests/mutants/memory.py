"""What mutants do to a memory store behind its interface."""

from __future__ import annotations

from dataclasses import replace
from typing import Any


def set_counter(store: Any, credential_id: bytes, counter: int) -> None:
    """Set a counter whatever was stored, which no store offers."""
    record = store._credentials[credential_id]
    store._credentials[credential_id] = replace(record, counter=counter)
