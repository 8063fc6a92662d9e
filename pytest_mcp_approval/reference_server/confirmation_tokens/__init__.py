"""The gate of MCP-AQL confirmation tokens, as a library, and its extension of the server."""
