"""Helpers for all layers above: safe text, secrets, deadlines, connections, HTTP, JSON.

Knows nothing about MCP, approval or pytest. Imports only the standard library.
"""
