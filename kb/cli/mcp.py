"""The command `kb mcp`."""

import sys

import typer

from kb.cli.output import notify, open_kb


def add_to(app: typer.Typer) -> None:
    app.command()(mcp)


def mcp() -> None:
    """Serve agents over the Model Context Protocol.

    Serves on standard input and output, for a host that starts it. See docs/mcp.md.

    Example: claude mcp add kb -- kb mcp
    """
    from kb.mcp.server import serve

    if sys.stdin.isatty():
        notify("this command serves a program, not a person; docs/mcp.md says how a host starts it")
    serve(open_kb)
