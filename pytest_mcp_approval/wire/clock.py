"""Deadlines and real time, under the name that users of the wire know."""

from pytest_mcp_approval.support.deadline import Deadline, now

__all__ = ["Deadline", "now"]
