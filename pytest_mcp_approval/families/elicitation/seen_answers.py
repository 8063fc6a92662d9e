"""What was seen of a server so far: how honest approvals are answered, and in how many rounds.

It lasts as long as the server runs. Knows no wire and no verdicts.
"""

from __future__ import annotations

from ...target import Target
from .claims import pattern_of, reads_like, says_no, words_of
from .outcome import AskedQuestion, ElicitationOutcome
from .settings import ElicitingTool
from .vocabulary import FAMILY

_HONEST_ANSWERS = f"{FAMILY} honest answers"
_ROUNDS = f"{FAMILY} rounds"


class SeenAnswers:
    """Of one target."""

    def __init__(self, target: Target) -> None:
        self.target = target

    # ---- what answers claim

    def keep_honest(self, outcome: ElicitationOutcome) -> None:
        """How the server answers when an approved call has run."""
        kept = self.target.remembered.setdefault(_HONEST_ANSWERS, {})
        kept[outcome.tool] = pattern_of(words_of(outcome.reply.result), outcome.arguments)

    def claims_success(self, outcome: ElicitationOutcome) -> bool:
        """Whether an ordinary result reads as if the tool had run."""
        if not outcome.plain:
            return False
        words = words_of(outcome.reply.result)
        honest = self.target.remembered.get(_HONEST_ANSWERS, {}).get(outcome.tool)
        if honest is not None:
            return reads_like(pattern_of(words, outcome.arguments), honest)
        return not says_no(words, about=outcome.tool)

    # ---- rounds

    def note_round(self, number: int, asked: AskedQuestion) -> None:
        """What is asked after so many honest answers."""
        rounds = self.target.remembered.setdefault(_ROUNDS, {}).setdefault(asked.tool.name, {})
        rounds.setdefault(pattern_of(asked.message, asked.arguments), number)

    def is_later_question(self, asked: AskedQuestion) -> bool:
        """Whether honest people are asked this only after another question of the same call: the
        server took the answer to that one."""
        rounds = self.target.remembered.get(_ROUNDS, {}).get(asked.tool.name, {})
        return bool(rounds.get(pattern_of(asked.message, asked.arguments), 0))

    def knows_rounds_of(self, tool: ElicitingTool) -> bool:
        """Whether honest answers to a call of it were ever seen."""
        return tool.name in self.target.remembered.get(_ROUNDS, {})

    def rounds_of(self, tool: ElicitingTool) -> int:
        """How many questions a call of this tool has, as far as was seen."""
        rounds = self.target.remembered.get(_ROUNDS, {}).get(tool.name, {})
        return max(rounds.values(), default=0) + 1
