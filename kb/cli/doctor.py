"""The command `kb doctor`."""

from typing import Annotated

import typer

from kb.cli.output import Json, show_result

MARKS = {"ok": "ok", "warn": "warn", "fail": "FAIL"}


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Repair whatever can be repaired without losing a document.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check stores, model and machine, and say how to fix problems.

    Example: kb doctor --repair

    Exit status: 0 when nothing fails, 1 otherwise. A warning is not a failure.
    """
    from kb.cli.table import show_table
    from kb.settings import Settings
    from kb.usecases.doctor import examine

    checks = examine(Settings.load(), repair=repair)
    rows = [(MARKS[c.state], c.name, c.finding + f" → {c.advice}" * bool(c.advice)) for c in checks]
    failed = any(check.state == "fail" for check in checks)
    show_result(checks, lambda _: show_table((), rows, wrap={2}), as_json=as_json, failed=failed)
