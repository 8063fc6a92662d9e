"""What a user of the suite should do about an HTTP status.

Does not know what the request was about.
"""

from .text import first_line

HEADER_OPTION = "--mcp-approval-header"
NOT_NOW = 429


def advice_for(status: int | None, retry_after: str = "") -> str:
    """Advice for 401, 403 and 429; empty for every other status."""
    if status in (401, 403):
        return (
            "it wants a credential, or another one; give it with "
            f"{HEADER_OPTION}='Authorization: Bearer ...'"
        )
    if status != NOT_NOW:
        return ""
    after = retry_after.strip()
    wait = f" (Retry-After: {first_line(after, 40)})" if after else ""
    return f"slow down: it limits how often it is asked{wait}; raise its limit for this run"
