"""The messages of a host. One that cannot be read is answered with an error: the SDK drops it, and the host waits."""

import json
from contextlib import suppress
from typing import Any, Self

from mcp.shared.message import SessionMessage
from mcp.types import PARSE_ERROR, ErrorData, JSONRPCError
from pydantic import ValidationError

LONE_SURROGATE = r"a text holds half of a character, such as \ud800; leave it out and call again"


class ReadMessages:
    """The stream of messages that `read` gives, without those that `write` has answered with an error."""

    def __init__(self, read: Any, write: Any) -> None:  # noqa: ANN401 - the SDK does not name their types
        self._read, self._write = read, write

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the rest of the stream
        return getattr(self._read, name)

    async def __aenter__(self) -> Self:
        await self._read.__aenter__()
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._read.__aexit__(*raised)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage:
        async for message in self._read:
            if isinstance(message, SessionMessage):
                return message
            if answer := _refusal(message):
                await self._write.send(SessionMessage(answer))
        raise StopAsyncIteration


def _refusal(error: Exception) -> JSONRPCError | None:
    """The answer to a message with this fault; None for a notification, which gets no answer."""
    if not isinstance(error, ValidationError):
        return None
    problem = error.errors(include_url=False)[0]
    said, sent = problem["msg"], None
    if problem["type"] == "json_invalid":
        with suppress(ValueError, RecursionError):  # unlike the SDK, Python reads half of a character
            said, sent = LONE_SURROGATE, json.loads(str(problem["input"]))
    asked = sent if isinstance(sent, dict) else {"id": None}
    if "id" not in asked:
        return None
    number = asked["id"] if isinstance(asked["id"], int | str) else None
    return JSONRPCError(jsonrpc="2.0", id=number, error=ErrorData(code=PARSE_ERROR, message=said))
