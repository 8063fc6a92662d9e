"""`mcp-approval schema`: the JSON Schema of mcp-approval.toml, with every family that is installed
here."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..config.json_schema import settings_schema
from ..config.registry import families
from .console import say
from .parsing import Parser

PROGRAM = "mcp-approval schema"
_DESCRIPTION = """\
Print the JSON Schema of mcp-approval.toml. Editors with a TOML language server (Even Better TOML,
taplo) complete and check the file if it begins with a line that names the schema:

  mcp-approval schema > mcp-approval.schema.json
  #:schema ./mcp-approval.schema.json"""


def run(words: Sequence[str]) -> int:
    Parser(PROGRAM, _DESCRIPTION, usage=PROGRAM).read(words)
    say(json.dumps(settings_schema(families()), indent=1))
    return 0
