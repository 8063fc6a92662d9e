"""The name of the marker that ties a scenario to its rules; apart, so that it costs nothing."""

MARKER = "mcp_approval_requirement"
