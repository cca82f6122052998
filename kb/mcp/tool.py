"""What every tool of the server has: a title, hints, and the arguments that many share."""

from collections.abc import Awaitable, Callable
from inspect import Parameter, cleandoc, signature
from typing import Annotated, Any

from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from kb.views.response import Response

MAX_TOKENS = 8000
MIN_TOKENS = 500
"""Enough for an answer with nothing but labels and notes."""
DEFAULT_TOKENS = 3000

Tool = Callable[..., Response]
"""Takes the knowledge base and the arguments of the tool."""

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
WRITES = READS.model_copy(update={"read_only_hint": False})

GO_ON = "continue with offset=next_offset"

Tokens = Annotated[
    int, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="Most tokens to return (4 characters each), 500 to 8000.")
]
TargetName = Annotated[str, Field(max_length=100, description="A chip or family, by name or alias, such as mi300x.")]


def tool(
    title: str,
    annotations: ToolAnnotations = READS,
    *,
    tokens: int | None = DEFAULT_TOKENS,
    cut: str = "use a larger limit or max_tokens to get what was left out",
) -> Callable[[Tool], Tool]:
    """Marks a function as a tool; its docstring is the tool's description.

    Args:
        tokens: Default of an argument `max_tokens` to add, to which the answer is cut; None adds none.
        cut: How to get what an answer leaves out.
    """

    def marked(call: Tool) -> Tool:
        call.offered = {"title": title, "annotations": annotations}  # type: ignore[attr-defined]
        call.tokens, call.cut = tokens, cut  # type: ignore[attr-defined]
        return call

    return marked


def for_agents(call: Tool, ask: Callable[..., Awaitable[CallToolResult]]) -> Callable[..., Awaitable[CallToolResult]]:
    """A tool as the SDK takes it: a function of the tool's arguments and `max_tokens`, without the knowledge base."""
    signed = signature(call)
    _, *parameters = signed.parameters.values()
    if tokens := call.tokens:  # type: ignore[attr-defined]
        parameters.append(Parameter("max_tokens", Parameter.KEYWORD_ONLY, default=tokens, annotation=Tokens))

    async def run(**given: Any) -> CallToolResult:  # noqa: ANN401 - arguments of the tool
        limit = given.get("max_tokens", MAX_TOKENS)
        own = {name: value for name, value in given.items() if name in signed.parameters}
        return await ask(lambda kb: call(kb, **own), limit, call.cut)  # type: ignore[attr-defined]

    returns = Annotated[CallToolResult, signed.return_annotation]
    run.__signature__ = signed.replace(parameters=parameters, return_annotation=returns)  # type: ignore[attr-defined]
    run.__name__, run.__doc__ = call.__name__, cleandoc(call.__doc__ or "")
    return run
