"""The settings as JSON Schema, for editors: made from the same dataclasses that the reader uses.

It accepts every value that the reader accepts, and more, since only the reader can parse a command
line or an address. It knows keys in their current spelling only. `settings.schema.json`, beside
this file, is what comes out for the families of the suite; a test compares. Knows no file.
"""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
import textwrap
import types
from collections.abc import Mapping
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, Union, get_args, get_origin, get_type_hints

from .client_description import ClientDescription
from .options import CLIENT, FILE, LAUNCH, OPTIONS, Option, Settings
from .reader import Rule, key_of, rule_of
from .registry import registered

SCHEMA_FILE = "settings.schema.json"
Schema = dict[str, Any]
_TEXT: Schema = {"type": "string"}
_TYPES: Mapping[Any, str] = {
    str: "string",
    Path: "string",
    bool: "boolean",
    int: "integer",
    float: "number",
}


def settings_schema(families: tuple[str, ...]) -> Schema:
    """The schema of mcp-approval.toml, with the tables of these families."""
    top = _Tables()
    launch = top.of(Settings, LAUNCH)
    schema = top.of(Settings)
    schema["properties"][LAUNCH] = {
        "description": "a server that the suite starts; a text is its command",
        "anyOf": [launch, _TEXT],
    }
    schema["properties"][CLIENT] = {
        "description": "a client to check, instead of a server; a text is its command",
        "anyOf": [top.of(ClientDescription), _TEXT],
    }
    for name in families:
        family = registered(name)
        table: Schema = {"type": "object"}
        if family.has("settings"):
            table = top.of(family.part("settings").TABLE_CLASS)
        schema["properties"][name] = {"description": f"what only {name} needs", **table}
    for option in OPTIONS:
        if option.short and option.place[0] not in (LAUNCH, CLIENT):
            _allow_text(schema, option)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": FILE,
        "description": "Settings of pytest-mcp-approval; the same keys as in [tool.mcp-approval].",
        **schema,
    }


def _allow_text(schema: Schema, option: Option) -> None:
    """A text in place of a table means its one key."""
    *outer, table, _ = option.place
    for name in outer:
        schema = schema["properties"].get(name, {})
    if table in schema.get("properties", {}):
        known = schema["properties"][table]
        told = known.pop("description", "")
        schema["properties"][table] = {"description": told, "anyOf": [known, _TEXT]}


class _Tables:
    """Turns dataclasses into schemas."""

    def of(self, kind: Any, table: str = "") -> Schema:
        """The fields of a dataclass that are in this table."""
        hints, told = get_type_hints(kind), attribute_docstrings(kind)
        properties: Schema = {}
        required = []
        for one in dataclasses.fields(kind):
            rule = rule_of(one)
            if rule.internal or rule.table != table:
                continue
            schema = self._value(hints[one.name], rule)
            help_text = rule.option.help if rule.option is not None else told.get(one.name, "")
            if help_text:
                schema = {"description": help_text, **schema}
            if isinstance(one.default, (str, bool, int, float)) and one.default != "":
                schema["default"] = one.default
            properties[key_of(one)] = schema
            if one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING:
                required.append(key_of(one))
        found = {"type": "object", "properties": properties, "additionalProperties": False}
        return {**found, "required": required} if required else found

    def _value(self, hint: Any, rule: Rule) -> Schema:
        if rule.form is not None:
            return dict(rule.form)
        if get_origin(hint) in (types.UnionType, Union):
            hint = next(one for one in get_args(hint) if one is not types.NoneType)
        kind, members = get_origin(hint) or hint, get_args(hint)
        if kind is tuple:
            return self._list(members[0], rule)
        if isinstance(kind, type) and issubclass(kind, Mapping):
            table = self._table(members[1], rule)
            # On the command line they are texts, and a file may have them like that.
            as_texts = rule.option is not None and rule.option.example
            return _one_or_several(_TEXT, table) if as_texts else table
        if rule.parse is not None:
            return dict(_TEXT) if hint is str else {}
        return self._one(hint, rule)

    def _one(self, hint: Any, rule: Rule) -> Schema:
        if dataclasses.is_dataclass(hint):
            return self.of(hint)
        if isinstance(hint, type) and issubclass(hint, Enum):
            return {"enum": [str(one.value) for one in hint]}
        if rule.choices:
            return {"enum": list(rule.choices)}
        if hint not in _TYPES:
            return {}
        limits = {
            "exclusiveMinimum": rule.above,
            "minimum": rule.least,
            "maximum": rule.most,
            "minLength": 1 if rule.filled and hint is str else None,
        }
        found = {name: limit for name, limit in limits.items() if limit is not None}
        return {"type": _TYPES[hint], **found}

    def _list(self, hint: Any, rule: Rule) -> Schema:
        of_tables = dataclasses.is_dataclass(hint) or get_origin(hint) is not None
        if of_tables and get_origin(hint) is not None:
            member: Schema = {"type": "object"}
        else:
            member = self._one(hint, Rule(choices=rule.choices))
        if of_tables and not rule.alone:
            return {"type": "array", "items": member}
        return _one_or_several(member)

    def _table(self, hint: Any, rule: Rule) -> Schema:
        one = dataclasses.replace(
            rule, names=None, parse=rule.each, each=None, option=None, form=rule.each_form
        )
        member = self._value(hint, one)
        if rule.names is None:
            return {"type": "object", "additionalProperties": member}
        names = [str(getattr(name, "value", name)) for name in rule.names]
        if not rule.verbatim:
            names = [name.replace("_", "-") for name in names]
        return {
            "type": "object",
            "properties": dict.fromkeys(names, member),
            "additionalProperties": False,
        }


def _one_or_several(member: Schema, *others: Schema) -> Schema:
    return {"anyOf": [*others, member, {"type": "array", "items": member}]}


@cache
def attribute_docstrings(kind: Any) -> Mapping[str, str]:
    """What stands below each field of a class; Python itself does not keep it."""
    found: dict[str, str] = {}
    for one in reversed(kind.__mro__[:-1]):
        try:
            tree = ast.parse(textwrap.dedent(inspect.getsource(one)))
        except (OSError, TypeError):  # no source here
            continue
        body = tree.body[0].body if isinstance(tree.body[0], ast.ClassDef) else []
        for field, below in itertools.pairwise(body):
            if isinstance(field, ast.AnnAssign) and isinstance(field.target, ast.Name):
                text = _text_of(below)
                if text:
                    found[field.target.id] = " ".join(text.split())
    return found


def _text_of(node: ast.stmt) -> str:
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
        return node.value.value if isinstance(node.value.value, str) else ""
    return ""
