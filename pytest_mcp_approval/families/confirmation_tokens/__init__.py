"""MCP-AQL confirmation tokens: scoped, short-lived tokens before dangerous operations."""
