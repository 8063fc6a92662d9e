"""One pytest session for many short runs of the packaged scenarios: one target after the other.

Starting pytest, reading its options and loading the scenarios takes longer than most of these runs.
Here that is done once. The plugin itself creates everything else for each target, as in a separate
run, and drops it afterwards: settings, preflight, scenarios as pytest's items, fixtures, the
target, verdicts, secrets.

Knows no mutants. For tests only: it uses private parts of pytest.
"""

from __future__ import annotations

import contextlib
import io
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pytest
from _pytest.config import _prepareconfig

from pytest_mcp_approval.session.hooks import begin_run
from tests.inner_runs import Verdicts, bare_options

Order = Callable[[list[pytest.Item]], list[pytest.Item]]


class InnerSession:
    """Open it in an empty folder, which must exist until the session is closed."""

    def __init__(self, folder: Path) -> None:
        self._written = io.StringIO()
        self._paths = sys.path[:]
        # No capturing here: it would last as long as the session.
        words = ["-q", "--tb=native", "--capture=no", f"--rootdir={folder}", *bare_options()]
        with contextlib.redirect_stdout(self._written), contextlib.chdir(folder):
            self.config = _prepareconfig(words)
            self.session = pytest.Session.from_config(self.config)
            self.session.exitstatus = pytest.ExitCode.OK
            self.config._do_configure()
            self.config.hook.pytest_sessionstart(session=self.session)
        self._plugins = set(self.config.pluginmanager.get_plugins())

    def close(self) -> None:
        self.config.hook.pytest_sessionfinish(
            session=self.session, exitstatus=self.session.exitstatus
        )
        self.config._ensure_unconfigure()
        sys.path[:] = self._paths

    def judge(
        self,
        *plugins: object,
        order: Order = list,
        skip: Callable[[pytest.Item], bool] = lambda _: False,
        enough: Callable[[], bool] = lambda: False,
        ids: Sequence[str] = (),
        **options: Any,
    ) -> Verdicts:
        """The verdicts on one target, until they are `enough`; of the scenarios with these ids, or
        of all. Options are ours, without their prefix. No verdicts if the preflight ends the run;
        the output says why."""
        heard = Verdicts()
        self._written.seek(0)
        self._written.truncate()
        stopped = contextlib.suppress(pytest.exit.Exception)
        with stopped, self._run_of_its_own(options, [heard, *plugins], tuple(ids)):
            items: list[pytest.Item] = []
            self._theirs("pytest_collection_modifyitems")(
                session=self.session, config=self.config, items=items
            )
            items = order(items)
            for item, following in zip_longest(items, items[1:]):
                if skip(item):
                    self.session._setupstate.teardown_exact(following)
                    continue
                self.config.hook.pytest_runtest_protocol(item=item, nextitem=following)
                if enough():
                    break
        return heard

    @property
    def written(self) -> str:
        """What the last run wrote to its terminal."""
        return self._written.getvalue()

    @contextlib.contextmanager
    def _run_of_its_own(
        self, options: dict[str, Any], plugins: list[object], ids: tuple[str, ...]
    ) -> Iterator[None]:
        manager, values = self.config.pluginmanager, vars(self.config.option).copy()
        cleanup, self.config._cleanup_stack = self.config._cleanup_stack, contextlib.ExitStack()
        folder = Path.cwd()
        try:
            for name, value in options.items():
                assert f"mcp_approval_{name}" in values, name
                setattr(self.config.option, f"mcp_approval_{name}", value)
            for plugin in plugins:
                manager.register(plugin)
            os.chdir(self.config.rootpath)
            begin_run(self.config, ids)
            try:
                self._theirs("pytest_sessionstart")(session=self.session)
                yield
            finally:
                self.session._setupstate.teardown_exact(None)
                self._theirs("pytest_sessionfinish")(
                    session=self.session, exitstatus=pytest.ExitCode.OK
                )
                self._theirs("pytest_unconfigure")(config=self.config)
        finally:
            os.chdir(folder)
            for plugin in set(manager.get_plugins()) - self._plugins:
                manager.unregister(plugin)
            self.config._cleanup_stack.close()
            self.config._cleanup_stack = cleanup
            vars(self.config.option).clear()
            vars(self.config.option).update(values)
            manager.getplugin("terminalreporter").stats.clear()

    def _theirs(self, hook: str) -> Any:
        """A hook, called only for the plugins of this run: the others live as long as the
        session."""
        return self.config.pluginmanager.subset_hook_caller(hook, self._plugins)
