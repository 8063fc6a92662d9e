"""What goes with a release: links that lead somewhere, a bill of materials, the second package, and
a site without broken links."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from tools import absolute_links, authenticator_package, docs_site, interop, sbom

ROOT = Path(__file__).resolve().parents[2]
REPOSITORY = "https://git.example/acme/suite"


def test_links_for_a_package_index_are_absolute():
    text = (
        "![run](docs/images/run.png) [a](docs/a.md#b) [here](#c) [far](https://x.example/) "
        "[up](../LICENSE)"
    )
    assert absolute_links.relative_links(text) == ["docs/images/run.png", "docs/a.md", "../LICENSE"]
    told = absolute_links.absolute(text, "virtual_authenticator", REPOSITORY, "v1")
    assert f"![run]({REPOSITORY}/raw/v1/virtual_authenticator/docs/images/run.png)" in told
    assert f"[a]({REPOSITORY}/blob/v1/virtual_authenticator/docs/a.md#b)" in told
    assert f"[up]({REPOSITORY}/blob/v1/LICENSE)" in told
    assert "[here](#c) [far](https://x.example/)" in told


@pytest.mark.parametrize("name", absolute_links.READMES)
def test_no_relative_link_is_left_in_a_readme(name: str):
    text = (ROOT / name).read_text(encoding="utf-8")
    folder = str(Path(name).parent)
    told = absolute_links.absolute(text, folder, REPOSITORY, "v1")
    assert absolute_links.relative_links(told) == []
    for place in re.findall(rf"{REPOSITORY}/(?:blob|raw)/v1/([^)#]+)", told):
        assert (ROOT / place).exists(), place


@pytest.mark.parametrize("name", absolute_links.PROJECTS)
def test_a_package_says_where_its_repository_is(name: str):
    text = absolute_links.with_urls((ROOT / name).read_text(encoding="utf-8"), REPOSITORY, "v1")
    assert tomllib.loads(text)["project"]["urls"]["Homepage"] == REPOSITORY


def test_an_address_that_is_none_is_refused(tmp_path: Path):
    with pytest.raises(SystemExit, match="expected https://HOST/OWNER/REPOSITORY"):
        absolute_links.main("javascript:alert(1)", "v1", tmp_path)


def test_the_second_package_takes_what_both_share_from_the_first():
    own = (ROOT / "virtual_authenticator" / "distribution.toml").read_text(encoding="utf-8")
    main = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    told = tomllib.loads(authenticator_package.completed(own, main))["project"]
    assert told["version"] == main["version"]
    assert told["requires-python"] == main["requires-python"]
    assert told["authors"] == main["authors"]
    assert len(told["dependencies"]) == 2
    assert set(told["dependencies"]) < set(main["dependencies"])


def test_the_bill_of_materials_has_what_is_installed_and_nothing_else():
    text = (ROOT / "requirements" / "development.txt").read_text(encoding="utf-8")
    told = json.loads(json.dumps(sbom.bill(text)))
    by_name = {one["name"]: one for one in told["components"]}
    assert by_name["cryptography"]["scope"] == "required"
    assert by_name["mcp"]["scope"] == "optional"
    assert "ruff" not in by_name  # a tool of ours
    assert "sphinx" not in by_name
    references = {one["bom-ref"] for one in told["components"]}
    for one in told["components"]:
        assert re.fullmatch(r"pkg:pypi/[a-z0-9.-]+@[\w.+!-]+", one["purl"])
        assert one["properties"], one["name"]
    for one in told["dependencies"][1:]:
        assert one["ref"] in references
        assert set(one["dependsOn"]) <= references
    assert sbom.bill(text) == sbom.bill(text)


def test_a_link_that_leads_nowhere_is_found(tmp_path: Path):
    (tmp_path / "a.html").write_text(
        '<h1 id="x"></h1><a href="#x"></a><a href="b.html#y"></a><a href="https://far.example"></a>'
        '<a href="b.html#z"></a><a href="c.html"></a><img src="no.png"><a href="#n"></a>'
    )
    (tmp_path / "b.html").write_text('<p id="y"></p>')
    assert docs_site.broken_links(tmp_path) == [
        "a.html: #n",
        "a.html: b.html#z",
        "a.html: c.html",
        "a.html: no.png",
    ]


def test_what_interop_needs_is_recognised():
    assert interop.version_of("no-such-program") == ()
    assert interop.version_of("/bin/true") < interop.OLDEST_NODE
    assert interop._object('a warning\n{\n "tools": []\n}\n') == {"tools": []}
    with pytest.raises(interop.InteropError, match="expected JSON"):
        interop._object("nothing")
