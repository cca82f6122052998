"""Shared by all commands: options, opening the knowledge base, printing."""

import json
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kb.errors import KbError
from kb.printable import printable

if TYPE_CHECKING:
    from pathlib import Path

    from kb.settings import Settings
    from kb.usecases.knowledge_base import KnowledgeBase
    from kb.views.response import Response

LEAST_WIDTH = 20
"""Fewest columns for wrapped text, however narrow the terminal is."""

Shown = TypeVar("Shown")

Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Target = Annotated[
    str | None, typer.Option("--target", "-t", metavar="TARGET", help="A chip or family, by name or alias.")
]
Pool = Annotated[str, typer.Option(envvar="KB_POOL", metavar="POOL", help="A cluster judges: ray or ray://HOST:PORT.")]
TargetName = Annotated[str, typer.Argument(metavar="TARGET", help="A chip or family, by name or alias.")]


def open_kb(settings: "Settings | None" = None, *, without_private: bool = False) -> "KnowledgeBase":
    """Open the knowledge base of this home; notes go to standard error."""
    from kb.settings import Settings
    from kb.usecases.knowledge_base import KnowledgeBase

    return KnowledgeBase(settings or Settings.load(), notify=notify, without_private=without_private)


def notify(message: str) -> None:
    print(f"note: {message}", file=sys.stderr)


def notify_all(problems: "Sequence[tuple[Path, KbError]]") -> None:
    """Tell the user which folders kb leaves out because they are damaged."""
    for _, error in problems:
        notify(error.message)


def confirm_removal(what: str) -> None:
    """Ask before `what` is removed. Raises KbError if there is no terminal to ask on."""
    if not sys.stdin.isatty():
        message = f"nothing was removed: cannot confirm the removal of {what}: no terminal"
        raise KbError(message, hint="pass --yes to remove without asking")
    typer.confirm(f"Remove {what}?", abort=True, err=True)


@contextmanager
def progress_bar(what: str, *, quiet: bool) -> Iterator[Callable[..., None]]:
    """A progress bar on standard error if that is a terminal. Call it with the number done and the total."""
    if quiet or not sys.stderr.isatty():
        yield lambda done, total, what="": None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=20), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total, what=what: bar.update(task, completed=done, total=total, description=what)


def show(text: str = "") -> None:
    print(printable(text.rstrip()), flush=True)


def screen_width() -> int | None:
    """Columns of the terminal; None for a pipe or a file, where nothing is cut or wrapped."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else None


def show_wrapped(text: str, head: str = "") -> None:
    """Show `text` after `head`; a terminal gets it wrapped at blanks to its width."""
    width = screen_width()
    if width is None:
        show(head + text)
        return
    room = max(width - len(head), LEAST_WIDTH)
    lines = textwrap.wrap(text, room, break_long_words=False, break_on_hyphens=False) or [""]
    show(head + f"\n{' ' * len(head)}".join(lines))


def show_text(text: str) -> None:
    """Show the lines of a document, those that are longer than the terminal wrapped."""
    for line in text.split("\n"):
        show_wrapped(line)


def show_notes(response: "Response", label: str = "ok") -> None:
    """Show the notes of an answer, as notes or, if it is not `ok`, after its label."""
    for note in response.notes:
        show_wrapped(f"{'note' if label == 'ok' else label}: {note}")


def counted(number: int, nouns: str) -> str:
    """`1 table` or `2 tables`, for `tables`."""
    return f"{number:,} {nouns.removesuffix('s') if number == 1 else nouns}"


def named(names: Sequence[str], most: int) -> list[str]:
    """The first names, and how many more there are."""
    more = [f"and {len(names) - most} more (--json lists all)"] if len(names) > most else []
    return [*names[:most], *more]


def show_result(value: Shown, show_it: Callable[[Shown], None], *, as_json: bool, failed: object = False) -> None:
    """Print `value` as JSON, or show it with `show_it`. If it `failed`, raises Exit with status 1 then."""
    print_json(value) if as_json else show_it(value)
    if failed:
        raise typer.Exit(1)


def print_json(value: object) -> None:
    """Print one JSON document; models inside `value` become objects."""
    print(json.dumps(value, indent=2, ensure_ascii=False, default=lambda model: model.model_dump(mode="json")))
