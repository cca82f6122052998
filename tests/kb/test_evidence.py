"""The judge's evidence: no ratio from a busy machine, and records that last."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from kb.types.evidence import Bottleneck, Evidence, Timing
from tests.skillbook.evidence import evidence, timing


def test_a_busy_machine_gives_no_speed_up_and_no_win() -> None:
    times = timing(2.0)
    busy = times.model_copy(update={"sessions": tuple(s.model_copy(update={"others": 0.5}) for s in times.sessions)})

    assert (evidence(speedup=2.0).speedup, evidence(speedup=2.0).won) == (pytest.approx(2.0), True)
    assert (evidence(speedup=2.0, timing=busy).speedup, evidence(speedup=2.0, timing=busy).won) == (None, False)


def test_a_record_without_a_bottleneck_has_the_form_that_earlier_records_have() -> None:
    assert "bottleneck" not in evidence(speedup=2.0).model_dump(mode="json")


def test_a_bottleneck_survives_the_record() -> None:
    limit = Bottleneck(kind="memory", memory=0.9, compute=0.0, citations=("7",))
    given = evidence(speedup=2.0, bottleneck=limit)

    assert Evidence.model_validate(json.loads(given.model_dump_json())) == given
    assert str(limit) == "memory-bound: it reaches 90% of the memory rate"


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
        for field in ("others", "answering_us", "inside_us")
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
