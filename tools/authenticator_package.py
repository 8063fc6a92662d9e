"""Builds the package `virtual-authenticator` from the same tree, and tries it alone.

`tools/package.py` calls it. The package is made of the folder `virtual_authenticator`, its README,
the licence and `distribution.toml`; what both packages share is taken from the main pyproject.toml.
Knows nothing of MCP.
"""

from __future__ import annotations

import re
import shutil
import tomllib
import zipfile
from collections.abc import Callable
from pathlib import Path

NEEDS = ("cryptography", "fido2")
"""All that it may need; which versions, the main package says."""
NOT_IN_IT = ("pytest", "mcp", "pytest_mcp_approval", "freezegun", "rfc8785", "webauthn")
CEREMONY = """
from fido2.server import Fido2Server
from fido2.webauthn import PublicKeyCredentialRpEntity
from importlib.util import find_spec
from virtual_authenticator import Authenticator, faults, profiles

brought = [name for name in {not_in_it!r} if find_spec(name)]
assert not brought, f"the package brings {{brought}}"
origin = "https://example.org"
user = {{"id": b"alice", "name": "alice", "displayName": "Alice"}}
server = Fido2Server(PublicKeyCredentialRpEntity(id="example.org", name="x"))
for name in profiles():
    key = Authenticator(name)
    options, state = server.register_begin(user)
    data = server.register_complete(state, key.create(dict(options), origin))
    options, state = server.authenticate_begin([data.credential_data])
    server.authenticate_complete(state, [data.credential_data], key.get(dict(options), origin))
    options, state = server.authenticate_begin([data.credential_data])
    forged = key.get(dict(options), origin, faults=faults.fault("signature-bit"))
    try:
        server.authenticate_complete(state, [data.credential_data], forged)
    except Exception:
        continue
    raise SystemExit(f"{{name}}: a broken signature was accepted")
"""


def stage(root: Path, folder: Path) -> None:
    """Put together what the package is made of."""
    code = folder / "virtual_authenticator"
    left_out = shutil.ignore_patterns("__pycache__", "README.md", "distribution.toml")
    shutil.copytree(root / "virtual_authenticator", code, ignore=left_out)
    shutil.copy(root / "virtual_authenticator" / "README.md", folder)
    shutil.copy(root / "LICENSE", folder)
    own = (root / "virtual_authenticator" / "distribution.toml").read_text(encoding="utf-8")
    main = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (folder / "pyproject.toml").write_text(completed(own, main), encoding="utf-8")


def completed(own: str, main: dict[str, object]) -> str:
    """Its pyproject.toml, with what the main one says."""
    needs = main["dependencies"]
    assert isinstance(needs, list)
    mine = [one for one in needs if re.match(r"[\w.-]+", one)[0] in NEEDS]  # type: ignore[index]
    shared = [
        f'version = "{main["version"]}"',
        f'requires-python = "{main["requires-python"]}"',
        f"authors = {[_table(one) for one in main['authors']]}".replace("'", ""),  # type: ignore[attr-defined]
        f"dependencies = {mine!r}".replace("'", '"'),
    ]
    return own.replace("[project]\n", "\n".join(["[project]", *shared, ""]), 1)


def _table(author: dict[str, str]) -> str:
    return "{ " + ", ".join(f'{key} = "{value}"' for key, value in author.items()) + " }"


def look_into(wheel: Path) -> str:
    """What is wrong with the wheel; nothing if it is as it should be."""
    with zipfile.ZipFile(wheel) as file:
        names = file.namelist()
        metadata = file.read(next(name for name in names if name.endswith("/METADATA"))).decode()
    stray = {name.partition("/")[0] for name in names} - {"virtual_authenticator"}
    if not all(one.endswith(".dist-info") for one in stray):
        return f"it has {', '.join(sorted(stray))}"
    missing = {"virtual_authenticator/py.typed", "virtual_authenticator/profiles.toml"} - set(names)
    if missing:
        return f"it lacks {', '.join(sorted(missing))}"
    needs = re.findall(r"^Requires-Dist: ([\w.-]+)", metadata, re.MULTILINE)
    return "" if sorted(needs) == sorted(NEEDS) else f"it needs {', '.join(needs)}"


def try_alone(python: Path, run: Callable[..., str], folder: Path) -> None:
    """Every profile registers and signs in at python-fido2's server; a broken signature fails."""
    run(str(python), "-c", CEREMONY.format(not_in_it=NOT_IN_IT), cwd=folder)
