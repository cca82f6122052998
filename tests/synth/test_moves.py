"""What a run does next follows from what it has tried: structures by an author, settings by the tuner."""

import random
from collections.abc import Callable, Sequence

import pytest

from eval.languages.registry import CPP
from kb.types.evidence import Bottleneck, Outcome, Took
from kb.types.kernels import Candidate
from kb.types.protocols import Attempt, Proposal, RecalledSkill, Stage, Tried
from kb.types.skill import Skill, SkillStanding
from synth.search.moves import TUNED, WRITTEN, Ask, Measure, Move, State, Stop, Submit, ask_ahead, next_moves
from tests.synth.samples import SCREEN, candidate, evidence

DRAFT, FIX, IMPROVE, RETHINK = Stage.DRAFT, Stage.FIX, Stage.IMPROVE, Stage.RETHINK
HYPOTHESIS, VERIFIED, STALE = SkillStanding.HYPOTHESIS, SkillStanding.VERIFIED, SkillStanding.STALE
REFUSED = 0.0


def next_move(state: State, *, writes: bool) -> Move | None:
    return next(iter(next_moves(state, writes=writes)), None)


def kernel(number: int) -> Candidate:
    """A kernel without parameters, another for each number."""
    return Candidate(language="cpp", source=f"// structure {number}\n")


def attempt(number: int, stage: Stage | None, speedup: float, *, parent: int = 0) -> Attempt:
    outcome = Outcome.PASSED if speedup else Outcome.INCORRECT
    found = evidence(kernel(number), outcome=outcome, speedup=speedup or None)
    return Attempt(candidate=kernel(number), evidence=found, stage=stage, parent=parent)


def after(*written: tuple[Stage | None, float], seed: int = 0) -> Move | None:
    return next_move(state_after(*written, seed=seed), writes=True)


def state_after(*written: tuple[Stage | None, float], seed: int = 0) -> State:
    """A run in which each correction mends the kernel before it."""
    parents = [number if stage is FIX else 0 for number, (stage, _) in enumerate(written)]
    told = zip(written, parents, strict=True)
    attempts = tuple(attempt(number, *one, parent=parent) for number, (one, parent) in enumerate(told, start=1))
    return State(language="cpp", attempts=attempts, seed=seed)


DRAFTED = ((DRAFT, 1.0), (RETHINK, 2.0), (RETHINK, 1.5))
UNGAINED = ((DRAFT, 1.0), (IMPROVE, 0.9), (RETHINK, 0.9))


@pytest.mark.parametrize(
    ("written", "move"),
    [
        ([], Ask(stage=DRAFT)),
        ([(DRAFT, 1.0)], Ask(stage=IMPROVE, base=1)),
        ([(DRAFT, 1.0), (IMPROVE, 1.5)], Ask(stage=IMPROVE, base=1)),
        ([(DRAFT, 1.0), (IMPROVE, 1.01)], Ask(stage=RETHINK)),
        ([(DRAFT, 1.0), (IMPROVE, 0.9), (RETHINK, 1.5)], Ask(stage=IMPROVE, base=1)),
        ([(DRAFT, REFUSED)], Ask(stage=FIX, base=1)),
        ([(DRAFT, REFUSED), (FIX, REFUSED)], Ask(stage=FIX, base=2)),
        ([(DRAFT, REFUSED), (FIX, REFUSED), (FIX, REFUSED)], Ask(stage=RETHINK)),
        ([(DRAFT, REFUSED), (FIX, 1.0)], Ask(stage=IMPROVE, base=2)),
        ([(DRAFT, 1.0), (IMPROVE, 0.9), (RETHINK, 0.9)], Ask(stage=IMPROVE, base=2)),
        ([*UNGAINED, (IMPROVE, 0.9)], Ask(stage=RETHINK)),
        ([*UNGAINED, (IMPROVE, REFUSED), (FIX, REFUSED), (FIX, REFUSED)], Ask(stage=RETHINK)),
        ([*UNGAINED, (IMPROVE, 0.9), (RETHINK, 0.9)], Stop(reason="2 kernels in a row brought no gain")),
        ([*DRAFTED, (IMPROVE, 1.4), (IMPROVE, 1.6)], Stop(reason="2 kernels in a row brought no gain")),
        ([*DRAFTED, (IMPROVE, 2.01), (IMPROVE, 2.02)], Stop(reason="2 kernels in a row brought no gain")),
        ([*DRAFTED, (RETHINK, 1.4), (RETHINK, 1.6)], Stop(reason="2 kernels in a row brought no gain")),
        ([(DRAFT, 2.0), (RETHINK, 1.0), (RETHINK, 1.1)], Ask(stage=IMPROVE, base=1)),
    ],
    ids=[
        "the first", "a small step", "the other of the two fastest", "another structure after a step within noise",
        "small steps again", "mend it", "mend it again", "not a third time", "mended",
        "a small step after a structure without a gain", "a third structure before the end",
        "a third structure after a step that is not mended", "the end after it",
        "two without a gain", "within noise", "two structures without a gain",
        "small steps come though the first draft was the best",
    ],
)  # fmt: skip
def test_the_next_question(written: Sequence[tuple[Stage, float]], move: Move) -> None:
    assert after(*written) == move


@pytest.mark.parametrize(
    ("written", "ask"),
    [
        ([], Ask(stage=DRAFT)),
        ([(DRAFT, 1.0)], Ask(stage=IMPROVE, base=1)),
        ([(DRAFT, 2.0), (IMPROVE, 1.0)], Ask(stage=IMPROVE, base=2)),
        ([(DRAFT, 2.0), *[(IMPROVE, REFUSED)] * 3], Ask(stage=FIX, base=4)),
    ],
    ids=["the first", "improve it", "the last one, not the best", "mend it, however often"],
)
def test_a_greedy_search_goes_on_from_the_last_answer(written: Sequence[tuple[Stage, float]], ask: Ask) -> None:
    attempts = tuple(attempt(number, *one) for number, one in enumerate(written, start=1))

    assert next_move(State(language="cpp", attempts=attempts, search="greedy"), writes=True) == ask


def test_a_greedy_search_tunes_nothing() -> None:
    tuned = tuned_state()

    assert isinstance(next_move(tuned, writes=True), Measure)
    assert isinstance(next_move(tuned.model_copy(update={"search": "greedy"}), writes=True), Ask)


def test_a_search_without_the_tuner_asks_for_the_next_kernel_at_once() -> None:
    bare = tuned_state().model_copy(update={"without": ("tuner",)})

    assert isinstance(next_move(bare, writes=True), Ask)
    assert len(all_ahead(bare, 2)) == 2, "no evaluations are kept for settings"


def test_a_search_without_a_beam_takes_all_small_steps_from_the_fastest_structure() -> None:
    states = [state_after(*DRAFTED, (IMPROVE, 2.5), seed=seed) for seed in range(60)]
    moves = [next_move(state.model_copy(update={"without": ("beam",)}), writes=True) for state in states]

    assert {move.base for move in moves if isinstance(move, Ask) and move.stage is IMPROVE} == {4}


def test_small_steps_take_turns_at_the_two_fastest_structures_and_large_ones_come_between() -> None:
    moves = [after(*DRAFTED, *[(IMPROVE, 3.0 + step) for step in range(steps)], seed=1) for steps in range(40)]

    assert {move.stage for move in moves if isinstance(move, Ask)} == {IMPROVE, RETHINK}
    large = sum(isinstance(move, Ask) and move.stage is RETHINK for move in moves)
    assert 2 <= large <= 16, "about a fifth of them"
    assert after(*DRAFTED) in (Ask(stage=IMPROVE, base=2), Ask(stage=RETHINK))
    bases = {move.base for seed in range(60) if isinstance(move := after(*DRAFTED, (IMPROVE, 2.5), seed=seed), Ask)}
    assert bases == {0, 2}


PLANNED = Proposal(candidate=kernel(1), stage=DRAFT, plans=("by rows", "by columns"))
BY_ROWS, BY_COLUMNS = Ask(stage=RETHINK, structure="by rows"), Ask(stage=RETHINK, structure="by columns")


def all_ahead(state: State, evaluations: int = 40) -> list[Ask]:
    """All that is asked at once."""
    asks = list[Ask]()
    while ask := ask_ahead(state.model_copy(update={"asked": (*state.asked, *asks)}), evaluations):
        asks.append(ask)
    return asks


def fix(base: int) -> Ask:
    return Ask(stage=FIX, base=base)


def small_steps(*asked: Ask) -> State:
    """A run whose next kernels are small steps, of which some are asked."""
    state = state_after(*DRAFTED, (IMPROVE, 3.0), (IMPROVE, 4.0), seed=1)
    return state.model_copy(update={"asked": asked})


@pytest.mark.parametrize(
    ("state", "asks"),
    [
        (State(language="cpp"), [Ask(stage=DRAFT)]),
        (State(language="cpp", pending=(PLANNED,)), [BY_ROWS]),
        (State(language="cpp", pending=(PLANNED,), asked=(BY_ROWS,)), []),
        (state_after((DRAFT, 1.0)), [Ask(stage=IMPROVE, base=1), Ask(stage=RETHINK)]),
        (
            state_after((DRAFT, 1.0), (IMPROVE, 1.5)),
            [Ask(stage=IMPROVE, base=1), Ask(stage=RETHINK), Ask(stage=IMPROVE, base=2)],
        ),
        (state_after((DRAFT, REFUSED), (RETHINK, REFUSED)), [fix(1), fix(2)]),
        (small_steps(), [Ask(stage=IMPROVE, base=5), Ask(stage=IMPROVE, base=4)]),
        (small_steps(Ask(stage=IMPROVE, base=5)), [Ask(stage=IMPROVE, base=4)]),
        (state_after(*DRAFTED, (IMPROVE, 1.4), (IMPROVE, 1.6)), []),
    ],
    ids=[
        "the first waits for nothing", "one that is planned while the first is judged", "no other before a small step",
        "a small step, and a structure beside it", "a step from the other while no second structure is planned",
        "corrections", "a step from each of the two fastest", "none twice",
        "not after the end",
    ],
)  # fmt: skip
def test_what_is_asked_while_other_kernels_are_written_and_judged(state: State, asks: list[Ask]) -> None:
    assert all_ahead(state) == asks


@pytest.mark.parametrize("seed", range(40))
def test_a_search_asks_while_nothing_is_waited_for_and_ends_whatever_the_verdicts_are(seed: int) -> None:
    """Kernels gain less and less, gain nothing or are refused as chance has it; some structures are planned."""
    chance, state, gain = random.Random(seed), State(language="cpp", seed=seed), 1.0
    for number in range(1, 400):
        asks = all_ahead(state)
        if not (state.asked or asks):
            assert isinstance(next_move(state, writes=True), Stop)
            return
        first, *others = (*state.asked, *asks)
        speedup = REFUSED if chance.random() < 0.5 else gain * chance.choice([0.9, 1 + 4 / number])
        gain = max(gain, speedup)
        judged = attempt(number, first.stage, speedup, parent=first.base)
        plans = ("by rows", "by columns") if first.stage is DRAFT and seed % 2 else ()
        judged = judged.model_copy(update={"plans": plans})
        state = state.model_copy(update={"attempts": (*state.attempts, judged), "asked": tuple(others)})
    pytest.fail("the search does not end")


def test_nothing_is_asked_that_the_evaluations_may_not_reach() -> None:
    planned = State(language="cpp", pending=(PLANNED,))
    tuned = planned.model_copy(update={"pending": (PLANNED.model_copy(update={"candidate": candidate(CPP)}),)})

    assert [len(all_ahead(planned, evaluations)) for evaluations in (1, 2, 3)] == [0, 1, 1]
    assert [len(all_ahead(tuned, evaluations)) for evaluations in (3, 4, 7)] == [0, 1, 1]
    assert [len(all_ahead(tuned_state(), evaluations)) for evaluations in (2, 3)] == [0, 1]


def test_a_greedy_search_waits_for_each_verdict() -> None:
    greedy = State(language="cpp", pending=(PLANNED,), search="greedy")

    assert not all_ahead(greedy)
    assert next_move(greedy, writes=True) is None


def step_of(move: Move | None, state: State) -> State:
    """The state after a move, where each kernel is faster than those before it, and some settings than their kernel."""
    number = len(state.attempts)
    if isinstance(move, Measure):
        value = value_of(move.candidate)
        done = Tried(template=move.candidate.template_digest, values={"UNROLL": value}, time_us=99.0 - value)
        return state.model_copy(update={"tried": (*state.tried, done)})
    if isinstance(move, Ask):
        own = Candidate(
            language="cpp", source=f"{candidate(CPP).with_parameters({'UNROLL': 1}).source}int s{number};\n"
        )
        proposal = Proposal(candidate=own, stage=move.stage, parent=move.base)
    else:
        assert isinstance(move, Submit)
        proposal = move.proposal
    judged = Attempt(**vars(proposal), evidence=evidence(proposal.candidate, speedup=1.0 + 0.1 * number))
    return state.model_copy(update={"attempts": (*state.attempts, judged)})


@pytest.mark.parametrize(
    ("evaluations", "stages", "bases"),
    [(TUNED, [DRAFT, None, None, IMPROVE, None, None, IMPROVE, None], 1), (WRITTEN, [DRAFT, None, None, IMPROVE], 2)],
    ids=["eight verdicts are a draft, two small steps and settings", "with authors a run has enough for the beam"],
)
def test_a_run_whose_settings_gain(evaluations: int, stages: list[Stage | None], bases: int) -> None:
    state = State(language="cpp")
    while len(state.attempts) < evaluations:
        state = step_of(next_move(state, writes=True), state)

    assert [one.stage for one in state.attempts][: len(stages)] == stages
    changed = {
        state.attempts[one.parent - 1].candidate.template_digest for one in state.attempts if one.stage is IMPROVE
    }
    assert len(changed) >= bases


def test_equal_states_give_equal_moves_and_seeds_differ() -> None:
    assert after(*DRAFTED, seed=3) == after(*DRAFTED, seed=3)
    assert len({str(after(*DRAFTED, seed=seed)) for seed in range(20)}) == 2


@pytest.mark.parametrize(
    ("memory", "reachable", "ends"),
    [
        (0.93, 0.0, True), (0.5, 0.93, True), (0.5, 0.0, False), (0.5, 0.85, False), (0.5, 1.1, False),
        (22.46, 0.93, True), (22.46, 0.0, False),
    ],
    ids=[
        "at a rate", "at what torch reaches", "nothing measured", "below", "faster than torch, which is then no roof",
        "at what torch reaches, which is then the roof", "faster than the rate, which is then no roof",
    ],
)  # fmt: skip
def test_a_search_ends_near_the_reachable_roof(memory: float, reachable: float, *, ends: bool) -> None:
    near = attempt(1, DRAFT, 2.0)
    limit = Bottleneck(memory=memory, compute=0.1, reachable=reachable, citations=())
    near = near.model_copy(update={"evidence": near.evidence.model_copy(update={"bottleneck": limit})})

    move = next_move(State(language="cpp", attempts=(near,)), writes=True)
    assert (move == Stop(reason="the best kernel reaches 93% of the reachable roof")) is ends
    assert isinstance(next_move(State(language="cpp", attempts=(near,), near_roof=0.95), writes=True), Ask)


BUSY = 0.9
"""Share of the machine that other work took."""


def disturbed(one: Attempt) -> Attempt:
    """The attempt as it is judged beside other work."""
    assert one.evidence.timing
    sessions = tuple(session.model_copy(update={"others": BUSY}) for session in one.evidence.timing.sessions)
    timing = one.evidence.timing.model_copy(update={"sessions": sessions})
    return one.model_copy(update={"evidence": one.evidence.model_copy(update={"timing": timing})})


def untimed(number: int, stage: Stage, *, cycles: int | None = None) -> Attempt:
    one = attempt(number, stage, 1.0)
    return one.model_copy(update={"evidence": one.evidence.model_copy(update={"timing": None, "cycles": cycles})})


def test_where_nothing_is_timed_the_search_ends_when_there_is_nothing_to_mend() -> None:
    stages = (DRAFT, RETHINK, RETHINK)
    attempts = tuple(untimed(number, stage, cycles=9 - number) for number, stage in enumerate(stages))

    move = next_move(State(language="cpp", attempts=attempts, nothing_to_mend=True), writes=True)

    assert isinstance(next_move(State(language="cpp", attempts=attempts), writes=True), Ask)
    assert move == Stop(reason="the compiled kernel shows nothing to mend, and it is not timed here")


@pytest.mark.parametrize("passed", [untimed, lambda *one: disturbed(attempt(*one, 1.0))], ids=["untimed", "disturbed"])
def test_equal_kernels_without_a_time_end_a_search_after_two_steps(passed: Callable[[int, Stage], Attempt]) -> None:
    stages = (DRAFT, RETHINK, RETHINK, IMPROVE, IMPROVE)
    attempts = tuple(passed(number, stage) for number, stage in enumerate(stages))

    assert isinstance(next_move(State(language="cpp", attempts=attempts[:4]), writes=True), Ask)
    ended = next_move(State(language="cpp", attempts=attempts), writes=True)
    assert ended == Stop(reason="2 kernels in a row brought no gain")


def screened(number: int, **resources: int) -> Attempt:
    one = untimed(number, DRAFT)
    screen = SCREEN.model_copy(update={"spills": 0, "occupancy": 4, **resources})
    return one.model_copy(update={"evidence": one.evidence.model_copy(update={"screen": (screen,)})})


def test_kernels_rank_by_time_then_quick_time_then_cycles_then_what_their_compiled_form_needs() -> None:
    quick = [disturbed(attempt(number, DRAFT, 9.0)) for number in (3, 4)]
    tried = [
        Tried(template=one.candidate.template_digest, values={}, time_us=us)
        for one, us in zip(quick, (1.0, 2.0), strict=True)
    ]
    ranked = [
        attempt(1, DRAFT, 2.0), attempt(2, DRAFT, 1.0), *quick, untimed(5, DRAFT, cycles=900),
        untimed(6, DRAFT, cycles=1000), screened(7), screened(8, occupancy=2), screened(9, occupancy=8, spills=3),
    ]  # fmt: skip

    costs = [one.cost(tried) for one in ranked]
    assert costs == sorted(set(costs))


def wide_state(tries: int, *, took_s: float, judged_s: float) -> State:
    """A run with a kernel of a hundred settings, of which some are timed."""
    kernel = Candidate(
        language="cpp", source=f"constexpr int UNROLL = 1;  // tune: {', '.join(map(str, range(1, 101)))}\n"
    )
    took = Took(compile_s=judged_s, baselines_s=0.0, judge_s=0.0)
    found = evidence(kernel, speedup=1.0).model_copy(update={"took": took})
    state = State(language="cpp", attempts=(Attempt(candidate=kernel, evidence=found, stage=DRAFT),))
    for _ in range(tries):
        move = next_move(state, writes=False)
        assert isinstance(move, Measure)
        values = {"UNROLL": value_of(move.candidate)}
        done = Tried(template=kernel.template_digest, values=values, time_us=9.0, took_s=took_s)
        state = state.model_copy(update={"tried": (*state.tried, done)})
    return state


@pytest.mark.parametrize(
    ("tries", "took_s", "writes", "goes_on"),
    [
        (20, 1.0, True, True),
        (20, 1.1, True, False),
        (8, 9.0, True, True),
        (9, 9.0, True, False),
        (20, 9.0, False, True),
    ],
    ids=["a half", "more", "the least that each gets", "no more than that", "the tuner alone"],
)
def test_quick_timings_take_a_share_of_the_judges_time(
    tries: int, took_s: float, *, writes: bool, goes_on: bool
) -> None:
    state = wide_state(tries, took_s=took_s, judged_s=20.0)

    assert isinstance(next_move(state, writes=writes), Measure) is goes_on


def tuned_state(*tried: tuple[int, float | None], settings: Sequence[int] = (), more: Sequence[Attempt] = ()) -> State:
    """A run in which a kernel with the parameter UNROLL passed, and some of its values were timed."""
    own = candidate(CPP)
    first = Attempt(
        candidate=own,
        evidence=evidence(own, speedup=1.0),
        stage=DRAFT,
        settings=tuple({"UNROLL": value} for value in settings),
        author="somebody",
    )
    done = tuple(Tried(template=own.template_digest, values={"UNROLL": v}, time_us=time_us) for v, time_us in tried)
    return State(language="cpp", attempts=(first, *more), tried=done)


def value_of(one: Candidate) -> int:
    return one.parameters[0].value


ALL = candidate(CPP).parameters[0].choices
OWN = value_of(candidate(CPP))


def test_a_kernel_that_passed_is_tuned_before_anything_else_is_asked() -> None:
    first = next_move(tuned_state(settings=[8]), writes=True)
    assert isinstance(first, Measure)
    assert value_of(first.candidate) == OWN

    then = next_move(tuned_state((OWN, 100.0), settings=[8]), writes=True)
    assert isinstance(then, Measure)
    assert value_of(then.candidate) == 8


def test_the_fastest_settings_are_judged_in_full_and_then_the_author_is_asked() -> None:
    times = {value: 100.0 - 10 * place for place, value in enumerate(v for v in ALL if v != OWN)} | {OWN: 200.0}
    ranked = sorted(times, key=lambda value: times[value])
    judged = list[Attempt]()
    for value in ranked[:2]:
        move = next_move(tuned_state(*times.items(), more=judged), writes=True)
        assert isinstance(move, Submit)
        assert value_of(move.proposal.candidate) == value
        assert (move.proposal.parent, move.proposal.author, move.proposal.stage) == (1, "somebody", None)
        judged.append(Attempt(**vars(move.proposal), evidence=evidence(move.proposal.candidate, speedup=1.5)))

    assert next_move(tuned_state(*times.items(), more=judged), writes=True) == Ask(stage=IMPROVE, base=2)


def test_what_is_not_timed_is_not_tuned() -> None:
    state = tuned_state()
    (first,) = state.attempts
    screened = first.model_copy(update={"evidence": first.evidence.model_copy(update={"timing": None})})

    assert isinstance(next_move(state.model_copy(update={"attempts": (screened,)}), writes=True), Ask)


def recalled(standing: SkillStanding, unroll: int) -> RecalledSkill:
    skill = Skill(
        name=f"unroll-{unroll}", description="Scale rows.", body="Unroll it.", target="cpu-x86", language="cpp",
        candidate=candidate(CPP).with_parameters({"UNROLL": unroll}), suffix=".cpp",
    )  # fmt: skip
    return RecalledSkill(skill=skill, standing=standing)


KNOWN = [
    pytest.param([(HYPOTHESIS, 4), (VERIFIED, 8), (VERIFIED, 2)], [8, 4, 2], id="the best win, the template, others"),
    pytest.param([(VERIFIED, 8), (VERIFIED, 4), (HYPOTHESIS, 2), (STALE, 1)], [8, 2, 4], id="of others one alone"),
    pytest.param([(VERIFIED, 8), (VERIFIED, 4)], [8, 4], id="wins alone"),
    pytest.param([(HYPOTHESIS, 4), (STALE, 8)], [4], id="the best ranked, if nothing won"),
]


def skills(known: Sequence[tuple[SkillStanding, int]]) -> State:
    return State(language="cpp", skills=tuple(recalled(*one) for one in known))


@pytest.mark.parametrize(("known", "order"), KNOWN)
def test_without_an_author_the_versions_in_skills_are_judged_until_one_passes(
    known: list[tuple[SkillStanding, int]], order: list[int]
) -> None:
    state = skills(known)
    for unroll in order:
        move = next_move(state, writes=False)
        assert isinstance(move, Submit)
        assert value_of(move.proposal.candidate) == unroll
        assert move.proposal.skills_used == (f"unroll-{unroll}",)
        refused = Attempt(**vars(move.proposal), evidence=evidence(move.proposal.candidate, outcome=Outcome.INCORRECT))
        state = state.model_copy(update={"attempts": (*state.attempts, refused)})

    assert next_move(state, writes=False) == Stop(reason="tune has nothing left to try")


@pytest.mark.parametrize(("known", "order"), KNOWN)
def test_the_values_of_the_other_versions_are_timed_first(
    known: list[tuple[SkillStanding, int]], order: list[int]
) -> None:
    state = skills(known)
    first = next_move(state, writes=False)
    assert isinstance(first, Submit)
    passed = Attempt(**vars(first.proposal), evidence=evidence(first.proposal.candidate, speedup=1.0))
    state = state.model_copy(update={"attempts": (passed,)})
    timed = list[int]()
    for _ in order:
        move = next_move(state, writes=False)
        assert isinstance(move, Measure)
        timed.append(value_of(move.candidate))
        done = Tried(template=move.candidate.template_digest, values={"UNROLL": timed[-1]}, time_us=9.0)
        state = state.model_copy(update={"tried": (*state.tried, done)})

    assert timed == order


def test_settings_that_are_timed_at_the_same_time_are_those_that_would_follow_each_other() -> None:
    """Proposed and random values follow whatever the times are; the two best of them are judged together."""
    state = wide_state(0, took_s=0.0, judged_s=20.0)
    together = next_moves(state, writes=True, most=5)

    assert [move for move in together if isinstance(move, Measure)] == together
    assert len({value_of(move.candidate) for move in together if isinstance(move, Measure)}) == 5
    one_by_one = wide_state(5, took_s=0.0, judged_s=20.0)
    assert [one.values["UNROLL"] for one in one_by_one.tried] == [
        value_of(move.candidate) for move in together if isinstance(move, Measure)
    ]

    while moves := next_moves(state, writes=True, most=3):
        steps = [move for move in moves if isinstance(move, Measure)]
        if not steps:
            break
        for step in steps:
            state = step_of(step, state)
    assert len(moves) == 2
    assert all(isinstance(move, Submit) for move in moves)
