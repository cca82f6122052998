"""The simulation of a pool gives every verdict once, and says where all of the GPUs' time went."""

import pytest

from benchmarks.pool_simulation import Row, batch_on, simulated

TIMED, REFUSED = Row(2.0, 6.0, timed=True), Row(2.0, 1.0, timed=False)


def test_one_judge_takes_the_sum_and_two_take_turns_at_the_gpu() -> None:
    assert simulated([[TIMED, REFUSED]], 1)["seconds"] == 11
    assert simulated([[TIMED], [TIMED]], 1)["seconds"] == 14
    assert simulated([[TIMED], [TIMED]], 2)["seconds"] == 8


@pytest.mark.parametrize("devices", [1, 3, 40])
def test_shares_add_up_and_no_verdict_is_lost(devices: int) -> None:
    found = batch_on(devices, (4, 5), [[TIMED, REFUSED, TIMED]])

    shares = [found["times a kernel"], *(share for name, share in found.items() if name.startswith("idle"))]
    assert sum(shares) == pytest.approx(1, abs=0.01)
    assert found["verdicts an hour"] * found["seconds"] / 3600 == pytest.approx(20, rel=0.05)
