"""What all commands share: options, opening the knowledge base, printing."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What a terminal takes for a command, or cannot print; documents and candidates may hold it."""

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="TARGET", help="A chip or family, by name or alias.")
]


def open_kb() -> "KnowledgeBase":
    """The knowledge base of this home for one command."""
    from kb.home.knowledge_base import KnowledgeBase
    from kb.settings import Settings

    return KnowledgeBase(Settings.load(), notify=notify)


def notify(message: str) -> None:
    print(f"note: {message}", file=sys.stderr)


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[[int, int], None]]:
    """A bar on the error stream while it is a terminal, nothing otherwise. It is told how many of how many are done."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def show(text: str = "") -> None:
    print(_CONTROLS.sub(lambda match: match.group().encode("unicode_escape").decode(), text.rstrip()), flush=True)


def print_json(value: object) -> None:
    """One JSON document; models among `value` as objects."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=lambda model: model.model_dump(mode="json")))
