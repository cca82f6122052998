"""`kb probe`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, Target, notify, open_knowledge, print_json, progress_bar, show, show_wrapped

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
    from eval.probe.prober import device_here
    from eval.probe.prober import probe as measure
    from kb.facts.measured import compare, stated_facts, store, target_of

    with open_knowledge() as kb:
        isa = kb.targets.isa(target) if target else None
        cpu = isa is not None and isa.is_cpu
        device = device_here(cpu=cpu)
        name = kb.targets.get(target).name if target else target_of(kb.targets, device)
        with progress_bar("measuring", quiet=as_json) as progress:
            findings = measure(progress, cpu=cpu)
        compared = compare(findings.readings, stated_facts(kb, name))
        sheet = None if dry_run else store(kb, findings, name)
    for reason in findings.missing:
        notify(f"not measured: {reason}")
    if as_json:
        found = {"target": name, "device": device, "date": findings.date, "missing": findings.missing}
        print_json(found | {"compared": compared, "sheet": sheet and str(sheet)})
        return
    show_wrapped(f"{device.name} as {name}; {', '.join(device.software)}")
    _show_compared(compared)
    show(f"stored in {sheet}" if sheet else "stored nothing, as asked")


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
