"""The verdict does not depend on the draw: a kernel that is right or wrong in its values is so in every judgement."""

import pytest

from eval.devices.cpu import Cpu
from eval.judge.counterexamples import Counterexamples
from eval.judge.held_out_cases import HeldOutCases
from eval.oracle.reference import Reference, interface_of
from eval.selftest.known import WRONG, Known, known_task
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import CaseResult, Outcome
from tests.eval.judging import needs_compiler, needs_linux, trial_of
from tests.eval.test_cheats import HONEST, parameters

pytestmark = [needs_linux, needs_compiler, pytest.mark.slow]

WRONG_VALUES = {
    "flushes_small_outputs.cpp": "softmax",
    "no_maximum_at_own_size.cpp": "softmax",
    "samples_for_maximum.cpp": "softmax",
    "multiplies_in_tf32.cpp": "matmul",
    "assumes_positive.cpp": "magnitude",
    "half_precision.cpp": "scale",
    "cancels_behind_convolution.py": "convolved_norm",
    "drops_low_parts.py": "convolved_norm",
    "ignores_init.cpp": "leaky",
}
JUDGEMENTS_OF_HONEST, JUDGEMENTS_OF_WRONG = 3, 10
LARGEST_RATIO = 0.5
"""An honest kernel keeps this share of the error allowed, so that no draw refuses it."""


def checked(trial: Trial, name: str) -> list[CaseResult]:
    """The results of a fresh judge's cases; raises Fault if the candidate is refused."""
    subject = known_task(name)
    reference = Reference(subject, seed=3)
    cases = HeldOutCases(subject, reference, interface_of(subject), Cpu.sizes, Counterexamples(None))
    results: list[CaseResult] = []
    trial.check(cases.for_candidate(), results)
    return results


@pytest.mark.parametrize("kernel", parameters(HONEST))
def test_an_honest_kernel_passes_every_judgement_with_room_to_spare(kernel: Known) -> None:
    for _ in range(JUDGEMENTS_OF_HONEST):
        results = checked(trial_of(kernel.path), kernel.task)

        assert max(result.error_ratio or 0.0 for result in results) < LARGEST_RATIO


@pytest.mark.parametrize(("file", "on"), WRONG_VALUES.items())
def test_a_kernel_with_wrong_values_is_refused_by_every_judgement(file: str, on: str) -> None:
    for _ in range(JUDGEMENTS_OF_WRONG):
        with pytest.raises(Fault) as caught:
            checked(trial_of(WRONG / file), on)

        assert caught.value.outcome == Outcome.INCORRECT
