"""The pages that follow from data say what the data say."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from docs.make_pages import classes_table, pages
from pytest_mcp_approval.catalogue import Catalogue, Requirement, catalogue
from pytest_mcp_approval.config.reader import key_of, rule_of
from pytest_mcp_approval.config.registry import GROUP, OPTIONAL, REQUIRED, built_in
from tests.mutants.registry import load_mutants
from virtual_authenticator import profiles
from virtual_authenticator.faults import FAULTS

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.parametrize("path", pages(), ids=lambda path: f"{path.parent.name}-{path.name}")
def test_a_generated_page_is_up_to_date(path: Path):
    assert path.read_text(encoding="utf-8") == pages()[path], "run: make docs"


def test_the_authenticators_page_names_every_fault_and_profile():
    page = (DOCS / "virtual-authenticator.md").read_text(encoding="utf-8")
    missing = [name for name in (*FAULTS, *profiles()) if f"`{name}`" not in page]
    assert missing == []


def test_the_page_on_families_names_every_part_and_key():
    page = (DOCS / "how-to-add-a-family.md").read_text(encoding="utf-8")
    parts = [f"`{role}.py`" for role in REQUIRED | OPTIONAL] + [
        f"`{name}(" for name in REQUIRED.values() if name
    ]
    fields = [one for kind in (Catalogue, Requirement) for one in dataclasses.fields(kind)]
    keys = [f"`{key_of(one)}`" for one in fields if not rule_of(one).internal]
    keys.remove("`requirement`")
    assert [word for word in (*parts, *keys, GROUP) if word not in page] == []


def anchors_of(page: Path) -> set[str]:
    """What a link can lead to on a page: its headings, as repositories and Sphinx name them."""
    text = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    headings = re.findall(r"^#+ +(.+)$", text, re.MULTILINE)
    return {re.sub(r"[^\w -]", "", one).strip().lower().replace(" ", "-") for one in headings}


def test_links_between_pages_lead_somewhere():
    root = DOCS.parent
    others = [*root.glob("*.md"), *root.glob("examples/*/README.md")]
    for page in [*DOCS.glob("*.md"), *others]:
        text = page.read_text(encoding="utf-8")
        for link, anchor in re.findall(r"\]\(([^)#:\s]*)(?:#([^)\s]*))?\)", text):
            target = page.parent / link if link else page
            assert target.exists(), f"{page.name}: {link}"
            if anchor and target.suffix == ".md":
                assert anchor in anchors_of(target), f"{page.name}: {link}#{anchor}"


@pytest.mark.parametrize("family", built_in())
def test_the_page_of_a_family_leads_to_its_document(family: str):
    page = (DOCS / f"{family.replace('_', '-')}.md").read_text(encoding="utf-8")
    assert f"]({catalogue(family).link})" in page
    # How many there are, the page of rules tells, which is made from them.
    assert not re.search(r"\[\d+ rules\]", page)


def test_every_page_is_in_the_index():
    index = (DOCS / "index.md").read_text(encoding="utf-8")
    listed = re.findall(r"^([\w-]+)$", index, re.MULTILINE)
    pages_there = {path.stem for path in DOCS.glob("*.md")} - {"index"}
    assert pages_there == set(listed)
    assert len(listed) == len(set(listed))


def test_classes_of_defects_have_mutants_in_most_families():
    """A module of mutants that is renamed would drop out of its class unnoticed."""
    header, _, *rows = classes_table(load_mutants().values())
    for row in rows:
        name, *cells = [cell.strip() for cell in row.strip("|").split("|")]
        assert len(cells) == len(built_in()), header
        assert len([cell for cell in cells if cell]) >= 4, name
