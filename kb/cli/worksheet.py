"""Prints the worksheet of a target and its open questions."""

from typing import TYPE_CHECKING

from kb.cli.output import show, show_wrapped

if TYPE_CHECKING:
    from kb.views.facts import Worksheet, WorksheetLine


def show_worksheet(found: "Worksheet") -> None:
    """Show each question with the facts that hold and those to be confirmed."""
    for line in found.lines:
        _show_line(line, "")
    held, read = (sum(len(getattr(line, kind)) for line in found.lines) for kind in ("holds", "read"))
    still = sum(bool(line.missing) or not (line.holds or line.read) for line in found.lines)
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
    if line.missing or not (line.holds or line.read):
        show_wrapped(f"  open{': ' if line.missing else ''}{', '.join(line.missing)}")


def show_questions(asked: "Worksheet", *, in_full: bool) -> None:
    """Show the open questions with their passages; how to answer stands below all of them `in_full`, else in brief."""
    from synth.fact_answers import BRIEF_FORM, fact_form

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
    show(f"# How to answer\n{fact_form() if in_full else BRIEF_FORM}")
    show(f"Put the lines into a file: kb facts answer {asked.target} FILE")
