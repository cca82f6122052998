"""What all records of attempts share: where they come from, what they are worth."""

from kb import __version__
from kb.exports.attempts import Kept
from kb.types.base import Frozen
from kb.types.evidence import Outcome

BREACHES = frozenset({
    Outcome.FORBIDDEN, Outcome.FORGED, Outcome.ALIASED_INPUT, Outcome.MUTATED_INPUT, Outcome.LATE_OUTPUT,
    Outcome.STALE_OUTPUT, Outcome.CLOCKS_DISAGREE, Outcome.TOO_FAST, Outcome.NO_KERNEL, Outcome.OUTSIDE_KERNELS,
})  # fmt: skip
"""The outcomes of candidates that broke a rule of the judge, whether or not their results were right."""
UNBUILT = frozenset({
    Outcome.COMPILE_ERROR, Outcome.INCOMPATIBLE_PARAMETERS, Outcome.UNSUPPORTED, Outcome.OVER_LIMIT,
})  # fmt: skip
"""The outcomes of candidates that were never run."""


class Named(Frozen):
    """A value by its name: tables have the same columns in each row."""

    name: str
    value: str


class Rewards(Frozen):
    """Each 0 or 1, but for the speed-up."""

    rules: int
    """0 if it broke a rule of the task: it wrote to an input, returned a stored answer, launched no kernel."""
    builds: int
    correct: int
    won: int
    speedup: float | None
    """Over the best baseline; None if no time counts."""


class About(Frozen):
    """What a record is about, and where it comes from."""

    task: str
    task_digest: str
    task_source: str
    """The reference."""
    held_out: bool
    """Whether the task is among those that the user holds out for tests: do not train on it."""
    target: str
    language: str
    run: str
    kb: str
    """The version of kb that exported it."""


def rewards_of(one: Kept) -> Rewards:
    evidence = one.attempt.evidence
    return Rewards(
        rules=int(evidence.outcome not in BREACHES),
        builds=int(evidence.outcome not in UNBUILT),
        correct=int(evidence.passed),
        won=int(evidence.won),
        speedup=evidence.speedup,
    )


def about(one: Kept, held_out: frozenset[str]) -> dict[str, str | bool]:
    plan = one.run.plan
    return {
        "task": plan.task.name, "task_digest": plan.task.digest, "task_source": plan.task.source,
        "held_out": plan.task.source in held_out,
        "target": plan.target, "language": plan.language, "run": one.run.id, "kb": __version__,
    }  # fmt: skip


def origin(one: Kept) -> dict[str, str | int]:
    return {
        "attempt": one.number, "stage": one.attempt.stage or "", "author": one.attempt.author,
        "model": one.exchange.model if one.exchange else "", "date": one.attempt.evidence.created,
    }  # fmt: skip


def named(values: dict[str, str]) -> tuple[Named, ...]:
    return tuple(Named(name=name, value=value) for name, value in values.items())
