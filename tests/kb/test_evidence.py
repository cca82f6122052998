"""The judge's evidence: no ratio from a busy machine, and records that last."""

import json
import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kb.types.evidence import Bottleneck, Evidence
from kb.types.timing import Timing
from tests.skillbook.evidence import evidence, timing


def test_a_busy_machine_gives_no_speed_up_and_no_win() -> None:
    times = timing(2.0)
    busy = times.model_copy(update={"sessions": tuple(s.model_copy(update={"others": 0.5}) for s in times.sessions)})

    assert (evidence(speedup=2.0).speedup, evidence(speedup=2.0).won) == (pytest.approx(2.0), True)
    assert (evidence(speedup=2.0, timing=busy).speedup, evidence(speedup=2.0, timing=busy).won) == (None, False)


def test_a_record_without_a_bottleneck_or_cycles_has_the_form_that_earlier_records_have() -> None:
    assert not {"bottleneck", "cycles"} & {*evidence(speedup=2.0).model_dump(mode="json")}


def test_a_bottleneck_survives_the_record() -> None:
    limit = Bottleneck(memory=0.9, compute=0.0, citations=("7",))
    given = evidence(speedup=2.0, bottleneck=limit)

    assert Evidence.model_validate(json.loads(given.model_dump_json())) == given
    assert str(limit) == "memory-bound: it reaches 90% of the memory rate"


def test_a_record_of_an_earlier_version_keeps_its_word_for_what_limits() -> None:
    earlier = {"kind": "launch", "memory": 0.01, "compute": 0.0, "citations": ("7",)}
    limit = Bottleneck.model_validate(earlier)

    assert limit.kind == "latency"
    assert {**limit.model_dump(), "kind": "launch"} == limit.model_dump()


def test_a_rate_that_is_exceeded_is_no_roof() -> None:
    limit = Bottleneck(memory=0.3, compute=22.46, citations=())

    assert limit.reached == 0.3
    assert str(limit).startswith("latency-bound: it reaches 30% of the memory rate; it is faster than the compute rate")
    assert limit.model_copy(update={"memory": 0.6}).kind == "memory"
    assert limit.model_copy(update={"memory": 1.2}).reached == 0


NO_TIMES: dict[str, dict[str, Any]] = {
    "no call of the baseline": {"baseline_us": []},
    "no call of the candidate": {"candidate_us": []},
    **{
        f"{field} is {value}": {field: [value] if field.endswith("_us") else value}
        for field in ("speedup", "low", "high", "baseline_us", "candidate_us")
        for value in (0.0, -1.0, float("nan"), float("inf"), 1e-300, 1e300)
    },
    **{
        f"{field} is {value}": {field: [value] if field == "inside_us" else value}
        for field in ("others", "unseen_us", "inside_us")
        for value in (float("nan"), float("inf"))
    },
}


@pytest.mark.parametrize("changed", NO_TIMES.values(), ids=NO_TIMES)
def test_times_that_nobody_can_measure_are_no_evidence(changed: dict[str, Any]) -> None:
    stated = evidence(speedup=2.0).model_dump(mode="json")
    stated["timing"]["sessions"][1] |= changed

    with pytest.raises(ValidationError):
        Evidence.model_validate_json(json.dumps(stated))


def test_a_timing_without_a_session_is_no_evidence() -> None:
    stated = evidence(speedup=2.0).model_dump(mode="json")
    stated["timing"]["sessions"] = []

    with pytest.raises(ValidationError, match="sessions"):
        Evidence.model_validate_json(json.dumps(stated))


RATIOS = st.floats(min_value=1e-18, max_value=1e18)


@given(st.lists(st.tuples(RATIOS, RATIOS, RATIOS, st.floats(0, 1)), min_size=1, max_size=5))
def test_whatever_evidence_can_state_of_times_can_be_told(sessions: list[tuple[float, float, float, float]]) -> None:
    stated = timing(2.0).model_dump()
    fields = ("speedup", "low", "high", "others")
    stated["sessions"] = [stated["sessions"][0] | dict(zip(fields, one, strict=True)) for one in sessions]

    found = Timing.model_validate(stated)

    told = (found.speedup, found.low, found.high, found.candidate_us, found.baseline_us, found.unseen_us)
    assert all(number >= 0 for number in told)
    assert all(isinstance(flag, bool) for flag in (found.won, found.doubtful, found.busy))


def at_workloads(*speedups: float) -> Timing:
    first, *others = (timing(s).model_copy(update={"workload": {"rows": int(100 * s)}}) for s in speedups)
    return first.model_copy(update={"other_workloads": tuple(others)})


@pytest.mark.parametrize(
    ("speedups", "won"),
    [((2.0, 2.0, 2.0), True), ((2.0, 0.96, 1.0), True), ((4.0, 4.0, 0.94), False), ((1.0, 1.02, 1.01), False)],
)
def test_a_win_is_a_mean_over_all_workloads_of_which_none_is_much_slower(
    speedups: tuple[float, ...], won: bool
) -> None:
    seen = at_workloads(*speedups)

    assert seen.speedup == pytest.approx(math.prod(speedups) ** (1 / len(speedups)))
    assert seen.low < seen.speedup < seen.high
    assert evidence(speedup=1.0, timing=seen).won is won
    assert seen.baseline_us / seen.candidate_us == pytest.approx(seen.speedup)


def test_many_workloads_show_their_mean_better_than_each_is_shown() -> None:
    one, many = timing(1.5), at_workloads(*[1.5] * 16)

    assert math.log(many.high / many.low) == pytest.approx(math.log(one.high / one.low) / 4)


def test_a_workload_without_enough_sessions_or_on_a_busy_machine_makes_no_win() -> None:
    many = at_workloads(2.0, 2.0)
    short = many.other_workloads[0].model_copy(update={"sessions": many.sessions[:1]})
    busy = many.other_workloads[0].model_copy(
        update={"sessions": tuple(s.model_copy(update={"others": 0.5}) for s in many.sessions)}
    )

    assert many.won
    assert not many.model_copy(update={"other_workloads": (short,)}).won
    assert many.model_copy(update={"other_workloads": (busy,)}).busy


def test_the_times_of_workloads_survive_the_record() -> None:
    given = evidence(speedup=1.0, timing=at_workloads(2.0, 1.5))

    assert Evidence.model_validate_json(json.dumps(given.stated)) == given
