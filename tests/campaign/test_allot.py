"""What a campaign does next follows from the journals: a kill between two decisions changes none of them."""

import random
from pathlib import Path

import pytest

from kb.campaign.allot import FIRST, REST, STEP, Slice, Standing, next_slice, slices, standing_of
from kb.types.campaign import Amounts
from tests.web.fakes import judge, propose, started

EACH = Amounts(evaluations=12)


def standing(evaluations: int = 0, **more: object) -> Standing:
    taken = Amounts(evaluations=evaluations, tokens=10 * evaluations, dollars=0.0, minutes=0.5 * evaluations)
    return Standing(taken=taken, **more)


def until(part: Slice | None) -> tuple[int, int | None, int] | None:
    return part and (part.run, part.until.evaluations, part.lap)


@pytest.mark.parametrize(
    ("runs", "whole", "wanted"),
    [
        pytest.param([0, 0], 16, (0, 8, FIRST), id="each begins with the same share"),
        pytest.param([8, 0], 16, (1, 8, FIRST), id="the next follows when one has its share"),
        pytest.param([8, 3], 16, (1, 8, FIRST), id="one that was interrupted goes on to its share"),
        pytest.param([8, 8], 16, None, id="all is spent"),
        pytest.param([1, 0, 0], 2, (1, 1, FIRST), id="a budget below one verdict each ends when it is spent"),
    ],
)
def test_shares_are_equal_at_first(runs: list[int], whole: int, wanted: tuple[int, int, int] | None) -> None:
    assert until(next_slice([standing(n) for n in runs], Amounts(evaluations=whole), EACH)) == wanted


@pytest.mark.parametrize(
    ("runs", "wanted"),
    [
        pytest.param([{"reached": 0.8, "passed": True}, {"reached": 0.3, "passed": True}], 1, id="most below its roof"),
        pytest.param([{"reached": 0.3, "passed": True}, {}], 1, id="nothing has passed"),
        pytest.param([{"stagnant": 2, "passed": True}, {"reached": 0.8, "passed": True}], 1, id="two steps, no gain"),
        pytest.param([{"ended": True}, {"reached": 0.8, "passed": True}], 1, id="it ended"),
        pytest.param([{"reached": 0.95, "passed": True}, {"ended": True}], None, id="no headroom anywhere"),
    ],
)
def test_what_others_left_goes_to_the_most_headroom(runs: list[dict], wanted: int | None) -> None:
    part = next_slice([standing(4, **one) for one in runs], Amounts(evaluations=9), EACH)

    assert (part and part.run) == wanted
    if part:
        assert (part.until.evaluations, part.lap) == (min(4 + STEP, 5), REST), "never more than is left"


@pytest.mark.parametrize(
    ("search", "stages", "has_headroom"),
    [
        ("two-level", "draft improve rethink improve", True),
        ("two-level", "draft improve rethink improve rethink", False),
        ("greedy", "draft improve", True),
        ("greedy", "draft improve improve", False),
    ],
    ids=["a structure is to come", "none is to come", "one answer without a gain", "two of a greedy search"],
)
def test_a_run_without_a_gain_has_headroom_while_another_structure_is_to_come(
    tmp_path: Path, search: str, stages: str, *, has_headroom: bool
) -> None:
    run = started(tmp_path, search=search)
    for number, stage in enumerate(stages.split()):
        judge(run, propose(run, f"// {number}\n", stage=stage))

    assert (standing_of(run).headroom > 0) is has_headroom


@pytest.mark.parametrize(
    "whole", [Amounts(tokens=20), Amounts(minutes=1.0), Amounts(evaluations=2), Amounts(evaluations=99, tokens=20)]
)
def test_no_kind_of_budget_is_exceeded(whole: Amounts) -> None:
    assert next_slice([standing(2), standing(0)], whole, EACH) is None


def test_a_run_whose_next_request_does_not_fit_into_its_share_waits_for_what_others_leave() -> None:
    runs, whole = [standing(1), standing(2, ended=True)], Amounts(tokens=100)

    assert until(next_slice(runs, whole, EACH)) == (0, 12, FIRST)
    assert until(next_slice(runs, whole, EACH, {0: FIRST})) == (0, 1 + STEP, REST)
    assert next_slice(runs, whole, EACH, {0: REST}) is None


@pytest.mark.parametrize("seed", range(20))
def test_a_replay_with_kills_takes_the_same_verdicts_and_never_more_than_the_budget(seed: int) -> None:
    chance = random.Random(seed)
    ends = [chance.randint(1, 12) for _ in range(5)]
    whole = Amounts(evaluations=chance.randint(3, 50))

    def replay(*, kills: bool) -> list[int]:
        judged = [0] * len(ends)
        while part := next_slice(
            [
                standing(n, ended=n >= end, passed=n > 2, reached=min(0.85, n / 10))
                for n, end in zip(judged, ends, strict=True)
            ],
            whole,
            EACH,
        ):
            limit = min(part.until.evaluations or 0, ends[part.run])
            judged[part.run] = chance.randint(judged[part.run] + 1, limit) if kills else limit
        return judged

    clean = replay(kills=False)
    assert sum(clean) == min(whole.evaluations or 0, sum(ends))
    assert sum(replay(kills=True)) == sum(clean)


def test_a_round_has_each_run_once_and_as_many_as_the_budget_allows() -> None:
    runs = [standing(4), standing(0), standing(4, reached=0.3, passed=True), standing(1, ended=True)]

    assert [(part.run, part.lap) for part in slices(runs, Amounts(evaluations=16), EACH)] == [
        (1, FIRST), (0, REST), (2, REST),
    ]  # fmt: skip
    assert [part.run for part in slices(runs, Amounts(evaluations=11), EACH)] == [1, 0], "two verdicts are left"
