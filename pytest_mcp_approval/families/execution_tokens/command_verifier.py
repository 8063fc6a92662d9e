"""A verifier that is a command: run for each question, it says yes or no by its exit code.

Its words are a template: `{token}` and `{content}` are files, `{nonce_log}` a folder, `{action}`
and `{host}` texts, and `{runner}` a command that takes the content on its standard input, so that
the suite sees what is executed. Without a host, `{host}` and the option before it are left out. A
command without any of these gets the options of the shipped verifiers. The secret is in an
environment variable.
"""

from __future__ import annotations

import concurrent.futures
import re
import secrets
import stat
import tempfile
import threading
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from ...support.command import CommandError, run_command
from ...support.json_reading import JsonError, read_json
from ...support.recording import note
from ...support.secrets import beginning
from ...target.verifiers import CommandTarget
from .outcome import ExecutionOutcome
from .settings import ExecutionTokensTable
from .verifier_access import ExecutionRequest, Verifier, VerifierError, at_once, seen_in_first

STANDARD = (
    *("--token", "{token}", "--content", "{content}", "--nonce-log", "{nonce_log}"),
    *("--action", "{action}", "--host", "{host}", "--", "{runner}"),
)
_PLACE = re.compile(r"\{(token|content|nonce_log|action|host|runner)\}")
_AT_A_TIME = 4
_TRIES = 6


class CommandVerifier(Verifier):
    quick = False
    samples = 3

    def __init__(
        self,
        target: CommandTarget,
        table: ExecutionTokensTable,
        *,
        secret: str | None = None,
        zone: str | None = None,
    ) -> None:
        self.target = target
        self.table = table
        self.folder = Path(tempfile.mkdtemp(dir=target.folder))
        """Also for the caller's files."""
        self.secret: str | None = secret or table.secret or secrets.token_hex(32)
        self._zone = zone
        self._number = 0
        self._lock = threading.Lock()
        self._template = target.spec.command
        if not any(map(_PLACE.search, self._template)):
            self._template += STANDARD
        self.shows_runs = self.takes("runner")

    def takes(self, name: str) -> bool:
        return any(f"{{{name}}}" in word for word in self._template)

    # ---- asking

    def ask(self, request: ExecutionRequest) -> ExecutionOutcome:
        return self._run(request, self._place_for(request))

    def ask_each(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        with concurrent.futures.ThreadPoolExecutor(_AT_A_TIME) as threads:
            return list(threads.map(self.ask, requests))

    def ask_at_once(self, requests: Sequence[ExecutionRequest]) -> list[ExecutionOutcome]:
        """In as many processes with the same nonce log; the same question has the same files."""
        places = {
            id(one): self._place_for(one) for one in {id(one): one for one in requests}.values()
        }
        asking = [partial(self._run, one, places[id(one)], look=False) for one in requests]
        answers = at_once(self._seconds, asking)
        seen = [self._ran(place) for place in places.values()]
        return seen_in_first(
            answers, tuple(one for ran in seen for one in ran or ()) if self.shows_runs else None
        )

    def ask_dying(self, request: ExecutionRequest) -> ExecutionOutcome:
        """The verifier is killed as soon as the content has been executed."""
        return self._run(request, self._place_for(request, afterwards='kill -KILL "$PPID"'))

    def ask_failing(self, request: ExecutionRequest) -> ExecutionOutcome:
        """The content is executed, and its execution says that it failed."""
        return self._run(request, self._place_for(request, afterwards="exit 3"))

    def ask_about(
        self,
        request: ExecutionRequest,
        content: Path,
        while_it_runs: Callable[[threading.Event], None],
    ) -> ExecutionOutcome:
        """With the caller's own content file, which is tampered with until the answer comes."""
        place = self._place_for(request)
        done = threading.Event()
        tampering = threading.Thread(target=while_it_runs, args=(done,), daemon=True)
        tampering.start()
        try:
            return self._run(request, place, content=content)
        finally:
            done.set()
            tampering.join(self._seconds)

    # ---- others

    def another(self) -> Verifier | None:
        """Every question starts a new process anyway."""
        return self

    def restart(self, *, kill: bool = False) -> None:
        """Every question starts a new process; for one that is killed see `ask_dying`."""
        del kill

    def with_secret(self, secret: str | None) -> Verifier | None:
        made = CommandVerifier(self.target, self.table, secret=secret)
        made.secret = secret
        return made

    def in_zone(self, zone: str) -> Verifier | None:
        return CommandVerifier(self.target, self.table, secret=self.secret, zone=zone)

    # ---- inside

    @property
    def _seconds(self) -> float:
        return self.target.settings.timeout

    def _place_for(self, request: ExecutionRequest, *, afterwards: str = "") -> Path:
        """A folder with the files of one question. `afterwards`: what the runner does when it has
        executed the content."""
        with self._lock:
            self._number += 1
            place = self.folder / str(self._number)
        (place / "ran").mkdir(parents=True)
        (place / "token").write_bytes(request.token)
        (place / "content").write_bytes(request.content)
        runner = place / "runner"
        runner.write_text(f'#!/bin/sh\ncat > "{place}/ran/$$"\n{afterwards}\n', encoding="utf-8")
        runner.chmod(runner.stat().st_mode | stat.S_IXUSR)
        return place

    def _words(self, request: ExecutionRequest, place: Path, content: Path | None) -> list[str]:
        filled = {
            "{token}": str(place / "token"),
            "{content}": str(content or place / "content"),
            "{nonce_log}": str(self.folder / "nonces"),
            "{action}": request.action,
            "{host}": request.host or "",
            "{runner}": str(place / "runner"),
        }
        words: list[str] = []
        for template in self._template:
            if "{host}" in template and request.host is None:
                if template == "{host}" and words and words[-1].startswith("-"):
                    words.pop()
                continue
            words.append(_PLACE.sub(lambda place: filled[place[0]], template))
        return words

    def _environment(self) -> dict[str, str]:
        environment = self.target.environment()
        environment.pop(self.table.secret_environment, None)
        if self.secret is not None:
            environment[self.table.secret_environment] = self.secret
        if self._zone is not None:
            environment["TZ"] = self._zone
        return environment

    def _run(
        self,
        request: ExecutionRequest,
        place: Path,
        *,
        content: Path | None = None,
        look: bool = True,
    ) -> ExecutionOutcome:
        for _ in range(_TRIES):
            answer, clock_failed = self._run_once(request, place, content)
            ran = self._ran(place) if look else None
            if not clock_failed or answer.accepted or ran:
                break
        return replace(answer, ran=ran) if look else answer

    def _run_once(
        self, request: ExecutionRequest, place: Path, content: Path | None
    ) -> tuple[ExecutionOutcome, bool]:
        """Also says whether libfaketime may have failed: some versions sometimes do, in a process
        whose parent shell has just ended. That says nothing about the verifier."""
        try:
            done = run_command(
                self._words(request, place, content),
                seconds=self._seconds,
                directory=self.target.directory,
                environment=self._environment(),
                with_children=True,
            )
        except CommandError as error:
            raise VerifierError(f"the command: {error}") from None
        answer = self._answer(done.code, done.output, done.errors)
        note("effects", "command ended", code=done.code, said=beginning(answer.text, 200))
        failed = b"libfaketime: " in done.errors or not answer.started
        return answer, self.target.clock_moved and failed

    def _answer(self, code: int, output: bytes, errors: bytes) -> ExecutionOutcome:
        value = _last_object(output)
        says_yes, reason = self.table.read_answer(value)
        said = output.decode("utf-8", "replace").strip() or errors.decode("utf-8", "replace")
        codes = self.table.accepted_exit_codes
        return ExecutionOutcome(
            accepted=code in codes and says_yes,
            text=f"exit code {code} {said.strip()}".strip(),
            reason=reason,
            # As in a shell: if something cannot be started, the exit code says so.
            started=code in codes or code == 1 or reason is not None,
        )

    def _ran(self, place: Path) -> tuple[bytes | None, ...] | None:
        if not self.shows_runs:
            return None
        return tuple(path.read_bytes() for path in sorted((place / "ran").iterdir()))


def _last_object(output: bytes) -> Any:
    for line in reversed(output.splitlines()):
        try:
            found = read_json(line)
        except JsonError:
            continue
        if isinstance(found, dict):
            return found
    return None
