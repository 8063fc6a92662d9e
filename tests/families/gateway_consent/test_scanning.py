"""A planted secret is found in whatever form it was written, and only then."""

from __future__ import annotations

import base64
import json
from html import escape
from pathlib import Path
from urllib.parse import quote

import pytest

from pytest_mcp_approval.families.gateway_consent.scanning import files_under, find, scan

SECRET = 'key_"Käse"/1+2&3=4<5>'
FORMS = {
    "in clear": lambda text: text.encode(),
    "as UTF-16": lambda text: text.encode("utf-16-le"),
    "as JSON": lambda text: json.dumps({"key": text}).encode(),
    "in a URL": lambda text: f"http://localhost/?key={quote(text, safe='')}".encode(),
    "as HTML": lambda text: f"<b>{escape(text)}</b>".encode(),
    "in base64": lambda text: base64.b64encode(f"Bearer {text} and more".encode()),
    "in hexadecimal": lambda text: text.encode().hex().encode(),
    "backwards": lambda text: text.encode()[::-1],
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_recognised(form: str):
    (hit,) = find(b"before " + FORMS[form](SECRET) + b" after", {SECRET: "API key"}, "a file")
    assert (hit.secret, hit.form, hit.place) == ("API key", form, "a file")
    assert SECRET not in str(hit)


@pytest.mark.parametrize("before", range(6))
@pytest.mark.parametrize("after", range(4))
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_recognised_at_any_place(before: int, after: int, encode):
    secret = "t-8Gh_2kQ-wertzu"
    content = encode(b"x" * before + secret.encode() + b"y" * after)
    assert find(content, {secret: "token"}, "a file")


def test_other_texts_are_none():
    others = b"key_kaese dC04R2hfMmtRLXdlcn 742d38 " + base64.b64encode(b"something else")
    assert find(others, {SECRET: "API key", "t-8Gh_2kQ-wertzu": "token", "": "nothing"}, "a") == []


def test_contents_and_names_of_all_files_are_looked_at(tmp_path: Path):
    (tmp_path / "deep" / "down").mkdir(parents=True)
    (tmp_path / "deep" / "down" / "cache").write_text("token=t-8Gh_2kQ-wertzu")
    (tmp_path / "consent-Cursor 12ab.json").write_text("sealed")
    (tmp_path / "link").symlink_to(tmp_path / "deep", target_is_directory=True)
    hits = scan([tmp_path], {"t-8Gh_2kQ-wertzu": "token", "Cursor 12ab": "decision"})
    assert [(hit.secret, hit.place) for hit in hits] == [
        ("decision", "a file's name"),
        ("token", "cache"),
    ]
    assert len(files_under([tmp_path, tmp_path / "nowhere"])) == 2
