"""What a worker says of a call is believed only if it can be true."""

from typing import Any, cast

import pytest

from eval.languages.registry import TORCH
from eval.supervisor.memory import Layout
from eval.supervisor.process import WorkerProcess
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate

LAYOUT = Layout(dtype="float32", shape=(4,), stride=(1,))
HONEST = {"seconds": "0.5", "awake_s": "0.6", "places": ["64"]}
WRONG: dict[str, dict[str, object]] = {
    "a time without end": {"seconds": "1e303"},
    "an infinite time": {"seconds": "inf"},
    "a time below zero": {"seconds": "-1"},
    "no number": {"seconds": "soon"},
    "no time": {"seconds": None},
    "waking without end": {"awake_s": "nan"},
    "a place that is no text": {"places": [5]},
    "places that are no list": {"places": 5},
    "no places": {"places": None},
    "too many places": {"places": ["64", "128"]},
    "a place below zero": {"places": ["-1"]},
}


class Worker:
    """Answers a call with what it is given."""

    reply_s = lingering_s = 0.0

    def __init__(self, answer: dict[str, object]) -> None:
        self._answer = answer

    def start_call(self, **_: Any) -> dict[str, object]:
        return self._answer


def called(answer: dict[str, object]) -> float:
    trial = Trial(Candidate(language="torch", source=""), language=TORCH, level=0)
    return trial.start_call(cast(WorkerProcess, Worker(answer)), [LAYOUT]).seconds


def test_an_honest_answer_is_believed() -> None:
    assert called(HONEST) == 0.5


@pytest.mark.parametrize("wrong", WRONG.values(), ids=WRONG)
def test_an_answer_that_cannot_be_true_is_refused(wrong: dict[str, object]) -> None:
    with pytest.raises(Fault) as refusal:
        called(HONEST | wrong)

    assert refusal.value.outcome == Outcome.FORGED
