"""Replies of a server on loopback in the wire format of OpenAI's chat completions, as hosted and own ones send it."""

import json
from typing import Any

from tests.synth.model_server import Reply

USAGE = {
    "prompt_tokens": 111,
    "completion_tokens": 20,
    "total_tokens": 131,
    "prompt_tokens_details": {"cached_tokens": 11},
}


def completion(
    text: str, *, finish: str = "stop", usage: dict[str, Any] | None = USAGE, done: bool = True, **delta: Any
) -> Reply:
    """The stream of a complete answer in small pieces; `delta` comes first, such as `reasoning_content`."""
    pieces: list[dict[str, Any]] = [{"role": "assistant", **delta}]
    pieces += [{"content": text[i : i + 7]} for i in range(0, len(text), 7)]
    chunks = [_chunk([{"index": 0, "delta": piece, "finish_reason": None}]) for piece in pieces]
    chunks.append(_chunk([{"index": 0, "delta": {}, "finish_reason": finish}]))
    chunks += [_chunk([], usage=usage)] if usage else []
    return Reply(b": a comment\n\n" + b"".join(chunks) + b"data: [DONE]\n\n" * done)


def refused(status: int, error: object, **headers: str) -> Reply:
    """A reply that refuses the request before any stream."""
    body = json.dumps(error).encode()
    return Reply(body, status=status, headers={"Content-Type": "application/json"} | headers)


def error(code: str, message: str = "on purpose") -> dict[str, Any]:
    return {"error": {"message": message, "type": "some_error", "param": None, "code": code}}


def broken_off(code: str) -> Reply:
    """A stream that begins with status 200 and ends in an error."""
    begun = _chunk([{"index": 0, "delta": {"role": "assistant", "content": "```"}, "finish_reason": None}])
    return Reply(begun + _data(error(code)))


def _chunk(choices: list[dict[str, Any]], **more: Any) -> bytes:
    return _data(
        {"id": "c1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": choices, **more}
    )


def _data(event: dict[str, Any]) -> bytes:
    return f"data: {json.dumps(event, ensure_ascii=False)}\n\n".encode()
