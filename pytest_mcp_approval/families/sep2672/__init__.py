"""SEP-2672: one MCP tool call, approved by a passkey signature over its arguments."""
