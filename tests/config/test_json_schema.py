"""The JSON Schema of the settings: it accepts what the reader accepts, and knows every key."""

from __future__ import annotations

import dataclasses
import json
import tomllib
from pathlib import Path
from typing import Any, get_args, get_origin, get_type_hints

import jsonschema
import pytest

from pytest_mcp_approval.command.main import main
from pytest_mcp_approval.config import json_schema
from pytest_mcp_approval.config.json_schema import SCHEMA_FILE, settings_schema
from pytest_mcp_approval.config.options import LAUNCH, OPTIONS, Settings
from pytest_mcp_approval.config.reader import SettingsError, key_of, rule_of
from pytest_mcp_approval.config.registry import built_in, registered
from pytest_mcp_approval.config.settings import check_file

ROOT = Path(__file__).parents[2]
SCHEMA = settings_schema(built_in())
VALIDATOR = jsonschema.Draft7Validator(SCHEMA)
FILES = [
    *(one for one in ROOT.glob("examples/*/mcp-approval.toml") if "two-person" not in str(one)),
    *ROOT.glob("tests/families/*/*.toml"),
]


def problems(text: str) -> list[str]:
    return [one.message for one in VALIDATOR.iter_errors(tomllib.loads(text))]


def is_read(text: str, folder: Path) -> bool:
    (folder / "mcp-approval.toml").write_text(text, encoding="utf-8")
    try:
        check_file(folder)
    except SettingsError:
        return False
    return True


def test_it_is_a_schema_and_ships_with_the_package():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    shipped = Path(json_schema.__file__).with_name(SCHEMA_FILE)
    assert json.loads(shipped.read_text(encoding="utf-8")) == SCHEMA, "run: make docs"


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]):
    assert main(["schema"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert {*SCHEMA["properties"]} <= {*printed["properties"]}


@pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")
def test_real_files_are_in_order(path: Path):
    assert problems(path.read_text(encoding="utf-8")) == []


ACCEPTED = [
    'target = ["http://a/", "http://b/"]',
    'tool = "x={}"',
    'header = ["A: b"]',
    "header = { A = 7 }",
    'launch = "npm start"',
    '[launch]\ncommand = "npm start"\ntimeout = 60\nenvironment = { A = 1 }',
    "timeout = 2.5",
    'timeout = "30"',
    "require-verified = true",
    'require-verified = ["4.8*", "4.2*"]',
    'report = "a.html"',
    '[sep2672]\npage = "http://localhost/"',
    '[sep2672.page]\nurl = "http://localhost/"\nask = ["a", "b"]\nbusy = []',
    '[[confirmation_tokens.operations]]\nname = "x"\ndanger = "destructive"',
    '[[confirmation_tokens.operations]]\nname = "x"\ndanger = 2\nmax-uses = 3',
    "[confirmation_tokens]\nclock-skew-tolerance-seconds = 0",
    '[confirmation_tokens.codes]\nTOKEN_EXPIRED = ["a", 7]',
    '[execution_tokens]\ncontents = "x"\naccepted-exit-codes = 0',
    '[execution_tokens]\ncontents = ["x"]\naccepted-exit-codes = [0, 3]',
    "[gateway_consent.codes]\nCONSENT_REQUIRED = -32010",
    '[gateway_consent.codes]\nCONSENT_DENIED = [{ code = -32011, message = "no" }, "x"]',
    '[gateway_consent]\nauth = "oauth2"\nfiles = "x"\ncall = { tool = "exec", arguments = {} }',
    '[prepare_confirm.pairs.x]\nrestore = { tool = "a" }\nundo = [{ tool = "b" }]',
    '[prepare_confirm.pairs.x]\nawkward = [{ id = "a" }]\nreversible = true',
]
REFUSED = [
    'targt = "x"',
    "strict = 1",
    'tool = { x = "y" }',
    "[launch]\ncomand = 'x'",
    "[launch]\ncommand = 7",
    "[sep2672]\norign = 'x'",
    "[sep2672.page]\nask = 7\nulr = 'x'",
    "[[confirmation_tokens.operations]]\ndanger = 2",
    "[[confirmation_tokens.operations]]\nname = 'x'\ndanger = 9",
    "[confirmation_tokens]\nanswer = 'loud'",
    "[confirmation_tokens]\nburst = -1",
    "[confirmation_tokens.codes]\nTOKEN_LOST = 'x'",
    "[execution_tokens]\ntool = ''",
    "[prepare_confirm]\nexpiry-minutes = 0",
    "[gateway_consent]\nauth = ['telepathy']",
]


@pytest.mark.parametrize("text", ACCEPTED)
def test_what_the_reader_takes_is_no_error_in_an_editor(tmp_path: Path, text: str):
    assert is_read(text, tmp_path)
    assert problems(text) == []


@pytest.mark.parametrize("text", REFUSED)
def test_what_neither_takes(tmp_path: Path, text: str):
    assert not is_read(text, tmp_path)
    assert problems(text) != []


def test_every_option_has_a_key():
    for option in OPTIONS:
        schema: Any = SCHEMA
        for key in option.place:
            choices = [schema, *schema.get("anyOf", ())]
            tables = [one["properties"] for one in choices if "properties" in one]
            assert any(key in one for one in tables), option.name
            schema = next(one[key] for one in tables if key in one)


def fields_of(kind: Any, place: str):
    hints = get_type_hints(kind)
    for one in dataclasses.fields(kind):
        if not rule_of(one).internal:
            yield f"{place}.{key_of(one)}", hints[one.name], rule_of(one)
            for inner in get_args(hints[one.name]) or (hints[one.name],):
                if dataclasses.is_dataclass(inner):
                    yield from fields_of(inner, f"{place}.{key_of(one)}")


def test_a_value_with_a_parser_of_its_own_says_what_it_takes():
    """Else a value that only the parser knows would be an error in an editor."""
    tables = [(Settings, LAUNCH)]
    tables += [(registered(name).part("settings").TABLE_CLASS, name) for name in built_in()]
    for kind, name in tables:
        for place, hint, rule in fields_of(kind, name):
            plain = hint in (str, str | None) or get_origin(hint) is tuple
            assert rule.parse is None or plain or rule.form is not None, place
            assert rule.each is None or rule.each_form is not None, place
