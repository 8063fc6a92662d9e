"""Decisions: which caller may use which tool of which app, and which questions are open.

Remembered decisions are in the vault, one record for each (caller, app). Others are good for one
call of that tool by that caller, within minutes, and are never stored. A question is bound to its
(caller, app, tool) and has an id that nobody can guess. A gateway belongs to one person, so users
are not distinguished. Knows no MCP, no page and no credential.
"""

from __future__ import annotations

import datetime
import threading
from dataclasses import dataclass, field
from typing import Any

from ...families.gateway_consent import vocabulary as words
from ...families.gateway_consent.vocabulary import Choice
from ..server.clock import Clock
from .descriptors import App
from .open_questions import OpenQuestion, OpenQuestions, new_secret
from .vault import Record, Vault

KIND = "consent"
ONCE_LIFE = datetime.timedelta(minutes=5)
"""How long a decision that is not remembered waits for its call."""


class ConsentError(Exception):
    """A decision that cannot be accepted: the question is unknown, too old or answered."""


@dataclass(eq=False)
class ConsentQuestion(OpenQuestion):
    """What one person is asked on one page."""

    tool: str
    csrf: str = field(repr=False, default_factory=new_secret)

    @property
    def subject(self) -> tuple[str, ...]:
        return self.caller, self.app_id, self.tool


@dataclass(frozen=True)
class Once:
    """A decision for one call."""

    granted: bool
    decided_at: datetime.datetime


class Decisions:
    """Every method may be called by several threads."""

    def __init__(self, vault: Vault, clock: Clock) -> None:
        self.vault = vault
        self.clock = clock
        self.questions: OpenQuestions[ConsentQuestion] = OpenQuestions(clock)
        self._lock = threading.RLock()
        self._once: dict[tuple[str, ...], Once] = {}

    # ---- what was decided

    def granted(self, caller: str, app_id: str, tool: str) -> bool | None:
        """True or False as a person decided, None if nobody has."""
        kept = self.remembered(caller, app_id, tool)
        return self.decided_once(caller, app_id, tool) if kept is None else kept

    def remembered(self, caller: str, app_id: str, tool: str) -> bool | None:
        """A decision about the tool itself counts more than one about all tools."""
        record = self.record(caller, app_id)
        own = record[words.TOOLS].get(tool)
        if own is not None:
            return bool(own[words.GRANTED])
        return True if record[words.ALL_TOOLS] else None

    def decided_once(self, caller: str, app_id: str, tool: str) -> bool | None:
        """Does not use it up."""
        with self._lock:
            once = self._once.get((caller, app_id, tool))
            if once is None or self.too_old(once):
                return None
            return once.granted

    def use_up(self, caller: str, app_id: str, tool: str) -> bool | None:
        """Take the decision for one call; of several calls at once, one gets it."""
        with self._lock:
            once = self._once.pop((caller, app_id, tool), None)
            return None if once is None or self.too_old(once) else once.granted

    def too_old(self, once: Once) -> bool:
        return self.clock.now() >= once.decided_at + ONCE_LIFE

    def tools_granted(self, app: App, caller: str) -> list[str]:
        """The tools of an app that this caller may use now, in the app's order."""
        return [tool for tool in app.tools if self.granted(caller, app.id, tool)]

    # ---- asking and deciding

    def ask(self, caller: str, app_id: str, tool: str) -> ConsentQuestion:
        """The open question about it, or a new one."""
        return self.questions.ask(ConsentQuestion(caller, app_id, self.clock.now(), tool))

    def decide(self, id: str, choice: Choice, *, remember: bool) -> ConsentQuestion:
        """Take a person's decision; a question is answered once."""
        question = self.questions.take(id)
        if question is None:
            raise ConsentError("this question is not open: it was answered, or is too old")
        if remember:
            self.keep(question, choice)
        else:
            self.keep_for_one_call(question, choice)
        return question

    def keep_for_one_call(self, question: ConsentQuestion, choice: Choice) -> None:
        """Without "remember", "all tools" means this tool once: only for the current call."""
        with self._lock:
            for subject in [one for one, once in self._once.items() if self.too_old(once)]:
                del self._once[subject]
            self._once[question.subject] = Once(choice is not Choice.DENY, self.clock.now())

    def keep(self, question: ConsentQuestion, choice: Choice) -> None:
        with self.vault.exclusive():
            record = self.record(question.caller, question.app_id)
            self.write(record, question, choice)
            self.save_record(record, question.caller, question.app_id)

    def write(self, record: Record, question: ConsentQuestion, choice: Choice) -> None:
        tools: dict[str, Any] = record[words.TOOLS]
        if choice is Choice.ALL:
            record[words.ALL_TOOLS] = True
            # The newer decision counts: it cancels earlier denials.
            for name in [name for name, own in tools.items() if not own[words.GRANTED]]:
                del tools[name]
        tools[question.tool] = {
            words.GRANTED: choice is not Choice.DENY,
            words.GRANTED_AT: self.instant(),
            words.REMEMBERED: True,
        }

    def instant(self) -> str:
        now = self.clock.now().astimezone(datetime.UTC)
        return now.strftime("%Y-%m-%dT%H:%M:%SZ")

    # ---- storage, in the document's shape

    def record(self, caller: str, app_id: str) -> Record:
        found = self.vault.load(KIND, *self.record_key(caller, app_id))
        return found or {words.ALL_TOOLS: False, words.TOOLS: {}}

    def save_record(self, record: Record, caller: str, app_id: str) -> None:
        self.vault.save(KIND, record, *self.record_key(caller, app_id))

    def record_key(self, caller: str, app_id: str) -> tuple[str, ...]:
        return caller, app_id

    def export(self) -> dict[str, Any]:
        """caller -> app -> {allTools, tools -> {granted, grantedAt, remember}}."""
        nested: dict[str, Any] = {}
        for key in sorted(self.vault.keys(KIND)):
            record = self.vault.load(KIND, *key)
            if record is not None:  # else it was deleted meanwhile
                caller, app_id = key
                nested.setdefault(caller, {})[app_id] = record
        return nested

    def reset(self) -> None:
        """Forget what is not in the vault; its owner resets the vault."""
        self.questions.clear()
        with self._lock:
            self._once.clear()
