"""The commands `kb facts worksheet | draft | ask | answer | review | propose`."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kb.cli.output import Json, TargetName, open_kb, show, show_notes, show_result, show_wrapped
from kb.errors import FactError

if TYPE_CHECKING:
    from kb.types.fact import Fact, FactAnswer
    from kb.usecases.knowledge_base import KnowledgeBase
    from kb.views.facts import AnsweredFacts, Worksheet, WorksheetLine

TrustQuotes = Annotated[
    bool, typer.Option("--trust-quotes", help="Let stored facts hold at once, unless values contradict each other.")
]
SHOWN_READ = 4
"""Most facts to be confirmed to show for each question."""
KEYS = {"a": "accept", "c": "correct", "r": "reject", "s": "skip", "d": "accept all of this document", "q": "quit"}


def add_to(app: typer.Typer) -> None:
    for command in (worksheet, draft, ask, answer, review, propose):
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
        f"`kb facts ask {name}` prints the open questions with passages for a reader; `kb facts review {name}` confirms"
    )


def _show_line(line: "WorksheetLine", mark: str) -> None:
    show_wrapped(f"{mark}{line.topic}: {line.question}")
    for fact in line.holds:
        show_wrapped(fact, "  holds  ")
    for fact in line.read[:SHOWN_READ]:
        show_wrapped(fact, "  read   ")
    if (more := len(line.read) - SHOWN_READ) > 0:
        show(f"  read   {more} more")
    if not (line.holds or line.read):
        show("  open")


def draft(
    target: TargetName,
    output: Annotated[Path | None, typer.Option(metavar="FILE", help="Write to this file (default: print it).")] = None,
) -> None:
    """Write the facts to be confirmed as a table to edit and ingest.

    Each row has its quote and place. Every row that you leave in holds once the file is ingested.

    Example: kb facts draft k230 --output k230-facts.md
    """
    from kb.facts.draft import draft as written

    with open_kb() as kb:
        own = kb.targets.get(target).name
        text = written(kb.worksheet(target), target=own)
    if output is None:
        show(text)
        return
    if output.exists():
        raise FactError(f"{output} exists already", hint="name another file, or delete it")
    output.write_text(text, encoding="utf-8")
    show(f"written to {output}; edit it, then: kb ingest {output} --target {own}")


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
    file: Annotated[
        Path | None, typer.Argument(metavar="[FILE]", help="Answers, one JSON object a line; - is standard input.")
    ] = None,
    quantity: Annotated[str | None, typer.Option(help="For one answer: the name of the quantity.")] = None,
    value: Annotated[str, typer.Option(help="The number, shape or words.")] = "",
    unit: Annotated[str, typer.Option(help="The unit as the text has it; `name` for words.")] = "",
    condition: Annotated[str, typer.Option(help="What the value holds for: 'per cluster, float32'.")] = "",
    quote: Annotated[str, typer.Option(help="The words of the document that state it.")] = "",
    passage: Annotated[str, typer.Option(metavar="ID", help="The id of the passage that has the quote.")] = "",
    trust_quotes: TrustQuotes = False,
    as_json: Json = False,
) -> None:
    """Store facts that somebody read in the documents.

    A fact is stored if the words of its quote stand in a document of the target and hold the value. The unit may
    also stand in the table's header or the headings. kb finds the place itself.

    Example: kb facts answer k230 answers.jsonl --trust-quotes

    Exit status: 0 when all answers are stored, 1 when some are refused.
    """
    from kb.types.fact import FactAnswer
    from kb.views import facts

    if (file is None) == (quantity is None):
        raise FactError("expected either a file of answers or --quantity", hint="give one of the two")
    if quantity is None:
        given = _answers_in(file)
    else:
        given = [
            FactAnswer(quantity=quantity, value=value, unit=unit, condition=condition, quote=quote, passage=passage)
        ]
    with open_kb() as kb:
        found = facts.answer(kb, target, given, trust_quotes=trust_quotes)
    show_result(found, _show_answered, as_json=as_json)
    if found.refused:
        raise typer.Exit(1)


def _answers_in(file: Path | None) -> "list[FactAnswer]":
    from pydantic import ValidationError

    from kb.types.fact import FactAnswer

    name = "standard input" if file is None or str(file) == "-" else str(file)
    try:
        text = sys.stdin.read() if file is None or str(file) == "-" else file.read_text(encoding="utf-8")
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
        show_wrapped(f"`kb facts review {name}` confirms the others one by one, `kb facts accept --all {name}` at once")


def review(target: TargetName) -> None:
    """Go through the facts to be confirmed, with one key each.

    Example: kb facts review k230
    """
    from kb.facts.resolution import FactDecision

    with open_kb() as kb:
        waiting = [fact for entry in kb.worksheet(target) for fact in entry.read]
        if not waiting:
            show(f"no fact of {kb.targets.get(target).name} waits to be confirmed")
            return
        if not sys.stdin.isatty():
            raise FactError(
                f"{len(waiting)} facts wait to be confirmed, but there is no terminal to ask",
                hint=f"`kb facts accept --all {target}` accepts all, `kb facts draft {target}` writes a file",
            )
        show("  ".join(f"{key}: {means}" for key, means in KEYS.items()))
        finished: set[str] = set()
        for fact in waiting:
            if fact.citation.path in finished:
                continue
            match _asked(fact):
                case "a":
                    _accept(kb, fact)
                case "c":
                    _correct(kb, fact)
                case "r":
                    kb.factbook.decide(fact.citation.id, FactDecision.REJECTED)
                case "d":
                    accepted = kb.factbook.accept_answers(target, documents=[fact.citation.path])
                    finished.add(fact.citation.path)
                    show(f"accepted {len(accepted)} facts of {fact.citation.path}")
                case "q":
                    break


def _asked(fact: "Fact") -> str:
    """The key that the user presses for a fact; any other key than those of `KEYS` asks again."""
    import click

    from kb.views.facts import in_words

    show(f"\n{fact.target} {in_words(fact, fact.target)}")
    show_wrapped(f'"{" ".join(fact.quote.split())}"', "   ")
    show(f"   {fact.citation.place}")
    while True:
        typer.echo(f"[{'/'.join(KEYS)}] ", nl=False)
        key = click.getchar().lower()
        typer.echo(KEYS.get(key, key))
        if key in KEYS:
            return key


def _accept(kb: "KnowledgeBase", fact: "Fact") -> None:
    """Accept a fact; where another value is accepted already, ask what tells the two apart."""
    from kb.facts.resolution import FactDecision

    try:
        kb.factbook.decide(fact.citation.id, FactDecision.ACCEPTED)
    except FactError as error:
        show(error.message)
        if condition := typer.prompt("What tells them apart? (empty: skip)", default="", show_default=False):
            try:
                kb.factbook.decide(fact.citation.id, FactDecision.ACCEPTED, condition=condition)
            except FactError as again:
                show(f"not accepted: {again.message}")


def _correct(kb: "KnowledgeBase", fact: "Fact") -> None:
    """Store what the user says that the same words state, and reject what was read there."""
    from kb.facts.resolution import FactDecision
    from kb.types.fact import FactAnswer

    said = {
        name: typer.prompt(name, default=getattr(fact, name)) for name in ("quantity", "value", "unit", "condition")
    }
    corrected = FactAnswer(**said, quote=fact.quote, passage=fact.citation.id, target=fact.target)
    found = kb.answer_facts(fact.target, [corrected])
    for refused in found.refused:
        show(f"refused: {refused.reason}")
    for stored in found.stored:
        _accept(kb, stored)
        if stored.citation.id != fact.citation.id:
            kb.factbook.decide(fact.citation.id, FactDecision.REJECTED, reason="corrected")


def propose(
    target: TargetName,
    budget: Annotated[
        int, typer.Option("--budget", min=1000, metavar="N", help="Most tokens to pay for, in and out.")
    ] = 100_000,
    trust_quotes: TrustQuotes = False,
    as_json: Json = False,
) -> None:
    """Let a model answer the open questions of the worksheet.

    The settings name the model. Its answers are checked as those of `kb facts answer`.

    Example: kb facts propose k230 --trust-quotes

    Exit status: 0 when the model read all that the budget allows, 1 when it stopped before.
    """
    from kb.views import facts

    with open_kb() as kb:
        found = facts.propose(kb, target, budget_tokens=budget, trust_quotes=trust_quotes)
    show_result(found, _show_answered, as_json=as_json)
    if not found.complete:
        raise typer.Exit(1)
