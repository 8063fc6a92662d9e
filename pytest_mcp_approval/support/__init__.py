"""Helpers for all layers above: safe text, secrets, deadlines, connections, HTTP, JSON.

Knows nothing of MCP, approval or pytest. Imports the standard library only.
"""
