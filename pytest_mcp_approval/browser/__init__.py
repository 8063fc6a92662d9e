"""A real browser, headless: pages whose passkey prompts a test answers as a person would.

Knows Playwright and the virtual authenticator; knows no MCP, no family and no verdict. Nothing of
it is imported before a test asks for a browser, and Playwright (the extra `browser`) not before one
is started.
"""

from .errors import BrowserError, NoBrowserError

__all__ = ["BrowserError", "NoBrowserError"]
