"""`kb doctor`."""

from typing import Annotated

import typer

from kb.cli.output import Json, print_json

MARKS = {"ok": "ok", "warn": "warn", "fail": "FAIL"}


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
        from kb.cli.table import show_table

        rows = [(MARKS[c.state], c.name, c.finding + f" → {c.advice}" * bool(c.advice)) for c in checks]
        show_table((), rows, wrap={2})
    if any(check.state == "fail" for check in checks):
        raise typer.Exit(1)
