"""Files of answers and of decisions about facts: one JSON object a line."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

from kb.cli.output import Json, counted, open_kb, show, show_result, show_wrapped
from kb.errors import FactError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kb.types.base import Frozen
    from kb.usecases.fact_exchange import ImportedDecision

Line = TypeVar("Line", bound="Frozen")


def read_lines(file: Path, kind: type[Line], hint: str) -> list[Line]:
    """The lines of a file, or of standard input for `-`. Raises FactError with the hint if one is no such object."""
    from pydantic import ValidationError

    from kb.types.base import reason_of

    name = "standard input" if str(file) == "-" else str(file)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FactError(
            f"{name} cannot be read: {error}", hint="name a text file of JSON objects, one a line"
        ) from error
    found = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("```"):
            continue
        try:
            found.append(kind.model_validate_json(line))
        except ValidationError as error:
            message = f"line {number} of {name} cannot be used: {reason_of(error)}"
            raise FactError(message, hint=f"nothing was stored; {hint}") from error
    if not found:
        raise FactError(f"{name} is empty", hint=hint)
    return found


def export(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write, one JSON object a line; - is standard output.")
    ],
    as_json: Json = False,
) -> None:
    """Write the decisions about facts, for another home to import.

    Each has the fact, the reason, the digest of its document and the words that state the fact, also of private
    documents.

    Example: kb facts export decisions.jsonl
    """
    from kb.catalog import storage_errors
    from kb.storage import write_whole
    from kb.usecases.fact_exchange import decided_facts

    with open_kb() as kb:
        found = decided_facts(kb)
    text = "".join(f"{one.model_dump_json(exclude_defaults=True)}\n" for one in found)
    if str(file) == "-":
        print(text, end="")
        return
    with storage_errors(file.parent):
        write_whole(file, text)
    show_result(found, lambda _: show(f"written: {file}: {counted(len(found), 'decisions')}"), as_json=as_json)


def import_(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="What `kb facts export` wrote; - is standard input.")],
    as_json: Json = False,
) -> None:
    """Take over decisions about facts from another home.

    A decision is taken over if the words that state the fact stand in a document of this home, and nothing that was
    decided here contradicts it.

    Example: kb facts import decisions.jsonl

    Exit status: 0 when all were taken over or are known, 1 otherwise.
    """
    from kb.types.fact import DecidedFact
    from kb.usecases.fact_exchange import import_decisions

    given = read_lines(file, DecidedFact, "`kb facts export FILE` writes such a file")
    with open_kb() as kb:
        done = import_decisions(kb, given)
    show_result(done, _show_imported, as_json=as_json, failed=any(one.outcome == "left out" for one in done))


def _show_imported(done: "Sequence[ImportedDecision]") -> None:
    from kb.facts.quantities import written

    for one in done:
        amount = written(one.given.value, one.given.unit)
        said = f"{one.given.target} {one.given.quantity} = {amount} {one.given.condition}"
        reason = f": {one.reason}" if one.reason else ""
        show_wrapped(f"{one.outcome}: {one.given.decision}: {said.strip()} [{one.given.id}]{reason}")
    if any(one.outcome == "left out" for one in done):
        show("`kb facts TARGET --all` shows what is known here; `kb facts accept ID` and `reject ID` decide")
