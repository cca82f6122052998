"""The interval of a speed-up contains it, widens with the noise of the times, and depends only on the times."""

import itertools
import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eval.clock.timing import CallTime, clocks_disagree, hidden_us, session_of, works_between

TIMES = st.floats(min_value=0.01, max_value=1e7)
ROUNDS = st.lists(st.tuples(TIMES, TIMES, TIMES), min_size=1, max_size=30)


@settings(max_examples=30, deadline=None)
@given(ROUNDS)
def test_the_speed_up_lies_in_its_interval(rounds: list[tuple[float, float, float]]) -> None:
    session = session_of(*zip(*rounds, strict=True))

    assert 0 < session.low <= session.speedup <= session.high


@settings(max_examples=30, deadline=None)
@given(ROUNDS)
def test_the_same_times_give_the_same_session(rounds: list[tuple[float, float, float]]) -> None:
    random.seed()

    assert session_of(*zip(*rounds, strict=True)) == session_of(*zip(*rounds, strict=True))


@settings(max_examples=30, deadline=None)
@given(ROUNDS, st.sampled_from([0.5, 2.0, 4.0]))
def test_the_unit_of_time_does_not_matter(rounds: list[tuple[float, float, float]], unit: float) -> None:
    baseline, candidate, inside = zip(*rounds, strict=True)
    one = session_of(baseline, candidate, inside)
    other = session_of([unit * t for t in baseline], [unit * t for t in candidate], inside)

    assert (one.speedup, one.low, one.high) == pytest.approx((other.speedup, other.low, other.high))


def test_steady_times_give_the_exact_speed_up() -> None:
    session = session_of([30.0] * 8, [20.0] * 8, [20.0] * 8)

    assert (session.low, session.speedup, session.high) == (1.5, 1.5, 1.5)


@pytest.mark.parametrize("seed", range(20))
def test_two_identical_kernels_do_not_differ(seed: int) -> None:
    noise = random.Random(seed)
    times = [[100 * noise.lognormvariate(0, 0.1) for _ in range(20)] for _ in range(2)]

    session = session_of(times[0], times[1], times[1])

    assert session.low < 1.03, "noise counts as a win"
    assert session.low - 0.05 < 1 < session.high + 0.05


def test_a_disturbance_of_both_times_of_a_round_cancels_out() -> None:
    noise = random.Random(0)
    slowed = [noise.choice([1, 1, 1, 2]) for _ in range(21)]

    session = session_of([150.0 * s for s in slowed], [100.0 * s for s in slowed], [100.0] * 21)

    assert session.speedup == pytest.approx(1.5)


def test_noisier_times_give_a_wider_interval() -> None:
    def width(spread: float) -> float:
        noise = random.Random(0)
        times = [[100 * noise.lognormvariate(0, spread) for _ in range(20)] for _ in range(2)]
        session = session_of(times[0], times[1], times[1])
        return session.high - session.low

    assert width(0.01) < width(0.1) < width(0.5)


def calls(outside_us: Sequence[float], inside_us: Sequence[float]) -> list[CallTime]:
    return [CallTime(*pair) for pair in zip(outside_us, inside_us, strict=True)]


def noisy(value: float, *, seed: int) -> list[float]:
    noise = random.Random(seed)
    return [value + noise.gauss(0, 2) for _ in range(50)]


BASELINE = calls(noisy(150, seed=1), [100.0] * 50)
CLOCKS = {
    "the same": (noisy(150, seed=2), 100.0, False),
    "an adapter that answers sooner": (noisy(140, seed=2), 100.0, False),
    "a shorter call": (noisy(60, seed=2), 10.0, False),
    "a few late answers": ([900.0] * 10 + noisy(150, seed=2)[10:], 100.0, False),
    "the inside clock is slow": (noisy(150, seed=2), 10.0, True),
    "the inside clock stands still": (noisy(150, seed=2), 0.0, True),
    "a process that answers a little later": (noisy(160, seed=2), 100.0, False),
    "work beside the clock": (noisy(190, seed=2), 100.0, True),
}


@pytest.mark.parametrize(("outside_us", "inside_us", "disagree"), CLOCKS.values(), ids=CLOCKS)
def test_a_candidate_may_hide_no_time_from_its_clock(outside_us: list[float], inside_us: float, disagree: bool) -> None:
    candidate = calls(outside_us, [inside_us] * len(outside_us))

    assert clocks_disagree(candidate, BASELINE) is disagree


def test_hidden_time_is_added_to_what_the_inside_clock_shows() -> None:
    candidate = calls(noisy(200, seed=3), [100.0] * 50)

    assert hidden_us(candidate, BASELINE) == pytest.approx(50, abs=3)


def test_noise_of_the_answers_does_not_count_as_hidden_time() -> None:
    hidden = [hidden_us(calls(noisy(150, seed=seed), [100.0] * 50), BASELINE) for seed in range(10, 60)]

    assert sum(us > 0 for us in hidden) <= 2


@pytest.mark.parametrize(
    ("lingering_us", "hidden"),
    [
        ([20.0] * 50, 0.0),
        ([20.0] * 40 + [900.0] * 10, 0.0),
        ([70.0] * 50, 50.0),
        ([20.0] * 10 + [70.0] * 40, 50.0),
    ],
    ids=["as long as the baseline's", "sometimes late", "always late", "nearly always late"],
)
def test_work_that_goes_on_after_the_answers_is_hidden_time(lingering_us: list[float], hidden: float) -> None:
    baseline = [call._replace(lingering_us=20.0) for call in BASELINE]
    candidate = [call._replace(lingering_us=late) for call, late in zip(BASELINE, lingering_us, strict=True)]

    assert hidden_us(candidate, baseline) == pytest.approx(hidden)


@pytest.mark.parametrize("shares", [[i / 9 for i in range(10)], [0.0, 0.0, 0.0, 0.9, 0.9], [0.3]])
def test_a_clock_that_hides_a_share_of_some_calls_is_refused(shares: Sequence[float]) -> None:
    share = itertools.cycle(shares)
    candidate = [CallTime(call.outside_us, call.inside_us * (1 - next(share))) for call in BASELINE]

    assert clocks_disagree(candidate, BASELINE)


def test_the_scatter_of_a_candidates_own_clock_excuses_nothing() -> None:
    candidate = [CallTime(call.outside_us, 99.0 * (i % 2)) for i, call in enumerate(BASELINE)]

    assert clocks_disagree(candidate, BASELINE)


BETWEEN = {
    "as much as in its calls": ([400.0] * 50, False),
    "cold calls": ([1000.0] * 50, False),
    "some interrupted calls": ([9e4] * 10 + [400.0] * 40, False),
    "long calls": ([9e4] * 50, True),
    "some long calls": ([9e4, 400.0] * 25, True),
}


@pytest.mark.parametrize(("between_us", "works"), BETWEEN.values(), ids=BETWEEN)
def test_a_candidate_may_not_work_long_between_its_timed_calls(between_us: Sequence[float], works: bool) -> None:
    baseline = [call._replace(between_us=300.0) for call in BASELINE]
    candidate = [call._replace(between_us=between) for call, between in zip(BASELINE, between_us, strict=True)]

    assert works_between(candidate, baseline) is works
