"""The names of the scenarios' markers, in their own module so that importing them is cheap."""

MARKER = "mcp_approval_requirement"
"""Ties a scenario to its rules."""
MAY_POISON = "mcp_approval_may_poison"
"""For scenarios that send data which a careless server keeps, and then fails for everyone."""
