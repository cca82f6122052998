"""What a run does next: time a setting, judge a kernel, ask an author, or stop. All follows from what it has tried.

Two levels: an author writes structures, and the tuner finds the values of their parameters. The structures are searched
with a beam of two: small steps change one of the two fastest, large steps begin another structure (the values are those
of AdaExplore's search, CMU 2026). Small steps come first, and a second and third structure when one gains nothing. A
refused kernel is mended at most twice in a row. While a kernel is judged or tuned, authors are asked for those that do
not depend on its verdict: a planned structure for each small step, corrections, a step from the other.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from itertools import islice
from math import inf
from typing import Literal

from kb.tuner import FINALISTS, SHARE, VERDICTS, finalists, most_points, next_point
from kb.types.base import Frozen
from kb.types.kernels import Candidate, LanguageName
from kb.types.protocols import Attempt, Proposal, RecalledSkill, Stage, Tried
from kb.types.skill import SkillKind, SkillStanding

DRAFTS = 3
"""Structures that a search begins before it may end. On ten tasks on an H200 a small step from the first one was worth
more than a second one (campaign-h200-published.json)."""
BEAM = 2
"""Structures that small steps go on from: the fastest."""
LARGE = 0.2
"""Chance that a step after the drafts is a large one."""
FIXES = 2
"""Most corrections in a row of a refused kernel."""
STAGNANT = 2
"""A search is over after so many steps in a row without a gain, with their corrections and tuning; no draft is one."""
NOISE = 1.02
"""A gain is a time that is shorter by at least this factor."""
NEAR_ROOF = 0.9
"""Share of the reachable roof at which there is little left to win, if the plan names no other."""
TUNED, WRITTEN = 8, 24
"""Verdicts of a run that has no other limit: of the tuner alone, and with authors. A kernel with its settings takes
three, so that these are three drafts and five steps."""
BEGINS = (Stage.DRAFT, Stage.RETHINK)
"""Stages that begin a structure."""


class Measure(Frozen):
    """Time a kernel quickly."""

    candidate: Candidate


class Submit(Frozen):
    """Judge a kernel in full."""

    proposal: Proposal

    @property
    def candidate(self) -> Candidate:
        return self.proposal.candidate


class Ask(Frozen):
    """Ask an author."""

    stage: Stage
    base: int = 0
    """Number of the attempt that it changes, from 1; 0 if it begins a structure."""
    structure: str = ""
    """The structure that it begins, as an author planned it; empty if the author chooses one."""


class Stop(Frozen):
    reason: str


Move = Measure | Submit | Ask | Stop
SearchName = Literal["two-level", "greedy"]
"""Several structures, whose parameters are tuned; or each answer improves the last one or mends it."""
SearchPart = Literal["tuner", "beam", "diagnosis"]
"""What a search may do without, for a comparison: no parameter is tuned; small steps go on from the fastest structure
alone; prompts say what the judge found and printed, but not what limits a kernel and what helps."""


class State(Frozen):
    """What a move follows from."""

    language: LanguageName
    attempts: tuple[Attempt, ...] = ()
    pending: tuple[Proposal, ...] = ()
    """The candidate that has no verdict yet, if there is one."""
    asked: tuple[Ask, ...] = ()
    """What led to no candidate yet, in order."""
    tried: tuple[Tried, ...] = ()
    skills: tuple[RecalledSkill, ...] = ()
    """Best first."""
    nothing_to_mend: bool = False
    """Whether the diagnosis of the last kernel that passed has no advice."""
    seed: int = 0
    search: SearchName = "two-level"
    without: tuple[SearchPart, ...] = ()
    near_roof: float = NEAR_ROOF

    @property
    def proposed(self) -> tuple[Proposal, ...]:
        """All candidates so far, in order."""
        return *self.attempts, *self.pending

    @property
    def asks(self) -> list[Ask]:
        """All that was asked, in order."""
        return [*(Ask(stage=one.stage, base=one.parent) for one in self.proposed if one.stage), *self.asked]

    @property
    def waiting(self) -> list[Ask]:
        """What was asked that has no verdict yet."""
        return self.asks[sum(one.stage is not None for one in self.attempts) :]

    @property
    def has_drafted(self) -> bool:
        """Whether the structures are judged that come before the end; a greedy search has one."""
        return self.search == "greedy" or sum(one.stage in BEGINS for one in self.attempts) >= DRAFTS


def next_moves(state: State, *, writes: bool, most: int = 1) -> list[Move]:
    """The next moves, of which none depends on another; none if an author's answer is waited for.

    Args:
        writes: Whether there is an author. Otherwise kernels come from skills.
        most: The most settings to time and kernels to judge at a time.
    """
    if steps := tuning(state, share=SHARE if writes else 1.0, most=most):
        return [*steps]
    move = next_question(state) if writes else _next_skill(state)
    return [move] if move else []


def tuning(state: State, share: float = 1.0, most: int = 1) -> list[Measure | Submit]:
    """The next steps in tuning the kernels that were timed, of which none depends on another; none if all are tuned.

    Args:
        share: The most that quick timings may take of the judge's time, beside the `LEAST_POINTS` of each kernel.
        most: The most steps to return.
    """
    return [*islice(_tuning(state, share), most)]


def _tuning(state: State, share: float) -> Iterator[Measure | Submit]:
    if state.search == "greedy" or "tuner" in state.without:
        return
    seen, judged = set[str](), {attempt.candidate.digest for attempt in state.attempts}
    quick_s = sum(one.took_s for one in state.tried)
    judged_s = sum(took.seconds for attempt in state.attempts if (took := attempt.evidence.took))
    most = most_points(quick_s, judged_s, share)
    finals = Counter(attempt.parent for attempt in state.attempts if attempt.is_tuned)
    all_tried = defaultdict[str, list[Tried]](list)
    for one in state.tried:
        all_tried[one.template].append(one)
    for number, attempt in enumerate(state.attempts, start=1):
        kernel = attempt.candidate
        if attempt.evidence.timing is None or not kernel.parameters or kernel.template_digest in seen:
            continue
        seen.add(kernel.template_digest)
        if finals[number] >= FINALISTS:
            continue
        tried = [(one.values, one.time_us) for one in all_tried[kernel.template_digest]]
        best = finalists(kernel.parameters, tried)
        while point := next_point(kernel.parameters, attempt.settings, tried, seed=state.seed, most=most):
            best = []
            tried.append((point, inf))  # its time is unknown until the step is done
            yield Measure(candidate=kernel.with_parameters(point))
        for point in best:
            tuned = kernel.with_parameters(point)
            if tuned.digest not in judged:
                yield Submit(proposal=tuned_proposal(attempt, number, tuned, len(tried)))


def tuned_proposal(attempt: Attempt, number: int, tuned: Candidate, tried: int) -> Proposal:
    """The proposal to judge a kernel in full with values that were among the fastest of those tried."""
    values = ", ".join(f"{name}={value}" for name, value in tuned.values.items())
    return Proposal(
        candidate=tuned,
        note=f"{values}: among the fastest of {tried} settings of candidate {number}",
        skills_used=attempt.skills_used,
        author=attempt.author,
        parent=number,
    )


def ask_ahead(state: State, evaluations: float) -> Ask | None:
    """What to ask an author beside what is under way; None if nothing, or if so few `evaluations` may not reach it."""
    is_tuned = "tuner" not in state.without and any(one.candidate.parameters for one in state.proposed)
    each = VERDICTS if is_tuned else 1
    left = evaluations - each * len(state.waiting)
    ask = next_question(state) if left > FINALISTS or (left > 0 and not tuning(state, share=SHARE)) else None
    return ask if isinstance(ask, Ask) else None


def next_question(state: State) -> Ask | Stop | None:
    """What to ask an author beside what is under way; None if that depends on a verdict that is waited for."""
    waiting, stages = state.waiting, [ask.stage for ask in state.asks]
    if state.search == "greedy":
        return None if waiting else _greedy(state.attempts)
    if not stages:
        return Ask(stage=Stage.DRAFT)
    if refused := _refused(state):
        return Ask(stage=Stage.FIX, base=refused)
    beam = _beam(state)[: 1 if "beam" in state.without else BEAM]
    if reason := _over(state, beam):
        return Stop(reason=reason)
    begun = sum(stage in BEGINS for stage in stages)
    planned = [plan for one in state.proposed for plan in one.plans][begun - 1 : begun]
    is_free = planned or not any(ask.stage in BEGINS for ask in waiting)  # else both may choose the same
    if is_free and _begins(state, begun, beam):
        return Ask(stage=Stage.RETHINK, structure="".join(planned))
    kernels = [one.candidate.template_digest for one in state.attempts]
    changed = {kernels[ask.base - 1] for ask in waiting if ask.base}
    turn = stages.count(Stage.IMPROVE) % BEAM
    free = [base for base in (*beam[turn:], *beam[:turn]) if kernels[base - 1] not in changed]
    return Ask(stage=Stage.IMPROVE, base=free[0]) if free else None


def _begins(state: State, begun: int, beam: Sequence[int]) -> bool:
    """Whether the next kernel has another structure, after so many.

    Below DRAFTS it does after a small step without a gain, or while a verdict is waited for, once for each small step.
    """
    if begun >= DRAFTS:
        chance = random.Random(f"{state.seed} {len(state.asks)}")  # noqa: S311 - a search, not a secret
        return not beam or chance.random() < LARGE
    steps = [ask.stage for ask in state.asks if ask.stage is not Stage.FIX]
    if state.waiting:
        return begun <= 1 + steps.count(Stage.IMPROVE)
    return not beam or (steps[-1] is Stage.IMPROVE and stagnant_steps(state.attempts, state.tried) > 0)


def _refused(state: State) -> int:
    """Number of the first refused kernel that is still to be mended; 0 if there is none."""
    mended, in_row = {ask.base for ask in state.asks if ask.stage is Stage.FIX}, [0]
    for number, one in enumerate(state.attempts, start=1):
        in_row.append(1 + in_row[one.parent] if one.stage is Stage.FIX else 0)
        if one.stage and not one.evidence.passed and number not in mended and in_row[number] < FIXES:
            return number
    return 0


def _greedy(attempts: Sequence[Attempt]) -> Ask:
    if not attempts:
        return Ask(stage=Stage.DRAFT)
    return Ask(stage=Stage.IMPROVE if attempts[-1].evidence.passed else Stage.FIX, base=len(attempts))


def _beam(state: State) -> list[int]:
    """The numbers of the best attempts that passed, of different kernels, best first."""
    best, attempts = dict[str, int](), state.attempts
    passed = [place for place, attempt in enumerate(attempts) if attempt.evidence.passed]
    for place in sorted(passed, key=lambda place: attempts[place].cost(state.tried)):
        best.setdefault(attempts[place].candidate.template_digest, place + 1)
    return list(best.values())


def _over(state: State, beam: Sequence[int]) -> str:
    """Why a search is over, in words; empty if it is not."""
    if not beam:
        return ""
    best = state.attempts[beam[0] - 1].evidence
    if (limit := best.bottleneck) and limit.reached >= state.near_roof:
        return f"the best kernel reaches {limit.reached:.0%} of the reachable roof"
    if not state.has_drafted:
        return ""
    if best.timing is None and state.nothing_to_mend:
        return "the compiled kernel shows nothing to mend, and it is not timed here"
    is_stagnant = stagnant_steps(state.attempts, state.tried) >= STAGNANT
    return f"{STAGNANT} kernels in a row brought no gain" if is_stagnant else ""


def stagnant_steps(attempts: Sequence[Attempt], tried: Sequence[Tried]) -> int:
    """How many steps in a row brought no gain. A step is a kernel written after the drafts, with its corrections."""
    steps, begun, best = 0, 0, tuple[float, ...]()
    for attempt in attempts:
        begun += attempt.stage in BEGINS
        steps += attempt.stage is Stage.IMPROVE or (attempt.stage in BEGINS and begun > DRAFTS)
        if attempt.evidence.passed:
            time_us, quick_us, *others = cost = attempt.cost(tried)
            steps = 0 if not best or (time_us * NOISE, quick_us * NOISE, *others) < best else steps
            best = min(best or cost, cost)
    return steps


Start = tuple[RecalledSkill, Candidate]


def _next_skill(state: State) -> Submit | Stop:
    """The first kernel of skills that passes, with values that a skill holds.

    A kernel may stand in several skills with different values. The first to be judged are those that won in the best
    skill, then those of the best skill that has won nothing, such as the template's own, then all others that won. When
    one passes, the tuner times the others.
    """
    for starts in _starts(state):
        own = [a for a in state.attempts if a.candidate.template_digest == starts[0][1].template_digest]
        if any(attempt.evidence.passed for attempt in own):
            break
        judged = {attempt.candidate.digest for attempt in own}
        if fresh := [start for start in starts if start[1].digest not in judged]:
            return Submit(proposal=_recalled(*fresh[0], [kernel for _, kernel in starts]))
    return Stop(reason="tune has nothing left to try")


def _recalled(recalled: RecalledSkill, kernel: Candidate, versions: Sequence[Candidate]) -> Proposal:
    note = f"{recalled.skill.name} ({recalled.standing})"
    values = ", ".join(f"{name}={value}" for name, value in kernel.values.items())
    return Proposal(
        candidate=kernel,
        note=f"{note}: {values}" if values else note,
        skills_used=(recalled.skill.name,),
        settings=tuple(one.values for one in versions),
    )


def _starts(state: State) -> list[list[Start]]:
    """The kernels of skills, each with its versions in the order in which they are tried."""
    by_template: dict[str, list[Start]] = {}
    for recalled in state.skills:
        kernel = recalled.skill.candidate
        if kernel and recalled.skill.kind is SkillKind.KERNEL and kernel.language == state.language:
            by_template.setdefault(kernel.template_digest, []).append((recalled, kernel))
    return [_ordered(starts) for starts in by_template.values()]


def _ordered(starts: list[Start]) -> list[Start]:
    verified = [start for start in starts if start[0].standing is SkillStanding.VERIFIED]
    others = [start for start in starts if start[0].standing is not SkillStanding.VERIFIED]
    return [*verified[:1], *others[:1], *verified[1:]]
