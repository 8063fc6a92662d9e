"""For the tests of the browser layer."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from pytest_mcp_approval.browser.pages import ApprovalPage
from tests.browser.site import Asking, Site, serving
from tests.virtual_authenticator.support.relying_party import RelyingParty


@pytest.fixture(scope="session")
def site() -> Iterator[Site]:
    with serving() as started:
        yield started


@pytest.fixture
def party(site: Site) -> RelyingParty:
    return RelyingParty("localhost", site.origin)


@pytest.fixture
def ask(approval_page: ApprovalPage, site: Site) -> Asking:
    """A page of the site, opened."""
    approval_page.goto(f"{site.origin}/")
    return Asking(approval_page)
