"""The command `mcp-approval`, for teams that have no Python project: one module for each of its
words (check, init, explain, ...). It uses everything below it, and nothing uses it."""
