"""Runs that compare arms write no skills; what mended their refused kernels is kept where arms have rules."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.arms_batch import learn
from kb.runs.journal import Rules
from kb.types.campaign import Skills
from kb.types.skill import SkillStanding
from tests.runs.fakes import book_of
from tests.runs.test_rules import Mending, rules, run_of, task


@pytest.mark.parametrize(("which", "count"), [(Rules.LEARNT, 1), (Rules.RANDOM, 1), (Rules.NONE, 0)])
def test_what_mended_a_kernel_is_kept_once_if_the_arm_has_rules(which: Rules, count: int, home: Path) -> None:
    run = run_of(home, task(0), Mending(home / "calls.log"), skills=Skills.OTHERS, rules=which)
    book = book_of(home, home / "none")
    place: Any = SimpleNamespace(skills=book)
    assert rules(home) == []

    learn(place, run)
    learn(place, run)

    assert len(rules(home)) == count
    assert {*book.standings(rules(home)).values()} <= {SkillStanding.SCREENED}, "on trial, so that other tasks get it"
