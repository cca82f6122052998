"""The searches of all arms are compared after as many answers, and within as many tokens."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.arms_prompts import hand_in, write_out
from benchmarks.search_arms import Search, Structure, best, best_correct, structures, summary
from eval.languages.registry import CPP
from kb.types.evidence import Outcome
from kb.types.protocols import Attempt, Stage
from synth.authors.asking import Exchange
from synth.authors.author import Usage
from tests.synth.samples import candidate, evidence

KERNEL = candidate(CPP)


def attempt(speedup: float, stage: Stage | None = Stage.DRAFT) -> Attempt:
    """One that won, lost, or was refused if it is 0."""
    found = evidence(KERNEL, outcome=Outcome.PASSED if speedup else Outcome.INCORRECT, speedup=speedup or None)
    return Attempt(candidate=KERNEL, evidence=found, stage=stage, parent=int(stage is None))


def search(*steps: tuple[float, int]) -> Search:
    return [Structure((attempt(speedup),), tokens) for speedup, tokens in steps]


def test_settings_that_the_tuner_found_count_with_their_structure() -> None:
    run: Any = SimpleNamespace(
        attempts=(attempt(1.5), attempt(2.0, None), attempt(0.0)),
        exchanges=[Exchange(number=n, author="a", answered=True, usage=Usage(output_tokens=100 * n)) for n in (1, 2)],
    )

    found = structures(run)
    assert [len(one.attempts) for one in found] == [2, 1]
    assert [one.tokens for one in found] == [100, 300]
    assert best(found) == 2.0


@pytest.mark.parametrize(
    ("steps", "kept", "correct"),
    [([(2.0, 1), (4.0, 2)], 4.0, 4.0), ([(0.5, 1)], 1.0, 0.5), ([(0.0, 1)], 1.0, None), ([], 1.0, None)],
    ids=["the fastest", "slower than the baseline", "refused", "nothing"],
)
def test_without_a_win_the_baseline_is_kept(steps: list[tuple[float, int]], kept: float, correct: float | None) -> None:
    assert (best(search(*steps)), best_correct(search(*steps))) == (kept, correct)


def test_what_an_arm_reached_with_more_tokens_than_the_other_took_does_not_count() -> None:
    task = {"first": search((2.0, 100), (8.0, 300)), "b": search((2.0, 100), (4.0, 200)), "c": search((1.6, 250))}
    found = summary([task], [], ["first", "b", "c"])

    after, within = found["after so many structures"][2], found["within the tokens of the arm that took fewest"]
    assert after["first over b"]["value"] == pytest.approx(2.0)
    assert after["first over c"]["value"] == pytest.approx(5.0)
    assert within["first over b"]["value"] == pytest.approx(0.5)


def test_equal_prompts_are_answered_once_for_all_runs(tmp_path: Path) -> None:
    answers, prompts, given = tmp_path / "answers", tmp_path / "prompts", tmp_path / "given"
    given.mkdir()
    for run, text in {"a": "same", "b": "same", "c": "other"}.items():
        (answers / run).mkdir(parents=True)
        (answers / run / "001-prompt.md").write_text(text)

    names = write_out(answers, prompts)
    assert sorted(map(len, names.values())) == [1, 2]
    first, second = sorted(names, key=lambda name: len(names[name]), reverse=True)
    (given / first).write_text("an answer")
    assert hand_in(answers, prompts, given) == [second]
    assert sorted(file.parent.name for file in answers.glob("*/001-answer.md")) == ["a", "b"]
    assert list(write_out(answers, prompts)) == [second]
