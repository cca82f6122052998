"""The judge's evidence: no ratio from a busy machine, one signature for one mistake, and records that last."""

import json

import pytest

from kb.model.evidence import Bottleneck, Evidence, Outcome
from tests.skillbook.evidence import KERNEL, evidence, refused, timing

SIGNATURES = {
    "other numbers": ("1,204 of 5000 elements are wrong (ROWS=17; signed values)", "3 of 9 elements are wrong (small)"),
    "other files": (
        "/tmp/kb-worker-x1/candidate.cpp:12:3: error: no foo",
        "/tmp/other/y/candidate.cpp:99:1: error: no foo",
    ),
    "other addresses": ("illegal access at 0x7f00aa", "illegal access at 0x12"),
}


@pytest.mark.parametrize(("one", "other"), SIGNATURES.values(), ids=SIGNATURES)
def test_the_same_mistake_has_the_same_signature(one: str, other: str) -> None:
    one, other = (refused(KERNEL, Outcome.INCORRECT, detail.replace(",", "")).signature for detail in (one, other))

    assert one == other
    assert one.startswith("incorrect: ")


def test_other_mistakes_have_other_signatures() -> None:
    assert refused(KERNEL, detail="no foo").signature != refused(KERNEL, detail="no bar").signature
    assert refused(KERNEL).signature != refused(KERNEL, Outcome.CRASHED).signature


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
