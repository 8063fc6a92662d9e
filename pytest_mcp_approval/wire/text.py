"""Safe text, under the name that users of the wire know."""

from pytest_mcp_approval.support.text import first_line, last_lines, neutralise

__all__ = ["first_line", "last_lines", "neutralise"]
