"""The pages that follow from data say what the data say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.make_pages import pages
from virtual_authenticator import profiles
from virtual_authenticator.faults import FAULTS

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.parametrize("path", pages(), ids=lambda path: path.name)
def test_a_generated_page_is_up_to_date(path: Path):
    assert path.read_text(encoding="utf-8") == pages()[path], "run: make docs"


def test_the_authenticators_page_names_every_fault_and_profile():
    page = (DOCS / "virtual-authenticator.md").read_text(encoding="utf-8")
    missing = [name for name in (*FAULTS, *profiles()) if f"`{name}`" not in page]
    assert missing == []


def test_links_between_pages_lead_somewhere():
    root = DOCS.parent
    for page in [*DOCS.glob("*.md"), root / "README.md", root / "CHANGELOG.md"]:
        for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8")):
            assert (page.parent / link).exists(), f"{page.name}: {link}"
