"""What the words of an answer claim: that the tool ran, or that it did not.

A refusal may be a JSON-RPC error, a tool error, or an ordinary result that says so in words. So an
ordinary result claims success if it reads like the one that an honest approval got; where none was
seen yet, if it does not say no. Knows no wire and no verdicts.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from difflib import SequenceMatcher
from typing import Any

from ..base.outcome import texts_in

_NO = re.compile(
    r"declin|cancel|refus|reject|denied|deny|abort|disallow|forbid|no action|nothing|unchanged|"
    r"not (?:be )?(?:\w+ )?(?:done|run|ran|confirm|approv|execut|delet|perform|complet|allow|"
    r"authori|proceed|chang|sent|made|taken|accept|eras|remov|creat|book|publish|support)|"
    r"without (?:approval|confirmation)|did(?: not|n.t)|was(?: not|n.t)|won.t|will not|cannot|"
    r"can.t|unable|skipped|expired|invalid|fail|kept|keeping|unsupported|"
    r"requires? (?:confirm|approv|elicit)|"
    r"abgelehnt|abgebrochen|verweigert|nicht|annul|pas |rechaz|cancelad|no se|recusad|não|"
    r"rifiut|non |拒|取消|キャンセル|отмен|отклон",
    re.IGNORECASE,
)
_VARYING = re.compile(r"[0-9a-f]{8,}(?:-[0-9a-f]{4,})*|\d+(?:[.:\-T]\d+)*", re.IGNORECASE)
_ALIKE = 0.85
_COMPARED = 2_000


def words_of(result: Any) -> str:
    """All that a result says: its texts, and its structured content."""
    texts = texts_in(result)
    structured = result.get("structuredContent") if isinstance(result, Mapping) else None
    if structured is not None:
        texts.append(json.dumps(structured, ensure_ascii=False, default=str))
    return "\n".join(texts)


def shown_words(result: Any) -> str:
    """The same on one line, without the copy of its text that frameworks add as structured
    content."""
    texts = texts_in(result)
    structured = result.get("structuredContent") if isinstance(result, Mapping) else None
    twice = structured == {"result": "\n".join(texts)}
    return " ".join(("\n".join(texts) if twice else words_of(result)).split())


def says_no(words: str, about: str = "") -> bool:
    """Whether it says that nothing was done; words of the tool's own name do not count."""
    own = {one.lower() for one in _NO.findall(about)}
    return any(one.lower() not in own for one in _NO.findall(words))


def pattern_of(words: str, arguments: Any) -> str:
    """The same without what differs from call to call: values of arguments, numbers, ids."""
    for value in sorted(_texts_of(arguments), key=len, reverse=True):
        words = words.replace(value, "§")
    return _VARYING.sub("0", words)[:_COMPARED]


def reads_like(pattern: str, honest: str) -> bool:
    """Whether an answer says the same as one after an honest approval."""
    if says_no(pattern) != says_no(honest):
        return False
    return pattern == honest or SequenceMatcher(None, pattern, honest).ratio() >= _ALIKE


def _texts_of(value: Any) -> set[str]:
    if isinstance(value, str):
        return {value} if value else set()
    if isinstance(value, Mapping):
        return {one for member in value.values() for one in _texts_of(member)}
    if isinstance(value, list):
        return {one for member in value for one in _texts_of(member)}
    return set()
