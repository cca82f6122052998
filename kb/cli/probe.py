"""`kb probe`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, notify, open_kb, print_json, progress_bar, show, show_wrapped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb.facts.measured import Comparison


def add_to(app: typer.Typer) -> None:
    app.command()(probe)


def probe(
    target: Target = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure and show; store nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Measure what this machine can do, beside what its vendor states.

    Measures the first GPU, or the CPU where there is none or the target is a CPU. The target is read off the
    device's name. What is found is stored as measured facts of the target, in place of an earlier probe's.

    Example: kb probe --dry-run
    """
    with open_kb() as kb, progress_bar("measuring", quiet=as_json) as progress:
        report = kb.probe(target, dry_run=dry_run, progress=progress)
    for reason in report.missing:
        notify(f"not measured: {reason}")
    if as_json:
        print_json(report)
        return
    show_wrapped(f"{report.device.name} as {report.target}; {', '.join(report.device.software)}")
    _show_compared(report.compared)
    show(f"stored in {report.sheet}" if report.sheet else "stored nothing, as asked")


def _show_compared(compared: "Sequence[Comparison]") -> None:
    from kb.cli.table import show_table

    rows = [
        (c.reading.quantity, c.reading.condition, c.measured, c.beside, _ratio(c), "!" if c.differs else "")
        for c in compared
    ]
    show_table(("quantity", "condition", "measured", "stated", "ratio", ""), rows, wrap={1})
    show()
    if any(c.differs for c in compared):
        show("! more than 10 % from what the vendor states; `--json` says where it is stated")


def _ratio(compared: "Comparison") -> str:
    return "" if compared.ratio is None else f"{compared.ratio:.2f}"
