"""What every tool of the server has: a title, hints, and the arguments that many share."""

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Annotated

from mcp.types import CallToolResult, ToolAnnotations
from pydantic import Field

from kb.views.answers import Answer

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

MAX_TOKENS = 8000
MIN_TOKENS = 500
"""Enough for an answer with nothing but labels and notes."""
DEFAULT_TOKENS = 3000

Tool = Callable[..., Awaitable[CallToolResult]]
Ask = Callable[["Callable[[KnowledgeBase], Answer]"], Awaitable[CallToolResult]]
"""Asks the knowledge base of the server."""

READS = ToolAnnotations(read_only_hint=True, destructive_hint=False, idempotent_hint=True, open_world_hint=False)
WRITES = READS.model_copy(update={"read_only_hint": False})

Tokens = Annotated[
    int, Field(ge=MIN_TOKENS, le=MAX_TOKENS, description="Most tokens to return (4 characters each), 500 to 8000.")
]
TargetName = Annotated[str, Field(max_length=100, description="A chip or family, by name or alias, such as mi300x.")]


def tool(title: str, annotations: ToolAnnotations = READS) -> Callable[[Tool], Tool]:
    """Marks a method as a tool; its docstring is the tool's description."""

    def marked(call: Tool) -> Tool:
        call.offered = {"title": title, "annotations": annotations}  # type: ignore[attr-defined]
        return call

    return marked
