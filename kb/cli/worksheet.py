"""The commands `kb facts worksheet | ask | answer | propose`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, TargetName, open_kb, show, show_notes, show_result, show_wrapped
from kb.errors import FactError

if TYPE_CHECKING:
    from kb.types.fact import FactAnswer
    from kb.views.facts import AnsweredFacts, Worksheet, WorksheetLine


def add_to(app: typer.Typer) -> None:
    for command in (worksheet, ask, answer, propose):
        app.command(command.__name__)(command)


def worksheet(target: TargetName, as_json: Json = False) -> None:
    """Show what a kernel's author needs to know of a target, and what is known of it.

    Each question has the facts that hold, those that were read and have to be confirmed, or neither.

    Example: kb facts worksheet mi300x
    """
    from kb.views import facts

    with open_kb() as kb:
        show_result(facts.worksheet(kb, target), _show_worksheet, as_json=as_json)


def _show_worksheet(found: "Worksheet") -> None:
    """Show each question with the facts that hold and those to be confirmed."""
    for line in found.lines:
        _show_line(line, "")
    held, read = (sum(len(getattr(line, kind)) for line in found.lines) for kind in ("holds", "read"))
    still = sum(not (line.holds or line.read) for line in found.lines)
    show(f"\n{held} facts hold, {read} were read and have to be confirmed, {still} questions are open")
    name = found.target
    show_wrapped(
        f"`kb facts ask {name}` prints the open questions with passages for a reader; `kb facts accept ID` confirms"
    )


def _show_line(line: "WorksheetLine", mark: str) -> None:
    show_wrapped(f"{mark}{line.topic}: {line.question}")
    for fact in line.holds:
        show_wrapped(fact, "  holds  ")
    for fact in line.read:
        show_wrapped(fact, "  read   ")
    if not (line.holds or line.read):
        show("  open")


def ask(
    target: TargetName,
    everything: Annotated[bool, typer.Option("--all", help="Also ask for more about what is known in part.")] = False,
    tokens: Annotated[
        int | None, typer.Option(min=200, metavar="N", help="Size of the passages for one question, in tokens.")
    ] = None,
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Limit to one topic: memory, rates ...")] = None,
    as_json: Json = False,
) -> None:
    """Print the open questions of the worksheet with passages, for a model or agent to answer.

    A question is open until a fact holds that answers it. The answers go to `kb facts answer`.

    Example: kb facts ask k230 --topic memory
    """
    from kb.views import facts

    with open_kb() as kb:
        asked = facts.questions(kb, target, everything=everything, tokens=tokens, topic=topic)
    show_result(asked, _show_questions, as_json=as_json)


def _show_questions(asked: "Worksheet") -> None:
    from synth.fact_answers import fact_form

    for line in asked.lines:
        _show_line(line, "# ")
        if line.holds and not line.passages:
            show("(not asked; --all asks for more)\n")
            continue
        show(f"(kb's names of quantities: {', '.join(line.quantities) or 'none'})\n")
        for passage in line.passages:
            show(f"[{passage.id}] {passage.place} {passage.text}\n")
        if not line.passages:
            show("no passage found\n")
    show(f"# How to answer\n{fact_form()}")
    show(f"Put the lines into a file: kb facts answer {asked.target} FILE")


def answer(
    target: TargetName,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Answers, one JSON object a line; - is standard input.")],
    as_json: Json = False,
) -> None:
    """Store facts that somebody read in the documents.

    A fact is stored if the words of its quote stand in a document of the target and hold the value. The unit may
    also stand in the table's header or the headings. kb finds the place itself.

    Example: kb facts answer k230 answers.jsonl

    Exit status: 0 when all answers are stored, 1 when some are refused.
    """
    from kb.views import facts

    given = _answers_in(file)
    with open_kb() as kb:
        found = facts.answer(kb, target, given)
    show_result(found, _show_answered, as_json=as_json)
    if found.refused:
        raise typer.Exit(1)


def _answers_in(file: Path) -> "list[FactAnswer]":
    from pydantic import ValidationError

    from kb.types.fact import FactAnswer

    name = "standard input" if str(file) == "-" else str(file)
    try:
        text = sys.stdin.read() if str(file) == "-" else file.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise FactError(
            f"{name} cannot be read: {error}", hint="name a text file of JSON objects, one a line"
        ) from error
    answers = []
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("```"):
            continue
        try:
            answers.append(FactAnswer.model_validate_json(line))
        except ValidationError as error:
            problem = error.errors()[0]
            field = ".".join(map(str, problem["loc"])) or "the line"
            raise FactError(
                f"line {number} of {name} is no answer: {field}: {problem['msg']}",
                hint="nothing was stored; `kb facts ask` shows the form of an answer",
            ) from error
    if not answers:
        raise FactError(f"{name} has no answers", hint="`kb facts ask` shows the questions and the form of an answer")
    return answers


def _show_answered(found: "AnsweredFacts") -> None:
    from kb.cli.facts import show_contradictions

    for fact in found.stored:
        show(f"{fact.target} {fact.quantity} = {fact.amount} {fact.condition}  {fact.id}  {fact.place}")
    for refused in found.refused:
        show_wrapped(f"refused: {refused.quantity} = {refused.value}: {refused.reason}")
    if found.refused:
        show_wrapped("quote the words that state the value, as `kb docs show PATH --text` prints them")
    if found.contradictions:
        show("\nThese values contradict each other:")
        show_contradictions(found.contradictions)
    show_notes(found)
    waiting = [fact.target for fact in found.stored if fact.standing != "holds"]
    hold = len(found.stored) - len(waiting)
    show(f"{len(found.stored)} facts stored, {hold} of them hold, {len(found.refused)} answers refused")
    for name in dict.fromkeys(waiting):
        show_wrapped(f"`kb facts accept ID` lets one of the others hold, `kb facts accept --all {name}` all of them")


def propose(
    target: TargetName,
    budget: Annotated[
        int, typer.Option("--budget", min=1000, metavar="N", help="Most tokens to pay for, in and out.")
    ] = 100_000,
    as_json: Json = False,
) -> None:
    """Let a model answer the open questions of the worksheet.

    The settings name the model. Its answers are checked as those of `kb facts answer`.

    Example: kb facts propose k230

    Exit status: 0 when the model read all that the budget allows, 1 when it stopped before.
    """
    from kb.views import facts

    with open_kb() as kb:
        found = facts.propose(kb, target, budget_tokens=budget)
    show_result(found, _show_answered, as_json=as_json)
    if not found.complete:
        raise typer.Exit(1)
