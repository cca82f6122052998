"""The command `kb symbol`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, open_kb, show, show_result, show_wrapped

if TYPE_CHECKING:
    from kb.types.symbols import SymbolReport

DEFAULT_LINES = 15


def add_to(app: typer.Typer) -> None:
    app.command()(symbol)


def symbol(
    name: Annotated[str, typer.Argument(metavar="NAME", help="An identifier as code writes it: nl.load, vadd.vv.")],
    target: Target = None,
    limit: Annotated[int, typer.Option(min=1, metavar="N", help="Most places to show.")] = DEFAULT_LINES,
    as_json: Json = False,
) -> None:
    """Show where an identifier is defined and used.

    Each line has the kind of place, the id for `kb cite`, the place, the version or date that the document states, and
    the text. Definitions come first, and newer documents before older ones. Notes say where documents disagree.

    Example: kb symbol v_mfma_f32_32x32x8_f16 --target mi300x

    Exit status: 0 when a document has the name, 1 when none has it (the hint gives similar names).
    """
    with open_kb() as kb:
        report = kb.symbol(name, target=target, limit=limit)
    show_result(report, _show_report, as_json=as_json)


def _show_report(report: "SymbolReport") -> None:
    for note in report.notes:
        show_wrapped(f"note: {note}")
    for place in report.places:
        show_wrapped(f"{place.kind:<10} {place.citation.id}  {place.citation.place}{place.marks}: {place.text}")
    if left := [c.left_out for c in report.counts if c.left_out]:
        show(", ".join(left))
