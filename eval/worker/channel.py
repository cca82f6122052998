"""One end of a channel of JSON lines over two pipes. Standard library only, because the worker uses it too."""

import json
import os
import select
import time
from typing import Any

MAX_LINE_BYTES = 1 << 24
"""Enough for the longest source of a task or candidate, escaped, with the facts of a target."""
CLOSED = -1
FOREVER_S = 1e9
"""In place of a time limit."""
ALL = -1
"""In place of the number of a set of inputs: all sets, one after the other."""
Message = dict[str, Any]


class NotAMessage(ValueError):  # noqa: N818 - names what was received
    """A received line that is not a message."""


def message_of(line: bytes) -> Message:
    """The message in a line. Raises NotAMessage if it holds none."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        message = None
    if not isinstance(message, dict):
        raise NotAMessage(line[:80].decode(errors="replace"))
    return message


class Channel:
    """Sends and receives messages.

    Args:
        read_fd: Pipe to read from.
        write_fd: Pipe to write to.
    """

    def __init__(self, read_fd: int, write_fd: int) -> None:
        self.read_fd, self.write_fd = read_fd, write_fd
        self._buffer = b""

    def send(self, message: Message, *, within_s: float = FOREVER_S) -> None:
        """Raises BrokenPipeError if either end is closed, TimeoutError if the other end does not read in time."""
        self.send_line(json.dumps(message).encode(), within_s=within_s)

    def send_line(self, line: bytes, *, within_s: float = FOREVER_S) -> None:
        """Send a line without its end; errors as in `send`. Up to PIPE_BUF bytes pass although nobody reads yet."""
        if self.write_fd == CLOSED:
            raise BrokenPipeError
        deadline = time.monotonic() + within_s
        data = line + b"\n"
        while data:
            if not select.select([], [self.write_fd], [], max(0.0, deadline - time.monotonic()))[1]:
                raise TimeoutError
            data = data[os.write(self.write_fd, data[: select.PIPE_BUF]) :]

    def receive(self, *, within_s: float = FOREVER_S) -> Message:
        """The next message.

        Raises:
            TimeoutError: no message came in time.
            EOFError: the other end is closed.
            NotAMessage: the line is not a JSON object, or is too long.
        """
        return message_of(self.receive_line(within_s=within_s))

    def receive_line(self, *, within_s: float = FOREVER_S) -> bytes:
        """The next line, without its end; errors as in `receive`, but any line will do."""
        deadline = time.monotonic() + within_s
        while b"\n" not in self._buffer:
            if len(self._buffer) > MAX_LINE_BYTES:
                self._buffer = b""
                raise NotAMessage("an endless line")
            if not select.select([self.read_fd], [], [], max(0.0, deadline - time.monotonic()))[0]:
                raise TimeoutError
            chunk = os.read(self.read_fd, 1 << 16)
            if not chunk:
                raise EOFError
            self._buffer += chunk
        line, _, self._buffer = self._buffer.partition(b"\n")
        return line

    def close(self) -> None:
        for handle in {self.read_fd, self.write_fd} - {CLOSED}:
            os.close(handle)
        self.read_fd = self.write_fd = CLOSED
