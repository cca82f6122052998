"""The command line: parses arguments, calls the library, prints results and errors."""

import os
import sys

import typer

from kb.cli import (
    batch,
    bench,
    campaign,
    docs,
    doctor,
    export,
    facts,
    ingest,
    kernels,
    mcp,
    probe,
    report,
    runs,
    search,
    serve,
    skills,
    targets,
    toolchains,
    web,
)
from kb.errors import KbError, MissingLibraryError, QueryError

app = typer.Typer(
    name="kb",
    help="A cited knowledge base for kernel authors: manuals in, verified kernels out.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)
for command in (
    ingest.ingest,
    *(search.search, search.context, search.symbol, search.cite),
    *(kernels.verify, kernels.roofline, kernels.prompt, kernels.submit, kernels.optimize),
    *(campaign.campaign, report.report, export.export),
    *(web.web, serve.serve, doctor.doctor, probe.probe),
):
    app.command()(command)
for name, group in (
    *(("facts", facts), ("docs", docs), ("runs", runs), ("batch", batch), ("skills", skills), ("targets", targets)),
    *(("toolchains", toolchains), ("mcp", mcp), ("people", serve), ("bench", bench)),
):
    app.add_typer(group.app, name=name)


@app.callback(invoke_without_command=True)
def version(show: bool = typer.Option(False, "--version", help="Show the version and exit.", is_eager=True)) -> None:
    if show:
        from kb import __version__

        typer.echo(f"kb {__version__}")
        raise typer.Exit


def main() -> None:
    """Entry point of the `kb` command. Exit status: 0 for success, 1 for a KbError, 2 for wrong usage."""
    try:
        _must_be_text(sys.argv[1:])
        app()
    except (KbError, ModuleNotFoundError) as error:
        told = error if isinstance(error, KbError) else MissingLibraryError(error.name)
        print(f"error: {told.message}\nhint: {told.hint}", file=sys.stderr)
        raise SystemExit(1) from None


def _must_be_text(arguments: list[str]) -> None:
    """Raises QueryError if one has bytes that are not UTF-8, unless it names a file."""
    for argument in arguments:
        shown = os.fsencode(argument).decode(errors="replace")
        if shown != argument and not os.path.lexists(argument):
            raise QueryError(
                f"the argument '{shown}' is not UTF-8", hint="write it in UTF-8: the shell sent other bytes"
            )
