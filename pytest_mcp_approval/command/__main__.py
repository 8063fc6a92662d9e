"""`python -m pytest_mcp_approval.command`: the same as `mcp-approval`."""

from __future__ import annotations

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
