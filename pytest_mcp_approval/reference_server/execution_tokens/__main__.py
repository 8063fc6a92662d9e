"""`python -m pytest_mcp_approval.reference_server.execution_tokens`: never without a secret.

The reference server with every family, like `python -m pytest_mcp_approval.reference_server`. But
if EXECUTION_TOKEN_SECRET is not set, that one leaves this family out, and this one does not start.
"""

from __future__ import annotations

import sys

from ...families.execution_tokens.vocabulary import FAMILY
from ..command_line import main

if __name__ == "__main__":
    sys.exit(main([*sys.argv[1:], "--require", FAMILY]))
