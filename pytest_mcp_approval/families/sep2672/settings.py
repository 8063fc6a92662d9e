"""The page of a target, as the user's settings describe it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from ...config.settings import PREFIX, Settings, SettingsError
from ...support.nearest import expected
from ...target import Target
from .page import PATIENCE, PageDriver, PageError, PageMemory
from .page_description import TABLE, PageDescription

if TYPE_CHECKING:
    from ...browser.pages import ApprovalPage

NO_PAGE = f"the server has no page to test: {PREFIX}page=URL"


def described(settings: Settings) -> PageDescription:
    """What [sep2672.page] says; SettingsError where it cannot be read."""
    table = settings.family_settings.get("sep2672", {})
    for key in table:
        if key != TABLE:
            raise SettingsError(f"[sep2672]: got {key!r}, {expected(key, [TABLE])}")
    return PageDescription.of_table(table.get(TABLE, {}))


def driver_for(approval_page: ApprovalPage, target: Target) -> PageDriver:
    """The driver of a target's page."""
    url = target.page()
    if url is None:
        pytest.skip(NO_PAGE)
    try:
        description = described(target.settings)
    except SettingsError as error:
        raise PageError(str(error)) from None
    memory: PageMemory = target.remembered.setdefault("page", PageMemory())
    patience = max(PATIENCE, target.settings.timeout)
    return PageDriver(approval_page, url, description, patience=patience, memory=memory)
