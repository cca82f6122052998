"""What all commands share: options, opening the knowledge base, printing."""

import json
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")
"""What a terminal takes for a command, or cannot print; documents and candidates may hold it."""

LEAST_WIDTH = 20
"""Columns that wrapped or cut text keeps, however narrow the terminal is."""

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
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[..., None]]:
    """A bar on the error stream while it is a terminal, nothing otherwise. It is told how many of how many are done."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total, what="": None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, what=what: bar.update(task, completed=done, total=total, description=what)


def show(text: str = "") -> None:
    print(printable(text.rstrip()), flush=True)


def printable(text: str) -> str:
    return _CONTROLS.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def screen_width() -> int | None:
    """Columns of the terminal; None for a pipe or a file, where nothing is cut or folded."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show_wrapped(text: str, head: str = "") -> None:
    """Show `text` behind `head`; a terminal gets lines that fit it and break at blanks."""
    room = max((screen_width() or sys.maxsize) - len(head), LEAST_WIDTH)
    lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    show(head + f"\n{' ' * len(head)}".join(lines))


def print_json(value: object) -> None:
    """One JSON document; models among `value` as objects."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=lambda model: model.model_dump(mode="json")))
