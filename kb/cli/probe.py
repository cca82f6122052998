"""The command `kb probe`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, notify, open_kb, progress_bar, show, show_result, show_wrapped

if TYPE_CHECKING:
    from kb.usecases.probing import ProbeReport


def probe(
    target: Target = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Measure and show; store nothing.")] = False,
    as_json: Json = False,
) -> None:
    """Measure what this machine can do.

    Measures the first GPU, or the CPU if there is no GPU or the target is a CPU, and compares the results with the
    vendor's numbers. The name of the device tells the target. The results are stored as measured facts of the target
    and replace those of an earlier probe.

    Example: kb probe --dry-run
    """
    with open_kb() as kb, progress_bar("measuring", quiet=as_json) as progress:
        report = kb.probe(target, dry_run=dry_run, progress=progress)
    for reason in report.missing:
        notify(f"not measured: {reason}")
    show_result(report, _show_report, as_json=as_json)


def _show_report(report: "ProbeReport") -> None:
    from kb.cli.table import show_table

    show_wrapped(f"{report.device.name} as {report.target}; {', '.join(report.device.software)}")
    rows = [
        (
            *(c.reading.quantity, c.reading.condition, c.measured_text, c.stated_text),
            "" if c.ratio is None else f"{c.ratio:.2f}",
            "!" * c.differs,
        )
        for c in report.compared
    ]
    show_table(("quantity", "condition", "measured", "stated", "ratio", ""), rows, wrap={1})
    show()
    if any(c.differs for c in report.compared):
        show("! differs by more than 10 % from the vendor's number; `--json` shows where that is stated")
    show(f"stored in {report.sheet}" if report.sheet else "stored nothing, as requested")
