"""The commands `kb serve` and `kb people`."""

from typing import TYPE_CHECKING, Annotated, Literal

import typer

from kb.cli.interrupts import interruptible
from kb.cli.output import Json, notify, show, show_result

if TYPE_CHECKING:
    from kb.serve.people import People

app = typer.Typer(help="Who may use a home that `kb serve` serves.", no_args_is_help=True, rich_markup_mode=None)
Name = Annotated[str, typer.Argument(metavar="NAME", help="Letters, digits and any of . _ @ -")]


def serve(
    host: Annotated[str, typer.Option(metavar="ADDRESS", help="The address to listen on.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, metavar="N", help="The port; 0 takes any free one.")] = 8643,
    url: Annotated[str, typer.Option(metavar="URL", help="The address of the proxy in front of it.")] = "",
    upload: Annotated[int, typer.Option(min=1, max=256, metavar="MIB", help="Most MiB of a document.")] = 64,
) -> None:
    """Serve this home to a team: the page, MCP and a JSON API.

    `kb people add` gives people tokens. While nobody has one, only your account on this machine can use the server. A
    proxy adds TLS. See docs/serve.md.

    Example: kb serve --url https://kb.example.org

    Exit status: 130 when you end it, 1 when it cannot listen, or others could come in without a token.
    """
    from kb.serve.server import serve
    from kb.settings import Settings

    settings = Settings.load()
    with interruptible():
        serve(settings, host=host, port=port, url=url, upload_bytes=upload << 20, ready=show, notify=notify)


@app.command()
def add(
    name: Name,
    role: Annotated[
        Literal["reader", "author", "curator"], typer.Option(metavar="ROLE", help="reader, author or curator.")
    ] = "reader",
) -> None:
    """Give a person a token.

    It is printed once; kb keeps only its SHA-256. An earlier one of that person is void, also for a running server.

    A reader searches and reads; an author also proposes, sends documents and has kernels judged; a curator also
    accepts, rejects and removes.

    Example: kb people add alice --role author
    """
    from kb.serve.people import Role

    show(_people().add(name, Role(role)))


@app.command("list")
def list_people(as_json: Json = False) -> None:
    """List the people with their roles.

    Example: kb people list --json
    """
    roles = {name: person.role for name, person in sorted(_people().known().items())}
    show_result(roles, lambda known: show("\n".join(map("  ".join, known.items()))), as_json=as_json)


@app.command()
def remove(name: Name) -> None:
    """Make a person's token void, also for a running server.

    Example: kb people remove alice
    """
    _people().remove(name)


def _people() -> "People":
    from kb.serve.people import People
    from kb.settings import Settings

    return People(Settings.load().home)
