"""`python -m pytest_mcp_approval.reference_server.gateway_consent`: the gateway alone.

The options are those of `python -m pytest_mcp_approval.reference_server`; but this one keeps what
people decide in the key store of the machine, or in an encrypted file where there is none.
`--set gateway_consent.storage=memory` keeps nothing.
"""

from __future__ import annotations

import sys

from ...families.gateway_consent.vocabulary import FAMILY
from ..command_line import main

if __name__ == "__main__":
    # First, so that what is said on the command line comes after it.
    system = ["--set", f"{FAMILY}.storage=system"]
    sys.exit(main([*system, *sys.argv[1:], "--only", FAMILY]))
