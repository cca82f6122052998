"""`kb doctor`."""

from typing import Annotated

import typer

from kb.cli.output import Json, print_json, show

MARKS = {"ok": "ok  ", "warn": "warn", "fail": "FAIL"}


def add_to(app: typer.Typer) -> None:
    app.command()(doctor)


def doctor(
    repair: Annotated[
        bool, typer.Option("--repair", help="Mend what can be mended without losing a document.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Check stores, model and machine, and say what to do.

    Example: kb doctor --repair

    Exit status: 0 when nothing fails, 1 otherwise. A warning is no failure.
    """
    from kb.home.doctor import examine
    from kb.settings import Settings

    checks = examine(Settings.load(), repair=repair)
    if as_json:
        print_json(checks)
    else:
        for check in checks:
            show(f"{MARKS[check.state]}  {check.name:<12} {check.finding}")
            if check.advice:
                show(f"{'':<18} → {check.advice}")
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)
