"""The result of `kb bench skills`: what skills are worth to `tune`."""

from enum import StrEnum

from kb.types.base import Frozen


class Arm(StrEnum):
    """What the library of a run holds beside the templates that ship with kb."""

    COLD = "cold"
    """Nothing."""
    WARM = "warm"
    """The wins of the cold runs on the other tasks."""
    RANDOM = "random"
    """The same skills, but with values of their parameters drawn at random."""
    WRONG_TARGET = "wrong target"
    """The skills of the warm arm, but as wins on another target."""
    REPLAY = "replay"
    """The win of the cold run on the task itself: a test of the cache, not of what is learnt."""


class Interval(Frozen):
    """A mean with its 95 % bootstrap interval over tasks, and over seeds within each task."""

    mean: float
    low: float
    high: float


class ArmScore(Frozen):
    """The scores of one arm."""

    arm: Arm
    evaluations: Interval
    """Evaluations until a kernel is near the best known one."""
    seconds: Interval
    """Time of the judge until then."""
    near: float
    """Share of the runs that came near it."""
    first: Interval
    """Speed-up of the first kernel as a share of the best known one."""
    fewer_evaluations: Interval
    """Geometric mean of how many times as many evaluations the cold run with the same task and seed needed."""
    fewer_seconds: Interval
    gains: tuple[Interval, ...] = ()
    """After each evaluation: the best speed-up so far minus that of the cold run, as a share of the best known one."""


class TaskScore(Frozen):
    """One task on which something can be won."""

    task: str
    best: float
    """The largest speed-up that any run saw."""
    room: float
    """How many times as fast as the first kernel of the cold runs it is."""
    evaluations: dict[Arm, float]
    """Mean evaluations until a run was near it, by arm."""


class SkillsReport(Frozen):
    """What skills are worth to `tune`."""

    target: str
    evaluations: int
    """Evaluations of each run."""
    tasks: tuple[TaskScore, ...]
    nothing_to_win: tuple[str, ...]
    """Tasks on which no kernel won; they do not count."""
    arms: tuple[ArmScore, ...]
    """Without the replay."""
    replay: ArmScore | None
    unfinished: int
    """Runs for which the time did not suffice; a task and seed count only with the runs of all arms."""
