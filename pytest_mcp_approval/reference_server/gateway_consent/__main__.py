"""`python -m pytest_mcp_approval.reference_server.gateway_consent`: the gateway alone.

The options are those of `python -m pytest_mcp_approval.reference_server`; but this one keeps
decisions in the machine's key store, or in an encrypted file if there is none. `--set
gateway_consent.storage=memory` keeps nothing.
"""

from __future__ import annotations

import sys

from ...families.gateway_consent.vocabulary import FAMILY
from ..command_line import main

if __name__ == "__main__":
    # First, so that the command line can override it.
    system = ["--set", f"{FAMILY}.storage=system"]
    sys.exit(main([*system, *sys.argv[1:], "--only", FAMILY]))
