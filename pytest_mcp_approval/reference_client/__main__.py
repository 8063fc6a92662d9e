"""`python -m pytest_mcp_approval.reference_client <target>`."""

import sys

from .program import main

if __name__ == "__main__":
    sys.exit(main())
