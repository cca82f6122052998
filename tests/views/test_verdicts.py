"""A verdict has the time of a call with its interval: over sessions if there are enough, or else over rounds."""

import pytest

from kb.types.evidence import Evidence
from kb.types.timing import Session, Timing
from kb.views.verdicts import verdict
from tests.runs.fakes import candidate, evidence_of


def timed(*sessions: tuple[float, ...], others: float = 0.0) -> Evidence:
    """Evidence with these times of the candidate, in us."""
    held = tuple(
        Session(
            baseline_us=(100.0,), candidate_us=times, inside_us=times, speedup=1.0, low=1.0, high=1.0, others=others
        )
        for times in sessions
    )
    timing = Timing(baseline="eager", baselines_us={"eager": 100.0}, sessions=held)
    return evidence_of(candidate()).model_copy(update={"timing": timing})


def test_the_interval_of_a_time_is_over_the_medians_of_three_sessions() -> None:
    time_us = verdict(timed((9.0, 10.0, 11.0), (10.0,), (12.0, 12.0))).time_us

    assert time_us
    assert time_us.value == 10.5
    # Student's t for 2 degrees of freedom, on the logarithms of 10, 10 and 12.
    assert (time_us.low, time_us.high) == (pytest.approx(8.08, abs=0.01), pytest.approx(13.64, abs=0.01))


def test_with_fewer_sessions_it_lies_between_two_of_the_rounds() -> None:
    time_us = verdict(timed(tuple(map(float, range(1, 102))))).time_us

    assert time_us
    assert (time_us.low, time_us.value, time_us.high) == (41.0, 51.0, 61.0)


def test_one_round_has_itself_as_its_interval() -> None:
    time_us = verdict(timed((7.0,))).time_us

    assert time_us
    assert (time_us.low, time_us.value, time_us.high) == (7.0, 7.0, 7.0)


def test_a_time_that_other_work_disturbed_does_not_count() -> None:
    held = verdict(timed((7.0,), others=0.5))

    assert (held.time_us, held.speedup, held.baseline) == (None, None, "")


def test_each_of_several_workloads_has_its_times() -> None:
    slow, fast = (timed(times).timing for times in ((40.0,), (10.0,)))
    assert slow
    assert fast
    several = slow.model_copy(
        update={
            "workload": {"rows": 8},
            "other_workloads": (fast.model_copy(update={"workload": {"rows": 2, "given_by": 0.5}}),),
        }
    )

    held = verdict(timed((40.0,)).model_copy(update={"timing": several}))

    assert [(each.workload, each.candidate_us) for each in held.workloads] == [
        ("rows=8", 40.0),
        ("rows=2, given_by=0.5", 10.0),
    ]
    assert held.time_us
    assert held.time_us.value == pytest.approx(20.0)
    assert "the best baselines of 2 workloads" in held.summary
