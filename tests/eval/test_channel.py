"""A channel gives whole messages in order and in time, or a clear error, whatever the other end writes."""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.worker import channel as channel_module
from eval.worker.channel import Channel, Message, NotAMessage


class Ends:
    """A channel, and the raw pipes at its other end."""

    def __init__(self) -> None:
        read_fd, self.write_fd = os.pipe()
        self.read_fd, write_fd = os.pipe()
        self.channel = Channel(read_fd, write_fd)

    def write(self, data: bytes) -> None:
        os.write(self.write_fd, data)

    def hang_up(self) -> None:
        for handle in (self.read_fd, self.write_fd):
            with suppress(OSError):
                os.close(handle)


@pytest.fixture
def ends() -> Iterator[Ends]:
    ends = Ends()
    yield ends
    ends.channel.close()
    ends.hang_up()


@given(
    st.lists(st.dictionaries(st.text(), st.none() | st.integers() | st.text() | st.lists(st.floats(allow_nan=False))))
)
def test_messages_are_received_in_the_order_in_which_they_were_sent(messages: list[Message]) -> None:
    forth, back = os.pipe(), os.pipe()
    one, other = Channel(back[0], forth[1]), Channel(forth[0], back[1])

    for message in messages:
        one.send(message)
    received = [other.receive(within_s=5) for _ in messages]

    one.close()
    other.close()
    assert received == messages


def test_a_message_may_come_in_pieces_and_together_with_the_next(ends: Ends) -> None:
    pieces = [b'{"fi', b'rst": 1}', b'\n{"second": 2}\n{"th']
    writer = threading.Thread(target=lambda: [(time.sleep(0.02), ends.write(piece)) for piece in pieces])
    writer.start()

    assert ends.channel.receive(within_s=5) == {"first": 1}
    assert ends.channel.receive(within_s=5) == {"second": 2}
    writer.join()
    with pytest.raises(TimeoutError):
        ends.channel.receive(within_s=0.02)
    ends.write(b'ird": 3}\n')
    assert ends.channel.receive(within_s=5) == {"third": 3}


def test_no_message_in_time_is_a_timeout(ends: Ends) -> None:
    start = time.monotonic()

    with pytest.raises(TimeoutError):
        ends.channel.receive(within_s=0.05)

    assert time.monotonic() - start >= 0.05


def test_a_line_that_is_never_finished_is_a_timeout(ends: Ends) -> None:
    ends.write(b'{"seconds": 1')

    with pytest.raises(TimeoutError):
        ends.channel.receive(within_s=0.02)


@pytest.mark.parametrize("data", [b"", b'{"half": '])
def test_a_closed_other_end_is_an_error(ends: Ends, data: bytes) -> None:
    ends.write(data)
    ends.hang_up()

    with pytest.raises(EOFError):
        ends.channel.receive(within_s=5)
    with pytest.raises(BrokenPipeError):
        ends.channel.send({})


JUNK = {
    "text": b"PASS",
    "an empty line": b"",
    "a list": b"[1, 2]",
    "a number": b"1",
    "half an object": b'{"outcome": ',
    "not text": b"\xff\xfe\x00",
    "too deep": b"[" * 100_000,
    "too deep an object": b'{"a":' * 100_000,
    "too large a number": b"1" * 10_000,
}


@pytest.mark.parametrize("data", JUNK.values(), ids=JUNK)
def test_a_line_that_is_not_an_object_is_refused_and_the_next_message_is_received(ends: Ends, data: bytes) -> None:
    writer = threading.Thread(target=lambda: (ends.write(data), ends.write(b'\n{"fine": true}\n')))
    writer.start()

    with pytest.raises(NotAMessage):
        ends.channel.receive(within_s=5)
    assert ends.channel.receive(within_s=5) == {"fine": True}
    writer.join()


def test_an_endless_line_is_refused_before_it_fills_memory(ends: Ends, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(channel_module, "MAX_LINE_BYTES", 1 << 18)
    written = 0

    def pour() -> None:
        nonlocal written
        with suppress(BrokenPipeError):
            while True:
                written += os.write(ends.write_fd, b"a" * (1 << 16))

    writer = threading.Thread(target=pour)
    writer.start()
    with pytest.raises(NotAMessage, match="endless"):
        ends.channel.receive(within_s=5)
    ends.channel.close()
    writer.join()

    assert written < 1 << 20


def test_sending_to_an_end_that_does_not_read_times_out(ends: Ends) -> None:
    with pytest.raises(TimeoutError):
        ends.channel.send({"long": "a" * (1 << 20)}, within_s=0.05)


def test_a_long_message_is_received_whole(ends: Ends) -> None:
    other = Channel(os.dup(ends.read_fd), os.dup(ends.write_fd))
    message = {"source": "a" * (1 << 20)}
    writer = threading.Thread(target=lambda: ends.channel.send(message, within_s=5))
    writer.start()

    assert other.receive(within_s=5) == message
    writer.join()
    other.close()
