"""CTAPHID's state machine, packet by packet, on a clock that the test moves (section 11.2)."""

from __future__ import annotations

from itertools import count

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from virtual_authenticator.transport.channels import MOST_CHANNELS, Channels
from virtual_authenticator.transport.packets import (
    BROADCAST,
    LONGEST_MESSAGE,
    PACKET,
    Command,
    Error,
    First,
    Following,
    message,
    parse,
)

NONCE = bytes(range(8))
WINK, CBOR, NO_MESSAGES = 0x01, 0x04, 0x08


class Wire:
    """A device's channels, and what a client sees of them."""

    def __init__(self, capabilities=WINK | CBOR):
        self.now = 100.0
        numbers = count(1)
        self.device = Channels(lambda: self.now, lambda: capabilities, lambda: next(numbers))

    def send(self, channel, command, payload=b""):
        """A whole message; what comes back at once as messages, and the last request."""
        out, request = [], None
        for packet in message(channel, command, payload):
            more, request = self.device.receive(packet)
            out += more
        return joined(out), request

    def open(self):
        [(_, _, payload)], _ = self.send(BROADCAST, Command.INIT, NONCE)
        return int.from_bytes(payload[8:12], "big")


def joined(packets):
    """The messages in these packets: channel, command, payload."""
    messages: list[list] = []
    for packet in packets:
        assert len(packet) == PACKET
        parsed = parse(packet)
        if isinstance(parsed, First):
            messages.append([parsed.channel, parsed.command, parsed.data, parsed.length])
        else:
            assert isinstance(parsed, Following)
            assert parsed.channel == messages[-1][0]
            messages[-1][2] += parsed.data
    return [(channel, command, data[:length]) for channel, command, data, length in messages]


def error(channel, which):
    return [(channel, Command.ERROR, bytes([which]))]


@pytest.fixture
def wire():
    return Wire()


# ---- framing


@settings(max_examples=60, deadline=None, database=None)
@given(st.binary(max_size=700) | st.sampled_from([bytes(7609), bytes(57), bytes(58), bytes(116)]))
def test_messages_are_cut_and_joined(payload):
    packets = list(message(7, Command.PING, payload))

    assert joined(packets) == [(7, Command.PING, payload)]
    following = [parsed for parsed in map(parse, packets) if isinstance(parsed, Following)]
    assert [one.sequence for one in following] == list(range(len(packets) - 1))


def test_the_longest_message_is_the_one_of_the_text():
    assert LONGEST_MESSAGE == 7609
    assert len(list(message(1, Command.PING, bytes(LONGEST_MESSAGE)))) == 129


# ---- channels


def test_init_gives_a_channel(wire):
    [(channel, command, payload)], request = wire.send(BROADCAST, Command.INIT, NONCE)

    assert (channel, command, request) == (BROADCAST, Command.INIT, None)
    assert payload == NONCE + bytes.fromhex("00000001 02 010000 05")
    assert wire.open() == 2


@pytest.mark.parametrize("channel", [0, 99, BROADCAST])
def test_channels_that_nobody_opened(wire, channel):
    assert wire.send(channel, Command.PING)[0] == error(channel, Error.INVALID_CHANNEL)
    if channel != BROADCAST:
        assert wire.send(channel, Command.INIT, NONCE)[0] == error(channel, Error.INVALID_CHANNEL)


def test_init_of_a_wrong_length(wire):
    assert wire.send(BROADCAST, Command.INIT, b"short")[0] == error(BROADCAST, Error.INVALID_LENGTH)


def test_the_oldest_channel_makes_way(wire):
    first = wire.open()
    wire.send(first, Command.LOCK, b"\x0a")
    for _ in range(MOST_CHANNELS - 1):
        last = wire.open()
    assert wire.send(first, Command.PING, b"x")[0] == [(first, Command.PING, b"x")]
    newest = wire.open()
    assert wire.send(first, Command.PING)[0] == error(first, Error.INVALID_CHANNEL)
    assert wire.send(last, Command.PING)[0] == [(last, Command.PING, b"")]  # its lock went too
    assert newest != first


def test_numbers_that_are_taken_or_reserved_are_not_given():
    numbers = iter([0, BROADCAST, 5, 5, 6])
    device = Channels(lambda: 0.0, lambda: 0, lambda: next(numbers))
    given_out = []
    for _ in range(2):
        out, _ = device.receive(next(message(BROADCAST, Command.INIT, NONCE)))
        given_out.append(joined(out)[0][2][8:12])
    assert given_out == [b"\0\0\0\5", b"\0\0\0\6"]


# ---- commands


@pytest.mark.parametrize("length", [0, 1, 57, 58, 1024, LONGEST_MESSAGE])
def test_ping_comes_back(wire, length):
    channel, payload = wire.open(), bytes(n % 256 for n in range(length))
    assert wire.send(channel, Command.PING, payload)[0] == [(channel, Command.PING, payload)]


def test_wink(wire):
    channel = wire.open()
    assert wire.send(channel, Command.WINK)[0] == [(channel, Command.WINK, b"")]
    assert wire.send(channel, Command.WINK, b"x")[0] == error(channel, Error.INVALID_LENGTH)
    assert wire.device.winks == 1
    dull = Wire(CBOR)
    channel = dull.open()
    assert dull.send(channel, Command.WINK)[0] == error(channel, Error.INVALID_COMMAND)


@pytest.mark.parametrize(
    ("capabilities", "command", "runs"),
    [
        (CBOR, Command.CBOR, True),
        (CBOR, Command.MSG, True),
        (CBOR | NO_MESSAGES, Command.MSG, False),
        (0, Command.CBOR, False),
        (CBOR, 0x40, False),
        (CBOR, Command.ERROR, False),
    ],
)
def test_requests_that_the_device_is_able_to_run(capabilities, command, runs):
    wire = Wire(capabilities)
    channel = wire.open()
    out, request = wire.send(channel, command, b"payload")
    if runs:
        assert (request.channel, request.command, request.payload) == (channel, command, b"payload")
        assert out == []
        answer = joined(wire.device.answered(request, b"answer"))
        assert answer == [(channel, command, b"answer")]
        assert list(wire.device.answered(request, b"again")) == []
    else:
        assert (out, request) == (error(channel, Error.INVALID_COMMAND), None)
    assert wire.send(channel, Command.PING)[0] == [(channel, Command.PING, b"")]


def test_a_request_is_not_empty(wire):
    channel = wire.open()
    assert wire.send(channel, Command.CBOR)[0] == error(channel, Error.INVALID_LENGTH)


# ---- messages that go wrong


def test_packets_out_of_order(wire):
    channel = wire.open()
    packets = list(message(channel, Command.PING, bytes(200)))
    wire.device.receive(packets[0])
    out, _ = wire.device.receive(packets[2])
    assert joined(out) == error(channel, Error.INVALID_SEQUENCE)
    assert wire.device.receive(packets[1]) == ([], None)  # of a message that is no more


def test_a_message_within_a_message(wire):
    channel = wire.open()
    packets = list(message(channel, Command.PING, bytes(200)))
    wire.device.receive(packets[0])
    out, _ = wire.device.receive(packets[0])
    assert joined(out) == error(channel, Error.INVALID_SEQUENCE)
    assert wire.send(channel, Command.PING, b"x")[0] == [(channel, Command.PING, b"x")]


def test_too_long(wire):
    channel = wire.open()
    head = channel.to_bytes(4, "big") + b"\x81" + (LONGEST_MESSAGE + 1).to_bytes(2, "big")
    out, _ = wire.device.receive(head.ljust(PACKET, b"\0"))
    assert joined(out) == error(channel, Error.INVALID_LENGTH)


def test_a_message_that_is_never_finished(wire):
    channel = wire.open()
    packets = list(message(channel, Command.PING, bytes(200)))
    for packet in packets[:2]:
        wire.device.receive(packet)
        wire.now += 0.4  # each packet gives it time again
    assert wire.device.tick() == []
    wire.now += 0.2
    assert joined(wire.device.tick()) == error(channel, Error.TIMEOUT)
    assert wire.device.tick() == []
    assert wire.device.receive(packets[2]) == ([], None)


@pytest.mark.parametrize("packet", [b"", b"\0" * 6, bytes(64)[:5]])
def test_what_is_no_packet(wire, packet):
    assert wire.device.receive(packet) == ([], None)


# ---- one at a time


def test_others_are_told_that_it_is_busy(wire):
    mine, other = wire.open(), wire.open()
    packets = list(message(mine, Command.CBOR, bytes(100)))
    wire.device.receive(packets[0])
    busy = error(other, Error.CHANNEL_BUSY)
    assert wire.send(other, Command.PING)[0] == busy  # while a message is coming in
    _, request = wire.device.receive(packets[1])
    assert wire.send(other, Command.CBOR, b"\x04")[0] == busy  # while it is run
    assert wire.send(mine, Command.PING)[0] == error(mine, Error.CHANNEL_BUSY)
    third = wire.open()  # which disturbs nobody
    assert joined(wire.device.answered(request, b"done")) == [(mine, Command.CBOR, b"done")]
    assert wire.send(third, Command.PING)[0] == [(third, Command.PING, b"")]


def test_init_on_its_own_channel_starts_anew(wire):
    channel = wire.open()
    wire.device.receive(next(message(channel, Command.PING, bytes(200))))
    [(_, _, payload)], _ = wire.send(channel, Command.INIT, NONCE)
    assert payload[8:12] == channel.to_bytes(4, "big")
    _, request = wire.send(channel, Command.CBOR, b"\x0b")
    wire.send(channel, Command.INIT, NONCE)

    assert request.cancelled.is_set()
    assert list(wire.device.answered(request, b"late")) == []
    assert list(wire.device.keepalive(request, 2)) == []
    assert wire.send(channel, Command.PING)[0] == [(channel, Command.PING, b"")]


def test_cancel(wire):
    mine, other = wire.open(), wire.open()
    assert wire.send(mine, Command.CANCEL) == ([], None)  # nothing to cancel, nothing to say
    _, request = wire.send(mine, Command.CBOR, b"\x0b")
    assert wire.send(other, Command.CANCEL) == ([], None)
    assert not request.cancelled.is_set()
    assert wire.send(mine, Command.CANCEL) == ([], None)
    assert request.cancelled.is_set()
    assert joined(wire.device.answered(request, b"\x2d")) == [(mine, Command.CBOR, b"\x2d")]

    _, u2f = wire.send(mine, Command.MSG, b"\0\1\0\0")
    wire.send(mine, Command.CANCEL)
    assert not u2f.cancelled.is_set()  # section 11.2.9.1.5: CBOR requests only


def test_keepalive(wire):
    channel = wire.open()
    _, request = wire.send(channel, Command.CBOR, b"\x0b")
    packets = joined(wire.device.keepalive(request, 2))
    assert packets == [(channel, Command.KEEPALIVE, b"\x02")]


# ---- locks


def test_a_lock_keeps_others_out(wire):
    mine, other = wire.open(), wire.open()
    assert wire.send(mine, Command.LOCK, b"\x03")[0] == [(mine, Command.LOCK, b"")]
    assert wire.send(other, Command.PING)[0] == error(other, Error.CHANNEL_BUSY)
    assert wire.send(mine, Command.PING)[0] == [(mine, Command.PING, b"")]
    wire.now += 3
    assert wire.send(other, Command.PING)[0] == [(other, Command.PING, b"")]

    wire.send(mine, Command.LOCK, b"\x0a")
    wire.send(mine, Command.LOCK, b"\x00")  # gives it back
    assert wire.send(other, Command.PING)[0] == [(other, Command.PING, b"")]


@pytest.mark.parametrize(
    ("payload", "which"),
    [(b"", "INVALID_LENGTH"), (b"\1\1", "INVALID_LENGTH"), (b"\x0b", "INVALID_PARAMETER")],
)
def test_locks_that_are_wrong(wire, payload, which):
    channel = wire.open()
    assert wire.send(channel, Command.LOCK, payload)[0] == error(channel, Error[which])


# ---- anything


COMMANDS = [int(one) for one in Command] + [0x40]
BODIES = [b"\0\0", b"\0\1\1", b"\0\x08" + NONCE, b"\0\xff", b"\xff\xff", bytes(59)]
packets = st.binary(max_size=70) | st.builds(
    lambda channel, kind, rest: channel.to_bytes(4, "big") + bytes([kind]) + rest,
    st.sampled_from([1, 2, 0, 77, BROADCAST]),
    st.sampled_from([0x80 | one for one in COMMANDS] + [0, 1, 2]),
    st.sampled_from(BODIES),
)


@settings(max_examples=60, deadline=None, database=None)
@given(st.lists(st.tuples(packets, st.booleans(), st.sampled_from([0.0, 0.3, 12.0])), max_size=25))
def test_whatever_is_sent_it_stays_usable(steps):
    """Packets of any shape from several clients, answers, time: never an exception, never a request
    while one runs, and after an INIT a channel works."""
    wire = Wire()
    assert (wire.open(), wire.open()) == (1, 2)
    running = None
    for packet, answers, seconds in steps:
        before = wire.device.running
        out, request = wire.device.receive(packet)
        joined(out)
        if request is not None:
            assert before is None
            running = request
        if running is not None and answers:
            joined(wire.device.answered(running, b"answer"))
            running = None
        wire.now += seconds
    if running is not None:
        wire.device.answered(running, b"")
    wire.now += 12
    wire.device.tick()
    channel = wire.open()
    assert wire.send(channel, Command.PING, b"still here")[0][-1][2] == b"still here"
