"""What all commands share: options, opening the knowledge base, printing."""

import json
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from pydantic import BaseModel

    from kb.session import KnowledgeBase

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="TARGET", help="A chip or family, by name or alias.")
]


def open_kb() -> "KnowledgeBase":
    """The knowledge base of this home for one command."""
    from kb.session import KnowledgeBase
    from kb.settings import Settings

    return KnowledgeBase(Settings.load(), long_lived=False, notify=notify)


def notify(message: str) -> None:
    print(f"note: {message}", file=sys.stderr)


def show(text: str = "") -> None:
    print(text.rstrip())


def print_json(value: "BaseModel | Sequence[BaseModel]") -> None:
    """One JSON document: an object for a model, a list for several."""
    many = isinstance(value, Sequence)
    content = [v.model_dump(mode="json") for v in value] if many else value.model_dump(mode="json")  # type: ignore[union-attr]
    print(json.dumps(content, indent=2, ensure_ascii=False))
