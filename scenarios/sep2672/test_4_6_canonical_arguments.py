"""SEP-2672 section 4.6: one canonical form of the arguments, one hash of the call.

The second half of `requestOptions.challenge` is the action hash, so two challenges show whether the
server takes two calls for the same. Arguments are sent exactly as they are written here.
"""

import contextlib
import unicodedata

import pytest

from pytest_mcp_approval.catalogue import NotVerified, requirement
from pytest_mcp_approval.families.sep2672 import vocabulary as words
from pytest_mcp_approval.families.sep2672.issuing import (
    EXTRA_MEMBER,
    action_hash_of,
    ask,
    ask_all,
    canonical_text,
    expect_still_issues,
    expected_hash,
    issued,
    nothing_with_arguments,
    respelled,
    safe_arguments,
    schema_refused,
    server_id_of,
    tools_to_ask,
)
from pytest_mcp_approval.wire import Outcome, RawJson, StdioTransport

# ---- 4.6-jcs: what is the same

# What the spelling is, how RFC 8785 writes it, and (where the canonical text itself would be
# dubious to send) the other spelling to compare it with.
SPELLINGS = {
    "number 1.0": ("1.0", "1"),
    "number 1e0": ("1e0", "1"),
    "number 10e-1": ("10e-1", "1"),
    "number 0.1E+1": ("0.1E+1", "1"),
    "number -0": ("-0", "0"),
    "number -0.0": ("-0.0", "0"),
    "number 0e5": ("0e5", "0"),
    "number 1e2": ("1e2", "100"),
    "number 4.50": ("4.50", "4.5"),
    "number 2e-3": ("2e-3", "0.002"),
    "number 1e-6": ("1e-6", "0.000001"),
    "number 0.0000001": ("0.0000001", "1e-7"),
    "number 1E30": ("1E30", "1e+30"),
    "number 1e20": ("1e20", "100000000000000000000", "10e19"),
    "number 1e21": ("1e21", "1e+21"),
    "number 10e299": ("10e299", "1e+300"),
    "number 10e-301": ("10e-301", "1e-300"),
    "smallest number": ("4.9406564584124654e-324", "5e-324"),
    "largest number": ("1.7976931348623158e308", "1.7976931348623157e+308"),
    "more digits than a double has": ("333333333.33333329", "333333333.3333333"),
    "largest whole number": ("9007199254740991.0", "9007199254740991"),
    "escaped letter": (r'"\u0041"', '"A"'),
    "escaped slash": (r'"\/"', '"/"'),
    "escaped less-than": (r'"\u003C\u0026\u0027"', '"<&\'"'),
    "escaped quotation mark": (r'"\u0022\u005c"', r'"\"\\"'),
    "escaped line feed": (r'"\u000a"', r'"\n"'),
    "escaped short forms": (r'"\u0008\u0009\u000C\u000D"', r'"\b\t\f\r"'),
    "escape in upper case": (r'"\u001F"', r'"\u001f"'),
    "escaped delete": (r'"\u007f"', '"\x7f"'),
    "escaped euro": (r'"\u20AC"', '"\u20ac"'),
    "escaped emoji": (r'"\uD83D\ude00"', '"\U0001f600"'),
    "escaped line separator": (r'"\u2028"', '"\u2028"'),
    "spaces and tabs": ('[ 1 ,\t{ "a" : null }\t]', '[1,{"a":null}]'),
    "members in order": ('{"b":1,"a":2}', '{"a":2,"b":1}'),
    "members inside members": (
        '{"z":{"y":1,"x":[{"d":1,"c":2}]},"a":0}',
        '{"a":0,"z":{"x":[{"c":2,"d":1}],"y":1}}',
    ),
    "capitals before small letters": ('{"a":1,"B":2}', '{"B":2,"a":1}'),
    "digits as text": ('{"10":1,"9":2,"1":3}', '{"1":3,"10":1,"9":2}'),
    "a name and its beginning": ('{"ab":1,"a":2,"":3}', '{"":3,"a":2,"ab":1}'),
    "escaped name": (r'{"\u0062":1,"a":2}', '{"a":2,"b":1}'),
    "empty name": ('{ "" : 1 }', '{"":1}'),
    "names beyond U+FFFF": (
        '{"\ue000":1,"\U0001f600":2,"\uffee":3,"a":4}',
        '{"a":4,"\U0001f600":2,"\ue000":1,"\uffee":3}',
    ),
    # RFC 8785, section 3.2.3
    "the RFC's names": (
        r'{"\u20ac":"Euro Sign","\r":"Carriage Return","\ufb33":"Hebrew Letter Dalet With Dagesh",'
        r'"1":"One","\ud83d\ude00":"Emoji: Grinning Face","\u0080":"Control",'
        r'"\u00f6":"Latin Small Letter O With Diaeresis"}',
        '{"\\r":"Carriage Return","1":"One","\x80":"Control",'
        '"\xf6":"Latin Small Letter O With Diaeresis","\u20ac":"Euro Sign",'
        '"\U0001f600":"Emoji: Grinning Face","\ufb33":"Hebrew Letter Dalet With Dagesh"}',
    ),
    # RFC 8785, section 3.2.2, without its number beyond 2^53
    "the RFC's values": (
        r'{"numbers":[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001],'
        r'"string":"\u20ac$\u000F\u000aA' + r"'\u0042\u0022\u005c\\\"\/" + '",'
        r'"literals":[null,true,false]}',
        '{"literals":[null,true,false],'
        '"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"\u20ac$\\u000f\\nA' + '\'B\\"\\\\\\\\\\"/' + '"}',
    ),
}


@requirement("sep2672/4.6-jcs")
@pytest.mark.parametrize("spelling", SPELLINGS.values(), ids=SPELLINGS)
def test_spellings_of_one_value_hash_alike(ceremony, spelling):
    """What RFC 8785 writes alike is one action, however a client spells it."""
    text, other = spelling[0], spelling[-1]
    place, (first, second) = ask_all(ceremony, [text, other])
    ceremony.expect(
        action_hash_of(first) == action_hash_of(second),
        sent=f"challenges for {place.tool.name} with {text!a} and {other!a}",
        expected="one action hash: RFC 8785 writes both alike",
        got="two different second halves",
    )


BY_UTF_16 = ["names beyond U+FFFF", "the RFC's names"]


@requirement("sep2672/4.6-jcs", needs=["server-id"])
@pytest.mark.parametrize("name", BY_UTF_16)
def test_members_are_ordered_by_utf_16_code_units(ceremony, name):
    """Any fixed order makes spellings hash alike; only the exact bytes show that it is the right
    one, and for those the serverId must be known."""
    _expect_canonical_form(ceremony, name)


@requirement("sep2672/4.6-hash-construction")
@pytest.mark.parametrize("name", [name for name in SPELLINGS if name not in BY_UTF_16])
def test_the_canonical_form_is_that_of_rfc_8785(ceremony, name):
    """Deterministic is not enough: what is hashed are the bytes that RFC 8785 writes."""
    _expect_canonical_form(ceremony, name)


def _expect_canonical_form(ceremony, name):
    text, canonical = SPELLINGS[name][:2]
    place, (challenge,) = ask_all(ceremony, [text])
    wanted = place.canonical(canonical)
    tool, server_id = place.tool, server_id_of(ceremony)
    usual = words.canonical_arguments(safe_arguments(tool)).decode()
    if action_hash_of(issued(ceremony, tool)) != expected_hash(tool.name, usual, server_id):
        raise NotVerified("the action hash of a plain call is another (4.6-hash-construction)")
    ceremony.expect(
        action_hash_of(challenge) == expected_hash(tool.name, wanted, server_id),
        sent=f"a challenge for {tool.name} with {text!a}",
        expected=f"the hash over the canonical form {wanted!a}",
        got="another second half",
    )


RESPELLINGS = [
    "white space",
    "line breaks",
    "members in reverse",
    "escapes in names",
    "escapes in texts",
    "numbers with a fraction",
    "numbers with an exponent",
]


@requirement("sep2672/4.6-jcs")
@pytest.mark.parametrize("how", RESPELLINGS)
def test_a_challenge_serves_the_call_in_another_spelling(ceremony, how):
    """The approved arguments, spelled anew at the call, are still the approved arguments."""
    if how == "line breaks" and isinstance(ceremony.session.transport, StdioTransport):
        ceremony.not_applicable("over stdio a line break ends the message")
    for tool in ceremony.gated_tools():
        text = respelled(safe_arguments(tool)).get(how)
        if text is None:
            continue
        ceremony.honest(tool)
        challenge = ceremony.challenge(tool)
        spelled = challenge.with_arguments(RawJson(text))
        outcome = ceremony.call(spelled, ceremony.evidence(challenge))
        if schema_refused(ceremony, outcome, tool.name, spelled.arguments):
            # The hash was not the problem, but a schema that cares how numbers are spelled.
            ceremony.not_applicable(f"{tool.name} does not take {text!a}: {outcome.describe()}")
        ceremony.expect_run(outcome, sent=f"the approved call of {tool.name} with {how}: {text!a}")
        return
    _ = ceremony.tool
    ceremony.not_applicable(f"no gated tool has safe arguments to be spelled with {how}")


# ---- 4.6-jcs: what is not the same

APART = {
    "text and number": ('"1"', "1"),
    "text and truth": ('"true"', "true"),
    "true and 1": ("true", "1"),
    "false and 0": ("false", "0"),
    "null and left out": ("null", None),
    "null and its name": ("null", '"null"'),
    "null and no text": ("null", '""'),
    "null and false": ("null", "false"),
    "no text and left out": ('""', None),
    "list and object": ("[]", "{}"),
    "empty object and left out": ("{}", None),
    "empty list and left out": ("[]", None),
    "a list of one and the one": ("[1]", "1"),
    "a list in a list": ("[[]]", "[]"),
    "the order of a list": ("[1,2]", "[2,1]"),
    "null at the end of a list": ("[1,null]", "[1]"),
    "an object and its text": ('{"a":1}', r'"{\"a\":1}"'),
    "nested and dotted": ('{"a":{"b":1}}', '{"a.b":1}'),
    "capital and small": ('"A"', '"a"'),
    "capital and small in a name": ('{"A":1}', '{"a":1}'),
    "a space behind": ('"a "', '"a"'),
    "an empty name": ('{"":1}', "{}"),
    "a name that objects have": ('{"__proto__":1}', "{}"),
    "a name with an object behind it": ('{"__proto__":{"a":1}}', '{"a":1}'),
    "a member that is null": ('{"a":null}', "{}"),
    "minus": ("-1", "1"),
    "the last digit of a fraction": ("0.30000000000000004", "0.3"),
    "the last whole numbers": ("9007199254740991", "9007199254740990"),
    "the smallest number and 0": ("5e-324", "0"),
    "whole and fraction": ("1.5", "1"),
    "exponents": ("1e300", "1e301"),
    "a zero byte": (r'"a\u0000b"', '"a"'),
    "a zero byte left out": (r'"a\u0000b"', '"ab"'),
    "line ends": (r'"\r\n"', r'"\n"'),
    "euro and question mark": ('"\u20ac"', '"?"'),
    "two emoji": ('"\U0001f600"', '"\U0001f601"'),
    "emoji and replacement": ('"\U0001f600"', '"\ufffd"'),
    "byte order mark": ('"\ufeffa"', '"a"'),
    "zero-width space": ('"a\u200bb"', '"ab"'),
    "ligature (NFKC)": ('"\ufb01"', '"fi"'),
    "full width (NFKC)": ('"\uff11"', '"1"'),
    "sharp s": ('"\xdf"', '"ss"'),
    "two ways to write an instant": ('"2026-01-01T00:00:00Z"', '"2026-01-01T00:00:00+00:00"'),
}


@requirement("sep2672/4.6-jcs")
@pytest.mark.parametrize("pair", APART.values(), ids=APART)
def test_different_values_hash_differently(ceremony, pair):
    """What RFC 8785 keeps apart are two actions: approval of one does not approve the other."""
    place, (first, second) = ask_all(ceremony, list(pair))
    one, other = ("no such member" if text is None else f"{text!a}" for text in pair)
    ceremony.expect(
        action_hash_of(first) != action_hash_of(second),
        sent=f"challenges for {place.tool.name} with {one} and with {other}",
        expected="two action hashes: RFC 8785 writes them differently",
        got="the same second half in both",
    )


@requirement("sep2672/4.6-jcs")
@pytest.mark.parametrize("text", ["\xe9", "\u212b", "\uac00"], ids=["e acute", "angstrom", "ga"])
def test_composed_and_decomposed_text(ceremony, text):
    """Reading: the section asks for RFC 8785 verbatim, which forbids normalising, and mentions
    NFC in the same breath; a server that normalises is reported, not failed."""
    composed = f'"{unicodedata.normalize("NFC", text)}"'
    decomposed = f'"{unicodedata.normalize("NFD", text)}"'
    place, (first, second) = ask_all(ceremony, [composed, decomposed])
    if action_hash_of(first) == action_hash_of(second):
        ceremony.warn(
            f"{place.tool.name} with {composed!a} and {decomposed!a}: one action hash; "
            "RFC 8785 (section 3.1) does not normalise text"
        )


# ---- 4.6-jcs: what is hardly JSON

ODD = {
    "a whole number beyond 2^53": ("9007199254740993", "9007199254740992"),
    "a whole number of 400 digits": ("1" + "0" * 399, "0"),
    "a number beyond a double": ("1e400", "null"),
    "NaN": ("NaN", "null"),
    "Infinity": ("-Infinity", "null"),
    "one member twice": ('{"a":1,"a":2}', '{"a":2}'),
    "one member twice by an escape": (r'{"a":1,"\u0061":2}', '{"a":2}'),
    "no UTF-8": (b'"\xc3\x28"', '"\ufffd("'),
    "UTF-8 of a surrogate": (b'"\xed\xa0\x80"', '"\ufffd\ufffd\ufffd"'),
    "UTF-8 longer than need be": (b'"\xc0\x80"', r'"\u0000"'),
    "a zero in front": ("01", "1"),
    "a comma behind": ("[1,]", "[1]"),
    "a comment": ("/* one */ 1", "1"),
    "a single quotation mark": ("'a'", '"a"'),
    "nested 2000 deep": ("[" * 2000 + "]" * 2000, "[]"),
    "nested 100000 deep": ("[" * 100_000 + "]" * 100_000, "[]"),
}


@requirement("sep2672/4.6-jcs")
@pytest.mark.parametrize(("odd", "like"), ODD.values(), ids=ODD)
def test_what_is_hardly_json_is_refused(ceremony, odd, like, request):
    """Reading: such arguments have no RFC 8785 form, or none that all agree upon. An error of any
    layer is right; a challenge for them is reported, and so is silence; a server that no longer
    serves afterwards is a failure."""
    _ = ceremony.passkey
    tool = tools_to_ask(ceremony)[0]
    issued(ceremony, tool)
    safe = safe_arguments(tool)
    sent = f"a challenge for {tool.name} with {request.node.callspec.id}"
    reply = ceremony.approval.request_challenge(tool.name, {**safe, EXTRA_MEMBER: RawJson(odd)})
    if reply.outcome is Outcome.RESULT:
        with contextlib.suppress(KeyError, TypeError, ValueError):
            wire = words.base64url_decode(reply.result["requestOptions"]["challenge"])
            usual, _ = ask(ceremony, tool, {**safe, EXTRA_MEMBER: RawJson(like)})
            alike = usual is not None and action_hash_of(usual) == wire[words.NONCE_BYTES :]
            ceremony.warn(f"{sent}: issued{f', with the hash of {like!a}' if alike else ''}")
    elif reply.outcome in (Outcome.NO_ANSWER, Outcome.CLOSED, Outcome.GARBAGE):
        ceremony.warn(f"{sent}: {reply.describe()}; an error would say what is wrong")
    expect_still_issues(ceremony, after=sent)


HALF_A_PAIR = {
    "in a text": r'"\ud800"',
    "the other half": r'"a\udfffb"',
    "the halves the wrong way round": r'"\udc00\ud800"',
    "in a name": r'{"\udc00":1}',
}


@requirement("sep2672/4.6-jcs")
@pytest.mark.parametrize("text", HALF_A_PAIR.values(), ids=HALF_A_PAIR)
def test_half_a_surrogate_pair_gets_no_challenge(ceremony, text, request):
    """RFC 8785, section 3.2.2.2: such data "MUST cause a compliant JCS implementation to terminate
    with an appropriate error". An error of any layer is right; silence is reported."""
    _ = ceremony.passkey
    tool = tools_to_ask(ceremony)[0]
    issued(ceremony, tool)
    arguments = {**safe_arguments(tool), EXTRA_MEMBER: RawJson(text)}
    sent = f"a challenge for {tool.name} with half a surrogate pair, {request.node.callspec.id}"
    reply = ceremony.approval.request_challenge(tool.name, arguments)
    ceremony.expect(
        reply.outcome is not Outcome.RESULT,
        sent=sent,
        expected="an error: such text has no RFC 8785 form",
        got=reply.describe(),
    )
    if reply.outcome in (Outcome.NO_ANSWER, Outcome.CLOSED, Outcome.GARBAGE):
        ceremony.warn(f"{sent}: {reply.describe()}; an error would say what is wrong")
    expect_still_issues(ceremony, after=sent)


@requirement("sep2672/4.6-jcs")
def test_a_member_given_twice_runs_only_as_signed(ceremony):
    """A call that gives an argument twice, as approved and changed, in either order.

    Reading: a server may refuse both, or read the first or the last of the two. It then runs the
    call in one order only; one that runs it in both does not run what it hashes.
    """
    tool = next((tool for tool in ceremony.gated_tools() if tool.arguments), None)
    if tool is None:
        nothing_with_arguments(ceremony)
    ceremony.honest(tool)
    name, value = next(iter(safe_arguments(tool).items()))
    rest = {key: member for key, member in safe_arguments(tool).items() if key != name}
    changed = f"{value}x" if isinstance(value, str) else [value]
    ran = []
    for order in ((value, changed), (changed, value)):
        members = [(name, order[0]), (name, order[1]), *rest.items()]
        text = ",".join(
            f"{canonical_text(key)}:{canonical_text(member)}" for key, member in members
        )
        challenge = ceremony.challenge(tool)
        twice = challenge.with_arguments(RawJson(f"{{{text}}}"))
        outcome = ceremony.call(twice, ceremony.evidence(challenge))
        if outcome.executed:
            ran.append(text)
    ceremony.expect(
        len(ran) < 2,
        sent=f"approved calls of {tool.name} with {name!r} twice, as approved and changed",
        expected="one order refused at least: only one of the two can be what was signed",
        got=f"both ran: {' and '.join(ran)}",
    )
    if ran:
        ceremony.warn(f"a call with the member {name!r} twice ran: {ran[0]}")
