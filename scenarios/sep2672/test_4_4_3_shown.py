"""SEP-2672 section 4.4.3: two calls that differ are shown differently.

displayText describes the action accurately, so that a person can tell one call from another. Only
arguments that a server shows at all are looked at here: whether it leaves one out is asked in
test_4_4_3_display_text.py.

Reading: what a tool's schema does not allow, or does not name, may never run. How it is shown is
then a warning at most.
"""

import itertools

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672.issuing import (
    EXTRA_MEMBER,
    ask,
    clearly_fits,
    safe_arguments,
    tools_to_ask,
)

AT_MOST = 5
"""Arguments that are tried with every pair of values."""


def _shown_places(ceremony):
    """Tools and members whose value the displayText shows."""
    _ = ceremony.passkey
    for tool in tools_to_ask(ceremony):
        safe = safe_arguments(tool)
        for name in dict.fromkeys((*safe, *tool.properties, EXTRA_MEMBER)):
            values = ("a", "b") if not isinstance(safe.get(name), int) else (2, 3)
            texts = [_display(ceremony, tool, {**safe, name: value}) for value in values]
            if None not in texts and texts[0] != texts[1]:
                yield tool, name


def _display(ceremony, tool, arguments):
    challenge, _ = ask(ceremony, tool, arguments)
    return None if challenge is None else challenge.display_text


PAIRS = {
    "the case of a letter": ("ab", "aB"),
    "a number": (11, 12),
    "a number by its sign": (7, -7),
    "a number by a zero": (100000, 1000000),
    "a number by a fraction": (1.001, 1.002),
    "a number by its last digit": (9007199254740991, 9007199254740990),
    "true and false": (True, False),
    "an object": ({"a": 1}, {"a": 2}),
    "an object by its names": ({"a": 1}, {"b": 1}),
    "an object and an empty one": ({"a": 1}, {}),
    "a list": ([1, 2], [2, 1]),
    "a list by its fifth item": ([1, 2, 3, 4, 5], [1, 2, 3, 4, 6]),
    "a list by its last item": ([*range(20), 1], [*range(20), 2]),
    "deep inside": ({"a": [{"b": {"c": 1}}]}, {"a": [{"b": {"c": 2}}]}),
    "a text by its end": ("x" * 60 + "1", "x" * 60 + "2"),
    "a text by its middle": ("x" * 30 + "1" + "x" * 30, "x" * 30 + "2" + "x" * 30),
    "what stands in angle brackets": ("<b>1</b>", "<i>1</i>"),
    "what looks like a tag": ("pay<script>1</script>", "pay<script>2</script>"),
    "what looks like a comment": ("pay<!-- 1 -->", "pay<!-- 2 -->"),
    "what looks like a format": ("%s", "%d"),
    "what looks like a place": ("{0}", "{1}"),
    "what looks like a variable": ("${a}", "${b}"),
    "what looks like markdown": ("[a](b)", "[a](c)"),
    "an escape": ("\\\\n", "\\\\t"),
}
BARELY = {
    "a long text by its end": ("x" * 400 + "1", "x" * 400 + "2"),
    "a long list by its last item": ([*range(300), 1], [*range(300), 2]),
    "a type": (1, "1"),
    "a blank": ("a", "a "),
    "null and its name": (None, "null"),
}
"""Texts that may well be cut, and what a person may see no difference in: reported, not failed."""


def _shown_alike(ceremony, pairs):
    """The pairs of values that some argument takes and that are shown alike: what differs, where,
    the text, and whether the tool's schema allows both values."""
    places = list(itertools.islice(_shown_places(ceremony), AT_MOST))
    made = 0
    for (tool, name), (difference, values) in itertools.product(places, pairs.items()):
        safe = safe_arguments(tool)
        texts = [_display(ceremony, tool, {**safe, name: value}) for value in values]
        if None in texts:
            continue
        made += 1
        if texts[0] == texts[1]:
            sent = f"challenges for {tool.name} that differ in {name}: {difference}"
            allowed = all(clearly_fits(tool, name, value) for value in values)
            yield sent, f"the same displayText for both: {texts[0]!a}"[:300], allowed
    if not made:
        ceremony.not_applicable("no argument that is shown takes such values")


@requirement("sep2672/4.4.3-display-text")
def test_what_differs_is_shown_differently(ceremony):
    """An argument that is shown has two values, and two texts."""
    with ceremony.several() as several:
        for sent, got, allowed in _shown_alike(ceremony, PAIRS):
            if not allowed:
                ceremony.warn(f"{sent}: {got}")
                continue
            with several.one(sent):
                ceremony.expect(
                    False,
                    sent=sent,
                    expected="two displayTexts: a person must be able to tell the calls apart",
                    got=got,
                )


@requirement("sep2672/4.4.3-display-text")
def test_what_barely_differs_is_shown_differently(ceremony):
    """Reading: a long text may be cut, and two types may be written alike; that is a warning."""
    for sent, got, _ in _shown_alike(ceremony, BARELY):
        ceremony.warn(f"{sent}: {got}")


def _imitations(name, value):
    """Texts that would look like two arguments where nothing marks their ends."""
    yield f"a, {name}: {value}"
    yield f"a {name}={value}"
    yield f'a","{name}":"{value}'
    yield f"a; {name} {value}"
    yield f"a,{name}:{value}"


@requirement("sep2672/4.4.3-display-text")
def test_one_argument_does_not_look_like_two(ceremony):
    """A text that imitates what another argument would look like, and the real two.

    Reading: the other argument is one that no schema names, so this is a warning."""
    made = 0
    _ = ceremony.passkey
    for tool in tools_to_ask(ceremony):
        safe = safe_arguments(tool)
        for name in (one for one, value in safe.items() if isinstance(value, str)):
            genuine = _display(ceremony, tool, {**safe, name: "a", "zz": "b"})
            if genuine is None:
                continue
            for text in _imitations("zz", "b"):
                shown = _display(ceremony, tool, {**safe, name: text})
                made += shown is not None
                if shown == genuine:
                    ceremony.warn(
                        f"challenges for {tool.name} with {name} 'a' and zz 'b', and with {name} "
                        f"{text!r}: the same displayText for both: {genuine!a}"[:300]
                    )
    if not made:
        ceremony.not_applicable("no gated tool takes a member that its schema does not name")


@requirement("sep2672/4.4.3-display-text")
def test_each_tool_is_shown_as_another_action(ceremony):
    """The same arguments for two tools: what is done with them belongs to the text.

    Reading: two tools may be two names of one action, so the same text is a warning."""
    _ = ceremony.passkey
    tools = tools_to_ask(ceremony)
    made = 0
    for first, second in itertools.combinations(tools, 2):
        for arguments in ({}, safe_arguments(first), safe_arguments(second)):
            texts = [_display(ceremony, tool, arguments) for tool in (first, second)]
            if None in texts:
                continue
            made += 1
            if texts[0] == texts[1]:
                ceremony.warn(
                    f"challenges for {first.name} and {second.name} with {arguments}: the same "
                    f"displayText for both: {texts[0]!a}"[:300]
                )
    if not made:
        if len(tools) == 1:
            ceremony.not_applicable("this server has one gated tool only")
        raise NotVerified("no two gated tools take the same arguments", minor=True)


HIDDEN = {"override": "\u202e", "isolate": "\u2067", "escape": "\x1b[2J", "backspace": "\x08"}
INSIDE = {
    "in a list": lambda text: [text],
    "in an object": lambda text: {"a": text},
    "deep inside": lambda text: {"a": [{"b": [text]}]},
    "as a name inside": lambda text: {"a": {text: 1}},
}


@requirement("sep2672/4.4.3-display-text")
def test_nothing_hides_inside_an_argument(ceremony):
    """What erases or rearranges the text around it does not come through raw from any depth."""
    _ = ceremony.passkey
    made = 0
    with ceremony.several() as several:
        for tool in tools_to_ask(ceremony):
            safe = safe_arguments(tool)
            for name in (*list(safe)[:1], EXTRA_MEMBER):
                for where, wrap in INSIDE.items():
                    for what, text in HIDDEN.items():
                        shown = _display(ceremony, tool, {**safe, name: wrap(f"x{text}y")})
                        if shown is None:
                            continue
                        made += 1
                        with several.one(f"{what} {where}"):
                            ceremony.expect(
                                text[0] not in shown,
                                sent=f"a challenge for {tool.name}, U+{ord(text[0]):04X} in "
                                f"{name}, {where}",
                                expected="a displayText without it, or an error",
                                got=f"it stands there raw: {shown!a}"[:200],
                            )
    if not made:
        ceremony.not_applicable("no gated tool takes lists or objects there")
