"""How a prompt tells of earlier attempts: a table of all, and an account of those that matter for its stage."""

from collections.abc import Sequence
from math import inf

from kb.types.protocols import Attempt, Stage, Tried
from synth.prompts.diagnosis import diagnose, quoted
from synth.prompts.render import one_line, render

STUCK = 3
"""Right attempts in a row without a faster one after which another structure is asked for."""
ROWS = 60
"""Most attempts in the table; at some 20 tokens each, those of a long run would leave no room for anything else."""


def stage_of(attempts: Sequence[Attempt]) -> Stage:
    """What the next candidate is for."""
    if not attempts:
        return Stage.DRAFT
    if not attempts[-1].evidence.passed:
        return Stage.FIX
    times = [attempt.evidence.time_us for attempt in attempts if attempt.evidence.passed]
    is_stuck = len(times) > STUCK and min(times[-STUCK:]) >= min(times[:-STUCK])
    return Stage.RETHINK if is_stuck else Stage.IMPROVE


def told(attempts: Sequence[Attempt], tried: Sequence[Tried], stage: Stage, base: int = 0) -> list[int]:
    """Places of the attempts of which a prompt shows the kernel, the most needed first.

    Args:
        base: Number of the attempt that is to be changed; 0 if that is the last.
    """
    if not attempts:
        return []
    last = (base or len(attempts)) - 1
    passed = [i for i, attempt in enumerate(attempts) if attempt.evidence.passed]
    best = min(passed, key=lambda i: (attempts[i].cost(tried), -i), default=last)
    return [best] if stage is Stage.RETHINK else list(dict.fromkeys((last, best)))


def account(attempt: Attempt, number: int, tag: str, *, is_diagnosed: bool = True) -> str:
    """What the judge found, and the kernel."""
    evidence = attempt.evidence
    found = diagnose(evidence)[1 if evidence.passed else 0 :]  # the heading says that it passed
    return render(
        "attempt",
        number=number,
        outcome=evidence.outcome.replace("_", " "),
        diagnosis=found if is_diagnosed else (),
        quote="\n\n".join(quoted(evidence)),
        code=attempt.candidate.source,
        tag=tag,
    )


def table(attempts: Sequence[Attempt], tried: Sequence[Tried]) -> str:
    """A row for each attempt; if there are more than ROWS, for the fastest and the last. Empty without attempts.

    Args:
        tried: What was timed quickly: a time of it is better than none, where other work disturbed the judge.
    """
    places = range(len(attempts))
    fastest = sorted(places, key=lambda place: attempts[place].cost(tried))[: ROWS // 2]
    rows = ["| number | outcome | time | what it is |", "|---|---|---|---|"]
    for place in places if len(places) <= ROWS else sorted({*fastest, *places[-ROWS // 2 :]}):
        one = attempts[place]
        note, outcome = one_line(one.note).replace("|", "/"), one.evidence.outcome.replace("_", " ")
        rows.append(f"| {place + 1} | {outcome} | {_time(one, tried)} | {note} |")
    rows += [f"These are the fastest and the last of {len(places)} attempts."] * (len(places) > ROWS)
    return "\n".join(rows) if attempts else ""


def _time(attempt: Attempt, tried: Sequence[Tried]) -> str:
    evidence = attempt.evidence
    if not evidence.timing or evidence.timing.busy:
        if (quick_us := attempt.quick_us(tried)) < inf:
            return f"about {quick_us:.3g} us, timed quickly"
        return "" if evidence.cycles is None else f"{evidence.cycles:,} cycles"
    return f"{evidence.time_us:.4g} us, {evidence.timing.speedup:.2f} times as fast as {evidence.timing.baseline}"
