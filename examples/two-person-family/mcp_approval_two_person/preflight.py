"""Before the first verdict: does this server have the two tools, and is the table complete?"""

from __future__ import annotations

from pytest_mcp_approval import NotOffered, Preflight, Target, neutralise

from .driver import TwoPerson
from .vocabulary import FAMILY


def look(target: Target, found: Preflight) -> None:
    """`NotOffered` is an error only if the user asked for this family by name: tools of these names
    that the user did not mention may do something else."""
    rule = TwoPerson(target)
    tools = (rule.table.request_tool, rule.table.approve_tool)
    missing = [tool for tool in tools if tool not in rule.listing()]
    if missing:
        raise NotOffered(
            f"this server has no tool {neutralise(missing[0], 40)!r}",
            f"If it has another name, say so: request-tool, approve-tool in [{FAMILY}]",
        )
    for key in ("requester_pin", "approver_pin", "action"):
        if not getattr(rule.table, key):
            raise NotOffered(
                f"[{FAMILY}]: got no {key.replace('_', '-')}, expected one",
                "The suite has to act as both persons, and to know an action that is safe to run.",
            )
    found.say("tools", f"{tools[0]} {neutralise(rule.table.action, 40)}, then {tools[1]}")
    found.check_clock(target.clock, lambda: rule.request().expires_at)
