"""The demonstration apps: what an app does on its side of each of the four ways in."""

from __future__ import annotations

from .app import OTHER_CLIENT_ID, DemonstrationApp

__all__ = ["OTHER_CLIENT_ID", "DemonstrationApp"]
