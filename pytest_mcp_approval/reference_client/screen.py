"""The person at the reference client's terminal: what is shown, and what is asked.

What a server says is shown whole. Control characters in it, which could repaint the screen, are
spelled out. Knows no server.
"""

from __future__ import annotations

import subprocess
import webbrowser
from collections.abc import Mapping
from typing import Any, TextIO

from .addresses import can_be_opened, host_of, warnings_about
from .forms import WrongValue, choices_of, is_required, members_of, read_value
from .people import Decision, FormQuestion, Review, UrlQuestion

_RULE = "-" * 60
_DECISIONS = {"y": Decision.AGREE, "n": Decision.DECLINE, "c": Decision.CANCEL}
_MOST_TRIES = 5
_OPEN_SECONDS = 10


class Leaving(Exception):  # noqa: N818  # what a person does
    """The terminal was closed."""


def visible(text: str) -> str:
    """The text as it is, with control characters other than line ends and tabs spelled out."""
    return "".join(
        one if one in "\n\t" or not (ord(one) < 32 or 127 <= ord(one) < 160) else ascii(one)[1:-1]
        for one in text
    )


class Screen:
    """A person, as `people.Person` describes one."""

    def __init__(self, stdin: TextIO, stdout: TextIO, environment: Mapping[str, str]) -> None:
        self._stdin, self._stdout = stdin, stdout
        self._environment = environment

    def say(self, text: str) -> None:
        self._stdout.write(f"{text}\n")
        self._stdout.flush()

    def ask(self, prompt: str) -> str:
        self._stdout.write(prompt)
        self._stdout.flush()
        line = self._stdin.readline()
        if not line:
            raise Leaving
        return line.rstrip("\r\n")

    def decide(self, what: str) -> Decision:
        """Yes, no, or neither; whatever cannot be read is neither."""
        for _ in range(_MOST_TRIES):
            try:
                said = self.ask(f"{what} [y/n/c] ").strip().lower()
            except Leaving:
                return Decision.CANCEL
            if said in _DECISIONS:
                return _DECISIONS[said]
            self.say("y: yes, n: no, c: leave without an answer")
        return Decision.CANCEL

    # ---- what the client asks

    def warn(self, what: str) -> None:
        self.say(f"warning   {visible(what)}")

    def review(self, review: Review) -> Decision:
        self.say(f"approve   {visible(review.tool)}, asked for by {visible(review.server)}")
        self._quote(review.display_text)
        return self.decide("Approve this with your passkey?")

    def fill(self, question: FormQuestion) -> tuple[Decision, Mapping[str, Any]]:
        self.say(f"question  from {visible(question.server)}")
        self._quote(question.message)
        decision = self.decide("Answer this?")
        if decision is not Decision.AGREE:
            return decision, {}
        try:
            content = self._fields(question.schema)
        except Leaving:
            return Decision.CANCEL, {}
        if not members_of(question.schema):
            return decision, content
        for name, value in content.items():
            self.say(f"  {visible(name)}: {visible(str(value))}")
        return self.decide("Send this?"), content

    def visit(self, question: UrlQuestion) -> Decision:
        self.say(f"page      {visible(question.server)} asks you to open a page")
        self._quote(question.message)
        self.say(visible(question.url))
        self.say(f"host      {visible(host_of(question.url)) or 'none'}")
        for warning in warnings_about(question.url):
            self.warn(warning)
        decision = self.decide("Open it in your browser?")
        if decision is Decision.AGREE and not self.open(question.url):
            return Decision.CANCEL
        return decision

    # ---- parts

    def open(self, url: str) -> bool:
        """Hand the URL to the person's browser, which this program knows nothing more of."""
        if not can_be_opened(url):
            self.say("not opened")
            return False
        named = self._environment.get("BROWSER")
        if not named:
            return webbrowser.open(url)
        try:
            subprocess.run([named, url], timeout=_OPEN_SECONDS, check=True)
        except (OSError, subprocess.SubprocessError) as error:
            self.say(f"not opened: {error}")
            return False
        return True

    def _quote(self, text: str) -> None:
        self.say(_RULE)
        self.say(visible(text))
        self.say(_RULE)

    def _fields(self, schema: Mapping[str, Any]) -> dict[str, Any]:
        content: dict[str, Any] = {}
        for name, member in members_of(schema).items():
            self._describe(name, member, required=is_required(schema, name))
            for _ in range(_MOST_TRIES):
                typed = self.ask(f"{visible(name)} = ").strip()
                if not typed and "default" in member:
                    content[name] = member["default"]
                    break
                if not typed and not is_required(schema, name):
                    break
                try:
                    content[name] = read_value(member, typed)
                    break
                except WrongValue as wrong:
                    self.say(f"not taken: {wrong}")
            else:
                raise Leaving
        return content

    def _describe(self, name: str, member: Mapping[str, Any], *, required: bool) -> None:
        told = [str(member.get("title") or name)]
        if member.get("description"):
            told.append(str(member["description"]))
        if choices := choices_of(member):
            told.append(f"one of {', '.join(map(str, choices))}")
        if "default" in member:
            told.append(f"usually {member['default']}")
        elif not required:
            told.append("may be empty")
        self.say(visible(f"  {'; '.join(told)}"))
