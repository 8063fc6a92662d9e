"""A pytest plugin that checks how MCP servers ask for human approval."""

__version__ = "0.1.0"
