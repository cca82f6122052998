"""Options that name authors and allow them to spend money, and the question whether they may."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import notify

if TYPE_CHECKING:
    from kb.settings import Settings
    from synth.authors.spending import Budget

Authors = Annotated[
    list[str] | None,
    typer.Option(
        "--author",
        metavar="AUTHOR",
        help="Who is asked, such as claude-opus-5-5, openai:MODEL@URL, command:COMMAND, files:FOLDER or none "
        "(repeatable; `2:` before a name gives it two shares; default: chosen from the environment).",
    ),
]
Allowed = Annotated[
    str | None,
    typer.Option(
        "--budget",
        metavar="AMOUNT",
        help="The most that authors may spend: 2usd, 300ktokens, or both with a comma. Required for what costs money, "
        "unless you are asked.",
    ),
]


def allowed_authors(
    settings: "Settings", names: Sequence[str], budget: str | None, *, requests: int
) -> "tuple[Sequence[str], Budget]":
    """Who is asked and what they may spend, after one sentence about it; nobody if the user does not agree to pay.

    Args:
        requests: How many the work takes, if all goes well.

    Raises:
        SettingsError: a name or the budget is not right, or authors that the user named cost money without a budget.
        Abort: the user refuses to pay authors whom he named.
    """
    from kb.usecases.authors import chosen, most_for, must_be_paid, seats_of
    from synth.authors.spending import Budget

    choice, limit = chosen(settings, names), Budget.parse(budget) if budget else Budget()
    if not choice.specs:
        return (), limit
    seats, specs = seats_of(settings, choice.specs), [str(spec) for spec in choice.specs]
    who = " and ".join(seat.author.name for seat in seats) + (f" (by {choice.why})" if choice.why else "")
    if budget or all(seat.free for seat in seats):
        must_be_paid(seats, limit)
        free = "costs nothing" if all(seat.free for seat in seats) else f"may spend at most {limit}"
        notify(f"{who} answers and {free}")
        return specs, limit
    most = most_for(settings, seats, requests)
    if sys.stdin.isatty():
        if typer.confirm(f"Ask {who}, for at most {most}?", abort=bool(names), err=True):
            return specs, most
    elif names:
        must_be_paid(seats, limit)
    else:
        notify(f"--budget {most.option} would let {who} write, for at most that; nobody is asked without it")
    return (), limit
