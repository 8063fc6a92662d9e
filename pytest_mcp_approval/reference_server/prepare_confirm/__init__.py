"""The gate of the two-step tools, with a small back end of projects and users behind it."""

from .gate import ConfirmationGate
from .wing import PrepareConfirmWing

__all__ = ["ConfirmationGate", "PrepareConfirmWing"]
