"""Tables that fit the screen on a terminal; in a pipe each row is one line."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice

from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from kb.cli.output import screen_width, show, show_wrapped
from kb.printable import printable

Rows = Sequence[Sequence[str]]
Places = Collection[int]

_NUMBER = re.compile(r"[\d.,]+[kx%]?|-?")
_MANY = 10
"""Tables with this many columns have smaller gaps."""
_LEAST = 12
"""Least width of a cut cell: enough for an id and most file names."""


def show_table(
    header: Sequence[str],
    rows: Rows | Mapping[str, Rows],
    *,
    wrap: Places = (),
    cut: Places = (),
    cut_front: Places = (),
    indent: int = 0,
) -> None:
    """Show rows in columns, under headings if `rows` is a mapping; numbers are aligned to the right.

    On a narrow terminal the columns `wrap` break at words, `cut` cuts the end of long cells and `cut_front` the
    beginning.
    """
    groups = rows if isinstance(rows, Mapping) else {"": rows}
    body = [[printable(cell).replace("\n", " ") for cell in row] for group in groups.values() for row in group]
    if not body:
        return
    columns = list(zip(*([header, *body] if header else body), strict=True))
    gap = 2 if len(columns) < _MANY else 1
    widths = _widths(columns, wrap, {*cut, *cut_front}, beside=indent + gap * (len(columns) - 1))
    table = Table.grid(padding=(0, gap, 0, 0))
    for i, width in enumerate(widths):
        right = all(_NUMBER.fullmatch(row[i]) for row in body)
        table.add_column(
            width=width,
            no_wrap=i in cut,
            overflow="ellipsis" if i in cut else "fold",
            justify="right" if right else "left",
        )
    if header:
        table.add_row(*header)
    left = iter(body)
    for heading, group in groups.items():
        if heading:
            table.add_row()
        for row in islice(left, len(group)):
            for i in cut_front:
                row[i] = _without_front(row[i], widths[i])
            table.add_row(*(cell if i in cut else _breakable(cell, widths[i]) for i, cell in enumerate(row)))
    _show(table, sum(widths) + gap * len(widths), list(groups), indent)


def _widths(columns: Rows, wrap: Places, cut: Places, *, beside: int) -> list[int]:
    """The widths of the columns, so that they fit a terminal with `beside` other characters."""
    widths = [max(1, *map(cell_len, column)) for column in columns]
    if (screen := screen_width()) is not None:
        least = widths.copy()
        for i in cut:
            least[i] = min(widths[i], _LEAST)
        for i in wrap:
            least[i] = max(cell_len(word) for cell in columns[i] for word in (*cell.split(), ""))
        _shrink(widths, least, {*wrap, *cut}, screen - beside)
    return widths


def _show(table: Table, width: int, headings: Sequence[str], indent: int) -> None:
    """Show a table with the next of the headings in the place of each empty line."""
    console = Console(width=width, color_system=None, markup=False, emoji=False)
    with console.capture() as captured:
        console.print(table)
    left = iter(headings)
    for line in captured.get().splitlines():
        if line.strip():
            show(" " * indent + line)
        else:
            show()
            show_wrapped(next(left, ""))


def _shrink(widths: list[int], least: Sequence[int], soft: Collection[int], room: int) -> None:
    """Shrink the widest column above its least width, then the soft columns, then any, until all fit."""
    while sum(widths) > max(room, len(widths)):
        widest = max(
            range(len(widths)), key=lambda i: (widths[i] > least[i], i in soft and widths[i] > _LEAST, widths[i])
        )
        widths[widest] -= 1


def _without_front(cell: str, width: int) -> str:
    """`cell`, or the end of it that fits, starting at a slash if possible."""
    start = len(cell) - width + 1
    return cell if cell_len(cell) <= width else "…" + cell[max(start, cell.find("/", start)) :]


def _breakable(cell: str, width: int) -> str:
    """`cell` with breaks in words that are too long, after punctuation if possible."""
    piece = re.compile(rf".{{1,{width}}}$|.{{0,{width - 1}}}[_./:,-]|.{{1,{width}}}")
    return re.sub(rf"\S{{{width + 1},}}", lambda word: "\n".join(piece.findall(word.group())), cell)
