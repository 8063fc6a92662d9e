"""Before a release: the tag, the version and the changelog agree.

python tools/check_tag.py v0.2.0
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]


def problem_with(tag: str, root: Path = ROOT) -> str | None:
    """What is wrong, in one line; None if all is well."""
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    version = str(project["version"])
    if tag != f"v{version}":
        return f"got the tag {tag!r}, expected 'v{version}', the version of pyproject.toml"
    changes = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    if not re.search(rf"^## \[{re.escape(version)}\]", changes, re.MULTILINE):
        return f"CHANGELOG.md has no section [{version}]: rename [Unreleased]"
    return None


def main() -> int:
    problem = problem_with(sys.argv[1] if len(sys.argv) > 1 else "")
    if problem is not None:
        print(f"release: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
