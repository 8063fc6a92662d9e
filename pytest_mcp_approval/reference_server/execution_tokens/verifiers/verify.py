"""Verifies an execution token (ADR-006) on the command line, in Python.

    verify.py --token FILE --content FILE --nonce-log FOLDER --action TYPE [--host URL] [-- COMMAND]

The secret is in EXECUTION_TOKEN_SECRET. One line of JSON on standard output, and an exit code: 0
accepted (and the nonce spent), 1 refused, 2 not started. A COMMAND gets the very bytes that were
hashed on standard input, and its output goes to standard error. `-` for a file is standard input.
Needs Python 3.11 and nothing else.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

from pytest_mcp_approval.reference_server.execution_tokens.gate import Request, TokenVerifier
from pytest_mcp_approval.reference_server.execution_tokens.refusals import ExecutionRefusal
from pytest_mcp_approval.reference_server.execution_tokens.settings import SecretError, read_secret
from pytest_mcp_approval.reference_server.execution_tokens.store import FolderNonceLog
from pytest_mcp_approval.reference_server.execution_tokens.strict_json import read_json


class VerifierUsageError(ValueError):
    """Why it cannot start, in one line."""


class _CommandParser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise VerifierUsageError(message)


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    command: list[str] = []
    if "--" in given:
        cut = given.index("--")
        given, command = given[:cut], given[cut + 1 :]
    try:
        secret = read_secret(os.environ)
        options = _parse(given)
        token, content = _read(options.token), _read(options.content)
        nonces = FolderNonceLog(Path(options.nonce_log))
    except (VerifierUsageError, SecretError, OSError) as error:
        return _say(2, accepted=False, error=str(error))
    verifier = TokenVerifier(secret, nonces, lambda: datetime.datetime.now(datetime.UTC))
    try:
        found = verifier.verify(read_json(token), Request(content, options.action, options.host))
    except ExecutionRefusal as refusal:
        return _say(1, accepted=False, reason=str(refusal.reason), message=str(refusal))
    if command:
        done = subprocess.run(command, input=content, stdout=sys.stderr.fileno(), check=False)
        return _say(0, accepted=True, token_id=found.token_id, exit_code=done.returncode)
    return _say(0, accepted=True, token_id=found.token_id)


def _parse(given: Sequence[str]) -> argparse.Namespace:
    parser = _CommandParser(prog="verify.py", add_help=False, allow_abbrev=False)
    for name in ("--token", "--content", "--nonce-log", "--action"):
        parser.add_argument(name, required=True)
    parser.add_argument("--host")
    return parser.parse_args(given)


def _read(name: str) -> bytes:
    return sys.stdin.buffer.read() if name == "-" else Path(name).read_bytes()


def _say(code: int, **members: Any) -> int:
    print(json.dumps(members), flush=True)
    return code


if __name__ == "__main__":
    sys.exit(main())
