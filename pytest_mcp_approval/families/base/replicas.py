"""Several servers over one state: each step of an approval at another one, and all at once.

Knows no family.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import datetime
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from ...catalogue import Finding, Grade, NotApplicable, NotVerified
from ...target import Target
from ...wire import HttpTransport, Reply, Session, race_replicas
from .driver import DriverError
from .scenario import ScenarioView, expect_nothing_ran
from .staged import StagedApproval

ReplicaCall = tuple[Session, tuple[str, Mapping[str, Any]]]
_SECONDS = 10.0
_EACH = 4
_NO_REPLICA = (
    "no second replica of the target: name each as a target, or replicas = N, or {state} in the "
    "command"
)
_APART = datetime.timedelta(minutes=2)
"""How far a clock is set wrong: less than most lifetimes, and more than most tolerances."""


def all_at_once(calls: Sequence[ReplicaCall]) -> list[Reply]:
    """Over HTTP the last bytes of all requests leave together. Elsewhere threads do what they can,
    and a race without a second winner is weak evidence."""
    if all(isinstance(session.transport, HttpTransport) for session, _ in calls):
        return race_replicas(calls)
    start = threading.Barrier(len(calls), timeout=_SECONDS)

    def send(session: Session, call: tuple[str, Mapping[str, Any]]) -> Reply:
        start.wait()
        return session.call(*call)

    with concurrent.futures.ThreadPoolExecutor(len(calls)) as threads:
        sent = [threads.submit(send, *one) for one in calls]
        return [one.result() for one in sent]


@contextlib.contextmanager
def _all_replicas(target: Target) -> Iterator[list[Target]]:
    """The target and all the others; these are closed at the end."""
    others = target.replicas()
    try:
        if not others:
            raise NotApplicable(_NO_REPLICA)
        yield [target, *others]
    finally:
        for one in others:
            one.close()


def expect_once_over_replicas(view: ScenarioView, make: Callable[[], StagedApproval]) -> None:
    """Begun at one, continued at the next, used at a third: it runs once for all of them, and of
    many at once one runs. Replicas need not know each other's approvals (a load balancer may keep a
    client at one); if they do, all must agree on what was used."""
    with _all_replicas(view.target) as servers:
        for one in servers:
            with contextlib.closing(make()) as staged, view.honest_step("at a replica"):
                staged.take_all(one)
                view.need_served(staged.use(one), "a replica refuses honest calls")
        with view.several() as several:
            for first in range(len(servers)):
                order = servers[first:] + servers[:first]
                with several.one(f"begun at replica {first + 1}"):
                    _used_once(view, make, order, first)
            with several.one("at all at once"):
                _raced(view, make, servers)


def _handed_round(staged: StagedApproval, order: list[Target]) -> Target:
    """Each step at the next replica; the one at which the approval is to be used."""
    places = [order[step % len(order)] for step in range(len(staged.steps) + 1)]
    try:
        for step, place in enumerate(places[:-1]):
            staged.take(step, place)
    except DriverError as error:
        raise NotApplicable(f"the replicas do not share what is under way: {error}") from error
    staged.forget()
    return places[-1]


def _used_once(
    view: ScenarioView, make: Callable[[], StagedApproval], order: list[Target], first: int
) -> None:
    with contextlib.closing(make()) as staged:
        place = _handed_round(staged, order)
        outcome = staged.use(place)
        if not outcome.executed:
            raise NotApplicable(f"the replicas do not share approvals: {outcome.describe()}")
        sent = (
            f"an approval that was begun at replica {first + 1} of {len(order)}, each step at the "
            "next one"
        )
        runs, most = outcome.runs, staged.most_runs()
        view.expect(
            runs is None or runs <= most,
            sent=sent,
            expected=f"{most} run(s)",
            got=f"{runs} runs",
        )
        for server in order:
            staged.forget()  # replicas may show each other's runs
            expect_nothing_ran(staged.use(server), sent=f"{sent}; used, then once more at each")


def _raced(view: ScenarioView, make: Callable[[], StagedApproval], servers: list[Target]) -> None:
    with contextlib.closing(make()) as staged:
        _handed_round(staged, servers)
        calls = [
            (staged.session(one), ("tools/call", staged.params(one)))
            for one in servers
            for _ in range(_EACH)
        ]
        before = [staged.watching(one).effects_watch.look() for one in servers]
        replies = all_at_once(calls)
        staged.forget()
        runs = 0
        for seen, one in zip(before, servers, strict=True):
            now = staged.watching(one).effects_watch.look()
            # Each may show its own runs, or those of all.
            if seen is not None and now is not None:
                runs = max(runs, now.runs_since(seen) or 0)
        won = sum(staged.claims(reply, view.target) for reply in replies)
        if won > 1 or runs > staged.most_runs():
            raise Finding(
                sent=f"one approval {_EACH} times at each of {_count(servers)} replicas, at once",
                expected="one success, run once",
                got=f"{won} successes, {runs} runs at one of them",
                grade=Grade.RAN,
            )
        if not won:
            raise NotVerified("none of many calls at once was served", minor=True)


def _count(servers: list[Target]) -> str:
    return {2: "two", 3: "three", 4: "four"}.get(len(servers), str(len(servers)))


def expect_bounded_by_wrong_clocks(
    view: ScenarioView, make: Callable[[], StagedApproval], tolerance: float
) -> None:
    """One replica's clock is minutes ahead of the other's, or behind it. Whatever it issues ends at
    every replica when that one's own clock is past the end that was stated: no wrong clock makes an
    approval endless. Before that, either answer will do elsewhere; where it was issued it serves.
    """
    target, clock = view.target, view.clock
    other = target.replica_with_clock()
    if other is None:
        raise NotApplicable(f"{_NO_REPLICA}; with a clock of its own")
    late = datetime.timedelta(seconds=tolerance + 1)
    with contextlib.closing(other), view.several() as several:
        if not other.clock.movable or not (clock.stops and other.clock.stops):
            raise NotVerified("needs a replica whose clock can be set", minor=True)
        for apart, word in ((_APART, "ahead"), (-_APART, "behind")):
            with several.one(word), contextlib.closing(make()) as one:
                start = clock.now()
                clock.move_to(start)
                other.clock.move_to(start + apart)
                with view.honest_step("at a replica with a wrong clock"):
                    one.take_all(other)
                    view.need_served(one.use(other), "a replica with a wrong clock refuses")
                    one.take_all(other)
                expiry = one.expires_at()
                if expiry is None:
                    raise NotApplicable("the server does not say when an approval ends")
                clock.move_to(expiry + late)
                one.forget()
                expect_nothing_ran(
                    one.use(target),
                    sent=f"an approval by a replica whose clock is {_APART.seconds} s {word}, at "
                    f"the other {late.total_seconds():g} s after the end that was stated",
                )
