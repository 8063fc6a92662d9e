"""The gate of the two-step tools, with a small back end of projects and users behind it."""

from .extension import PrepareConfirmExtension
from .gate import ConfirmationGate

__all__ = ["ConfirmationGate", "PrepareConfirmExtension"]
