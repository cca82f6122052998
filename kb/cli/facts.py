"""The commands `kb facts`."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer.core import TyperGroup

from kb.cli.authors import Allowed, Authors, allowed_authors
from kb.cli.fact_files import export, import_, read_lines
from kb.cli.output import Json, TargetName, counted, open_kb, show, show_notes, show_result, show_wrapped
from kb.cli.worksheet import show_questions, show_worksheet
from kb.errors import FactError

if TYPE_CHECKING:
    from kb.cli.table import Rows
    from kb.views.facts import AnsweredFacts, ConflictView, Facts, StatedFact

FactIds = Annotated[list[str], typer.Argument(metavar="ID...", help="The ids that `kb facts` shows.")]
Reason = Annotated[str, typer.Option(help="The reason; it is stored with the decision.")]


class _ShowByDefault(TyperGroup):
    """`kb facts mi300x` is `kb facts show mi300x`."""

    def parse_args(self, ctx: typer.Context, args: list[str]) -> list[str]:  # type: ignore[override]
        named = [arg for arg in args if not arg.startswith("-")]
        return super().parse_args(ctx, ["show", *args] if named and named[0] not in self.commands else args)


app = typer.Typer(
    cls=_ShowByDefault,
    help="Hardware facts from the documents. `kb facts mi300x` is short for `kb facts show mi300x`.",
    no_args_is_help=True,
    rich_markup_mode=None,
)
app.command("export")(export)
app.command("import")(import_)


@app.command("show")
def show_target(
    target: TargetName,
    quantity: Annotated[
        str | None, typer.Argument(metavar="QUANTITY", help="kb's or the vendor's name: lds_size, LDS.")
    ] = None,
    dtype: Annotated[str | None, typer.Option(metavar="TYPE", help="Limit to this data type: float16.")] = None,
    dense: Annotated[bool | None, typer.Option("--dense/--sparse", help="Limit to dense or to sparse rates.")] = None,
    per: Annotated[
        str | None, typer.Option(metavar="PART", help="Limit to values per device, die, 'compute unit' ...")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Also show facts that do not hold, and why.")] = False,
    as_json: Json = False,
) -> None:
    """Show the facts that hold for a target.

    kb never guesses a value and never shows a sibling's. An inherited value names the ancestor it comes from. If no
    fact holds yet, the worksheet says what to read.

    Example: kb facts show h200 peak_flops --dtype float16 --dense

    Exit status: 0 when a fact is found, 1 when none is.
    """
    from kb.views import facts

    wanted = [dtype, None if dense is None else "dense" if dense else "sparse", per and f"per {per}"]
    phrases = [phrase for phrase in wanted if phrase]
    if quantity is None and phrases:
        raise FactError("a condition needs a quantity", hint="name the quantity: kb facts h200 peak_flops")
    if everything and phrases:
        raise FactError("--all shows all conditions", hint="leave the other options out")
    with open_kb() as kb:
        if everything:
            found, show_it = facts.statements(kb, target, quantity), _show_statements
        else:
            found, show_it = facts.facts(kb, target, quantity, *phrases), _show_facts
    show_result(found, show_it, as_json=as_json, failed=not found.facts)


@app.command()
def conflicts(
    target: Annotated[
        str | None, typer.Argument(metavar="[TARGET]", help="Limit to this target (default: all).")
    ] = None,
    as_json: Json = False,
) -> None:
    """Show where documents contradict each other.

    Those to decide come first: in an open one, neither value holds; in another, a value waits that no rule settles.
    Conflicts that a rule or a decision settles follow, with the rule.

    Example: kb facts conflicts mi355x
    """
    from kb.views import facts

    with open_kb() as kb:
        found = facts.conflicts(kb, target)
        notes = [*facts.unread_errata(kb, kb.targets.get(target).name)] if target else []
    show_result(found, partial(_show_conflicts, notes=notes), as_json=as_json)


@app.command()
def accept(
    keys: Annotated[
        list[str], typer.Argument(metavar="ID|TARGET...", help="The ids that `kb facts` shows; with --all, targets.")
    ],
    reason: Reason = "",
    everything: Annotated[
        bool, typer.Option("--all", help="Accept all answers about the target, but those that something contradicts.")
    ] = False,
) -> None:
    """Let facts hold, whatever other documents say.

    Example: kb facts accept aa1ca5474da1 --reason "measured it"
    """
    from kb.views.facts import in_words

    if not everything:
        _decide(keys, "accepted", reason)
        return
    with open_kb() as kb:
        for target in keys:
            done = kb.factbook.accept_answers(target, reason=reason)
            show(f"accepted: {counted(len(done), 'facts')} of {target}")
            less = [s for s in kb.factbook.standings(target) if s.standing == "gives way"]
            for fact in done:
                out = [f"; {in_words(s.fact, fact.target)} gives way" for s in less if fact in s.against]
                show_wrapped(f"{in_words(fact, fact.target)} {fact.citation.place}{''.join(out)}", "  ")
            left = [*kb.factbook.waiting_answers(target)]
            for fact, doubt in left:
                show_wrapped(f"left out: {in_words(fact, fact.target)}: {doubt}")
            if left:
                show("read them (`kb docs show PATH --text`) and type `kb facts accept ID` or `kb facts reject ID`")


@app.command()
def reject(keys: FactIds, reason: Reason = "") -> None:
    """Keep facts out of the target's profile.

    Example: kb facts reject aa1ca5474da1 --reason "this is the sparse rate"
    """
    _decide(keys, "rejected", reason)


@app.command()
def reopen(keys: FactIds) -> None:
    """Withdraw the decisions about facts.

    Example: kb facts reopen aa1ca5474da1
    """
    _decide(keys, None, "")


def _decide(keys: Iterable[str], verdict: str | None, reason: str) -> None:
    from kb.facts.resolution import FactDecision
    from kb.views.facts import in_words

    with open_kb() as kb:
        decision = FactDecision(verdict) if verdict else None
        for key in keys:
            standing = kb.factbook.decide(key, decision, reason=reason)
            fact = standing.fact
            show(f"{verdict or 'open again'}: {fact.target} {in_words(fact, fact.target)} {fact.citation.place}")
            if verdict == "accepted" and standing.waits:
                show_wrapped(f"it does not hold yet: `kb facts conflicts {fact.target}` shows what contradicts it")


@app.command()
def worksheet(target: TargetName, as_json: Json = False) -> None:
    """Show what a kernel's author needs to know of a target, and what is known of it.

    Each question has the facts that hold, those that were read and have to be confirmed, or neither.

    Example: kb facts worksheet mi300x
    """
    from kb.views import facts

    with open_kb() as kb:
        show_result(facts.worksheet(kb, target), show_worksheet, as_json=as_json)


@app.command()
def ask(
    target: TargetName,
    everything: Annotated[bool, typer.Option("--all", help="Also ask for more about what is known in part.")] = False,
    topic: Annotated[str | None, typer.Option(metavar="TOPIC", help="Limit to one topic: memory, rates ...")] = None,
    as_json: Json = False,
) -> None:
    """Print the open questions of the worksheet with passages, for a model or agent to answer.

    A question is open until a fact holds that answers it. The answers go to `kb facts answer`.

    Example: kb facts ask k230 --topic memory
    """
    from kb.views import facts

    with open_kb() as kb:
        asked = facts.questions(kb, target, everything=everything, topic=topic)
    show_result(asked, partial(show_questions, in_full=topic is None), as_json=as_json)


@app.command()
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
    from kb.types.fact import FactAnswer
    from kb.views import facts

    given = read_lines(file, FactAnswer, "`kb facts ask` shows the questions and the form of an answer")
    with open_kb() as kb:
        found = facts.answer(kb, target, given)
    show_result(found, _show_answered, as_json=as_json, failed=found.refused)


def _show_answered(found: "AnsweredFacts") -> None:
    for fact in found.stored:
        show(f"{fact.target} {fact.quantity} = {fact.amount} {fact.condition}  {fact.id}  {fact.place}")
    for answer in found.refused:
        show_wrapped(f"refused: {answer.quantity} = {answer.value}: {answer.reason}")
    if found.refused:
        show_wrapped("quote the words that state the value, as `kb docs show PATH --text` prints them")
    if found.contradictions:
        show("\nThese values contradict each other:")
        _show_contradictions(found.contradictions)
    show_notes(found)
    waiting = [fact.target for fact in found.stored if fact.standing != "holds"]
    hold = len(found.stored) - len(waiting)
    stored, refused = counted(len(found.stored), "facts"), counted(len(found.refused), "answers")
    show(f"{stored} stored, of which {hold} hold; {refused} refused")
    for name in dict.fromkeys(waiting):
        show_wrapped(
            f"`kb facts accept --all {name}` accepts all that nothing contradicts; `kb facts accept ID` accepts one"
        )


@app.command()
def propose(target: TargetName, author: Authors = None, budget: Allowed = None, as_json: Json = False) -> None:
    """Let a model answer the open questions of the worksheet.

    Its answers are checked as those of `kb facts answer`.

    Example: kb facts propose k230 --budget 1usd

    Exit status: 0 when the model read all that the budget allows, 1 when it stopped before.
    """
    from kb.views import facts

    with open_kb() as kb:
        asked = sum(not entry.holds for entry in kb.worksheet(target))
        authors, limit = allowed_authors(kb.settings, author or (), budget, requests=asked)
        found = facts.propose(kb, target, authors=authors or ["none"], budget=limit)
    show_result(found, _show_answered, as_json=as_json, failed=not found.complete)


def _show_facts(found: "Facts") -> None:
    """Show the facts that hold, including inherited ones, and how many are not confirmed."""
    from kb.cli.table import show_table

    show_notes(found)
    rows = [(f.topic, (f.quantity, f.amount, _marked(f.condition, f, found.target), f.id)) for f in found.facts]
    show_table(("quantity", "value", "condition", "id"), _by_topic(rows), wrap={2})
    show()
    for ancestor in dict.fromkeys(fact.target for fact in found.facts if fact.target != found.target):
        show(f"[{ancestor}]: inherited from {ancestor}")
    for source in dict.fromkeys(fact.path for fact in found.facts):
        show(f"stated in {source}")
    for fact in found.facts:
        if ": " in fact.why:  # a decision with its reason
            show_wrapped(f"{fact.id}: {fact.why}")
    if found.waiting:
        more = f"{found.waiting} more, which wait for a decision" if found.facts else "what was read"
        show(f"`kb facts {found.target} --all` shows {more}")
    if found.facts:
        show("`kb cite ID` opens the cited place, `--json` shows each source")
    else:
        for passage in found.unread:
            show_wrapped(f"stated, not read as a fact: {passage.text} [{passage.id} {passage.place}]")
        show_wrapped(f"`kb facts ask {found.target}` prints what to read; `kb facts answer` stores what you read there")


def _show_statements(found: "Facts") -> None:
    """Show every statement about a target and its ancestors, by quantity, with its standing."""
    by_quantity = groupby(found.facts, key=lambda fact: fact.quantity)
    _show_sides({quantity: [*_sides(facts, own=found.target)] for quantity, facts in by_quantity})


def _show_conflicts(found: "Sequence[ConflictView]", notes: Sequence[str]) -> None:
    _show_contradictions(found)
    show()
    states = Counter(conflict.state for conflict in found)
    show(f"{states['open']} open, {states['not confirmed']} not confirmed, {states['settled']} settled")
    if states["open"] + states["not confirmed"]:
        show_wrapped("decide with `kb facts accept ID` or `kb facts reject ID`; `kb facts reopen ID` undoes a decision")
    for note in notes:
        show_wrapped(note)


def _show_contradictions(found: "Sequence[ConflictView]") -> None:
    """Show the statements of each conflict with their standings."""
    headings = {
        f"{one.target} {one.quantity}: {'to decide, ' * (one.state != 'settled')}{one.state}": one for one in found
    }
    _show_sides({heading: [*_sides(one.sides, own=one.target)] for heading, one in headings.items()})


def _show_sides(groups: "Mapping[str, Rows]") -> None:
    """Print the rows of `_sides`. `+2` after a place means that two more documents state the same."""
    from kb.cli.table import show_table

    show_table(("value", "condition", "standing", "id", "stated in"), groups, wrap={1, 2}, cut_front={4})


def _sides(sides: "Iterable[StatedFact]", *, own: str) -> Iterator[tuple[str, ...]]:
    """Rows of equal statements; each row shows the first document and how many more there are."""
    said: dict[tuple[str, str, str], list[StatedFact]] = {}
    for side in sides:
        named = side.why.startswith(side.standing)
        standing = side.why if named else f"{side.standing}: {side.why}" if side.why else side.standing
        said.setdefault((side.amount, side.condition, _marked(standing, side, own)), []).append(side)
    for words, facts in said.items():
        yield (*words, facts[0].id, facts[0].place + f" +{len(facts) - 1}" * (len(facts) > 1))


def _by_topic(rows: Sequence[tuple[str, tuple[str, ...]]]) -> "Rows | Mapping[str, Rows]":
    """The rows under their topics, if there are several."""
    groups = {topic: [row for _, row in of] for topic, of in groupby(rows, key=lambda pair: pair[0])}
    return groups if len(groups) > 1 else [row for _, row in rows]


def _marked(text: str, fact: "StatedFact", own: str) -> str:
    """`text`, with the fact's target if it is not `own` and its trust if it is not the vendor's."""
    marks = [fact.target] * (fact.target != own) + [fact.trust.value] * (fact.trust != "vendor")
    return " ".join(filter(None, (text, f"[{', '.join(marks)}]" if marks else "")))
