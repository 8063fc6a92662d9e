"""One shared wait for all scenarios whose target's time cannot be moved, only waited for.

A scenario moves the clock in the middle of its body. Here each body runs in a thread, one at a time
(the thread is a coroutine, not a worker): where it would wait it is held, the run goes on with the
next scenario, and the body goes on when its time has come. So what must expire is issued together,
and the whole wait is about as long as the longest lifetime, not as long as their sum.

A target that is reset or restarted between scenarios would lose what is held. There a scenario that
comes to wait is cut off, and begun anew with all its like after the others. Knows no family; tests
of the user's own wait where they stand.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable
from typing import Any

import pytest
from _pytest.outcomes import Skipped
from _pytest.runner import runtestprotocol

from ..catalogue.requirements import catalogue
from ..clock import WaitClock
from ..clock.waiting import wait_here
from ..config.markers import MARKER
from ..support.deadline import now
from ..target import Target
from .start import ROOT

_LEAVE_SECONDS = 2.0


class Held(Skipped):
    """The scenario waits; there is nothing to say about it yet."""


class _CutOff(BaseException):
    """Ends a body that is to begin anew later, or that nobody waits for any more."""


class _Body:
    """The body of a scenario, in a thread that runs only while the main thread waits for it."""

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self._its_turn, self._our_turn = threading.Semaphore(0), threading.Semaphore(0)
        self._thread = threading.Thread(target=self._run, name="mcp-approval scenario", daemon=True)
        self.error: BaseException | None = None
        self.ended = False
        self.until = 0.0
        """The instant of the monotonic clock that it waits for; infinite: until it is alone."""
        self._unwanted = False

    def go_on(self) -> None:
        """Until it ends or comes to wait."""
        if self._thread.ident is None:
            self._thread.start()
        else:
            self._its_turn.release()
        self._our_turn.acquire()

    def runs_here(self) -> bool:
        return threading.current_thread() is self._thread

    def wait(self, until: float) -> None:
        """Called in the thread itself."""
        self.until = until
        self._our_turn.release()
        self._its_turn.acquire()
        if self._unwanted:
            raise _CutOff

    def abandon(self) -> None:
        self._unwanted = True
        self._its_turn.release()
        self._thread.join(_LEAVE_SECONDS)

    def _run(self) -> None:
        try:
            self._work()
        except BaseException as error:
            self.error = error
        self.ended = True
        self._our_turn.release()


class Waiting:
    """The hooks of a run whose clock is `wait`."""

    def __init__(self) -> None:
        self._held: dict[pytest.Item, _Body] = {}
        self._postponed: list[pytest.Item] = []
        self._body: _Body | None = None
        self._target: Target | None = None
        self._together = False
        """From here on bodies are held; before, on a target that is reset, they are cut off."""
        self._alone = False
        """Nobody else is left: who waits waits where it stands."""

    @property
    def busy(self) -> bool:
        """Whether somebody counts on what the target remembers."""
        return bool(self._held)

    def attend(self, target: Target) -> None:
        """Let this target's clock wait here."""
        if isinstance(target.clock, WaitClock):
            self._target = target
            self._together = not (target.can_reset or target.can_restart or target.settings.reset)
            target.clock.hold = self._hold

    def _hold(self, until: float) -> None:
        body = self._body
        if body is None or not body.runs_here():
            wait_here(until)
        elif self._together and not self._alone:
            body.wait(until)
        elif self._alone:
            wait_here(until)
        elif math.isfinite(until):
            raise _CutOff

    # ---- in pytest

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Those of which it is known that they wait come first: time passes for them meanwhile."""
        items.sort(key=lambda item: not _needs_clock(item))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_protocol(
        self, item: pytest.Item, nextitem: pytest.Item | None
    ) -> bool | None:
        session = item.session
        self._go_on_with(session, lambda body: body.until <= now())
        others = any(one is not item for one in session.items)
        if nextitem is None and not others:
            self._alone = True
        self._run(item)
        if nextitem is None:
            self._finish(session)
        return True

    @pytest.hookimpl(tryfirst=True)
    def pytest_pyfunc_call(self, pyfuncitem: pytest.Function) -> bool | None:
        if not pyfuncitem.nodeid.startswith(f"{ROOT}/"):
            return None
        if "approval_browser" in pyfuncitem.fixturenames:
            return None  # a browser is driven by the thread that started it: it waits in place
        body = self._held.pop(pyfuncitem, None)
        if body is None:
            names = pyfuncitem._fixtureinfo.argnames
            given = {name: pyfuncitem.funcargs[name] for name in names}
            body = _Body(lambda: pyfuncitem.obj(**given))
        self._body = body
        try:
            body.go_on()
        finally:
            self._body = None
        if not body.ended:
            self._held[pyfuncitem] = body
            raise Held("waits until its time has come")
        if isinstance(body.error, _CutOff):
            self._postponed.append(pyfuncitem)
            raise Held("begins anew when all that wait do so together")
        if body.error is not None:
            raise body.error
        return True

    def pytest_sessionfinish(self) -> None:
        for body in self._held.values():
            body.abandon()
        self._held.clear()

    # ---- a scenario, or a part of it

    def _run(self, item: pytest.Item) -> None:
        """Run it; say so only once it has come to its end."""
        items = item.session.items
        # Items come in an order that pytest does not know beforehand: what belongs to other files
        # is ended here, and with some item said to follow, what the session shares is kept.
        item.session._setupstate.teardown_exact(item)
        follower = next((one for one in items if one is not item), None)
        reports = runtestprotocol(item, log=False, nextitem=follower)
        if item in self._held or item in self._postponed:
            return
        with _reporting_as(item):
            item.ihook.pytest_runtest_logstart(nodeid=item.nodeid, location=item.location)
            for report in reports:
                item.ihook.pytest_runtest_logreport(report=report)
            item.ihook.pytest_runtest_logfinish(nodeid=item.nodeid, location=item.location)

    def _go_on_with(self, session: pytest.Session, ready: Callable[[_Body], bool]) -> None:
        """The held ones that are ready, those first whose time came first."""
        while not _ends(session):
            found = [(body.until, index) for index, body in enumerate(self._held.values())]
            index = min(found)[1] if found else 0
            if not found or not ready(list(self._held.values())[index]):
                return
            self._run(list(self._held)[index])

    def _finish(self, session: pytest.Session) -> None:
        """Begin what was put off, all together; then wait for each."""
        self._together = True
        postponed, self._postponed = self._postponed, []
        for item in postponed:
            if not _ends(session):
                self._go_on_with(session, lambda body: body.until <= now())
                self._run(item)

        def its_time_comes(body: _Body) -> bool:
            if math.isfinite(body.until):
                wait_here(body.until)
            return True

        self._go_on_with(session, its_time_comes)


def _ends(session: pytest.Session) -> bool:
    return bool(session.shouldfail or session.shouldstop)


def _needs_clock(item: pytest.Item) -> bool:
    for marker in item.iter_markers(MARKER):
        if "clock" in (marker.kwargs.get("needs") or ()):
            return True
        for full_id in marker.args:
            if "clock" in catalogue(full_id.partition("/")[0])[full_id].needs:
                return True
    return False


class _reporting_as:  # noqa: N801  # a context manager, used like a function
    """xdist's worker takes every report to be of the item that it is at."""

    def __init__(self, item: pytest.Item) -> None:
        plugins = item.config.pluginmanager.get_plugins()
        self._interactor: Any = next(
            (one for one in plugins if hasattr(one, "item_index") and hasattr(one, "sendevent")),
            None,
        )
        self._index = item.session.items.index(item)

    def __enter__(self) -> None:
        if self._interactor is not None:
            self._was = self._interactor.item_index
            self._interactor.item_index = self._index

    def __exit__(self, *_: object) -> None:
        if self._interactor is not None:
            self._interactor.item_index = self._was
