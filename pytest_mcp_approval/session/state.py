"""The state of a session with a target: one object, passed to everybody who needs it.

A run of scenarios creates it when pytest is configured. The user's own tests, without any scenario,
create it when they first ask for the server. Knows no hooks, and no parts that only make verdicts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from ..catalogue import Requirement, catalogue, families
from ..catalogue.requirements import selected
from ..config.settings import NO_BROWSER, Settings, SettingsError, read_settings
from ..families.base.preflight import Preflight
from ..report.results import Results
from ..support.secrets import Secrets
from ..target import check_launch, parse_target
from .aftermath import Aftermath
from .collection import OF_A_CLIENT, ON_A_PAGE, ON_REQUEST
from .discreet_output import be_discreet
from .secrets_of_run import secrets_of, secrets_of_options
from .start import given_options
from .target_health import TargetHealth
from .worker_input import of_worker

_STATE: pytest.StashKey[RunState] = pytest.StashKey()


@dataclass
class RunState:
    """What a session knows, and what it has found out."""

    config: pytest.Config
    settings: Settings
    given: Mapping[str, Any]
    """The options of the command line, by name; in a replay also those of the finding."""
    ids: tuple[str, ...]
    """The ids of the scenarios that were asked for; empty: all."""
    secrets: Secrets
    found: Preflight | None
    """None before the preflight, or without one."""
    results: Results
    health: TargetHealth
    aftermath: Aftermath
    notes: Mapping[str, list[Any]]
    """What verdict steps noted on reports (`Phase.note`), by name."""
    header: list[tuple[str, str]] = field(default_factory=list)
    stash: pytest.Stash = field(default_factory=pytest.Stash)
    """For parts that not every run has, such as the browser."""

    @property
    def is_worker(self) -> bool:
        return hasattr(self.config, "workerinput")

    @property
    def families(self) -> tuple[str, ...]:
        """The families that the user named, else those that the preflight found; before it, all."""
        found = self.found.offered if self.found is not None else ()
        return self.settings.families or tuple(found) or families()

    @property
    def wanted_families(self) -> list[str]:
        """The families with a selected rule: no others are looked for or imported."""
        named = {one.split("/")[1] for one in self.ids if one.count("/")}
        wanted = {rule.family for rule in self.rules() if selected(rule.id, self.settings.select)}
        return [name for name in self.families if name in wanted and (not named or name in named)]

    @property
    def with_page(self) -> bool:
        """Whether scenarios on a page are run; before the preflight it is not known, so True."""
        if self.settings.browser == NO_BROWSER:
            return False
        return self.found is None or self.found.with_page

    def wanted_file(self, name: str) -> bool:
        """Whether the scenarios in a file of this name are about what is checked."""
        if self.settings.checks_a_client:
            return name.startswith(OF_A_CLIENT)
        if name.startswith(ON_A_PAGE):
            return self.with_page
        if name.startswith(ON_REQUEST):
            return self.settings.network_faults
        return not name.startswith(OF_A_CLIENT)

    def rules(self) -> list[Requirement]:
        """The rules for servers in the chosen families; with a page also those for clients; of a
        client only those."""
        parties = ("server", "client") if self.with_page else ("server",)
        if self.settings.checks_a_client:
            parties = ("client",)
        return [rule for name in self.families for rule in catalogue(name) if rule.party in parties]


def make_state(
    config: pytest.Config, given: Mapping[str, Any], ids: tuple[str, ...] = ()
) -> RunState:
    """Create the state. From here on secrets are hidden. Raises `SettingsError`."""
    settings = read_settings(given, config.rootpath, config.invocation_params.dir)
    for text in settings.targets:
        parse_target(text)
    is_worker = hasattr(config, "workerinput")
    if settings.targets:
        check_launch(settings, workers=is_worker or config.getoption("dist", "no") != "no")
    secrets = secrets_of(settings)
    be_discreet(config, secrets)
    notes: Mapping[str, list[Any]] = defaultdict(list)
    health = TargetHealth(settings, notes["lost"])
    state = config.stash[_STATE] = RunState(
        config=config,
        settings=settings,
        given=given,
        ids=ids,
        secrets=secrets,
        found=of_worker(config, health.patience),
        results=Results(),
        health=health,
        aftermath=Aftermath(config, settings, notes["poisoned"]),
        notes=notes,
    )
    return state


def state_of(config: pytest.Config) -> RunState:
    """The state, for fixtures; without a target if none is named. Wrong settings fail the test."""
    if _STATE not in config.stash:
        given = given_options(config)
        try:
            make_state(config, given)
        except SettingsError as error:
            pytest.fail(secrets_of_options(given).hide(str(error)), pytrace=False)
    return config.stash[_STATE]
