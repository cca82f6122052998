"""The commands `kb toolchains list | show | check`."""

from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, open_kb, show, show_result

if TYPE_CHECKING:
    from kb.usecases.toolchains import ToolchainState

app = typer.Typer(
    help="Compilers and simulators of chips that are not here.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A toolchain, as `kb toolchains list` names it.")]


@app.command("list")
def list_toolchains(as_json: Json = False) -> None:
    """List all toolchains: for which targets, in which language, and whether this machine has what they need.

    Your own are TOML files in the folder `toolchains` of the home; docs/toolchains.md describes them.

    Example: kb toolchains list
    """
    with open_kb() as kb:
        states = kb.toolchains.states()
    show_result(states, _show_states, as_json=as_json)


def _show_states(states: "list[ToolchainState]") -> None:
    from kb.cli.table import show_table

    rows = [
        (s.name, ", ".join(s.targets), s.language, s.grade, "ready" if s.ready else "; ".join(s.install))
        for s in states
    ]
    show_table(("toolchain", "targets", "language", "shows", "state, or what installs it"), rows, wrap={1, 4})


@app.command("show")
def show_toolchain(name: Name, as_json: Json = False) -> None:
    """Show one toolchain: its commands, what it needs, and the rules for its language.

    Example: kb toolchains show riscv-zig
    """
    with open_kb() as kb:
        toolchain, state = kb.toolchains.get(name), kb.toolchains.state(name)
    show_result(toolchain if as_json else state, lambda shown: _show_one(state), as_json=as_json)
    if not as_json:
        for command in (toolchain.build, toolchain.run):
            if command:
                show(f"  $ {' '.join(command)}")
        show()
        show(toolchain.language.rules)


def _show_one(state: "ToolchainState") -> None:
    show(f"{state.name}: {state.title}")
    show(f"  targets: {', '.join(state.targets)}; language: {state.language}; a pass is {state.grade}")
    show(f"  file: {state.file}")
    for need, version in state.needs.items():
        show(f"  needs {need}: {'missing' if version is None else version or 'found'}")
    for command in state.install:
        show(f"  install: {command}")


@app.command("check")
def check_toolchain(name: Name, as_json: Json = False) -> None:
    """Judge the toolchain's own example, which is correct.

    Example: kb toolchains check riscv-zig

    Exit status: 0 when the example passes, 1 when it does not or something is missing.
    """
    from kb.cli.verdicts import show_verdict
    from kb.views.verdicts import verdict

    with open_kb() as kb:
        judged = verdict(kb.toolchains.check(name))
    show_result(judged, show_verdict, as_json=as_json, failed=not judged.passed)
