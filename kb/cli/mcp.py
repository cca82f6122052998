"""The commands `kb mcp` and `kb mcp install`."""

import sys
from pathlib import Path
from typing import Annotated, Literal

import typer

from kb.cli.output import notify, open_kb, show

app = typer.Typer(rich_markup_mode=None)
Tasks = Annotated[
    list[Path] | None,
    typer.Option(
        "--tasks", metavar="FOLDER", help="A folder whose tasks, which are code, agents may run (repeatable)."
    ),
]


@app.callback(invoke_without_command=True)
def mcp(context: typer.Context, tasks: Tasks = None) -> None:
    """Serve agents over the Model Context Protocol.

    `kb mcp` alone serves on standard input and output, for a host that starts it. It serves no private documents,
    unless `local_authors` in kb.toml names mcp. See docs/mcp.md.
    """
    if context.invoked_subcommand is not None:
        return
    from kb.mcp.server import serve
    from kb.settings import Settings

    if sys.stdin.isatty():
        notify("this command serves a program, not a person; `kb mcp install HOST` lets a host start it")
    settings = Settings.load()
    if tasks:
        settings = settings.model_copy(update={"task_folders": tuple(tasks)})
    hosted = not settings.is_own("mcp")
    serve(lambda: open_kb(settings, without_private=hosted), runs_tasks=bool(settings.task_folders))


@app.command()
def install(
    host: Annotated[
        Literal["claude-code", "codex", "cursor", "gemini", "vscode"],
        typer.Argument(metavar="HOST", help="claude-code, codex, cursor, gemini or vscode."),
    ],
    tasks: Tasks = None,
    only_print: Annotated[bool, typer.Option("--print", help="Print the entry; write nothing.")] = False,
) -> None:
    """Let a host start kb with the current home.

    Adds an entry to .mcp.json (claude-code), .cursor/mcp.json, .gemini/settings.json or .vscode/mcp.json in this
    folder, or to ~/.codex/config.toml (codex).

    Example: kb mcp install claude-code --print
    """
    from kb.mcp.hosts import ServerEntry, config_file
    from kb.settings import Settings

    file, entry = config_file(host), ServerEntry.of(Settings.load().home, tasks or ())
    if only_print:
        notify(f"for {file.path}")
        show(file.with_entry("", entry))
        return
    changed = file.add(entry)
    show(f"kb is {'now' if changed else 'already'} in {file.path}")
    if changed:
        show(f"restart {host} to use it")
