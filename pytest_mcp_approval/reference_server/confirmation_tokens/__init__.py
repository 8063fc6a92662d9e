"""The gate of MCP-AQL confirmation tokens, as a library, and its wing of the server."""
