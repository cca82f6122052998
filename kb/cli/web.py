"""The command `kb web`."""

from typing import Annotated

import typer

from kb.cli.interrupts import interruptible
from kb.cli.output import open_kb, show

PORT = 8642


def web(
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 takes any free one.")] = PORT,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
) -> None:
    """Serve a page with documents, facts, skills and runs.

    Only this machine can open the page, until you press Ctrl-C. See docs/web.md.

    Example: kb web --port 0 --open

    Exit status: 130 when you end it, 1 when the port is taken.
    """
    from kb.web.server import serve

    def ready(address: str) -> None:
        show(address)
        if browser:
            typer.launch(address)

    with interruptible():
        serve(open_kb, port=port, ready=ready)
