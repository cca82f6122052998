"""One end of a channel of JSON lines over two pipes. Standard library only, because the worker uses it too."""

import json
import os
import select
import time
from typing import Any

MAX_LINE_BYTES = 1 << 24
"""Enough for the longest source of a task or candidate, escaped, with the facts of a target."""
CLOSED = -1
Message = dict[str, Any]


class NotAMessage(ValueError):  # noqa: N818 - names what was received
    """A received line that is not a message."""


def fits_pipe(message: Message) -> bool:
    """Whether a message can be sent at once, although the other end does not read."""
    return len(_encoded(message)) <= select.PIPE_BUF


def _encoded(message: Message) -> bytes:
    return json.dumps(message).encode() + b"\n"


class Channel:
    """Sends and receives messages.

    Args:
        read_fd: Pipe to read from.
        write_fd: Pipe to write to.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self._read_fd, self._write_fd = read_fd, write_fd
        self._buffer = b""

    def send(self, message: Message, *, within_s: float | None = None) -> None:
        """Raises BrokenPipeError if either end is closed, TimeoutError if the other end does not read in time."""
        if self._write_fd == CLOSED:
            raise BrokenPipeError
        deadline = _deadline(within_s)
        data = _encoded(message)
        while data:
            if not select.select([], [self._write_fd], [], _left(deadline))[1]:
                raise TimeoutError
            data = data[os.write(self._write_fd, data[: select.PIPE_BUF]) :]

    def receive(self, *, within_s: float | None = None) -> Message:
        """The next message.

        Raises:
            TimeoutError: no message came in time.
            EOFError: the other end is closed.
            NotAMessage: the line is not a JSON object, or is too long.
        """
        deadline = _deadline(within_s)
        while b"\n" not in self._buffer:
            if len(self._buffer) > MAX_LINE_BYTES:
                self._buffer = b""
                raise NotAMessage("an endless line")
            if not select.select([self._read_fd], [], [], _left(deadline))[0]:
                raise TimeoutError
            chunk = os.read(self._read_fd, 1 << 16)
            if not chunk:
                raise EOFError
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        try:
            message = json.loads(line)
        except (ValueError, RecursionError):
            message = None
        if not isinstance(message, dict):
            raise NotAMessage(line[:80].decode(errors="replace"))
        return message

    def close(self) -> None:
        for handle in {self._read_fd, self._write_fd} - {CLOSED}:
            os.close(handle)
        self._read_fd = self._write_fd = CLOSED


def _deadline(within_s: float | None) -> float | None:
    return None if within_s is None else time.monotonic() + within_s


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
