"""Reference pages that follow from the code: settings from their dataclasses, fixtures and profiles
from where they are defined, verdicts and exit codes from the tables that reporters use.

`make_pages` writes them. Knows no server.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_mcp_approval import fixtures
from pytest_mcp_approval.config.json_schema import settings_schema
from pytest_mcp_approval.config.options import FILE, LAUNCH
from pytest_mcp_approval.config.registry import built_in, registered
from pytest_mcp_approval.report.shown import SHOWN
from pytest_mcp_approval.session.proof import NOTHING_PROVED
from pytest_mcp_approval.session.target_health import TARGET_LOST
from pytest_mcp_approval.support.toml_text import toml_value
from virtual_authenticator import profile, profiles

_NOTE = "<!-- Written by docs/make_pages.py from {}; change that, not this page. -->"
_LONGEST_CHOICE = 12
FOLDER = Path(__file__).parent
_ROW = re.compile(r"^\| (?P<keys>`[^|]+?) \| (?P<told>(?:[^|\n]|(?<=\\)\|)+?) \|", re.MULTILINE)
_KEY = re.compile(r"`([a-z][a-z-]*)( = [^`]*)?`")
_PAGE = re.compile(r"\bdocs/([\w-]+)\.md")
Schema = Mapping[str, Any]


def settings_page() -> str:
    """Every key of the settings file, table by table."""
    schema = settings_schema(built_in())
    top = {
        name: one for name, one in schema["properties"].items() if name not in (LAUNCH, *built_in())
    }
    lines = [
        "# Every key of the settings file",
        "",
        _NOTE.format("the dataclasses that read it"),
        "",
        f"All keys of `{FILE}`; in pyproject.toml the same keys are below `[tool.mcp-approval]`. "
        "`mcp-approval schema` prints this as JSON Schema, so that an editor completes and checks "
        "the file ([how](command.md#lint-and-schema)); `mcp-approval lint` checks it without a "
        "server. Most keys at the top are also [options](options.md) of the command line.",
        "",
        "## At the top",
        "",
        *_table(top, {}),
        "",
        *_tables(schema["properties"][LAUNCH], (LAUNCH,)),
    ]
    for name in built_in():
        page = f"{name.replace('_', '-')}.md"
        told = _told_on(page) if (FOLDER / page).exists() else {}
        section = _tables(schema["properties"][name], (name,), told)
        section[2] = f"{section[2]} What it is for, with examples: [{page}]({page})."
        lines += section
    return "\n".join(lines).rstrip() + "\n"


def _told_on(page: str) -> dict[str, str]:
    """What the tables of a family's page say of keys, for those that the code says nothing of."""
    found: dict[str, str] = {}
    for row in _ROW.finditer((FOLDER / page).read_text(encoding="utf-8")):
        told = row["told"].replace("\\|", "|").replace("](#", f"]({page}#")
        for key, example in _KEY.findall(row["keys"]):
            if example or key not in found:  # `key = value` is surely a setting
                found[key] = told
    return found


def _tables(
    schema: Schema, path: tuple[str, ...], told_elsewhere: Mapping[str, str] | None = None
) -> list[str]:
    """A section for this table, and one for each table in it."""
    found = _object(schema)
    if found is None or not found.get("properties"):
        return []
    lines = [f"{'##' if len(path) == 1 else '###'} `[{'.'.join(path)}]`", ""]
    told = schema.get("description", "")
    lines += [f"{told[:1].upper()}{told[1:]}.", ""] if told else []
    outer = found["properties"]
    lines += [*_table(outer, told_elsewhere or {}), ""]
    # A key of the same name may mean something else further down.
    left = {key: text for key, text in (told_elsewhere or {}).items() if key not in outer}
    for name, inner, many in _inner(found["properties"]):
        lines += _tables(inner, (*path, name, *(["NAME"] if many else [])), left)
    return lines


def _inner(properties: Mapping[str, Schema]) -> Iterator[tuple[str, Schema, bool]]:
    """Tables inside a table: one of a fixed name, or one for each name that the user chooses."""
    for name, one in properties.items():
        found = _object(one)
        if found is None:
            continue
        if found.get("properties"):
            yield name, one, False
        elif isinstance(found.get("additionalProperties"), dict):
            each = _object(found["additionalProperties"])
            if each is not None and each.get("properties"):
                yield name, found["additionalProperties"], True


def _object(schema: Schema) -> Schema | None:
    """The table among what a value may be."""
    kinds = [schema, *schema.get("anyOf", ())]
    return next((one for one in kinds if one.get("type") == "object"), None)


def _table(properties: Mapping[str, Schema], told_elsewhere: Mapping[str, str]) -> list[str]:
    rows = ["| key | value | default | |", "|---|---|---|---|"]
    for name, one in properties.items():
        shown = f"`{toml_value(one['default'])}`" if "default" in one else ""
        told = _cell(one.get("description") or told_elsewhere.get(name, ""))
        rows.append(f"| `{name}` | {_cell(_kind(one))} | {shown} | {told} |")
    return rows


def _kind(schema: Schema) -> str:
    """What a value may be, in a few words."""
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(_kind(one) for one in schema["anyOf"]))
    if "enum" in schema:
        names = [f"`{one}`" for one in schema["enum"]]
        return ", ".join(names) if len(names) <= _LONGEST_CHOICE else "one of several words"
    kind = schema.get("type")
    if isinstance(kind, list):
        return " or ".join(_WORDS.get(str(one), str(one)) for one in kind)
    if kind == "array":
        return f"a list of {_PLURALS.get(str(schema.get('items', {}).get('type')), 'values')}"
    limits = [
        f"above {schema['exclusiveMinimum']:g}" if "exclusiveMinimum" in schema else "",
        f"at least {schema['minimum']:g}" if "minimum" in schema else "",
        f"at most {schema['maximum']:g}" if "maximum" in schema else "",
    ]
    return " ".join([_WORDS.get(str(kind), "any value"), *filter(None, limits)])


_WORDS = {
    "string": "text",
    "number": "a number",
    "integer": "a whole number",
    "boolean": "true or false",
    "object": "a table",
    "array": "a list",
}
_PLURALS = {"string": "texts", "number": "numbers", "integer": "numbers", "object": "tables"}


def fixtures_page() -> str:
    """The fixtures for users' own tests."""
    lines = [
        "# Fixtures",
        "",
        _NOTE.format("fixtures.py and the families' public_fixtures.py"),
        "",
        "For your own tests beside the scenarios: [how](own-tests.md). The target is that of the "
        "command line or of the settings file. Every name begins with `approval`, so that nothing "
        "of yours is shadowed; nothing is imported or started before a test asks for it.",
        "",
        "| fixture | scope | what it is |",
        "|---|---|---|",
        *_fixture_rows(fixtures),
        "",
        "Those of the families:",
        "",
        "| fixture | family | what it is |",
        "|---|---|---|",
    ]
    for family in built_in():
        if registered(family).has("public_fixtures"):
            lines += _fixture_rows(registered(family).part("public_fixtures"), family)
    return "\n".join(lines) + "\n"


def _fixture_rows(module: Any, family: str = "") -> list[str]:
    rows = []
    for name, one in vars(module).items():
        marker = getattr(one, "_fixture_function_marker", None)
        if marker is None:
            continue
        told = " ".join(inspect.cleandoc(one.__doc__ or "").split())
        rows.append(f"| `{name}` | {family or marker.scope} | {_cell(told)} |")
    return rows


def profiles_page() -> str:
    """The authenticators by name."""
    lines = [
        "# Profiles of authenticators",
        "",
        _NOTE.format("virtual_authenticator/profiles.toml"),
        "",
        "What a registration or a sign-in with each kind of authenticator looks like to a server. "
        'Take one by its name, `approval.enroll("icloud-keychain")` or '
        '`Authenticator("security-key")`, or change it: '
        '`profile("security-key").with_(algorithms=["EdDSA"])`. Every value has its source in '
        "`profiles.toml`; what is an assumption says so. More: "
        "[the virtual authenticator](virtual-authenticator.md).",
        "",
        "| profile | what it is | transports | attachment | algorithms | verifies by "
        "| attestation | discoverable | can be backed up |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for name in profiles():
        one = profile(name)
        backed = one.backup_eligible if isinstance(one.backup_eligible, bool) else True
        cells = (
            f"`{name}`",
            one.title,
            ", ".join(one.transports) or "none",
            one.attachment,
            ", ".join(one.algorithms),
            one.user_verification,
            one.attestation,
            one.discoverable,
            "yes" if backed else "no",
        )
        lines.append(f"| {' | '.join(map(_cell, cells))} |")
    return "\n".join(lines) + "\n"


def verdicts_page() -> str:
    """What a verdict means, and what the exit code says."""
    lines = [
        "# Verdicts and exit codes",
        "",
        _NOTE.format("report/shown.py"),
        "",
        "Each check of a rule ends in one of these. If the checks of a rule differ, the worst "
        "decides; a check that could not be made counts against a rule, unless its author marked "
        "it as not essential, and then the report says what was left out.",
        "",
        "| mark | verdict | meaning |",
        "|---|---|---|",
        *(f"| `{one.mark}` | {verdict} | {_cell(one.meaning)} |" for verdict, one in SHOWN.items()),
        "",
        "A skipped check is never a pass. A MUST that is broken fails the run; a SHOULD is a "
        'warning (`--strict` makes it fail); "not verified" is counted, with what to configure, '
        "and `--require-verified` makes it fail.",
        "",
        "## Exit codes",
        "",
        "| code | meaning |",
        "|---|---|",
        "| 0 | no MUST is broken, and at least one honest approval succeeded |",
        "| 1 | a MUST is broken (or what `--strict` and `--require-verified` forbid) |",
        "| 2, 3 | interrupted; an error inside pytest |",
        "| 4 | wrong options or settings; or all went well, and a report could not be written |",
        "| 5 | no check was selected |",
        f"| {NOTHING_PROVED} | nothing is proved. Either the server cannot be checked at all (not "
        "there, not an MCP server, wrong origin, effects that cannot be read, or show nothing of "
        "an approved call), or no honest "
        "approval ever succeeded (you named no tool that may be run, or the server refuses honest "
        "users): a server that refuses everything would look the same |",
        f"| {TARGET_LOST} | nothing failed, but the server, or what shows its effects, died, hung "
        'or did not answer in JSON-RPC at some point; earlier verdicts stand, the rest is "not '
        'verified" with the reason |',
        "| 128 + n | ended by signal n |",
        "",
        "The same for `pytest --mcp-approval...` and `mcp-approval check`.",
    ]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """Text for a table's cell, in which the names of our pages are links."""
    parts = text.replace("|", "\\|").replace("\n", " ").split("`")
    parts[::2] = [part.replace("<", "&lt;") for part in parts[::2]]  # what is not code
    safe = "`".join(parts)
    return _PAGE.sub(r"[\1.md](\1.md)", safe)
