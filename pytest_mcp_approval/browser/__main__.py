"""`python -m pytest_mcp_approval.browser find|install`: which browser there is; getting one."""

from __future__ import annotations

import sys
from collections.abc import Sequence

from .errors import NoBrowserError
from .finding import find_browser
from .installing import install

USAGE = """usage: python -m pytest_mcp_approval.browser find|install
  find      print the path of the browser that tests would use
  install   the same, after fetching one if there is none; says on stderr what it does"""


def main(arguments: Sequence[str]) -> int:
    if list(arguments) not in (["find"], ["install"]):
        print(USAGE, file=sys.stderr)
        return 2
    try:
        if arguments[0] == "find":
            print(find_browser())
        else:
            print(install(lambda line: print(line, file=sys.stderr, flush=True)))
    except NoBrowserError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
