"""The judge's evidence as sentences."""

import pytest

from eval.languages.registry import CPP
from kb.types.evidence import CaseResult, Outcome
from synth.prompts.diagnosis import MEANING, diagnose
from tests.synth.samples import SCREEN, candidate, evidence

KERNEL = candidate(CPP)


def test_every_outcome_has_its_own_meaning() -> None:
    assert set(MEANING) == set(Outcome)
    assert len(set(MEANING.values())) == len(Outcome)


@pytest.mark.parametrize(
    ("speedup", "said"),
    [
        (
            1.5,
            "It is faster than `compile`, the best baseline: 66.67 us against 100 us, 1.50 times as fast "
            "(95 % interval 1.43 to 1.58). This is a win.",
        ),
        (
            0.8,
            "It is slower than `compile`, the best baseline: 125 us against 100 us, 0.80 times as fast "
            "(95 % interval 0.76 to 0.84). This is not a win: the lower end must exceed 1.03.",
        ),
    ],
)
def test_a_measured_speed_is_reported_with_its_interval(speedup: float, said: str) -> None:
    assert " ".join(diagnose(evidence(KERNEL, speedup=speedup))) == f"It passed. {said}"


def test_a_speed_up_within_the_noise_is_not_a_win() -> None:
    assert "This is not a win" in diagnose(evidence(KERNEL, speedup=1.05))[-1]


def test_failing_cases_are_named_with_their_error() -> None:
    cases = (
        CaseResult(name="as given", outcome=Outcome.PASSED, max_error=0.0, error_ratio=0.0),
        CaseResult(name="rows=7", outcome=Outcome.INCORRECT, max_error=float("inf"), error_ratio=float("inf")),
        CaseResult(name="rows=9", outcome=Outcome.RAISED),
    )

    assert diagnose(evidence(KERNEL, Outcome.INCORRECT, cases=cases))[1:] == (
        "Right in 1 case.",
        "Case `rows=7`: incorrect, largest error inf, inf times what is allowed.",
        "Case `rows=9`: raised.",
    )


def test_findings_that_are_ok_are_left_out_and_the_others_are_cited() -> None:
    text = " ".join(diagnose(evidence(KERNEL, Outcome.OVER_LIMIT, screen=(SCREEN,))))

    assert "128 <= 512" not in text
    assert "over: scratchpad 81,920 B > 65,536 B [00000000000a]" in text
    assert "warn: 12 registers spilled per lane" in text
    assert "unknown: occupancy: no document states one value of simd_units" in text
