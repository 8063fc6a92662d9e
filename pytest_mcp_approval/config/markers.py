"""The names of the markers of scenarios; apart, so that they cost nothing."""

MARKER = "mcp_approval_requirement"
"""Ties a scenario to its rules."""
MAY_POISON = "mcp_approval_may_poison"
"""On scenarios that send what a careless server keeps, and then fails of for everyone."""
